/* SPDX-License-Identifier: Apache-2.0 */
/* When host memory, descriptors or threads run out inside the device, calls answer a CUDA error:
 * nothing crashes or hangs, and once there is enough again the device goes on.
 *
 * The device is linked into this program, so that the linker can route what it takes from the
 * system through the wrappers below. */
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- scarcity ---------------------------------------------------------------------- */

static _Atomic long left = -1; /* takings that still succeed; -1: all */
static bool for_good;          /* all later ones fail too */
static _Atomic long refusals;

/* The device's own threads take as well: `left` changes in one step or not at all. */
static bool refused(void)
{
    long now = left;
    do
        if (now < 0)
            return false;
    while (!atomic_compare_exchange_weak(&left, &now, now > 1 ? now - 1 : for_good ? 1 : -1));
    if (now > 1)
        return false;
    refusals++;
    errno = ENOMEM;
    return true;
}

#define WRAP(type, name, failure, parameters, arguments)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return refused() ? failure : __real_##name arguments;                                      \
    }
WRAP(void *, malloc, NULL, (size_t bytes), (bytes))
WRAP(void *, calloc, NULL, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, NULL, (void *old, size_t bytes), (old, bytes))
WRAP(void *, aligned_alloc, NULL, (size_t alignment, size_t bytes), (alignment, bytes))
WRAP(char *, strdup, NULL, (const char *text), (text))
WRAP(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
WRAP(int, dup, -1, (int file), (file))
WRAP(int, pthread_create, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument),
     (thread, attributes, run, argument))
WRAP(void *, mmap, MAP_FAILED,
     (void *at, size_t bytes, int protection, int flags, int file, off_t offset),
     (at, bytes, protection, flags, file, offset))

/* ---- a program that uses everything ------------------------------------------------ */

enum { PART_BYTES = 8192 }; /* each part has its own: it need not be over when the next begins, as
                             * to wait for it may be what is refused */
static unsigned errors; /* calls that answered for want of something */
static unsigned wrong;  /* calls that blamed the program's PTX instead */

static bool try(CUresult result)
{
    errors += result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_OPERATING_SYSTEM ||
              result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    wrong += result == CUDA_ERROR_INVALID_PTX;
    return result == CUDA_SUCCESS;
}

static void nothing(void *argument)
{
    (void)argument;
}

static void use_memory(void)
{
    CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes =
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle, imported;
    CUdeviceptr place;
    const size_t unit = 2 << 20;
    int file;
    if (try(cuMemCreate(&handle, unit, &property, 0))) {
        if (try(cuMemAddressReserve(&place, unit, 0, 0, 0)) &&
            try(cuMemMap(place, unit, 0, handle, 0)))
            try(cuMemUnmap(place, unit));
        if (try(cuMemExportToShareableHandle(&file, handle,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)) &&
            try(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)))
            try(cuMemRelease(imported));
        try(cuMemRelease(handle));
    }
}

static void use_streams(CUdeviceptr memory, CUfunction store)
{
    static char host[PART_BYTES];
    CUstream stream = NULL, other = NULL;
    CUevent event = NULL;
    CUdeviceptr pooled;
    unsigned value = 1;
    try(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    try(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    try(cuEventCreate(&event, 0));
    try(cuMemcpyHtoDAsync(memory, host, sizeof host, stream));
    try(cuMemsetD8Async(memory, 3, 4096, stream));
    if (try(cuEventRecord(event, stream)) && try(cuStreamWaitEvent(other, event, 0)))
        try(cuLaunchKernel(store, 8, 1, 1, 64, 1, 1, 0, other, (void *[]){&memory, &value}, NULL));
    try(cuLaunchHostFunc(stream, nothing, NULL));
    if (try(cuMemAllocAsync(&pooled, 4096, stream)))
        try(cuMemFreeAsync(pooled, stream));
    try(cuStreamWriteValue32(stream, memory + 4096, 1, 0));
    try(cuStreamSynchronize(stream));
    try(cuStreamSynchronize(other));
}

static void use_graphs(CUdeviceptr memory, CUfunction store)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    unsigned value = 2;
    if (!try(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)))
        return;
    if (try(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))) {
        try(cuMemsetD8Async(memory, 3, 4096, stream));
        try(cuLaunchKernel(store, 1, 1, 1, 64, 1, 1, 0, stream, (void *[]){&memory, &value}, NULL));
        try(cuLaunchHostFunc(stream, nothing, NULL));
        if (try(cuStreamEndCapture(stream, &graph)) && try(cuGraphInstantiate(&exec, graph, 0)))
            try(cuGraphLaunch(exec, stream));
    }
    try(cuStreamSynchronize(stream));
}

