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
    bool is_launch;       /* the note of a launch */
    bool is_copy;         /* a call that copies or sets bytes */
    int stream, result;   /* indices of fields, -1 for none */
    uint64_t no_stream;   /* what a stream of 0 means: a default stream, or nothing */
    uint32_t arguments;   /* bit i: field i is an argument of the call, or a note's field */
    uint32_t texts;       /* bit i: field i is a text or a name */
    uint32_t letters;     /* of all its names */
    uint16_t name_length;
    uint16_t length[RP_EVENT_MAX_FIELDS]; /* of each field's name */
};

enum { RP_EVENT_SHAPES = 512 }; /* more types than most traces have; past them some take turns */
extern struct rp_event_shape rp_event_shapes[RP_EVENT_SHAPES];
const struct rp_event_shape *rp_event_shape_find(uint32_t slot, const struct rp_event_def *def);

/* Valid until the next call. Not thread-safe. */
static inline const struct rp_event_shape *rp_event_shape(const struct rp_event_def *def)
{
    uint32_t slot = (uint32_t)((uintptr_t)def >> 6) * 0x9E3779B1u >> 23;
    const struct rp_event_shape *shape = &rp_event_shapes[slot];

    return shape->def == def ? shape : rp_event_shape_find(slot, def);
}

/* Definitions live as long as their reader: to be called when one is closed. */
void rp_event_shapes_forget(void);

#endif
