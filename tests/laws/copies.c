/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are copied: away, on, and back again, by the device or through the host. */
#include "tests/laws/scenario.h"

#include <string.h>

static CUdeviceptr original, elsewhere, aside;
static uint32_t taken[N];
static unsigned noise = 99;

static void begin(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    original = x;
    elsewhere = allocate(WORDS(n));
    aside = allocate(WORDS(n));
}

/* The forward's input is taken away, its memory is used for something else, and it is put back in
 * some way before the replay. */
static void put_back(void (*take)(void), void (*put)(void))
{
    begin();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        x = original;
        set_input(step);
        in_range("forward/only", step_forward);
        take();
        LAUNCH("fill", n, &x, &noise, &n);
        put();
        replay("recompute/only", step_forward);
        backward();
        nvtxRangePop();
    }
}

static void take_on_device(void)
{
    CU(MemcpyDtoDAsync, aside, x, WORDS(n), NULL);
}

static void take_to_host(void)
{
    CU(MemcpyDtoH, taken, x, WORDS(n));
}

static void put_elsewhere(void)
{
    CU(MemcpyDtoDAsync, elsewhere, aside, WORDS(n), NULL);
    x = elsewhere;
}

static void put_in_pieces(void)
{
    size_t half = WORDS(n / 2);
    CU(MemcpyDtoDAsync, elsewhere + half, aside + half, WORDS(n) - half, NULL);
    CU(MemcpyDtoDAsync, elsewhere, aside, half, NULL);
    x = elsewhere;
}

static void put_from_host(void)
{
    x = elsewhere;
    CU(MemcpyHtoD, x, taken, WORDS(n));
}

static void put_where_it_was(void)
{
    CU(MemcpyHtoD, x, taken, WORDS(n));
}

/* Somebody writes the copy while it is away. */
static void put_tampered(void)
{
    CUdeviceptr word = aside + WORDS(n / 2);
    int one = 1;
    LAUNCH("fill", one, &word, &noise, &one);
    put_elsewhere();
}

static void put_tampered_from_host(void)
{
    taken[n / 2] ^= 1;
    put_from_host();
}

/* Byte for byte the same, but not where they belong. */
static void put_shifted(void)
{
    size_t half = WORDS(n / 2);
    CU(MemcpyDtoDAsync, elsewhere, aside + half, half, NULL);
    CU(MemcpyDtoDAsync, elsewhere + half, aside, half, NULL);
    x = elsewhere;
}

void scenario_moved(void)
{
    put_back(take_on_device, put_elsewhere);
}

void scenario_moved_in_pieces(void)
{
    put_back(take_on_device, put_in_pieces);
}

void scenario_moved_through_host(void)
{
    put_back(take_to_host, put_from_host);
}

/* Every step has the same input, made anew. */
void scenario_moved_alike(void)
{
    begin();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        x = original;
        set_input(0);
        in_range("forward/only", step_forward);
        take_to_host();
        LAUNCH("fill", n, &x, &noise, &n);
        put_from_host();
        replay("recompute/only", step_forward);
        backward();
        nvtxRangePop();
    }
}

void scenario_brought_back(void)
{
    put_back(take_to_host, put_where_it_was);
}

void scenario_tampered(void)
{
    put_back(take_on_device, put_tampered);
}

void scenario_tampered_on_host(void)
{
    put_back(take_to_host, put_tampered_from_host);
}

static CUstream side;
static volatile uint32_t *gate; /* that `side` waits at, of pinned memory */
static uint32_t *pinned;

static void take_to_pinned(void)
{
    CU(MemcpyDtoH, pinned, x, WORDS(n));
}

/* What the copy finds on the host is other than what lay there when it was called. */
static void put_tampered_on_its_way(void)
{
    *gate = 0;
    CU(StreamWaitValue32, side, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ);
    CU(MemcpyHtoDAsync, elsewhere, pinned, WORDS(n), side);
    pinned[n / 2] ^= 1;
    *gate = 1;
    CU(StreamSynchronize, side);
    x = elsewhere;
}

static void open_side(void)
{
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    CU(MemHostAlloc, (void **)(uintptr_t)&gate, sizeof *gate, 0);
}

void scenario_tampered_on_its_way(void)
{
    open_side();
    CU(MemHostAlloc, (void **)(uintptr_t)&pinned, WORDS(n), 0);
    put_back(take_to_pinned, put_tampered_on_its_way);
}

