/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: instantiation, launch, update. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/graph.h"
#include "cuda/soft/api/node.h"
#include "cuda/soft/api/timeline.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS                                                                                \
    ((uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |                                   \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                                                \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |                                         \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static CUresult exec_find(CUgraphExec handle, struct soft_exec **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_exec(handle);
    return CUDA_SUCCESS;
}

/* ---- instantiation ----------------------------------------------------------------- */

static CUresult instantiate(struct soft_graph *graph, uint64_t flags, struct soft_exec **out)
{
    struct soft_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL || !soft_handle_add(exec, SOFT_HANDLE_EXEC)) {
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->flags = flags;
    exec->graph = soft_graph_copy(graph);
    if (exec->graph == NULL || !soft_graph_sort(exec->graph)) {
        CUresult result = exec->graph != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
        if (exec->graph != NULL)
            soft_graph_destroy(exec->graph);
        soft_handle_remove(exec);
        free(exec);
        return result;
    }
    *out = exec;
    return CUDA_SUCCESS;
}

static CUresult instantiate_handle(CUgraphExec *out, CUgraph handle, uint64_t flags)
{
    struct soft_graph *graph;
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (flags & ~KNOWN_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if ((flags & (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
        return soft_leave(soft_refuse("graphs that are launched by the device"));
    result = soft_graph_find(handle, &graph);
    if (result == CUDA_SUCCESS)
        result = instantiate(graph, flags, &exec);
    if (result == CUDA_SUCCESS)
        *out = exec_handle(exec);
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                             unsigned long long flags)
{
    return instantiate_handle(phGraphExec, hGraph, flags);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                       CUgraphNode *phErrorNode, char *logBuffer,
                                       size_t bufferSize)
{
    if (phErrorNode != NULL)
        *phErrorNode = NULL;
    if (logBuffer != NULL && bufferSize > 0)
        logBuffer[0] = '\0';
    return instantiate_handle(phGraphExec, hGraph, 0);
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                    CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    if (instantiateParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = instantiate_handle(phGraphExec, hGraph, instantiateParams->flags);
    instantiateParams->hErrNode_out = NULL;
    instantiateParams->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = exec_find(hGraphExec, &exec);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    soft_handle_remove(exec);
    soft_graph_destroy(exec->graph);
    soft_op_release(exec->last);
    free(exec);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = flags != NULL ? exec_find(hGraphExec, &exec) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = exec->flags;
    return soft_leave(result);
}

/* ---- launch ------------------------------------------------------------------------ */

static struct soft_op *marker_after(struct soft_context *context, struct soft_op *earlier)
{
    struct soft_op *op = soft_op_create(context, soft_work_marker());
    if (op != NULL)
        soft_op_after(op, earlier);
    return op;
}

static struct soft_op *submit_graph(struct soft_graph *graph, struct soft_context *context,
                                    uint64_t stream, struct soft_op *start);

/* The operation of one node, submitted, with a reference. */
static struct soft_op *submit_node(struct soft_node *node, struct soft_context *context,
                                   uint64_t stream, struct soft_op *start)
{
    struct soft_event *event = NULL;
    bool has_work = node->work != NULL && !node->disabled;
    struct soft_op *op = soft_op_create(node->context != NULL ? node->context : context,
                                        has_work ? soft_work_retain(node->work)
                                                 : soft_work_marker());
    if (op == NULL)
        return NULL;
    op->stream = stream;
    if (node->from_count == 0)
        soft_op_after(op, start);
    for (size_t i = 0; i < node->from_count; i++)
        soft_op_after(op, node->from[i]->op);
    if (node->event != NULL)
        soft_event_find(node->event, &event);
    if (event != NULL && node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
        soft_op_after(op, event->op);
    if (event != NULL && node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        soft_op_release(event->op);
        event->op = soft_op_retain(op);
    }
    soft_op_submit(op);
    if (node->child == NULL)
        return op;
    struct soft_op *end = submit_graph(node->child, op->context, stream, op);
    soft_op_release(op);
    return end;
}

/* All nodes after `start`; the marker that comes after them all, submitted. Short of memory it
 * submits what it can and answers NULL: order is kept, work is missing, and the call fails. */
static struct soft_op *submit_graph(struct soft_graph *graph, struct soft_context *context,
                                    uint64_t stream, struct soft_op *start)
{
    struct soft_op *end = marker_after(context, start);
    bool whole = end != NULL;
    size_t count = 0;

    for (; count < graph->count && whole; count++) {
        struct soft_node *node = graph->nodes[count];
        node->op = submit_node(node, context, stream, start);
        if (node->op == NULL)
            break;
        soft_op_after(end, node->op);
    }
    whole = whole && count == graph->count;
    for (size_t i = 0; i < count; i++)
        soft_op_release(graph->nodes[i]->op);
    if (end == NULL)
        return NULL;
    end->stream = stream;
    soft_op_submit(end);
    if (whole)
        return end;
    soft_op_release(end);
    return NULL;
}

CUresult soft_exec_launch(struct soft_exec *exec, struct soft_stream *stream)
{
    struct soft_op *start = soft_op_create(stream->context, soft_work_marker());
    if (start == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_timeline_begin_graph();
    soft_stream_order(stream, start);
    soft_op_after(start, exec->last);
    soft_stream_append(stream, start);
    struct soft_op *end = submit_graph(exec->graph, stream->context, stream->id, start);
    soft_timeline_end_graph();
    soft_op_release(start);
    if (end == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_op_release(stream->tail);
    stream->tail = soft_op_retain(end);
    soft_op_release(exec->last);
    exec->last = end;
    return CUDA_SUCCESS;
}

/* Into a capturing stream, a launch is a child graph. */
static CUresult launch_into_capture(const struct soft_exec *exec, struct soft_stream *stream)
{
    struct soft_node *node;
    struct soft_graph *copy = soft_graph_copy(exec->graph);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_capture_add_node(stream, CU_GRAPH_NODE_TYPE_GRAPH, NULL, &node);
    if (result != CUDA_SUCCESS) {
        soft_graph_destroy(copy);
        return result;
    }
    node->child = copy;
    copy->owner = node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_exec *exec;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = exec_find(hGraph, &exec);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, hStream, &stream);
    if (result == CUDA_SUCCESS)
        result = soft_capture_check(stream);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (stream->capture != NULL)
        return soft_leave(launch_into_capture(exec, stream));
    return soft_leave(soft_exec_launch(exec, stream));
}

/* Nothing has to be brought anywhere; in the order of the stream that is a moment. */
CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_exec *exec;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = exec_find(hGraph, &exec);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, hStream, &stream);
    if (result == CUDA_SUCCESS)
        result = soft_stream_submit(stream, soft_work_marker(), NULL);
    return soft_leave(result);
}

/* ---- changing an executable -------------------------------------------------------- */

/* The copy of the node, which the program names by the original's handle. */
static struct soft_node *find_copy(const struct soft_graph *graph, CUgraphNode handle)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct soft_node *node = graph->nodes[i];
        if (node->origin == handle_node(handle))
            return node;
        if (node->child != NULL) {
            struct soft_node *inner = find_copy(node->child, handle);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

CUresult soft_exec_node(CUgraphExec exec_handle_, CUgraphNode node_handle_, CUgraphNodeType type,
                        struct soft_node **out)
{
    struct soft_exec *exec;
    CUresult result = exec_find(exec_handle_, &exec);
    if (result != CUDA_SUCCESS)
        return result;
    *out = find_copy(exec->graph, node_handle_);
    return *out != NULL && (*out)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool can_be_disabled(const struct soft_node *node)
{
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL || node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int isEnabled)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = exec_find(hGraphExec, &exec);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_node *node = find_copy(exec->graph, hNode);
    if (node == NULL || !can_be_disabled(node))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    node->disabled = isEnabled == 0;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int *isEnabled)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = isEnabled != NULL ? exec_find(hGraphExec, &exec) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    const struct soft_node *node = find_copy(exec->graph, hNode);
    if (node == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *isEnabled = !node->disabled;
    return soft_leave(CUDA_SUCCESS);
}

/* Index of a node in its graph. */
static size_t place_of(const struct soft_node *node)
{
    for (size_t i = 0; i < node->graph->count; i++)
        if (node->graph->nodes[i] == node)
            return i;
    return SIZE_MAX;
}

/* Do two graphs, both sorted by the same rule, have the same nodes and edges? */
static CUgraphExecUpdateResult compare(const struct soft_graph *old, const struct soft_graph *new,
                                       const struct soft_node **where)
{
    *where = NULL;
    if (old->count != new->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < old->count; i++) {
        const struct soft_node *was = old->nodes[i], *is = new->nodes[i];
        *where = is->origin;
        if (was->type != is->type)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (was->from_count != is->from_count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (size_t j = 0; j < was->from_count; j++)
            if (place_of(was->from[j]) != place_of(is->from[j]))
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (was->child != NULL) {
            CUgraphExecUpdateResult inner = compare(was->child, is->child, where);
            if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS)
                return inner;
        }
    }
    *where = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The old executable's nodes keep their names and switches. */
static void inherit_names(const struct soft_graph *old, struct soft_graph *new)
{
    for (size_t i = 0; i < old->count; i++) {
        new->nodes[i]->origin = old->nodes[i]->origin;
        new->nodes[i]->disabled = old->nodes[i]->disabled;
        if (old->nodes[i]->child != NULL)
            inherit_names(old->nodes[i]->child, new->nodes[i]->child);
    }
}

static CUresult update(CUgraphExec exec_handle_, CUgraph graph_handle_,
                       CUgraphExecUpdateResult *verdict, CUgraphNode *where)
{
    const struct soft_node *culprit;
    struct soft_graph *graph;
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = exec_find(exec_handle_, &exec);
    if (result == CUDA_SUCCESS)
        result = soft_graph_find(graph_handle_, &graph);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_graph *fresh = soft_graph_copy(graph);
    if (fresh == NULL || !soft_graph_sort(fresh)) {
        if (fresh != NULL)
            soft_graph_destroy(fresh);
        return soft_leave(fresh != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY);
    }
    *verdict = compare(exec->graph, fresh, &culprit);
    *where = (CUgraphNode)(uintptr_t)culprit;
    if (*verdict != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        soft_graph_destroy(fresh);
        return soft_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    }
    inherit_names(exec->graph, fresh);
    soft_graph_destroy(exec->graph);
    exec->graph = fresh;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphNode *hErrorNode_out,
                                   CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResult verdict = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUgraphNode where = NULL;
    CUresult result = update(hGraphExec, hGraph, &verdict, &where);
    if (hErrorNode_out != NULL)
        *hErrorNode_out = where;
    if (updateResult_out != NULL)
        *updateResult_out = verdict;
    return result;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo *resultInfo)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult result = update(hGraphExec, hGraph, &info.result, &info.errorNode);
    if (resultInfo != NULL)
        *resultInfo = info;
    return result;
}