static void use_arrays(CUdeviceptr memory)
{
    const CUDA_ARRAY3D_DESCRIPTOR is = {
        .Width = 32, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    const CUDA_TEXTURE_DESC how = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUmipmappedArray mipmap;
    CUarray array;
    CUtexObject texture;
    if (try(cuMipmappedArrayCreate(&mipmap, &is, 3)))
        try(cuMipmappedArrayDestroy(mipmap));
    if (!try(cuArray3DCreate(&array, &is)))
        return;
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    if (try(cuTexObjectCreate(&texture, &resource, &how, NULL)))
        try(cuTexObjectDestroy(texture));
    try(cuMemcpyDtoA(array, 0, memory, 512));
    try(cuArrayDestroy(array));
}

/* What others may share: pools, handles, events, files of theirs. */
static void use_others(CUdeviceptr memory)
{
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool, imported;
    CUmemPoolPtrExportData data;
    CUipcMemHandle handle;
    CUexternalMemory external;
    CUevent event;
    CUdeviceptr piece, mapped;
    int file;
    try(cuIpcGetMemHandle(&handle, memory));
    if (try(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING))) {
        try(cuEventRecord(event, NULL));
        try(cuEventDestroy(event));
    }
    if (!try(cuMemPoolCreate(&pool, &props)))
        return;
    if (try(cuMemAllocFromPoolAsync(&piece, 4096, pool, NULL)))
        try(cuMemPoolExportPointer(&data, piece));
    if (!try(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0)))
        return;
    if (try(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)))
        try(cuMemPoolImportPointer(&mapped, imported, &data));
    CUexternalSemaphore semaphore;
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC counter = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, .handle.fd = dup(file)};
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS value = {.params.fence.value = 1};
    if (try(cuImportExternalSemaphore(&semaphore, &counter))) {
        try(cuSignalExternalSemaphoresAsync(&semaphore, &value, 1, NULL));
        try(cuCtxSynchronize());
        try(cuDestroyExternalSemaphore(semaphore));
    }
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC is = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = 8};
    if (try(cuImportExternalMemory(&external, &is))) {
        try(cuExternalMemoryGetMappedBuffer(&mapped, external,
                                            &(CUDA_EXTERNAL_MEMORY_BUFFER_DESC){.size = 8}));
        try(cuDestroyExternalMemory(external));
    }
}

static void use_nodes(CUdeviceptr memory)
{
    CUstreamBatchMemOpParams list[2] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = memory}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = memory + 4}}};
    const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.count = 2, .paramArray = list};
    CUgraph graph, copy;
    CUgraphNode node, child;
    CUgraphExec exec;
    if (!try(cuGraphCreate(&graph, 0)))
        return;
    if (try(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &batch)) &&
        try(cuGraphClone(&copy, graph)) &&
        try(cuGraphAddChildGraphNode(&child, graph, &node, 1, copy)) &&
        try(cuGraphInstantiate(&exec, graph, 0))) {
        try(cuGraphExecChildGraphNodeSetParams(exec, child, copy));
        try(cuGraphLaunch(exec, NULL));
        try(cuCtxSynchronize());
        try(cuGraphExecDestroy(exec));
    }
    try(cuGraphDestroy(graph));
}

