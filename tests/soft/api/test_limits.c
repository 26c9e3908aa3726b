/* SPDX-License-Identifier: Apache-2.0 */
/* Under the limits that a system sets (address space, descriptors, threads), before the device
 * starts or once it has, each call of a job works or answers that something ran out: no signal, no
 * hang, and where the limit is lifted the device goes on. test_scarce.c refuses single takings. */
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a job of some fifty calls ------------------------------------------------------- */

enum { WORDS = 2048, LIFE_SECONDS = 170, NOBODY = 65534, WRONG = 100 };

static unsigned refused; /* calls that answered that something ran out */
static unsigned wrong;   /* calls that answered anything else */

static bool got(CUresult result, const char *call)
{
    switch ((int)result) {
    case CUDA_SUCCESS: return true;
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: refused++; return false;
    default: wrong++; fprintf(stderr, "%s answered %d\n", call, (int)result); return false;
    }
}
#define try(call) got(call, #call)

static void nothing(void *argument)
{
    (void)argument;
}

static CUfunction load(void)
{
    CUmodule module;
    CUfunction store = NULL;
    if (try(cuModuleLoadData(&module, kernels)))
        try(cuModuleGetFunction(&store, module, "store"));
    return store;
}

static void link_pieces(void)
{
    CUlinkState link;
    CUmodule module;
    void *image;
    size_t size;
    if (!try(cuLinkCreate(0, NULL, NULL, &link)))
        return;
    if (try(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(size_t)kernels, sizeof kernels, "part",
                          0, NULL, NULL)) &&
        try(cuLinkComplete(link, &image, &size)) && try(cuModuleLoadData(&module, image)))
        try(cuModuleUnload(module));
    try(cuLinkDestroy(link));
}

static void use_library(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    if (!try(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0)))
        return;
    if (try(cuLibraryGetKernel(&kernel, library, "add")))
        try(cuKernelGetFunction(&function, kernel));
    try(cuLibraryUnload(library));
}

static void map_memory(void)
{
    const CUmemAllocationProp property = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = property.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t unit = 2 << 20;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    int file;
    if (!try(cuMemCreate(&handle, unit, &property, 0)))
        return;
    if (try(cuMemAddressReserve(&at, unit, 0, 0, 0))) {
        if (try(cuMemMap(at, unit, 0, handle, 0))) {
            if (try(cuMemSetAccess(at, unit, &access, 1)) && try(cuMemsetD8(at, 1, unit)))
                try(cuCtxSynchronize());
            try(cuMemUnmap(at, unit));
        }
        try(cuMemAddressFree(at, unit));
    }
    if (try(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         0)))
        close(file);
    try(cuMemRelease(handle));
}

static void use_pool(CUstream stream)
{
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CUdeviceptr piece;
    if (try(cuMemAllocAsync(&piece, 1 << 20, stream)))
        try(cuMemFreeAsync(piece, stream));
    if (!try(cuMemPoolCreate(&pool, &props)))
        return;
    if (try(cuMemAllocFromPoolAsync(&piece, 1 << 16, pool, stream)))
        try(cuMemFreeAsync(piece, stream));
    try(cuMemPoolTrimTo(pool, 0));
    try(cuMemPoolDestroy(pool));
}

static void share(CUdeviceptr memory)
{
    CUipcMemHandle handle;
    CUipcEventHandle event_handle;
    CUevent event;
    try(cuIpcGetMemHandle(&handle, memory));
    if (!try(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)))
        return;
    try(cuIpcGetEventHandle(&event_handle, event));
    try(cuEventDestroy(event));
}

