/* SPDX-License-Identifier: Apache-2.0 */
/* usage: gates_job KERNELS CASE. A stream stands at a gate that the job opens later, after a use of
 * what a forward has made; prints what that holds. */
#include "cases.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };
static CUmodule module;
static CUstream stream, shut;
static CUdeviceptr in, out, flag; /* out is made of in */

static CUdeviceptr filled(unsigned value)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, BYTES));
    CU(cuMemsetD32Async(memory, value, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    return memory;
}

static void affine(CUdeviceptr to, CUdeviceptr from, CUstream in_stream)
{
    CUfunction function;
    unsigned factor = 5;
    void *params[] = {&to, &from, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    CU(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, in_stream, params, NULL));
}

/* The output may be dropped from then on. */
static void make_output(void)
{
    in = filled(7);
    out = filled(0);
    flag = filled(0);
    nvtxRangePushA("forward/0");
    affine(out, in, stream);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    filled(0);
}

static void stand(void)
{
    CU(cuStreamWaitValue32(shut, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void open_it(void)
{
    CU(cuStreamWriteValue32(stream, flag, 1, 0));
}

static void show(const char *name, CUdeviceptr memory)
{
    static unsigned words[WORDS];
    uint64_t hash = 14695981039346656037U;
    CU(cuStreamSynchronize(shut));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(words, memory, BYTES));
    for (int i = 0; i < WORDS; i++)
        hash = (hash ^ words[i]) * 1099511628211U;
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

/* Uses the output in the stream that is open, and opens the other one after that. */
static void use_and_open(void)
{
    CUdeviceptr copy;
    CU(cuMemAlloc(&copy, BYTES));
    CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
    open_it();
    show("copy", copy);
    show("out", out);
    show("in", in);
}

/* Behind the gate the output's input is overwritten. */
static void overwritten(void)
{
    make_output();
    stand();
    CU(cuMemsetD32Async(in, 1234, WORDS, shut));
    use_and_open();
}

/* The same behind one gate more than many, in one stream or each in its own, which are open when
 * that one is shut still. */
static void behind_many(bool in_one)
{
    enum { MANY = 70 };
    CUdeviceptr copy;
    CUstream streams[MANY];
    make_output();
    for (int i = 0; i < MANY; i++) {
        streams[i] = shut;
        if (!in_one)
            CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuStreamWaitValue32(streams[i], flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    }
    CU(cuStreamWaitValue32(shut, flag, 2, CU_STREAM_WAIT_VALUE_GEQ));
    CU(cuMemsetD32Async(in, 1234, WORDS, shut));
    CU(cuStreamWriteValue32(stream, flag, 1, 0));
    for (int i = 0; i < MANY; i++)
        CU(cuStreamSynchronize(in_one ? stream : streams[i]));
    CU(cuMemAlloc(&copy, BYTES));
    CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
    CU(cuStreamWriteValue32(stream, flag, 2, 0));
    show("copy", copy);
    show("in", in);
}

static void behind_many_streams(void)
{
    behind_many(false);
}

static void behind_many_in_one(void)
{
    behind_many(true);
}

/* ... and then, by the stream that is open. */
static void overwritten_twice(void)
{
    make_output();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    stand();
    CU(cuMemsetD32Async(in, 99, WORDS, shut));
    use_and_open();
}

/* The kernel that makes the output lets a later one begin early, and one that is allowed to reads
 * the output without asking for it: when the job launches it, nothing else is under way. */
static void depended_on(void)
{
    CUdeviceptr copy = filled(0);
    CUfunction function;
    unsigned factor = 3;
    void *params[] = {&copy, &out, &factor};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = WORDS / 256, .gridDimY = 1, .gridDimZ = 1,
                                   .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1,
                                   .hStream = stream, .attrs = &attribute, .numAttrs = 1};
    make_output();
    CU(cuModuleGetFunction(&function, module, "using"));
    CU(cuLaunchKernelEx(&config, function, params, NULL));
    show("copy", copy);
    show("out", out);
}

/* Behind the gate the output is read, and part of it written. */
static void met(void)
{
    make_output();
    CUdeviceptr other = filled(0);
    stand();
    affine(other, out, shut);
    CU(cuMemsetD32Async(other, 3, WORDS / 2, shut));
    use_and_open();
    show("other", other);
}

/* Who has overwritten the input, while it was open, waits for the gate later. */
static void joined(void)
{
    CUstream third;
    CUevent event;
    make_output();
    CU(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    stand();
    CU(cuMemsetD32Async(in, 1234, WORDS, third));
    CU(cuEventRecord(event, shut));
    CU(cuStreamWaitEvent(third, event, 0));
    use_and_open();
    CU(cuStreamSynchronize(third));
}

/* The default stream waits for one that waits for it, and others for the default stream. */
static void by_default(void)
{
    CUstream third;
    make_output();
    CU(cuStreamDestroy(shut));
    CU(cuStreamCreate(&shut, CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&third, CU_STREAM_DEFAULT));
    stand();
    CU(cuMemsetD32Async(filled(1), 5, WORDS, CU_STREAM_LEGACY));
    CU(cuMemsetD32Async(in, 1234, WORDS, third));
    use_and_open();
    CU(cuStreamSynchronize(third));
}

/* Memory of a pool that the output is made of is given back behind the gate. */
static void given_back(void)
{
    CUdeviceptr pooled;
    make_output();
    CU(cuMemAllocAsync(&pooled, BYTES, stream));
    CU(cuMemsetD32Async(pooled, 9, WORDS, stream));
    nvtxRangePushA("forward/1");
    affine(out, pooled, stream);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    filled(0);
    stand();
    CU(cuMemFreeAsync(pooled, shut));
    use_and_open();
}

/* The same of memory that is too little to be made by the layer. */
static void little_given_back(void)
{
    CUdeviceptr pooled, small;
    CUfunction function;
    unsigned factor = 3;
    make_output();
    CU(cuMemAllocAsync(&pooled, 1024, stream));
    CU(cuMemAlloc(&small, 1024));
    CU(cuMemsetD32Async(pooled, 9, 256, stream));
    CU(cuModuleGetFunction(&function, module, "affine"));
    void *params[] = {&small, &pooled, &factor};
    nvtxRangePushA("forward/1");
    CU(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    affine(out, in, stream);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    filled(0);
    stand();
    CU(cuMemFreeAsync(pooled, shut));
    use_and_open();
}

/* Memory that is used behind the gate leaves no room for the output: the call is answered. */
static void crowded(void)
{
    enum { MANY = 5 };
    CUdeviceptr others[MANY];
    make_output();
    for (int i = 0; i < MANY; i++)
        others[i] = filled((unsigned)i);
    stand();
    for (int i = 0; i < MANY; i++)
        CU(cuMemsetD32Async(others[i], 1000 + (unsigned)i, WORDS, shut));
    CUresult result = cuMemsetD32Async(in, 1234, WORDS, shut);
    fprintf(stderr, "behind: %d\n", (int)result);
    CUresult used = cuMemcpyDtoDAsync(others[0], out, BYTES, stream);
    fprintf(stderr, "beside: %d\n", (int)used);
    open_it();
    CU(cuStreamSynchronize(shut));
    for (int i = 1; i < MANY - 1; i++)
        CU(cuMemFree(others[i]));
    if (used != CUDA_SUCCESS)
        CU(cuMemcpyDtoDAsync(others[0], out, BYTES, stream));
    if (result != CUDA_SUCCESS)
        CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    show("out", out);
    show("in", in);
    show("last", others[MANY - 1]);
}

static void CUDA_CB do_nothing(void *unused)
{
    (void)unused;
}

static CUcontext context;
static atomic_bool trained;

/* As those that load data do. */
static void *call_the_host(void *unused)
{
    CUstream own;
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    while (!trained) {
        for (int i = 0; i < 8; i++)
            CU(cuLaunchHostFunc(own, do_nothing, NULL));
        CU(cuStreamSynchronize(own));
    }
    return unused;
}

/* Other threads' gates open as soon as they are given, while this one is short of memory. */
static void beside_loaders(void)
{
    enum { LAYERS = 16, STEPS = 40, LOADERS = 3 };
    CUdeviceptr outs[LAYERS];
    pthread_t loaders[LOADERS];
    in = filled(7);
    for (int i = 0; i < LAYERS; i++)
        outs[i] = filled(0);
    for (int i = 0; i < LOADERS; i++)
        pthread_create(&loaders[i], NULL, call_the_host, NULL);
    for (int i = 0; i < LAYERS * STEPS; i++) {
        if (i % LAYERS == 0) {
            nvtxRangePop();
            nvtxRangePushA("step");
        }
        nvtxRangePushA("forward/0");
        affine(outs[i % LAYERS], i % LAYERS ? outs[i % LAYERS - 1] : in, stream);
        nvtxRangePop();
    }
    trained = true;
    for (int i = 0; i < LOADERS; i++)
        pthread_join(loaders[i], NULL);
    show("out", outs[LAYERS - 1]);
}

static const struct job_case cases[] = {
    {"overwritten", overwritten}, {"overwritten-twice", overwritten_twice}, {"met", met},
    {"depended-on", depended_on},
    {"many", behind_many_streams}, {"many-in-one", behind_many_in_one}, {"joined", joined},
    {"default", by_default}, {"given-back", given_back}, {"little", little_given_back},
    {"crowded", crowded}, {"beside-loaders", beside_loaders}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuModuleLoad(&module, argv[1]));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&shut, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("step");
    run_case(cases, argv[2]);
    nvtxRangePop();
    return 0;
}
