/* SPDX-License-Identifier: Apache-2.0 */
/* usage: losing_job KERNELS CASE. Forwards whose memory or code goes before their outputs are used;
 * prints what the outputs hold in the end. */
#include "cases.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };
static CUmodule module;
static const char *kernels; /* its file */
static CUstream stream;

static CUdeviceptr device_words(unsigned value)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, BYTES));
    CU(cuMemsetD32(memory, value, WORDS));
    CU(cuCtxSynchronize());
    return memory;
}

static CUresult try_affine(CUdeviceptr out, CUdeviceptr in, unsigned factor)
{
    CUfunction function;
    void *params[] = {&out, &in, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    return cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL);
}

static void affine(CUdeviceptr out, CUdeviceptr in, unsigned factor)
{
    CU(try_affine(out, in, factor));
}

static void forward(const char *name, CUdeviceptr out, CUdeviceptr in)
{
    nvtxRangePushA(name);
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    device_words(0); /* any call will do: after it the outputs may be dropped */
}

static void show(const char *name, CUdeviceptr memory)
{
    static unsigned words[WORDS];
    uint64_t hash = 14695981039346656037U;
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(words, memory, BYTES));
    for (int i = 0; i < WORDS; i++)
        hash = (hash ^ words[i]) * 1099511628211U;
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

/* What is between is not what the first forward has made of it when the second reads it. */
static void freed(void)
{
    CUdeviceptr in = device_words(7), between = device_words(0), beside = device_words(0),
                out = device_words(0);
    nvtxRangePushA("forward/0");
    affine(between, in, 3);
    affine(beside, between, 3);
    nvtxRangePop();
    affine(between, between, 9);
    forward("forward/1", out, between);
    CU(cuMemFree(between));
    show("beside", beside);
    show("out", out);
}

/* When its input goes, its output is made for the last time, over bytes that are the job's own by
 * then; the output itself nobody looks at. */
