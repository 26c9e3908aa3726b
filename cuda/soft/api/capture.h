/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: work that is submitted to a capturing stream becomes nodes of a graph.
 *
 * A capture begins in one stream and spreads to others that wait for an event recorded in it.
 * Each of its streams knows the nodes that its next one comes after. Mistakes invalidate a
 * capture: everything in it then fails until the stream that began it ends it. */
#ifndef RP_CUDA_SOFT_API_CAPTURE_H
#define RP_CUDA_SOFT_API_CAPTURE_H

#include "cuda/soft/api/graph.h"

struct soft_capture {
    struct soft_capture *next;
    uint64_t id;                /* never given twice */
    struct soft_graph *graph;
    bool graph_is_ours;         /* false: of the program, cuStreamBeginCaptureToGraph */
    struct soft_stream *origin; /* where it began; NULL once that stream is gone */
    CUstreamCaptureMode mode;
    uint64_t thread;            /* that began it */
    bool invalid;
};

/* May work be submitted to the stream now? Invalidates captures that it would disturb. */
CUresult soft_capture_check(struct soft_stream *stream);
/* Answers for a call that a capturing stream forbids (waiting, asking), and invalidates the
 * capture; CUDA_SUCCESS when the stream does not capture. */
CUresult soft_capture_forbid(struct soft_stream *stream);
/* The same for calls that are unsafe while anything is captured, for threads and modes that
 * do not allow them. */
CUresult soft_capture_forbid_unsafe(struct soft_context *context);

/* `work` becomes a node; takes over the reference. The second form is for nodes without. */
CUresult soft_capture_add(struct soft_stream *stream, struct soft_work *work);
CUresult soft_capture_add_node(struct soft_stream *stream, CUgraphNodeType type,
                               struct soft_work *work, struct soft_node **out);

/* cuEventRecord in a capturing stream; cuStreamWaitEvent where either side captures. */
CUresult soft_capture_record(struct soft_stream *stream, struct soft_event *event);
CUresult soft_capture_wait(struct soft_stream *stream, struct soft_event *event);
/* The event was recorded outside a capture, or dies. */
void soft_capture_forget(struct soft_event *event);

/* The stream dies: its capture is invalidated. */
void soft_capture_drop_stream(struct soft_stream *stream);

/* ---- for the entry points ---- */

CUresult soft_capture_begin(struct soft_stream *stream, CUstreamCaptureMode mode,
                            struct soft_graph *graph, struct soft_capture **out);
/* Ends it; *graph is what was captured. Anything but CUDA_SUCCESS means that it is dropped. */
CUresult soft_capture_end(struct soft_stream *stream, struct soft_graph **graph);
/* Replaces or extends what the stream's next node comes after. */
CUresult soft_capture_set_fronts(struct soft_stream *stream, struct soft_node *const *nodes,
                                 size_t count, bool extend);
/* True when a blocking stream of the context captures, so that its legacy stream may not be
 * used. */
bool soft_capture_blocks_legacy(const struct soft_stream *stream);

#endif
