/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture is. The entry points are in capturecalls.c. */
#include "cuda/soft/api/capture.h"

#include "cuda/soft/api/context.h"

#include <stdlib.h>
#include <string.h>

static struct soft_capture *captures; /* under way */

static struct soft_capture *find_capture(uint64_t id)
{
    struct soft_capture *capture = captures;
    while (capture != NULL && capture->id != id)
        capture = capture->next;
    return capture;
}

/* ---- what a capture forbids -------------------------------------------------------- */

/* The captures that use of this legacy stream would disturb: those in blocking streams. */
static bool disturb(const struct soft_stream *legacy, bool invalidate)
{
    bool any = false;
    if (legacy != legacy->context->legacy)
        return false;
    for (struct soft_stream *each = legacy->context->streams; each != NULL; each = each->next) {
        if (each->capture == NULL || (each->flags & CU_STREAM_NON_BLOCKING))
            continue;
        any = true;
        if (invalidate)
            each->capture->invalid = true;
    }
    return any;
}

bool soft_capture_blocks_legacy(const struct soft_stream *stream)
{
    return disturb(stream, false);
}

CUresult soft_capture_check(struct soft_stream *stream)
{
    if (stream->capture != NULL)
        return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    return disturb(stream, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult soft_capture_forbid(struct soft_stream *stream)
{
    if (stream->capture != NULL) {
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return disturb(stream, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

static bool forbids(const struct soft_capture *capture)
{
    bool is_own = capture->thread == soft_thread.id;
    if (soft_thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (is_own)
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return soft_thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult soft_capture_forbid_unsafe(struct soft_context *context)
{
    CUresult result = CUDA_SUCCESS;
    (void)context; /* a capture concerns all contexts of the process */
    for (struct soft_capture *capture = captures; capture != NULL; capture = capture->next) {
        if (!forbids(capture))
            continue;
        capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

/* ---- the nodes that come next ------------------------------------------------------ */

static bool has_front(const struct soft_stream *stream, const struct soft_node *node)
{
    for (size_t i = 0; i < stream->front_count; i++)
        if (stream->fronts[i] == node)
            return true;
    return false;
}

CUresult soft_capture_set_fronts(struct soft_stream *stream, struct soft_node *const *nodes,
                                 size_t count, bool extend)
{
    size_t most = count + (extend ? stream->front_count : 0);

    if (most > stream->front_capacity) {
        struct soft_node **fronts = realloc(stream->fronts, most * sizeof(struct soft_node *));
        if (fronts == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        stream->fronts = fronts;
        stream->front_capacity = most;
    }
    if (!extend)
        stream->front_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!has_front(stream, nodes[i]))
            stream->fronts[stream->front_count++] = nodes[i];
    return CUDA_SUCCESS;
}

CUresult soft_capture_add_node(struct soft_stream *stream, CUgraphNodeType type,
                               struct soft_work *work, struct soft_node **out)
{
    struct soft_node *node;
    CUresult result = soft_graph_add(stream->capture->graph, type, work, stream->fronts,
                                     stream->front_count, &node);
    if (result != CUDA_SUCCESS)
        return result;
    node->context = stream->context;
    *out = node;
    return soft_capture_set_fronts(stream, &node, 1, false);
}

CUresult soft_capture_add(struct soft_stream *stream, struct soft_work *work)
{
    struct soft_node *node;
    if (work->type->capturable)
        return soft_capture_add_node(stream, work->type->node, work, &node);
    stream->capture->invalid = true;
    soft_work_release(work);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- events ------------------------------------------------------------------------ */

void soft_capture_forget(struct soft_event *event)
{
    free(event->fronts);
    event->fronts = NULL;
    event->front_count = 0;
    event->capture = 0;
}

CUresult soft_capture_record(struct soft_stream *stream, struct soft_event *event)
{
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    size_t bytes = stream->front_count * sizeof(struct soft_node *);
    struct soft_node **fronts = malloc(bytes + 1);
    if (fronts == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes > 0)
        memcpy(fronts, stream->fronts, bytes);
    soft_capture_forget(event);
    event->fronts = fronts;
    event->front_count = stream->front_count;
    event->capture = stream->capture->id;
    return CUDA_SUCCESS;
}

CUresult soft_capture_wait(struct soft_stream *stream, struct soft_event *event)
{
    struct soft_capture *capture = find_capture(event->capture);

    if (event->capture == 0) { /* only the stream captures */
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (capture == NULL) /* the capture of the event is over */
        return CUDA_ERROR_CAPTURED_EVENT;
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->invalid = capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream == stream->context->legacy) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    bool joins = stream->capture == NULL;
    CUresult result =
        soft_capture_set_fronts(stream, event->fronts, event->front_count, !joins);
    if (result == CUDA_SUCCESS)
        stream->capture = capture;
    return result;
}

/* ---- life -------------------------------------------------------------------------- */

CUresult soft_capture_begin(struct soft_stream *stream, CUstreamCaptureMode mode,
                            struct soft_graph *graph, struct soft_capture **out)
{
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct soft_capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    capture->graph = graph != NULL ? graph : soft_graph_create();
    if (capture->graph == NULL) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (soft_thread.id == 0)
        soft_thread.id = ++soft.next_id;
    capture->graph_is_ours = graph == NULL;
    capture->id = ++soft.next_id;
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = soft_thread.id;
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    stream->front_count = 0;
    *out = capture;
    return CUDA_SUCCESS;
}

static void leave_all(struct soft_capture *capture)
{
    for (struct soft_context *context = soft.contexts; context != NULL; context = context->next)
        for (struct soft_stream *each = context->streams; each != NULL; each = each->next)
            if (each->capture == capture) {
                each->capture = NULL;
                each->front_count = 0;
            }
}

static void free_capture(struct soft_capture *capture, bool with_graph)
{
    struct soft_capture **at = &captures;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    leave_all(capture);
    if (with_graph && capture->graph_is_ours)
        soft_graph_destroy(capture->graph);
    free(capture);
}

void soft_capture_drop_stream(struct soft_stream *stream)
{
    struct soft_capture *capture = stream->capture;
    if (capture == NULL)
        return;
    capture->invalid = true;
    stream->capture = NULL;
    stream->front_count = 0;
    if (capture->origin == stream)
        free_capture(capture, true); /* nobody can end it any more */
}

/* Marks `node` and all that it comes after. */
static void mark_history(struct soft_node *node)
{
    if (node->mark != 0)
        return;
    node->mark = 1;
    for (size_t i = 0; i < node->from_count; i++)
        mark_history(node->from[i]);
}

/* Does the origin come after everything that its capture's other streams did? */
static bool is_joined(const struct soft_capture *capture)
{
    for (size_t i = 0; i < capture->graph->count; i++)
        capture->graph->nodes[i]->mark = 0;
    for (size_t i = 0; i < capture->origin->front_count; i++)
        mark_history(capture->origin->fronts[i]);
    for (struct soft_context *context = soft.contexts; context != NULL; context = context->next)
        for (struct soft_stream *each = context->streams; each != NULL; each = each->next)
            for (size_t i = 0; each->capture == capture && i < each->front_count; i++)
                if (each->fronts[i]->mark == 0)
                    return false;
    return true;
}

CUresult soft_capture_end(struct soft_stream *stream, struct soft_graph **graph)
{
    struct soft_capture *capture = stream->capture;
    CUresult result = CUDA_SUCCESS;

    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != soft_thread.id)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = capture->graph;
    free_capture(capture, result != CUDA_SUCCESS);
    return result;
}