static void under(void)
{
    CUdeviceptr in = device_words(7), over = device_words(0), unseen = device_words(0);
    nvtxRangePushA("forward/0");
    affine(over, in, 3);
    affine(unseen, over, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(over, 99, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    CU(cuMemFree(in));
    show("out", over);
}

/* The same where a stream that is to capture has all made that is away. */
static void under_capture(void)
{
    CUdeviceptr in = device_words(7), over = device_words(0), unseen = device_words(0);
    CUstream capturing;
    CUgraph graph;
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("forward/0");
    affine(over, in, 3);
    affine(unseen, over, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(over, 99, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuStreamEndCapture(capturing, &graph));
    show("out", over);
}

static void pool(void)
{
    CUdeviceptr in, next, out = device_words(0);
    CU(cuMemAllocAsync(&in, BYTES, stream));
    CU(cuMemsetD32Async(in, 7, WORDS, stream));
    forward("forward/0", out, in);
    CU(cuMemFreeAsync(in, stream));
    CU(cuMemAllocAsync(&next, BYTES, stream));
    CU(cuMemsetD32Async(next, 1234, WORDS, stream));
    show("out", out);
}

/* Gives back what it can do without, one piece after the other, for as long as it is refused. */
static void show_somehow(const char *name, CUdeviceptr memory, CUdeviceptr *ballast, int count)
{
    static unsigned words[WORDS];
    CUresult result = cuMemcpyDtoH(words, memory, BYTES);
    while (result == CUDA_ERROR_OUT_OF_MEMORY && count > 0) {
        CU(cuMemFree(ballast[--count]));
        result = cuMemcpyDtoH(words, memory, BYTES);
    }
    show(name, memory);
}

/* There is no room for the output, then none for the transaction's copies. */
static void refused(void)
{
    enum { MOST = 16 };
    CUdeviceptr in = device_words(7), out = device_words(0), ballast[MOST];
    int count = 0;
    nvtxRangePushA("forward/0");
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    while (count < MOST && cuMemAlloc(&ballast[count], BYTES) == CUDA_SUCCESS &&
           cuMemsetD32(ballast[count], 9, WORDS) == CUDA_SUCCESS)
        count++;
    show_somehow("out", out, ballast, count);
    show("in", in);
}

/* The device has half of what the output takes. That is the job's own when it asks for it. */
static void half_refilled(void)
{
    enum { MOST = 512, GRANULE = 4096, LEFT = BYTES / GRANULE / 2 };
    CUdeviceptr in = device_words(7), out = device_words(0), ballast[MOST];
    static unsigned words[WORDS];
    int count = 0;
    forward("forward/0", out, in);
    while (count < MOST && cuMemAlloc(&ballast[count], GRANULE) == CUDA_SUCCESS)
        count++;
    for (int i = 0; i < LEFT; i++)
        CU(cuMemFree(ballast[--count]));
    (void)cuMemcpyDtoH(words, out, BYTES); /* finds no room, under a budget */
    for (int i = 0; i < LEFT; i++)
        CU(cuMemAlloc(&ballast[count++], GRANULE));
    while (count)
        CU(cuMemFree(ballast[--count]));
    show("out", out);
}

/* In the end the job only looks at what it has made, step by step. */
static void evaluated(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    for (int i = 0; i < 12; i++) {
        nvtxRangePop();
        nvtxRangePushA("step");
        if (i < 4)
            forward("forward/0", out, in);
        show("out", out);
    }
}

/* For luck, more than there is; and some that comes and goes unused. */
static void asked(void)
{
    CUdeviceptr much, passing, in = device_words(7), out = device_words(0);
    if (cuMemAlloc(&much, 4096 * BYTES) == CUDA_SUCCESS)
        CU(cuMemFree(much));
    CU(cuMemAllocAsync(&passing, 40 * BYTES, stream));
    CU(cuMemFreeAsync(passing, stream));
    nvtxRangePushA("forward/0");
    affine(out, in, 5);
    nvtxRangePop();
    show("out", out);
}

/* An open forward's output goes to the host, with a page beside it; that page's use brings both
 * back, and at once the output is in the way. */
static void neighbour(void)
{
    enum { LARGE = 256 * BYTES, PAGE = BYTES / 4 };
    CUdeviceptr all, more, last, sums = device_words(0);
    CUfunction function;
    void *params[] = {&sums, &all};
    CU(cuModuleGetFunction(&function, module, "sums"));
    CU(cuMemAlloc(&all, LARGE));
    CU(cuMemsetD32(all, 9, LARGE / 4));
    CU(cuCtxSynchronize());
    nvtxRangePushA("forward/0");
    CU(cuMemsetD32Async(all + PAGE, 5, (LARGE - 2 * PAGE) / 4, stream));
    CU(cuLaunchKernel(function, LARGE / 1024, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CU(cuStreamSynchronize(stream));
    CU(cuMemAlloc(&more, 2 * LARGE));
    nvtxRangePop();
    CU(cuMemsetD8Async(all, 1, 4, stream));
    CU(cuMemAlloc(&last, LARGE / 4 * 3));
    show("out", all);
    show("sums", sums);
}

static void CUDA_CB do_nothing(void *unused)
{
    (void)unused;
}

/* Host code runs between, and might write pinned memory: none of it is read. */
static void called(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    void *words;
    CU(cuMemAllocHost(&words, 64));
    forward("forward/0", out, in);
    CU(cuLaunchHostFunc(stream, do_nothing, NULL));
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    show("out", out);
}

/* What opens another stream needs what was dropped. */
static void opened(void)
{
    CUdeviceptr in = device_words(7), mine = device_words(0), out = device_words(0), flag;
    CUdeviceptr copy = device_words(0);
    CUstream waiting;
    CU(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&flag, 64));
    CU(cuMemsetD32(flag, 0, 16));
    forward("forward/0", out, in);
    CU(cuStreamWaitValue32(waiting, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    CU(cuMemsetD32Async(mine, 1234, WORDS, waiting));
    CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
    CU(cuStreamWriteValue32(stream, flag, 1, 0));
    CU(cuStreamSynchronize(waiting));
    show("out", copy);
    show("mine", mine);
}

/* One allocation, which the job divides by itself: a page of it is dropped, and its neighbours are
 * used meanwhile. */
static void block(void)
{
    CUdeviceptr all, in, between, out;
    CU(cuMemAlloc(&all, 3 * BYTES + 512));
    in = all;
    between = all + BYTES + 512; /* shares its first page with what lies before it */
    out = all + 2 * BYTES + 512;
    CU(cuMemsetD32(all, 7, 3 * WORDS + 128));
    CU(cuCtxSynchronize());
    nvtxRangePushA("forward/0");
    affine(between, in, 3);
    affine(out, between, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS + 128, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("between", between);
    show("out", out);
    show("in", in);
}

/* One allocation of more than the budget: a chain of activations in it, and the way back. */
static void large_block(void)
{
    enum { LAYERS = 20 };
    CUdeviceptr all, sums = device_words(0);
    CU(cuMemAlloc(&all, (LAYERS + 1) * BYTES));
    CU(cuMemsetD32Async(all, 7, WORDS, stream));
    for (int i = 0; i < LAYERS; i++)
        forward("forward/0", all + (CUdeviceptr)(i + 1) * BYTES, all + (CUdeviceptr)i * BYTES);
    for (int i = LAYERS; i >= 0; i--) {
        affine(sums, all + (CUdeviceptr)i * BYTES, (unsigned)i + 1);
        show("out", sums);
    }
    printf("past %d\n", (int)cuMemAlloc(&all, (size_t)1 << 45));
}

/* A copy and two sets beside the launch, and their input is another by the time of the look. */
static void copied(void)
{
    CUdeviceptr in = device_words(7), between = device_words(0), out = device_words(0);
    nvtxRangePushA("forward/0");
    CU(cuMemcpyDtoDAsync(between, in, BYTES, stream));
    CU(cuMemsetD16Async(between + 64, 0x1234, 32, stream));
    affine(out, between, 5);
    CU(cuMemsetD8Async(out, 0x5a, 128, stream));
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("out", out);
    show("between", between);
}

/* By rows: such calls are not issued again. */
static void copied_by_rows(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = in,
                          .srcPitch = BYTES / 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = out, .dstPitch = BYTES / 4, .WidthInBytes = BYTES / 8,
                          .Height = 4};
    nvtxRangePushA("forward/0");
    CU(cuMemsetD2D32Async(out, BYTES / 4, 5, WORDS / 8, 4, stream));
    CU(cuMemcpy2DAsync(&rows, stream));
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("out", out);
}

/* What its kernel has written there the host has read, and has put something else in its place. */
static void pinned(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    unsigned *words;
    CU(cuMemAllocHost((void **)&words, BYTES));
    nvtxRangePushA("forward/0");
    affine((CUdeviceptr)(size_t)words, in, 3);
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    memset(words, 0, BYTES);
    device_words(0);
    show("out", out);
    printf("words %u %u\n", words[0], words[WORDS - 1]);
}

static CUdeviceptr loaded;
static CUcontext loading;

static void *load(void *unused)
{
    CU(cuCtxSetCurrent(loading));
    CU(cuMemsetD32(loaded, 77, WORDS));
    CU(cuCtxSynchronize());
    return unused;
}

/* Another thread writes what the forward has read and reads again; the host orders all of it. */
static void loader(void)
{
    CUdeviceptr first = device_words(0), second = device_words(0);
    pthread_t thread;
    loaded = device_words(7);
    CU(cuCtxGetCurrent(&loading));
    nvtxRangePushA("forward/0");
    affine(first, loaded, 5);
    CU(cuStreamSynchronize(stream));
    pthread_create(&thread, NULL, load, NULL);
    pthread_join(thread, NULL);
    affine(second, loaded, 5);
    nvtxRangePop();
    device_words(0);
    show("out", first);
    show("second", second);
}

enum { FORWARDS = 12, ROUNDS = 20 };
static CUdeviceptr outputs[FORWARDS];
static volatile int is_read; /* as often as is wanted */

static void *read_outputs(void *wrong)
{
    static unsigned first[FORWARDS][WORDS], now[WORDS];
    CUstream own;
    CU(cuCtxSetCurrent(loading));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < FORWARDS * ROUNDS; i++) {
        unsigned *words = i < FORWARDS ? first[i] : now;
        CU(cuMemcpyDtoHAsync(words, outputs[i % FORWARDS], BYTES, own));
        CU(cuStreamSynchronize(own));
        *(int *)wrong += memcmp(words, first[i % FORWARDS], BYTES) != 0;
    }
    is_read = 1;
    return NULL;
}

/* One thread goes on with what forwards have read; another one reads what they have made. */
static void stepped(void)
{
    static unsigned a[WORDS], b[WORDS];
    CUdeviceptr state = device_words(3), same = device_words(0);
    pthread_t thread;
    int wrong = 0;
    CU(cuCtxGetCurrent(&loading));
    for (int i = 0; i < FORWARDS; i++) {
        outputs[i] = device_words(0);
        forward("forward/0", outputs[i], state);
        affine(state, state, 3);
    }
    CU(cuMemcpyDtoDAsync(same, state, BYTES, stream));
    pthread_create(&thread, NULL, read_outputs, &wrong);
    while (!is_read) {
        affine(state, state, 9);
        affine(same, same, 9);
    }
    pthread_join(thread, NULL);
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(a, state, BYTES));
    CU(cuMemcpyDtoH(b, same, BYTES));
    printf("out wrong %d, state %s\n", wrong, memcmp(a, b, BYTES) ? "differs" : "the same");
}

static void *read_meanwhile(void *words)
{
    const struct timespec until_the_call_is_under_way = {.tv_nsec = 20000000};
    CUstream own;
    CU(cuCtxSetCurrent(loading));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    nanosleep(&until_the_call_is_under_way, NULL);
    CU(cuMemcpyDtoHAsync(words, outputs[0], BYTES, own));
    CU(cuStreamSynchronize(own));
    return NULL;
}

/* Each time one thread is about to go on with what the forward has read, when another one reads
 * what that has made: a test lets both linger. */
static void stepped_slowly(void)
{
    enum { TIMES = 4 };
    static unsigned words[WORDS];
    CUdeviceptr state = device_words(3);
    pthread_t thread;
    CU(cuCtxGetCurrent(&loading));
    outputs[0] = device_words(0);
    forward("forward/0", outputs[0], state);
    affine(state, state, 3);
    CU(cuStreamSynchronize(stream));
    for (int i = 0; i < TIMES; i++) {
        pthread_create(&thread, NULL, read_meanwhile, words);
        affine(state, state, 9);
        pthread_join(thread, NULL);
        device_words(0);
    }
    show("out", outputs[0]);
    show("state", state);
}

static void *look_at_meanwhile(void *looked)
{
    const struct timespec until_the_call_is_under_way = {.tv_nsec = 20000000};
    const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    const CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_LINEAR,
                                   .res.linear = {.devPtr = outputs[0],
                                                  .format = CU_AD_FORMAT_UNSIGNED_INT32,
                                                  .numChannels = 1,
                                                  .sizeInBytes = BYTES}};
    CUtexObject texture;
    unsigned on = 1;
    CU(cuCtxSetCurrent(loading));
    nanosleep(&until_the_call_is_under_way, NULL);
    if (*(bool *)looked)
        CU(cuTexObjectCreate(&texture, &is, &how, NULL));
    else
        CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, outputs[0]));
    return NULL;
}

/* One thread is about to go on with what the forward has read, when the driver is to look for
 * memory behind what that has made. */
static void looked_at_slowly(void)
{
    CUdeviceptr state = device_words(3);
    pthread_t thread;
    CU(cuCtxGetCurrent(&loading));
    for (int as_texture = 0; as_texture < 2; as_texture++) {
        bool looked = as_texture;
        outputs[0] = device_words(0);
        forward("forward/0", outputs[0], state);
        pthread_create(&thread, NULL, look_at_meanwhile, &looked);
        affine(state, state, 9);
        pthread_join(thread, NULL);
        show("out", outputs[0]);
    }
}

/* The same, of memory that is given to other processes after the forward. */
static void exported(void)
{
    CUdeviceptr in = device_words(7), small, out = device_words(0);
    CUfunction function;
    unsigned factor = 3, words[16], zero[16] = {0};
    CUipcMemHandle handle;
    CU(cuMemAlloc(&small, 64));
    void *params[] = {&small, &in, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    nvtxRangePushA("forward/0");
    CU(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    CU(cuIpcGetMemHandle(&handle, small));
    for (int i = 0; i < 8; i++)
        device_words(0);
    CU(cuMemcpyHtoD(small, zero, sizeof zero)); /* as another process would */
    show("out", out);
    CU(cuMemcpyDtoH(words, small, sizeof words));
    printf("words %u %u\n", words[0], words[15]);
}

/* A table that the first forward alone makes, of what is something else by then; the second one
 * reads it. */
static void made_once(void)
{
    CUdeviceptr in = device_words(7), table = device_words(0), out = device_words(0),
                later = device_words(0);
    nvtxRangePushA("forward/0");
    affine(table, in, 3);
    affine(out, table, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    forward("forward/1", later, table);
    show("out", out);
    show("later", later);
    show("table", table);
}

static void unloaded(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    forward("forward/0", out, in);
    CU(cuModuleUnload(module));
    show("out", out);
}

static void map(CUdeviceptr at)
{
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
    CUmemAccessDesc access = {location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle physical;
    CU(cuMemCreate(&physical, BYTES, &prop, 0));
    CU(cuMemMap(at, BYTES, 0, physical, 0));
    CU(cuMemSetAccess(at, BYTES, &access, 1));
    CU(cuMemRelease(physical));
}

static void mapped(void)
{
    CUdeviceptr in, out = device_words(0);
    CU(cuMemAddressReserve(&in, BYTES, 0, 0, 0));
    map(in);
    CU(cuMemsetD32(in, 7, WORDS));
    CU(cuCtxSynchronize());
    forward("forward/0", out, in);
    CU(cuMemUnmap(in, BYTES));
    map(in);
    CU(cuMemsetD32(in, 1234, WORDS));
    CU(cuCtxSynchronize());
    show("out", out);
}

/* Nobody has written it between two looks. */
static void looked_at_twice(const char *kernel)
{
    static unsigned first[WORDS], second[WORDS];
    CUdeviceptr out = device_words(0), state = device_words(0);
    CUfunction function;
    void *params[] = {&out, &state};
    CU(cuModuleGetFunction(&function, module, kernel));
    nvtxRangePushA("forward/0");
    CU(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(first, out, BYTES));
    device_words(0);
    CU(cuMemcpyDtoH(second, out, BYTES));
    printf("out %s\n", memcmp(first, second, BYTES) ? "changed" : "stays");
}

static void timed(void)
{
    looked_at_twice("timed");
}

static void counted(void)
{
    looked_at_twice("counted");
}

/* A call that meets more than any before it, when two forwards in a row have been dropped that it
 * needs: neither can be followed again beside what it meets. */
static void larger(void)
{
    enum { PARTS = 12 };
    CUdeviceptr in = device_words(7), between = device_words(0), sums = device_words(0), all;
    CUfunction function;
    void *params[] = {&sums, &all};
    CU(cuModuleGetFunction(&function, module, "sums"));
    CU(cuMemAlloc(&all, PARTS * BYTES));
    for (int i = 0; i < PARTS; i++)
        CU(cuMemsetD32Async(all + (CUdeviceptr)i * BYTES, 3, WORDS, stream));
    forward("forward/0", between, in);
    forward("forward/1", all + 4 * BYTES, between);
    for (int i = 0; i < PARTS; i++)
        if (i != 4)
            CU(cuMemsetD32Async(all + (CUdeviceptr)i * BYTES, 9, WORDS, stream));
    CU(cuLaunchKernel(function, PARTS * WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    show("out", sums);
    show("between", between);
}

enum { BALLAST = 12 };

/* More than there is room for: what can be dropped has been. */
static void fill(CUdeviceptr ballast[BALLAST])
{
    for (unsigned i = 0; i < BALLAST; i++) {
        if (!ballast[i])
            CU(cuMemAlloc(&ballast[i], BYTES));
        CU(cuMemsetD32(ballast[i], i, WORDS));
    }
}

/* One thread captures until the other has gone on for a while. */
static volatile int is_capturing, goes_on;

static void *capture_for_a_while(void *unused)
{
    const struct timespec while_the_other_works = {.tv_nsec = 100000000};
    CUstream own;
    CUgraph graph;
    CU(cuCtxSetCurrent(loading));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
    is_capturing = 1;
    while (!goes_on)
        sched_yield();
    nanosleep(&while_the_other_works, NULL);
    CU(cuStreamEndCapture(own, &graph));
    CU(cuGraphDestroy(graph));
    is_capturing = goes_on = 0;
    return unused;
}

/* A launch, and then a copy, needs what was dropped while another thread's stream captures. */
static void used_while_captured(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), made = device_words(0);
    CUdeviceptr copy = device_words(0), ballast[BALLAST] = {0};
    CU(cuCtxGetCurrent(&loading));
    forward("forward/0", out, in);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        fill(ballast);
        pthread_create(&thread, NULL, capture_for_a_while, NULL);
        while (!is_capturing)
            sched_yield();
        goes_on = 1;
        if (i == 0)
            affine(made, out, 3);
        else
            CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
        pthread_join(thread, NULL);
    }
    show("out", out);
    show("made", made);
    show("copy", copy);
}

/* The same of the thread's own: nobody can wait for that. */
static void used_while_capturing(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), made = device_words(0);
    CUdeviceptr ballast[BALLAST] = {0};
    CUstream own;
    CUgraph graph;
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    forward("forward/0", out, in);
    fill(ballast);
    CU(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUresult result = try_affine(made, out, 3);
    CU(cuStreamEndCapture(own, &graph));
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        result = try_affine(made, out, 3);
    CU(result);
    show("out", out);
    show("made", made);
}

/* Each time something is freed while another stream captures. */
static void free_while_one_captures(CUresult (*give)(CUdeviceptr memory))
{
    CUdeviceptr in = device_words(7), out = device_words(0), passing;
    CUstream other;
    CUgraph graph;
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 40; i++) {
        CU(cuMemAllocAsync(&passing, BYTES, stream));
        CU(cuMemsetD32Async(passing, 3, WORDS, stream));
        CU(cuStreamSynchronize(stream));
        CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
        CU(give(passing));
        CU(cuStreamEndCapture(other, &graph));
        CU(cuGraphDestroy(graph));
        nvtxRangePushA("forward/0");
        affine(out, in, 5);
        nvtxRangePop();
    }
    show("out", out);
}

static CUresult give_in_turn(CUdeviceptr memory)
{
    return cuMemFreeAsync(memory, stream);
}

static void freed_while_captured(void)
{
    free_while_one_captures(cuMemFree);
}

static void given_while_captured(void)
{
    free_while_one_captures(give_in_turn);
}

/* The context goes, with all that there is, and the job goes on in another. */
static void in_another_context(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    CUcontext context;
    forward("forward/0", out, in);
    for (unsigned i = 0; i < 6; i++)
        device_words(i);
    CU(cuCtxGetCurrent(&context));
    CU(cuCtxDestroy(context));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuModuleLoad(&module, kernels));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    in = device_words(9);
    out = device_words(0);
    forward("forward/0", out, in);
    show("out", out);
}

/* The context goes while a stream of it captures, or that stream alone; all the same what comes
 * later is dropped. */
static void lost_while_capturing(bool context_goes)
{
    CUstream capturing;
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    if (context_goes) {
        CU(cuCtxDestroy(context));
        CU(cuCtxCreate(&context, NULL, 0, 0));
        CU(cuModuleLoad(&module, kernels));
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    } else {
        CU(cuStreamDestroy(capturing));
    }
    CUdeviceptr in = device_words(7), out = device_words(0);
    forward("forward/0", out, in);
    show("out", out);
}

static void context_lost_while_capturing(void)
{
    lost_while_capturing(true);
}

static void stream_lost_while_capturing(void)
{
    lost_while_capturing(false);
}

/* More and more, until there is no more: as many blocks as the device would hold. */
static void asked_until_refused(void)
{
    CUdeviceptr block;
    size_t left, total;
    int count = 0;
    CU(cuMemGetInfo(&left, &total));
    while (count < 100 && cuMemAlloc(&block, total / 10 * 3) == CUDA_SUCCESS)
        count++;
    printf("out %d\n", count);
}

/* Each piece has room in the budget, and all of them on the device. Few are used. */
static void asked_in_pieces(void)
{
    enum { PIECES = 44 };
    CUdeviceptr pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        CU(cuMemAlloc(&pieces[i], BYTES));
    for (int i = 0; i < PIECES; i += PIECES / 4) {
        CU(cuMemsetD32(pieces[i], (unsigned)i, WORDS));
        show("out", pieces[i]);
    }
}

/* More and more, until there is no more room for what they hold. */
static void filled_until_refused(void)
{
    enum { MOST = 400 };
    CUdeviceptr piece;
    int count = 0;
    while (count < MOST && cuMemAlloc(&piece, BYTES) == CUDA_SUCCESS &&
           cuMemsetD32(piece, (unsigned)count, WORDS) == CUDA_SUCCESS)
        count++;
    printf("out %d\n", count);
}

/* The device is full of outputs when the driver needs memory of its own. */
static void loaded_late(void)
{
    static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .global .align 8 .b8 table[131072];\n";
    enum { OUTPUTS = 60 };
    CUdeviceptr in = device_words(7), out[OUTPUTS];
    CUmodule late;
    for (int i = 0; i < OUTPUTS; i++) {
        CU(cuMemAlloc(&out[i], BYTES));
        nvtxRangePushA("forward/0");
        affine(out[i], in, (unsigned)i);
        nvtxRangePop();
    }
    CU(cuModuleLoadData(&late, image));
    for (int i = 0; i < OUTPUTS; i++)
        show("out", out[i]);
}

/* The end of a capture is asked for in another stream than captures. */
static void ended_elsewhere(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), drawn = device_words(0);
    CUstream capturing, own = stream;
    CUgraphExec exec;
    CUgraph graph;
    forward("forward/0", out, in);
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    printf("refused %d\n", cuStreamEndCapture(own, &graph) != CUDA_SUCCESS);
    stream = capturing;
    affine(drawn, in, 3);
    stream = own;
    affine(in, in, 9);
    CU(cuStreamEndCapture(capturing, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    show("in", in);
    CU(cuGraphLaunch(exec, capturing));
    CU(cuStreamSynchronize(capturing));
    show("drawn", drawn);
    show("out", out);
}

/* It is to be given to a network card, when more is used than there is room for beside it. */
static void given_to_a_card(void)
{
    CUdeviceptr memory = device_words(7), more;
    int file = -1;
    (void)cuMemGetHandleForAddressRange(&file, memory, BYTES, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                        0);
    CU(cuMemAlloc(&more, 2 * BYTES));
    CU(cuMemsetD32(more, 9, 2 * WORDS));
    show("out", memory);
}

/* Calls that fail in any case, which meet what was dropped, or more than there is memory for. */
static void failing(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), bad = 16;
    unsigned factor = 5, word;
    CUfunction function;
    void *good_params[] = {&in, &out, &factor}, *bad_params[] = {&bad, &in, &factor};
    forward("forward/0", out, in);
    CU(cuModuleGetFunction(&function, module, "affine"));
    printf("out %d", (int)cuLaunchKernel(function, WORDS / 256, 1, 1, 5000, 1, 1, 0, stream,
                                         good_params, NULL));
    printf(" %d", (int)cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, (CUstream)&word,
                                      good_params, NULL));
    CU(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, bad_params, NULL));
    printf(" %d", (int)cuStreamSynchronize(stream));
    printf(" %d", (int)cuMemcpyDtoH(&word, out, sizeof word));
    printf(" %d\n", (int)cuMemFree(out));
}

static const struct job_case cases[] = {
    {"freed", freed}, {"under", under}, {"under-capture", under_capture}, {"pool", pool},
    {"copied", copied}, {"block", block},
    {"rows", copied_by_rows}, {"unloaded", unloaded}, {"mapped", mapped}, {"refused", refused},
    {"half-refilled", half_refilled},
    {"pinned", pinned}, {"loader", loader}, {"exported", exported}, {"timed", timed},
    {"counted", counted}, {"asked", asked}, {"evaluated", evaluated}, {"opened", opened},
    {"neighbour", neighbour},
    {"called", called}, {"made-once", made_once}, {"stepped", stepped},
    {"stepped-slowly", stepped_slowly}, {"looked-at-slowly", looked_at_slowly},
    {"large-block", large_block}, {"larger", larger},
    {"freed-while-captured", freed_while_captured},
    {"used-while-captured", used_while_captured}, {"used-while-capturing", used_while_capturing},
    {"given-while-captured", given_while_captured}, {"failing", failing},
    {"in-another-context", in_another_context},
    {"context-lost-while-capturing", context_lost_while_capturing},
    {"stream-lost-while-capturing", stream_lost_while_capturing},
    {"asked-in-pieces", asked_in_pieces}, {"filled-until-refused", filled_until_refused},
    {"asked-until-refused", asked_until_refused}, {"ended-elsewhere", ended_elsewhere},
    {"loaded-late", loaded_late}, {"given-to-a-card", given_to_a_card}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    CUcontext context;
    if (argc != 3)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    kernels = argv[1];
    CU(cuModuleLoad(&module, kernels));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("step");
    run_case(cases, argv[2]);
    nvtxRangePop();
    return 0;
}
