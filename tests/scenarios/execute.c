/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/execute.h"

#include "tests/laws/driver.h"
#include "tests/scenarios/place.h"

#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct boxed {
    unsigned long long unrelated;
    CUdeviceptr a;
    unsigned long long more;
};

static struct {
    const struct program *program;
    bool replaying;
    CUdeviceptr at[MAX_BUFFERS]; /* 0: not alive */
    bool dropped[MAX_BUFFERS];
    CUdeviceptr tables; /* one pointer an op, for views that come by a table */
    CUgraphExec *graphs; /* one an op, or NULL */
    uint32_t host;
    int checks;
    void *uploads[256]; /* alive until the program ends: copies are asynchronous */
    int upload_count;
} run;

static CUdeviceptr address(const struct view *view)
{
    return view->buffer < 0 ? 0 : run.at[view->buffer] + view->offset;
}

/* ---- buffers ------------------------------------------------------------------------------- */

static void fill_tables(int buffer)
{
    for (int i = 0; i < run.program->op_count; i++) {
        const struct view *view = &run.program->ops[i].views[0];
        if (view->via != VIA_TABLED || view->buffer != buffer)
            continue;
        CUdeviceptr target = address(view);
        CU(MemcpyHtoD, run.tables + (CUdeviceptr)i * sizeof target, &target, sizeof target);
    }
}

static void allocate_buffer(int index)
{
    const struct buffer *buffer = &run.program->buffers[index];
    place_stream(0);
    if (buffer->pool) {
        size_t bytes;
        CU(ModuleGetGlobal, &run.at[index], &bytes, module, "pool");
        CU(MemsetD8, run.at[index], 0, buffer->bytes);
    } else if (buffer->pinned) {
        void *memory;
        CU(MemHostAlloc, &memory, buffer->bytes, CU_MEMHOSTALLOC_DEVICEMAP);
        memset(memory, 0, buffer->bytes);
        run.at[index] = (CUdeviceptr)(uintptr_t)memory; /* one address space for both */
    } else {
        run.at[index] = place_allocate(buffer->second, buffer->bytes);
    }
    CU(StreamSynchronize, NULL); /* zeroed before another stream has it */
    if (buffer->state)
        LAUNCH("tag", 1, &run.at[index]);
    fill_tables(index);
}

static void free_buffer(int index)
{
    const struct buffer *buffer = &run.program->buffers[index];
    place_stream(0);
    if (buffer->pinned)
        CU(MemFreeHost, (void *)(uintptr_t)run.at[index]);
    else if (!buffer->pool)
        CU(MemFree, run.at[index]);
    run.at[index] = 0;
}

static void print_digest(int index)
{
    const struct buffer *buffer = &run.program->buffers[index];
    void *bytes = malloc(buffer->bytes);
    CU(MemcpyDtoH, bytes, run.at[index], buffer->bytes);
    printf(" %s=%08x", buffer->name, (unsigned)XXH3_64bits(bytes, buffer->bytes));
    free(bytes);
}

static void check(void)
{
    places_drain();
    printf("%s %d", run.program->name, run.checks++);
    for (int i = 0; i < run.program->buffer_count; i++)
        if (run.at[i] && !run.dropped[i])
            print_digest(i);
    printf("\n");
}

/* ---- verbs --------------------------------------------------------------------------------- */

static uint32_t take_k(const struct op *op)
{
    return op->host_k ? run.host++ * 1000u : op->k;
}

static void launch(const struct op *op, CUstream stream)
{
    CUmodule from = place_module(op->stream);
    static const char *const ways[] = {"", "_boxed", "_tabled", "_global"};
    const struct view *view = op->views;
    CUdeviceptr a = address(&view[0]), b = address(&view[1]), c = address(&view[2]);
    CUdeviceptr table = run.tables + (CUdeviceptr)(op - run.program->ops) * sizeof table;
    struct boxed box = {7, a, 9};
    void *firsts[] = {&a, &box, &table, &a};
    uint32_t k = take_k(op);
    int n = (int)(op->views[op->verb->counted].bytes / sizeof(uint32_t));
    char name[48];
    n = op->verb->rows ? n / (int)k : n;
    snprintf(name, sizeof name, "%s%s", op->verb->name, ways[view->via]);
    launch_of(from, stream, name, op->verb->single ? 1 : n,
              (void *[]){firsts[view->via], &b, &c, &k, &n});
}

static void upload(const struct op *op, CUstream stream)
{
    uint64_t bytes = op->views[0].bytes;
    unsigned char *data = malloc(bytes);
    uint32_t k = take_k(op);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(k * 31u + i * 7u);
    if (run.upload_count == 256) {
        fprintf(stderr, "%s: more than 256 uploads\n", run.program->name);
        exit(2);
    }
    run.uploads[run.upload_count++] = data;
    CU(MemcpyHtoDAsync, address(&op->views[0]), data, bytes, stream);
}

