/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to the same bytes, and what becomes of memory: aliases, contexts, modules, forks. */
#include "tests/laws/scenario.h"

#include <sys/wait.h>
#include <unistd.h>

static CUdeviceptr second_view;

static void alias_writer(void)
{
    unsigned value = 3;
    int half = n / 2;
    CUdeviceptr inside = second_view + 256;
    LAUNCH("fill", half, &inside, &value, &half);
}

static CUdeviceptr map_at(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr address;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU(MemAddressReserve, &address, bytes, 0, 0, 0);
    CU(MemMap, address, bytes, 0, handle, 0);
    CU(MemSetAccess, address, bytes, &access, 1);
    return address;
}

/* One physical allocation at two addresses: the clobbering write comes by the other one. */
void scenario_alias(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    size_t bytes;
    begin_job();
    CU(MemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CU(MemCreate, &handle, bytes, &prop, 0);
    state_ = map_at(handle, bytes);
    second_view = map_at(handle, bytes);
    watch("state", &state_, WORDS(n));
    CU(MemsetD8, state_, 0, bytes);
    run_steps(step_forward, alias_writer);
}

/* A child that calls the driver, as data loaders do by accident; the parent goes on. */
void scenario_fork(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    pid_t child = fork();
    if (child == 0) {
        CUdevice device;
        driver.DeviceGet(&device, 0); /* whatever it answers, it answers */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    run_steps(step_forward, NULL);
}

static void first_row_forward(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &queue, &x, &y, &one, &n);
}

static void upper_writer(void)
{
    unsigned value = 11;
    int quarter = n / 4;
    CUdeviceptr upper = queue + WORDS(n - n / 4);
    LAUNCH("fill", quarter, &upper, &value, &quarter);
}

/* One tensor lies over two physical allocations, mapped side by side. */
void scenario_adjacent_mappings(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr base;
    size_t bytes;
    begin_job();
    CU(MemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CU(MemAddressReserve, &base, 2 * bytes, 0, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        CU(MemCreate, &handle, bytes, &prop, 0);
        CU(MemMap, base + i * bytes, bytes, 0, handle, 0);
    }
    CU(MemSetAccess, base, 2 * bytes, &access, 1);
    watch("queue", &queue, WORDS(n));
    queue = base + bytes - WORDS(n / 2);
    CU(MemsetD8, queue, 0, WORDS(n));
    run_steps(first_row_forward, upper_writer);
}

/* The context is destroyed with all that was in it, and another one takes its addresses. */
void scenario_second_context(void)
{
    static CUdeviceptr bystanders[2];
    scenario_accumulator();
    synchronize();
    CU(CtxDestroy, context);
    open_context();
    watch_nothing();
    begin_job();
    result("state", &state_, WORDS(n));
    result("bystander0", &bystanders[0], 1 << 20);
    result("bystander1", &bystanders[1], 1 << 20);
    for (int i = 0; i < 2; i++)
        LAUNCH("fill", n, &bystanders[i], &draws, &n);
    run_steps(step_forward, NULL);
}

/* A module that the driver reads from its file by itself. */
void scenario_file_module(void)
{
    CU(ModuleLoad, &module, kernels);
    scenario_accumulator();
}

static CUdeviceptr pool;

static void gather_forward(void)
{
    LAUNCH("gather", n, &pool, &where, &y, &n);
}

/* The replay's output lies in the pool that it gathers from: perhaps in what it reads. */
void scenario_output_in_pool(void)
{
    begin_job();
    CUdeviceptr outside = y;
    pool = allocate(WORDS(ROWS * n));
    where = allocate(WORDS(1));
    for (int step = 1; step <= STEPS; step++) {
        unsigned value = 5u * (unsigned)step;
        int half = n / 2;
        nvtxRangePushA("step");
        y = outside;
        in_range("forward/only", gather_forward);
        LAUNCH("fill", half, &pool, &value, &half);
        if (replaying)
            y = pool + WORDS(5 * n);
        replay("recompute/only", gather_forward);
        LAUNCH("gradient", n, &y, &g, &n);
        nvtxRangePop();
    }
}

/* ---- memory of pools ---------------------------------------------------------------------- */

static CUdeviceptr borrow(void)
{
    CUdeviceptr memory;
    CU(MemAllocAsync, &memory, WORDS(n), NULL);
    return memory;
}

static void give(CUdeviceptr memory)
{
    CU(MemFreeAsync, memory, NULL);
}

/* Somebody else has the same memory for a while. */
static void lend(void)
{
    CUdeviceptr other = borrow();
    LAUNCH("fill", n, &other, &draws, &n);
    give(other);
}

/* Input and activation are of the pool. Between forward and replay the input goes back to it. */
static void in_pool(void (*forward)(void), void (*again)(void))
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    queue = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        x = borrow();
        y = borrow();
        set_input(step);
        in_range("forward/only", forward);
        CU(MemcpyDtoDAsync, scratch, x, WORDS(n), NULL);
        if (replaying) {
            give(y);
            lend();
            y = borrow();
        }
        again();
        replay("recompute/only", forward);
        backward();
        give(x);
        give(y);
        nvtxRangePop();
    }
}

static void take_back(void)
{
    give(x);
    lend();
    x = borrow();
    CU(MemcpyDtoDAsync, x, scratch, WORDS(n), NULL);
}

void scenario_pool_recycled(void)
{
    in_pool(step_forward, take_back);
}

/* The segment itself takes memory of the pool, and gives it back. */
static void borrowing_forward(void)
{
    CUdeviceptr between = borrow(), input = x;
    int one = 1;
    LAUNCH("read_queue", n, &queue, &x, &between, &one, &n);
    x = between;
    step_forward();
    x = input;
    give(between);
}

void scenario_pool_inside(void)
{
    in_pool(borrowing_forward, lend);
}

/* The replay's input is memory that nobody has written, whatever stood there before. */
static void take_unwritten(void)
{
    give(x);
    x = borrow();
}

void scenario_pool_unwritten(void)
{
    in_pool(step_forward, take_unwritten);
}

static void gather_from_queue(void)
{
    LAUNCH("gather", n, &queue, &where, &y, &n);
}

static void use_both(void)
{
    LAUNCH("enqueue", n, &queue, &x, &queue_row, &n);
    LAUNCH("fill", n, &scratch, &draws, &n);
}

/* The queue begins where others' memory ends, and nobody knows which of its bytes are read. */
void scenario_neighbours(void)
{
    enum { BYTES = 4096 }; /* with nothing between it and the next */
    begin_job();
    scratch = allocate(BYTES);
    result("queue", &queue, WORDS(ROWS * n));
    where = allocate(WORDS(1));
    if (scratch + BYTES != queue)
        check_call(CUDA_ERROR_UNKNOWN, "the second of two neighbours");
    run_steps(gather_from_queue, use_both);
}