/* Does a device that has enough again still do what it is told? */
static bool still_works(void)
{
    CUdeviceptr memory;
    uint32_t words[64];
    CUresult result = cuCtxSynchronize();
    if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || result == CUDA_ERROR_OUT_OF_MEMORY)
        return true; /* a kernel could not be run: the context has had it */
    if (result != CUDA_SUCCESS || cuMemAlloc(&memory, sizeof words) != CUDA_SUCCESS ||
        cuMemsetD32(memory, 77, 64) != CUDA_SUCCESS ||
        cuMemcpyDtoH(words, memory, sizeof words) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < 64; i++)
        if (words[i] != 77)
            return false;
    return true;
}

/* What a refusal led to: nothing (it was never asked for), an error, a word in the log of what is
 * now incomplete, nothing that shows (the device made good for it), or worse. */
enum outcome { FINE, NOTICED, SAID, DEAF, BROKEN };

/* Did the device write in its log, which outcome_of() made a file? */
static bool log_says_something(void)
{
    return lseek(STDERR_FILENO, 0, SEEK_END) > 0;
}

static enum outcome use_everything(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction store = NULL;
    CUdeviceptr memory = 0;
    CUlibrary library;
    void *pinned;
    if (!try(cuInit(0)) || !try(cuCtxCreate(&context, NULL, 0, 0)))
        return NOTICED;
    try(cuMemAlloc(&memory, 4 * PART_BYTES));
    try(cuMemHostAlloc(&pinned, 8192, 0));
    if (try(cuModuleLoadData(&module, kernels)))
        try(cuModuleGetFunction(&store, module, "store"));
    if (try(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0)))
        try(cuLibraryUnload(library));
    use_memory();
    if (memory != 0 && store != NULL) {
        use_streams(memory, store);
        use_graphs(memory + PART_BYTES, store);
    }
    if (memory != 0) {
        use_arrays(memory + 2 * PART_BYTES);
        use_nodes(memory + 3 * PART_BYTES);
        use_others(memory);
    }
    left = -1;
    if (!still_works())
        return BROKEN;
    if (!try(cuCtxDestroy(context)) || wrong > 0)
        return BROKEN;
    if (errors > 0)
        return NOTICED;
    if (refusals == 0)
        return FINE;
    return log_says_something() ? SAID : DEAF;
}

/* ---- tests ------------------------------------------------------------------------- */

/* The program in a process of its own, whose `taking`th taking fails. */
static enum outcome outcome_of(long taking, bool all_later)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        int log = __real_memfd_create("log", 0);
        if (log < 0 || dup2(log, STDERR_FILENO) < 0)
            _exit(BROKEN);
        left = taking;
        for_good = all_later;
        _exit((int)use_everything());
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status))
        fail_msg("taking %ld%s: signal %d", taking, all_later ? " and later" : "",
                 WTERMSIG(status));
    return (enum outcome)WEXITSTATUS(status);
}

static void try_all(bool all_later)
{
    unsigned noticed = 0, said = 0, deaf = 0;
    for (long taking = 1;; taking++) {
        enum outcome outcome = outcome_of(taking, all_later);
        if (outcome == FINE)
            break;
        if (outcome >= BROKEN)
            fail_msg("taking %ld%s: the device is broken (%d)", taking,
                     all_later ? " and later" : "", (int)outcome);
        noticed += outcome == NOTICED;
        said += outcome == SAID;
        deaf += outcome == DEAF;
    }
    print_message("%u told, %u said in the log, %u made good\n", noticed, said, deaf);
    assert_true(noticed > 100);
    assert_true(deaf < noticed / 4);
}

static void one_refusal_is_an_error_and_no_more(void **state)
{
    (void)state;
    try_all(false);
}

static void nothing_left_is_an_error(void **state)
{
    (void)state;
    try_all(true);
}

/* With a number: only that taking fails, in this process, for a debugger. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        left = atol(argv[1]);
        return (int)use_everything();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refusal_is_an_error_and_no_more),
        cmocka_unit_test(nothing_left_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
