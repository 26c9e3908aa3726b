/* SPDX-License-Identifier: Apache-2.0 */
/* What is worth knowing of an event type before a million of its events are printed. */
#ifndef RP_TOOLS_EVENT_SHAPE_H
#define RP_TOOLS_EVENT_SHAPE_H

#include "tracker/trace.h"

enum { RP_STREAM_LEGACY = 1, RP_STREAM_PER_THREAD = 2 }; /* the handles that cuda.h has for them */

struct rp_event_shape {
    const struct rp_event_def *def;
    bool enters, leaves;
    bool tells_step;      /* a note that says which step it is */
    int stream, result;   /* indices of fields, -1 for none */
    uint64_t no_stream;   /* what a stream of 0 means: a default stream, or nothing */
    uint32_t arguments;   /* bit i: field i is an argument of the call, or a note's field */
    size_t name_length;
    size_t length[RP_EVENT_MAX_FIELDS]; /* of each field's name */
};

/* Valid until the next call. Not thread-safe. */
const struct rp_event_shape *rp_event_shape(const struct rp_event_def *def);
/* Definitions live as long as their reader: to be called when one is closed. */
void rp_event_shapes_forget(void);

#endif
