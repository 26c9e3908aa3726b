/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are given a table of pointers instead of the pointers, as batched products
 * do it: nothing in their arguments tells where they write. */
#include "tests/seen/job.h"

#include <stdbool.h>
#include <unistd.h>

/* As step_state, by rows[0] for the state and rows[1] for y. */
static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry step_rows(.param .u64 rows, .param .u64 x, .param .u32 n)\n{\n"
    ".reg .pred %p<2>; .reg .b32 %r<14>; .reg .b64 %rd<12>;\n"
    "ld.param.u64 %rd1, [rows]; ld.param.u64 %rd2, [x]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 ret;\n"
    "mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r6, [%rd4];\n"
    "ld.global.u64 %rd5, [%rd1]; ld.global.u64 %rd6, [%rd1+8];\n"
    "add.s64 %rd7, %rd5, %rd3; add.s64 %rd8, %rd6, %rd3; ld.u32 %r7, [%rd7];\n"
    "mad.lo.u32 %r8, %r7, 3, %r6; st.u32 [%rd8], %r8;\n"
    "mad.lo.u32 %r9, %r7, 5, %r6; add.u32 %r10, %r9, 1; st.u32 [%rd7], %r10; ret;\n}\n"
    /* rows[0] = state, by a kernel */
    ".visible .entry put_rows(.param .u64 rows, .param .u64 state)\n{\n"
    ".reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [rows]; ld.param.u64 %rd2, [state]; st.global.u64 [%rd1], %rd2; ret;\n}\n";

static CUdeviceptr table, spare;
static CUfunction step_rows, put_rows;
static CUstream stream, other;
static CUdeviceptr *pinned;

static void upload(CUdeviceptr first)
{
    const CUdeviceptr rows_[2] = {first, y};
    CU(cuMemcpyHtoD(table, rows_, sizeof rows_));
}

/* The state has a name by a kernel that is given it. */
static void begin(void)
{
    CUmodule module;
    CU(cuModuleLoadData(&module, text));
    CU(cuModuleGetFunction(&step_rows, module, "step_rows"));
    CU(cuModuleGetFunction(&put_rows, module, "put_rows"));
    table = allocate(2 * sizeof(CUdeviceptr));
    spare = allocate(WORDS(n));
    LAUNCH("step_state", &state, &x, &y, &n);
    upload(state);
}

static void step(CUstream in)
{
    void *params[] = {&table, &x, &n};
    CU(cuLaunchKernel(step_rows, (N + 127) / 128, 1, 1, 128, 1, 1, 0, in, params, NULL));
}

static void forward(void)
{
    step(NULL);
}

static void copied_before(void)
{
    begin();
    run_steps(forward, NULL);
}

/* The replay finds another table, and must not go by it. */
static void use_spare(void)
{
    upload(spare);
}

static void changed_between(void)
{
    begin();
    for (int i = 1; i <= STEPS; i++) {
        upload(state);
        run_step(i, forward, use_spare, forward);
    }
}

static void upload_and_step(void)
{
    upload(state);
    step(NULL);
}

static void copied_in_forward(void)
{
    begin();
    run_steps(upload_and_step, NULL);
}

/* ---- what is not known ---------------------------------------------------------- */

static void put(void)
{
    void *params[] = {&table, &state};
    CU(cuLaunchKernel(put_rows, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void put_by_kernel(void)
{
    begin();
    put();
    run_steps(forward, NULL);
}

static void upload_later(void)
{
    pinned[0] = state;
    pinned[1] = y;
    CU(cuMemcpyHtoDAsync(table, pinned, 2 * sizeof *pinned, stream));
    CU(cuStreamSynchronize(stream));
}

static void copied_in_a_stream(void)
{
    begin();
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuMemHostAlloc((void **)&pinned, 2 * sizeof *pinned, 0));
    upload_later();
    run_steps(forward, NULL);
}

static void in_host_memory(void)
{
    begin();
    CU(cuMemHostAlloc((void **)&pinned, 2 * sizeof *pinned, CU_MEMHOSTALLOC_DEVICEMAP));
    pinned[0] = state;
    pinned[1] = y;
    CU(cuMemHostGetDevicePointer(&table, pinned, 0));
    run_steps(forward, NULL);
}

/* By a graph, of what a host function puts there once the graph is on its way. */
static CUdeviceptr rows_of_host[2];
static _Atomic bool is_on_its_way;

static void fill_rows(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000 && !is_on_its_way; i++)
        usleep(1000);
    rows_of_host[0] = state;
}

static void copied_by_a_graph(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUcontext context;
    begin();
    rows_of_host[0] = spare;
    rows_of_host[1] = y;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = rows_of_host,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = table,
                          .WidthInBytes = sizeof rows_of_host, .Height = 1, .Depth = 1};
    CU(cuCtxGetCurrent(&context));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuLaunchHostFunc(NULL, fill_rows, NULL));
    CU(cuGraphLaunch(exec, NULL));
    is_on_its_way = true;
    CU(cuCtxSynchronize());
    run_steps(forward, NULL);
}

/* A stream that waits for nobody may have run anything before the copy, or after it. */
static void beside_a_free_stream(void)
{
    begin();
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    run_steps(forward, NULL);
}

/* The table is written again by a stream that nothing makes wait. */
static void step_in_stream(void)
{
    step(stream);
}

static void overtake(void)
{
    void *params[] = {&table, &spare};
    CU(cuStreamSynchronize(stream)); /* it is right, but not by what streams wait for */
    CU(cuLaunchKernel(put_rows, 1, 1, 1, 1, 1, 1, 0, other, params, NULL));
    CU(cuCtxSynchronize());
    upload(state);
}

static void overtaken(void)
{
    begin();
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    run_steps(step_in_stream, overtake);
}

const struct scenario table_scenarios[] = {
    {"table-copied-before", copied_before},
    {"table-copied-in-forward", copied_in_forward},
    {"table-changed-between", changed_between},
    {"table-put-by-kernel", put_by_kernel},
    {"table-copied-in-a-stream", copied_in_a_stream},
    {"table-in-host-memory", in_host_memory},
    {"table-copied-by-a-graph", copied_by_a_graph},
    {"table-beside-a-free-stream", beside_a_free_stream},
    {"table-overtaken", overtaken},
    {0}};