static void issue(const struct op *op, CUstream stream)
{
    const struct view *views = op->views;
    switch (op->verb->kind) {
    case VERB_KERNEL: launch(op, stream); break;
    case VERB_SET:
        CU(MemsetD8Async, address(views), (unsigned char)take_k(op), views->bytes, stream);
        break;
    case VERB_COPY:
        CU(MemcpyDtoDAsync, address(views), address(&views[1]), views->bytes, stream);
        break;
    case VERB_UPLOAD: upload(op, stream); break;
    case VERB_CONTROL: break;
    }
}

static void capture(const struct op *op, CUgraphExec *exec)
{
    CUgraph graph;
    CUstream capturing = place_capturing(op->stream);
    CU(StreamBeginCapture, capturing, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    issue(op, capturing);
    CU(StreamEndCapture, capturing, &graph);
    CU(GraphInstantiate, exec, graph, 0);
    CU(GraphDestroy, graph);
}

static void do_verb(const struct op *op)
{
    CUgraphExec *exec = &run.graphs[op - run.program->ops];
    if (op->graph && !*exec)
        capture(op, exec);
    if (op->graph)
        CU(GraphLaunch, *exec, place_stream(op->stream));
    else
        issue(op, place_stream(op->stream));
}

static void drop(const struct op *op)
{
    run.dropped[op->views[0].buffer] = true;
    if (run.replaying)
        CU(MemsetD8Async, address(&op->views[0]), 0xee, op->views[0].bytes,
           place_stream(op->stream));
}

/* ---- segments ------------------------------------------------------------------------------ */

static void push(const struct op *op, const char *phase)
{
    char range[96];
    snprintf(range, sizeof range, "%s/%s/%s/%s", run.program->name,
             run.program->segments[op->segment], phase, op->key);
    nvtxRangePushA(range);
}

/* A buffer that is written as a whole holds something again. */
static void define(const struct op *op)
{
    for (int v = 0; op->kind == OP_VERB && v < MAX_VIEWS; v++) {
        const struct view *view = &op->views[v];
        if (view->buffer >= 0 && strchr("wm", op->verb->effects[v]) &&
            view->bytes == run.program->buffers[view->buffer].bytes)
            run.dropped[view->buffer] = false;
    }
}

/* What one operation does, on the host thread that it is for. */
static void act(const void *what)
{
    const struct op *op = what;
    switch (op->kind) {
    case OP_VERB: do_verb(op); break;
    case OP_ALLOCATE: allocate_buffer(op->views[0].buffer); break;
    case OP_FREE: free_buffer(op->views[0].buffer); break;
    case OP_BEGIN: nvtxRangePushA("step"); break;
    case OP_FINISH: nvtxRangePop(); break;
    case OP_FORWARD: push(op, "forward"); break;
    case OP_REPLAY:
        if (run.replaying)
            push(op, "replay");
        break;
    case OP_END:
        if (run.replaying || run.program->ops[op->closes].kind == OP_FORWARD)
            nvtxRangePop();
        break;
    case OP_DROP: drop(op); break;
    case OP_RECORD: place_record(op->event, op->stream); break;
    case OP_WAIT: place_wait(op->event, op->stream); break;
    case OP_SYNC: places_drain(); break;
    case OP_JOIN: place_join(); break;
    case OP_HOST: run.host += op->k; break;
    case OP_CHECK: check(); break;
    case OP_AGAIN: break;
    }
}

static void again(const struct op *op)
{
    for (int i = op->first; i <= op->last; i++) {
        const struct op *line = &run.program->ops[op->label + 1 + i];
        if (run.replaying)
            place_do(op->thread, op->waits, act, line);
        define(line);
    }
}

static void run_op(const struct op *op)
{
    if (op->replaying_only && !run.replaying)
        return;
    if (!op->replaying_only)
        define(op);
    if (op->kind == OP_AGAIN)
        again(op);
    else
        place_do(op->thread, op->waits, act, op);
}

void execute(const struct program *program, bool replaying)
{
    memset(&run, 0, sizeof run);
    run.program = program;
    run.replaying = replaying;
    run.tables = allocate((size_t)program->op_count * sizeof(CUdeviceptr));
    run.graphs = calloc((size_t)program->op_count, sizeof *run.graphs);
    for (int i = 0; i < program->op_count; i++)
        run_op(&program->ops[i]);
    places_drain();
    for (int i = 0; i < program->buffer_count; i++)
        if (run.at[i])
            free_buffer(i);
    for (int i = 0; i < program->op_count; i++)
        if (run.graphs[i])
            CU(GraphExecDestroy, run.graphs[i]);
    free(run.graphs);
    CU(MemFree, run.tables);
    for (int i = 0; i < run.upload_count; i++)
        free(run.uploads[i]);
}