static void take_late(void)
{
    CU(StreamSynchronize, NULL);
    *gate = 0;
    CU(StreamWaitValue32, side, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ);
    CU(MemcpyDtoDAsync, aside, x, WORDS(n), side);
}

/* The copy is called before the write that follows it, and runs after. */
static void put_overtaken(void)
{
    CU(StreamSynchronize, NULL);
    *gate = 1;
    CU(StreamSynchronize, side);
    put_elsewhere();
}

void scenario_overtaken(void)
{
    open_side();
    put_back(take_late, put_overtaken);
}

/* ---- beside a stream that waits for nobody ------------------------------------------------ */

static void wait_for(CUstream waiting, CUstream other)
{
    static CUevent event;
    if (!event)
        CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, other);
    CU(StreamWaitEvent, waiting, event, 0);
}

/* The default stream itself is held up, and lets the other one pass. */
static void take_held_up(void)
{
    synchronize();
    *gate = 0;
    CU(StreamWaitValue32, NULL, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ);
    CU(MemcpyDtoDAsync, aside, x, WORDS(n), NULL);
    LAUNCH_IN(side, "fill", n, &x, &noise, &n);
    CU(StreamSynchronize, side);
    *gate = 1;
}

void scenario_passed_aside(void)
{
    open_side();
    put_back(take_held_up, put_elsewhere);
}

/* The copy comes too early for the input, which the other stream is still to write. */
static void set_late_input(int step, void (*between)(void))
{
    unsigned value = 1000u * (unsigned)step;
    synchronize();
    *gate = 0;
    CU(StreamWaitValue32, side, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ);
    LAUNCH_IN(side, "fill", n, &x, &value, &n);
    between();
    CU(MemcpyDtoDAsync, aside, x, WORDS(n), NULL);
    CU(StreamSynchronize, NULL);
    *gate = 1;
    CU(StreamSynchronize, side);
}

static void copy_too_early(void (*between)(void))
{
    begin();
    open_side();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        x = original;
        set_late_input(step, between);
        in_range("forward/only", step_forward);
        LAUNCH("fill", n, &x, &noise, &n);
        put_elsewhere();
        replay("recompute/only", step_forward);
        backward();
        nvtxRangePop();
    }
}

static void nothing(void)
{
}

void scenario_copied_too_early(void)
{
    copy_too_early(nothing);
}

/* The event that was recorded behind the input is recorded anew, by a graph that waits for nobody:
 * to wait for it orders nothing any more. */
static void wait_for_graphs_event(void)
{
    CUevent event;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream other;
    CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, side);
    CU(GraphCreate, &graph, 0);
    CU(GraphAddEventRecordNode, &node, graph, NULL, 0, event);
    CU(GraphInstantiate, &exec, graph, 0);
    CU(StreamCreate, &other, CU_STREAM_NON_BLOCKING);
    CU(GraphLaunch, exec, other);
    CU(StreamSynchronize, other);
    CU(StreamWaitEvent, NULL, event, 0);
    CU(GraphExecDestroy, exec);
    CU(GraphDestroy, graph);
}

void scenario_copied_after_graphs_event(void)
{
    copy_too_early(wait_for_graphs_event);
}

/* The same by a launch that waits for nobody. */
static void wait_for_launchs_event(void)
{
    CUevent event;
    CUstream other;
    CUfunction function;
    CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, side);
    CU(StreamCreate, &other, CU_STREAM_NON_BLOCKING);
    CUlaunchAttribute tells = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                               .value.launchCompletionEvent.event = event};
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
                             .blockDimY = 1, .blockDimZ = 1, .hStream = other,
                             .attrs = &tells, .numAttrs = 1};
    CU(ModuleGetFunction, &function, module, "fill");
    CU(LaunchKernelEx, &config, function, (void *[]){&aside, &noise, &n}, NULL);
    CU(StreamSynchronize, other);
    CU(StreamWaitEvent, NULL, event, 0);
}

void scenario_copied_after_launchs_event(void)
{
    copy_too_early(wait_for_launchs_event);
}

/* Another process might have recorded it since. */
static void wait_for_shared_event(void)
{
    CUevent event;
    CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    CU(EventRecord, event, side);
    CU(StreamWaitEvent, NULL, event, 0);
    *gate = 1;
}

void scenario_copied_after_shared_event(void)
{
    copy_too_early(wait_for_shared_event);
}

/* It does come after the input, but by an order that is not followed. */
static void wait_for_contexts_event(void)
{
    CUevent event;
    CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, side);
    CU(CtxRecordEvent, context, event);
    CU(StreamWaitEvent, NULL, event, 0);
    *gate = 1;
}