static void use_streams(CUdeviceptr memory, CUfunction store, CUstream stream)
{
    static uint32_t host[WORDS];
    unsigned value = 1;
    CUstream other;
    CUevent event;
    if (!try(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, -1)))
        return;
    try(cuMemcpyHtoDAsync(memory, host, sizeof host, stream));
    if (try(cuEventCreate(&event, 0))) {
        if (try(cuEventRecord(event, stream)))
            try(cuStreamWaitEvent(other, event, 0));
        try(cuEventDestroy(event));
    }
    if (store != NULL)
        try(cuLaunchKernel(store, 8, 1, 1, 64, 1, 1, 0, other, (void *[]){&memory, &value}, NULL));
    try(cuLaunchHostFunc(other, nothing, NULL));
    try(cuMemsetD32Async(memory, 3, WORDS, other));
    try(cuMemcpyDtoHAsync(host, memory, sizeof host, other));
    try(cuStreamSynchronize(other));
    try(cuStreamDestroy(other));
}

static void use_graph(CUdeviceptr memory, CUfunction store, CUstream stream)
{
    unsigned value = 2;
    CUgraph graph, copy;
    CUgraphExec exec;
    if (!try(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
        return;
    try(cuMemsetD32Async(memory, 3, WORDS, stream));
    if (store != NULL)
        try(cuLaunchKernel(store, 1, 1, 1, 64, 1, 1, 0, stream, (void *[]){&memory, &value}, NULL));
    if (!try(cuStreamEndCapture(stream, &graph)))
        return;
    if (try(cuGraphClone(&copy, graph)))
        try(cuGraphDestroy(copy));
    if (try(cuGraphInstantiate(&exec, graph, 0))) {
        if (try(cuGraphLaunch(exec, stream)))
            try(cuStreamSynchronize(stream));
        try(cuGraphExecDestroy(exec));
    }
    try(cuGraphDestroy(graph));
}

static void use_everything(void)
{
    CUdeviceptr memory;
    CUstream stream;
    void *pinned;
    CUfunction store = load();
    link_pieces();
    use_library();
    map_memory();
    if (try(cuMemHostAlloc(&pinned, 1 << 20, 0)))
        try(cuMemFreeHost(pinned));
    if (!try(cuMemAlloc(&memory, WORDS * 4)))
        return;
    if (try(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))) {
        use_streams(memory, store, stream);
        use_graph(memory, store, stream);
        use_pool(stream);
        try(cuStreamDestroy(stream));
    }
    share(memory);
    try(cuCtxSynchronize());
    try(cuMemFree(memory));
}

/* ---- limits -------------------------------------------------------------------------- */

struct limit {
    int resource; /* RLIMIT_... */
    rlim_t value;
    bool early; /* before the device starts */
};

static rlim_t in_use(int resource)
{
    unsigned long pages = 0;
    FILE *file = resource == RLIMIT_AS ? fopen("/proc/self/statm", "r") : NULL;
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Of address space so much more than there is in use now; of others so many in all. */
static void impose(const struct limit *limit, struct rlimit *before)
{
    getrlimit((__rlimit_resource_t)limit->resource, before);
    struct rlimit now = *before;
    now.rlim_cur = in_use(limit->resource) + limit->value;
    if (now.rlim_cur < before->rlim_cur)
        setrlimit((__rlimit_resource_t)limit->resource, &now);
}

/* With no limit any more the device does what it is told, but where a launch could not be run:
 * that context has had it. */
static void expect_work(void)
{
    CUdeviceptr memory;
    uint32_t word = 0;
    const CUresult result = cuCtxSynchronize();
    if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || result == CUDA_ERROR_OUT_OF_MEMORY)
        return;
    if (!try(result) || !try(cuMemAlloc(&memory, 4)) || !try(cuMemsetD32(memory, 77, 1)) ||
        !try(cuMemcpyDtoH(&word, memory, 4)) || word != 77)
        wrong++;
}

/* In a process of its own: how many calls were refused, or WRONG. */
static unsigned run_under(const struct limit *limit)
{
    struct rlimit before;
    CUcontext context;
    if (limit->early)
        impose(limit, &before);
    if (try(cuInit(0)) && try(cuCtxCreate(&context, NULL, 0, 0))) {
        if (!limit->early)
            impose(limit, &before);
        use_everything();
        setrlimit((__rlimit_resource_t)limit->resource, &before);
        const unsigned so_far = refused;
        expect_work();
        wrong += refused != so_far;
        refused = so_far;
        try(cuCtxDestroy(context));
    }
    return wrong ? WRONG : refused < WRONG ? refused : WRONG - 1;
}

/* Threads are counted by user, and root's are not limited. */
static bool leave_root(void)
{
    return geteuid() != 0 ||
           (setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

static bool root_can_be_left(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(leave_root() ? 0 : 1);
    waitpid(child, &status, 0);
    return status == 0;
}

/* What the device says is on a line with something behind its colons. */
static bool speaks(const char *log)
{
    return strstr(log, ":\n") == NULL && strstr(log, ": \n") == NULL;
}

static void read_log(FILE *file, char *text, size_t size)
{
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static unsigned refused_under(struct limit limit)
{
    char log[4096];
    int status;
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(LIFE_SECONDS);
        dup2(fileno(file), STDERR_FILENO);
        fclose(file);
        const bool ready = limit.resource != RLIMIT_NPROC || leave_root();
        _exit(ready ? (int)run_under(&limit) : WRONG);
    }
    waitpid(child, &status, 0);
    read_log(file, log, sizeof log);
    if (!WIFEXITED(status) || WEXITSTATUS(status) >= WRONG || !speaks(log))
        fail_msg("limit %d of %lu %s: status %#x\n%s", limit.resource, (unsigned long)limit.value,
                 limit.early ? "before" : "after", status, log);
    return (unsigned)WEXITSTATUS(status);
}

/* The tightest refuses something, the widest nothing, or the limits are none. */
static void sweep(int resource, const rlim_t *values, size_t count, bool early)
{
    unsigned first = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        last = refused_under((struct limit){resource, values[i], early});
        print_message("%lu %s: %u refused\n", (unsigned long)values[i],
                      early ? "before" : "after", last);
        if (i == 0)
            first = last;
    }
    assert_true(first > 0);
    assert_int_equal(last, 0);
}
#define SWEEP(resource, early, ...)                                                                \
    sweep(resource, (const rlim_t[]){__VA_ARGS__}, sizeof(rlim_t[]){__VA_ARGS__} / sizeof(rlim_t), \
          early)
#define MIB(n) ((rlim_t)(n) << 20)

/* A sanitizer's own memory would be what does not fit. */
static void without_sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
}

static void address_space(void **state)
{
    (void)state;
    without_sanitizer();
    SWEEP(RLIMIT_AS, true, MIB(1), MIB(20), MIB(60), MIB(200), MIB(500), MIB(1500), MIB(8 << 20));
    SWEEP(RLIMIT_AS, false, 0, MIB(1), MIB(4), MIB(20), MIB(60), MIB(200), MIB(1500), MIB(8 << 20));
}

/* What the device takes of address space leaves room for the rest of the job, whatever there is. */
static void no_address_space_is_worse_than_less(void **state)
{
    (void)state;
    without_sanitizer();
    for (rlim_t more = MIB(900); more <= MIB(2500); more += MIB(100))
        assert_int_equal(refused_under((struct limit){RLIMIT_AS, more, true}), 0);
}

static void descriptors(void **state)
{
    (void)state;
    SWEEP(RLIMIT_NOFILE, true, 3, 4, 5, 6, 7, 8, 10, 512);
    SWEEP(RLIMIT_NOFILE, false, 3, 4, 5, 6, 7, 8, 10, 512);
}

static void threads(void **state)
{
    (void)state;
    if (!root_can_be_left()) {
        print_message("root is the only user here\n");
        skip();
    }
    SWEEP(RLIMIT_NPROC, true, 1, 2, 3, 4, 5, 6, 1 << 20);
    SWEEP(RLIMIT_NPROC, false, 1, 2, 3, 4, 5, 6, 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_space),
        cmocka_unit_test(no_address_space_is_worse_than_less),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
