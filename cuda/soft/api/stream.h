/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: the rules for who comes after whom.
 *
 * What is submitted to a stream comes after what was submitted to it before. What is submitted
 * to a context's legacy default stream comes after everything in its blocking streams, and
 * everything submitted to those later comes after it. A stream that captures adds nodes to
 * a graph instead. */
#ifndef RP_CUDA_SOFT_API_STREAM_H
#define RP_CUDA_SOFT_API_STREAM_H

#include "cuda/soft/api/work.h"

struct soft_capture;
struct soft_graph;
struct soft_node;
struct soft_queue;

#define SOFT_STREAM_ATTRIBUTES 4

struct soft_stream {
    struct soft_stream *next; /* in its context */
    struct soft_context *context;
    uint64_t id;
    unsigned flags; /* CU_STREAM_NON_BLOCKING */
    int priority;
    CUstreamAttrValue attributes[SOFT_STREAM_ATTRIBUTES]; /* streamattr.c */
    bool destroyed;           /* gone for the program, work still pending */
    uint64_t thread;          /* the thread whose default stream it is, or 0 */
    struct soft_op *tail;     /* the last operation submitted, or NULL */
    struct soft_op *last;     /* the last that is more than a record of an event, or NULL, ... */
    struct soft_op *ahead;    /* ... and the one that it came after */
    struct soft_queue *queue; /* what is pending */
    struct soft_capture *capture;
    /* While capturing: the nodes that the next one depends on. */
    struct soft_node **fronts;
    size_t front_count, front_capacity;
};

/* The stream that a handle from the program means for the calling thread in `context`:
 * NULL and the two default handles too. */
CUresult soft_stream_find(struct soft_context *context, CUstream handle, struct soft_stream **out);
/* soft_enter, with that stream: the lock is not held where there is none. */
CUresult soft_stream_enter(CUstream handle, struct soft_stream **out);
CUresult soft_stream_create(struct soft_context *context, unsigned flags, int priority,
                            struct soft_stream **out);
/* For the program it is gone at once; it stays while others may have to come after it. */
void soft_stream_destroy(struct soft_stream *stream);
void soft_stream_forget(struct soft_stream *stream); /* with its context, which is idle */

/* Submits `work` in stream order, taking over the caller's reference also on failure. With
 * `op` not NULL the operation comes back with a reference; NULL comes back while capturing. */
CUresult soft_stream_submit(struct soft_stream *stream, struct soft_work *work,
                            struct soft_op **op);
/* The same for a launch: where it need not wait for the kernel ahead of it to end it is submitted
 * beside that, and all that comes later comes after both. */
CUresult soft_stream_submit_launch(struct soft_stream *stream, struct soft_work *work);
/* For operations with more predecessors than the stream's own: `op` is to come after all
 * that stands in the stream, respectively is submitted and becomes its tail. */
void soft_stream_order(struct soft_stream *stream, struct soft_op *op);
void soft_stream_append(struct soft_stream *stream, struct soft_op *op);

/* Frees streams that were destroyed and whose work is done: nobody has to come after it now. */
void soft_streams_reap(struct soft_context *context);

/* Waits for all that stands in the stream; answers its context's fault. */
CUresult soft_stream_wait(struct soft_stream *stream);

struct soft_event {
    struct soft_event *next; /* in its context */
    struct soft_context *context;
    unsigned flags;
    struct soft_op *op;               /* the last record here, or NULL */
    struct soft_shared_event *shared; /* with other processes (ipc.h), or NULL */
    int shared_file;
    /* When the last record was captured: the capture's id, and what a waiter comes after. */
    uint64_t capture;
    struct soft_node **fronts;
    size_t front_count;
};
CUresult soft_event_create(struct soft_context *context, unsigned flags, struct soft_event **out);
CUresult soft_event_find(CUevent handle, struct soft_event **out);
void soft_event_destroy(struct soft_event *event);

#endif