void scenario_copied_after_contexts_event(void)
{
    copy_too_early(wait_for_contexts_event);
}

/* The same streams, in turn: by events, and once by the host. */
void scenario_moved_beside(void)
{
    begin();
    open_side();
    for (int step = 1; step <= STEPS; step++) {
        unsigned value = 1000u * (unsigned)step;
        nvtxRangePushA("step");
        x = original;
        wait_for(side, NULL);
        LAUNCH_IN(side, "fill", n, &x, &value, &n);
        wait_for(NULL, side);
        in_range("forward/only", step_forward);
        take_on_device();
        wait_for(side, NULL);
        LAUNCH_IN(side, "fill", n, &x, &noise, &n);
        CU(StreamSynchronize, side);
        put_elsewhere();
        replay("recompute/only", step_forward);
        backward();
        nvtxRangePop();
    }
}

void scenario_shifted(void)
{
    put_back(take_on_device, put_shifted);
}

/* ---- segments that work on their input in place ------------------------------------------ */

static void in_place_forward(void)
{
    LAUNCH("append", n, &y, &x, &n);
    LAUNCH("step_state", n, &state_, &x, &scratch, &n);
}

static void copy_activation(void)
{
    CU(MemcpyDtoDAsync, y, x, WORDS(n), NULL);
}

static void set_activation(void)
{
    unsigned value = 5;
    LAUNCH("fill", n, &y, &value, &n);
}

static void (*make_activation)(void) = copy_activation;

/* The activation is its own input, which the job puts there again for the replay. */
static void in_place(void (*again)(void))
{
    begin();
    scratch = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        CU(MemcpyDtoH, taken, x, WORDS(n));
        make_activation();
        in_range("forward/only", in_place_forward);
        if (replaying) {
            again();
            in_range("recompute/only", in_place_forward);
        }
        backward();
        nvtxRangePop();
    }
}

static void again_from_host(void)
{
    CU(MemcpyHtoD, y, taken, WORDS(n));
}

void scenario_in_place(void)
{
    in_place(copy_activation);
}

void scenario_in_place_from_host(void)
{
    in_place(again_from_host);
}

static CUdeviceptr kept; /* the input, as the job keeps it */

static void again_by_rows(void)
{
    enum { LINES = 10 };
    const CUDA_MEMCPY2D rows_of = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = x,
                                   .srcPitch = WORDS(n / LINES),
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = y,
                                   .dstPitch = WORDS(n / LINES),
                                   .WidthInBytes = WORDS(n / LINES), .Height = LINES};
    CU(Memcpy2DAsync, &rows_of, NULL);
}

static void again_in_a_batch(void)
{
    size_t half = WORDS(n / 2), first = 0;
    CUdeviceptr to[] = {y, y + half}, from[] = {x, x + half};
    size_t sizes[] = {half, WORDS(n) - half};
    CUmemcpyAttributes way = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUstream stream = side;
    CU(MemcpyBatchAsync, to, from, sizes, 2, &way, &first, 1, stream);
    CU(StreamSynchronize, stream);
}

static void again_from_managed(void)
{
    if (!kept)
        CU(MemAllocManaged, &kept, WORDS(n), CU_MEM_ATTACH_GLOBAL);
    CU(Memcpy, kept, x, WORDS(n));
    CU(Memcpy, y, kept, WORDS(n));
}

static void again_by_set(void)
{
    CU(MemsetD8, y, 7, WORDS(n));
}

void scenario_in_place_by_rows(void)
{
    in_place(again_by_rows);
}

void scenario_in_place_in_a_batch(void)
{
    open_side();
    in_place(again_in_a_batch);
}

void scenario_in_place_from_managed(void)
{
    in_place(again_from_managed);
}

/* The first run's input is made in the same way. */
void scenario_in_place_by_kernel(void)
{
    make_activation = set_activation;
    in_place(set_activation);
}

void scenario_in_place_by_set(void)
{
    make_activation = again_by_set;
    in_place(again_by_set);
}

/* ---- state that the job itself brings back ------------------------------------------------- */

static void bring_other(void)
{
    for (int i = 0; i < n; i++)
        taken[i] = 17u * (unsigned)i;
    CU(MemcpyHtoD, state_, taken, WORDS(n));
}

/* Between forward and replay the state is replaced from the host: the replay needs the old one. */
void scenario_state_brought(void)
{
    begin();
    run_steps(step_forward, bring_other);
}
