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
    union rp_value values[RP_EVENT_MAX_FIELDS];
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

#endif
