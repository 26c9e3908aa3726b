/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/graph.h"

#include "interpose/calls/graph_read.h"
#include "interpose/calls/handlers.h"
#include "interpose/calls/launch.h"
#include "interpose/run/core.h"

#include <stdlib.h>
#include <string.h>

static struct rp_exec **execs; /* in no order: jobs have tens of them */
static size_t exec_count, exec_capacity;

/* ---- nodes ----------------------------------------------------------------------- */

static void node_release(struct rp_node *node)
{
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
        free((void *)(uintptr_t)node->kernel.geometry.params);
    else if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        free(node->batch.items);
}

static uint64_t function_of(const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    return params->func ? (uintptr_t)params->func : (uintptr_t)params->kern;
}

void rp_node_set_kernel(struct rp_node *node, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    rp_handler_meet_function(function_of(params));
    struct rp_launched launch = {
        .kernel = rp_kernel_find(function_of(params)),
        .geometry = {.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                     .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                     .shared_bytes = params->sharedMemBytes}};
    rp_launched_gather(&launch, params->kernelParams, params->extra);
    struct rp_launch *geometry = &launch.geometry;
    unsigned char *copy = malloc(geometry->param_bytes + 1);
    if (copy)
        memcpy(copy, geometry->params, geometry->param_bytes);
    node_release(node);
    geometry->params = copy;
    geometry->param_bytes = copy ? geometry->param_bytes : 0;
    node->kernel.function = function_of(params);
    node->kernel.geometry = *geometry;
    node->kernel.gathered = copy && launch.gathered;
}

void rp_node_set_batch(struct rp_node *node, const CUstreamBatchMemOpParams *items, size_t count)
{
    CUstreamBatchMemOpParams *copy = calloc(count + 1, sizeof *copy);
    node_release(node);
    node->batch.items = copy;
    node->batch.count = copy ? count : 0;
    if (copy && count)
        memcpy(copy, items, count * sizeof *copy);
    else if (!copy)
        node->unknown = "the host is out of memory";
}

/* ---- executables ----------------------------------------------------------------- */

static void clear(struct rp_exec *exec)
{
    for (size_t i = 0; i < exec->count; i++)
        node_release(&exec->nodes[i]);
    exec->count = 0;
    exec->unknown = NULL;
}

struct rp_exec *rp_exec_find(uint64_t handle)
{
    for (size_t i = 0; i < exec_count; i++)
        if (execs[i]->handle == handle)
            return execs[i];
    return NULL;
}

static void exec_free(struct rp_exec *exec)
{
    clear(exec);
    free(exec->nodes);
    free(exec);
}

void rp_exec_forget(uint64_t handle)
{
    for (size_t i = 0; i < exec_count; i++) {
        if (execs[i]->handle != handle)
            continue;
        exec_free(execs[i]);
        execs[i] = execs[--exec_count];
        return;
    }
}

void rp_execs_forget(void)
{
    exec_count = 0;
}

static struct rp_exec *exec_add(uint64_t handle)
{
    if (exec_count == exec_capacity) {
        size_t capacity = exec_capacity ? exec_capacity * 2 : 16;
        struct rp_exec **bigger = realloc(execs, capacity * sizeof(void *));
        if (!bigger)
            return NULL;
        execs = bigger;
        exec_capacity = capacity;
    }
    struct rp_exec *exec = calloc(1, sizeof *exec);
    if (exec) {
        exec->handle = handle;
        execs[exec_count++] = exec;
    }
    return exec;
}

void rp_exec_read(uint64_t handle, CUgraph graph)
{
    struct rp_exec *exec = rp_exec_find(handle);
    if (!exec)
        exec = exec_add(handle);
    if (!exec)
        return; /* it then counts as made out of sight */
    clear(exec);
    if (!rp_graph_read(exec, graph, 0))
        exec->unknown = "its nodes can't be read";
}

struct rp_node *rp_exec_node(struct rp_exec *exec, CUgraphNode handle)
{
    for (size_t i = 0; i < exec->count; i++)
        if (exec->nodes[i].handle == (uintptr_t)handle)
            return &exec->nodes[i];
    exec->unknown = "a node was changed that is not one of those that it was read from";
    return NULL;
}

/* True when the node is in the child graph of `ancestor`, at whatever depth. */
static bool is_within(const struct rp_exec *exec, const struct rp_node *node, uint64_t ancestor)
{
    uint64_t parent = node->parent;
    while (parent && parent != ancestor) {
        uint64_t next = 0;
        for (size_t i = 0; i < exec->count; i++)
            if (exec->nodes[i].handle == parent)
                next = exec->nodes[i].parent;
        parent = next;
    }
    return parent != 0;
}

/* The new nodes are read at the end; they must be where the old ones were. */
static void move_tail(struct rp_exec *exec, size_t to, size_t from, size_t end)
{
    size_t count = exec->count - end;
    struct rp_node *tail = malloc((count + 1) * sizeof *tail);
    if (!tail) {
        exec->unknown = "the host is out of memory";
        return;
    }
    memcpy(tail, exec->nodes + end, count * sizeof *tail);
    memmove(exec->nodes + to + count, exec->nodes + from, (end - from) * sizeof *tail);
    memcpy(exec->nodes + to, tail, count * sizeof *tail);
    exec->count = to + count + (end - from);
    free(tail);
}

void rp_exec_set_child(struct rp_exec *exec, CUgraphNode handle, CUgraph child)
{
    const struct rp_node *parent = rp_exec_node(exec, handle);
    if (!parent)
        return;
    size_t first = (size_t)(parent - exec->nodes) + 1, last = first, end = exec->count;
    while (last < end && is_within(exec, &exec->nodes[last], (uintptr_t)handle))
        node_release(&exec->nodes[last++]);
    if (!rp_graph_read(exec, child, (uintptr_t)handle))
        exec->unknown = "the nodes of a child graph can't be read";
    move_tail(exec, first, last, end);
}
