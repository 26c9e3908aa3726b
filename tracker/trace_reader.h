/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's state, shared by the file that opens and asks (trace_reader.c) and the one that goes
 * through chunks (trace_chunks.c). Internal to tracker/. */
#ifndef RP_TRACKER_TRACE_READER_H
#define RP_TRACKER_TRACE_READER_H

#include "tracker/trace.h"
#include "tracker/trace_decode.h"
#include "tracker/trace_format.h"
#include "tracker/trace_input.h"

/* The records of one chunk. */
struct rp_trace_packed {
    struct rp_trace_chunk chunk;
    uint8_t *raw; /* unpacked */
    size_t raw_capacity;
    struct rp_trace_decoder decoder;
};

struct rp_trace_reader {
    char *path;
    char message[512];
    struct rp_trace_input input;
    unsigned version; /* of the format */
    bool finished; /* nothing more will come */
    bool broken_off;
    bool damaged;
    struct rp_trace_chunk resumed; /* behind damage: the header that was found */
    bool has_resumed;

    struct property {
        char *key, *value;
    } * properties;
    size_t property_count;

    struct ZSTD_DCtx_s *zstd;
    struct rp_trace_packed events, tally;
    uint64_t chunk_at; /* where the chunk of the events began */
    uint64_t next_id;
    bool in_chunk;

    /* For who only counts. */
    bool (*needs)(void *ctx, const struct rp_event_def *def);
    void *needs_ctx;
    bool has_tally; /* of the chunk that follows, and it serves */
    bool in_tally;
    uint64_t counted; /* events in the rows so far */
};

/* Sets the message; returns `status`. */
__attribute__((format(printf, 3, 4))) enum rp_status
rp_trace_report(struct rp_trace_reader *reader, enum rp_status status, const char *format, ...);

/* The next event or row of the chunk that is open. RP_END behind its last. */
enum rp_status rp_trace_chunk_next(struct rp_trace_reader *reader, struct rp_event *event);
/* Opens the next chunk, or passes something that holds no events. RP_END behind the end mark. */
enum rp_status rp_trace_chunk_open(struct rp_trace_reader *reader);

#endif
