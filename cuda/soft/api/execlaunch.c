/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of graphs: an operation a node, and one before and after them all. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/graph.h"
#include "cuda/soft/api/queue.h"
#include "cuda/soft/api/timeline.h"

static struct soft_op *marker_after(struct soft_context *context, struct soft_op *earlier)
{
    struct soft_op *op = soft_op_create(context, soft_work_marker());
    if (op != NULL)
        soft_op_after(op, earlier);
    return op;
}

/* What all operations of a launch share with the stream that it is in. */
struct place {
    uint64_t stream;
    struct soft_queue *queue;
};

static void submit(struct soft_op *op, const struct place *place)
{
    op->stream = place->stream;
    soft_queue_enter(place->queue, op);
    soft_op_submit(op);
}

static struct soft_op *submit_graph(struct soft_graph *graph, struct soft_context *context,
                                    const struct place *place, struct soft_op *start);

/* The works of a batch after `first`, which stands for the node; the last of them, or `first`
 * where there is none. NULL short of memory. Takes the reference to `first` over. */
static struct soft_op *submit_parts(const struct soft_work *work, struct soft_op *first,
                                    const struct place *place)
{
    size_t count = 0;
    struct soft_work *const *parts = work->type->parts(work, &count);
    for (size_t i = 0; i < count && first != NULL; i++) {
        struct soft_op *next = soft_op_create(first->context, soft_work_retain(parts[i]));
        if (next != NULL) {
            soft_op_after(next, first);
            submit(next, place);
        }
        soft_op_release(first);
        first = next;
    }
    return first;
}

/* The operation of one node, submitted, with a reference. */
static struct soft_op *submit_node(struct soft_node *node, struct soft_context *context,
                                   const struct place *place, struct soft_op *start)
{
    struct soft_event *event = NULL;
    bool has_work = node->work != NULL && !node->disabled;
    struct soft_op *op =
        soft_op_create(node->context != NULL ? node->context : context,
                       has_work ? soft_work_retain(node->work) : soft_work_marker());
    if (op == NULL)
        return NULL;
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
    submit(op, place);
    if (has_work && node->work->type->parts != NULL)
        return submit_parts(node->work, op, place);
    if (node->child == NULL)
        return op;
    struct soft_op *end = submit_graph(node->child, op->context, place, op);
    soft_op_release(op);
    return end;
}

/* All nodes after `start`; the marker that comes after them all, submitted. Short of memory it
 * submits what it can and answers NULL: order is kept, work is missing, and the call fails. */
static struct soft_op *submit_graph(struct soft_graph *graph, struct soft_context *context,
                                    const struct place *place, struct soft_op *start)
{
    struct soft_op *end = marker_after(context, start);
    bool whole = end != NULL;
    size_t count = 0;

    for (; count < graph->count && whole; count++) {
        struct soft_node *node = graph->nodes[count];
        node->op = submit_node(node, context, place, start);
        if (node->op == NULL)
            break;
        soft_op_after(end, node->op);
    }
    whole = whole && count == graph->count;
    for (size_t i = 0; i < count; i++)
        soft_op_release(graph->nodes[i]->op);
    if (end == NULL)
        return NULL;
    submit(end, place);
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
    const struct place place = {stream->id, stream->queue};
    struct soft_op *end = submit_graph(exec->graph, stream->context, &place, start);
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
    result = soft_exec_find(hGraph, &exec);
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
    result = soft_exec_find(hGraph, &exec);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, hStream, &stream);
    if (result == CUDA_SUCCESS)
        result = soft_stream_submit(stream, soft_work_marker(), NULL);
    return soft_leave(result);
}
