/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a chunk into events. Internal to tracker/.
 *
 * The input may be hostile: every length is checked, and the memory taken is bounded by the
 * limits of the format. */
#ifndef RP_TRACKER_TRACE_DECODE_H
#define RP_TRACKER_TRACE_DECODE_H

#include "tracker/trace.h"

#define RP_TRACE_MAX_DEFINITIONS 16384u /* different ones, in a whole file */

struct rp_trace_definition {
    struct rp_event_def def;
    uint32_t numbers; /* fields that are written as differences */
    uint64_t hash;
    size_t bytes;
    char *strings; /* where def's names point to */
};

struct rp_trace_decoder {
    /* The same definition in another chunk is the same pointer, while the reader lives. */
    struct rp_trace_definition **definitions;
    size_t definition_count, definition_capacity;

    /* The chunk. `end` is where its times begin that are still to come. */
    const uint8_t *at, *end;
    bool times_inside; /* version 1: each event's time stands behind its tag */
    uint64_t event_tag; /* of the chunk's first type */
    uint64_t time_ns, thread;
    struct decoder_type {
        const struct rp_trace_definition *definition;
        size_t last_at;
    } *types;
    size_t type_count, type_capacity;
    uint64_t *last;
    size_t last_count, last_capacity;
    struct decoder_name {
        const char *text;
        size_t length;
    } *names;
    size_t name_count, name_capacity;
    /* The latest events, of which a group may be made: as many as came one by one. */
    struct decoder_event {
        const struct rp_event_def *def;
        union rp_value values[RP_EVENT_MAX_FIELDS];
    } latest[RP_TRACE_GROUP_EVENTS];
    uint32_t latest_at, singles;
    struct decoder_group {
        uint32_t count;
        size_t first_event, first_move, move_count;
    } *groups;
    size_t group_count, group_capacity;
    struct decoder_event *group_events;
    size_t group_event_count, group_event_capacity;
    struct decoder_move {
        uint8_t event, field, slot;
    } *moves;
    size_t move_count, move_capacity;
    const struct decoder_group *coming; /* a group that comes again: its events from `next` on */
    uint32_t next;
};

void rp_trace_decoder_release(struct rp_trace_decoder *decoder);
/* What comes is of this version of the format. */
void rp_trace_decoder_expect(struct rp_trace_decoder *decoder, unsigned version);
/* Begins a chunk; `raw` must stay until the next. */
void rp_trace_decoder_begin(struct rp_trace_decoder *decoder, const uint8_t *raw, size_t bytes,
                            uint64_t time_ns, uint64_t thread);
/* The next event of the chunk, but for its id. RP_END behind the last; RP_DAMAGED when the
 * records make no sense; RP_NO_MEMORY. */
enum rp_status rp_trace_decode(struct rp_trace_decoder *decoder, struct rp_event *event);

/* ---- trace_regroup.c: what comes again ---- */
enum rp_status rp_trace_decode_group(struct rp_trace_decoder *decoder);
enum rp_status rp_trace_decode_again(struct rp_trace_decoder *decoder);
/* The next event of the group that comes again; without its time. */
const struct decoder_event *rp_trace_decode_coming(struct rp_trace_decoder *decoder);

#endif
