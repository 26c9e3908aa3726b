/* SPDX-License-Identifier: Apache-2.0 */
/* From chunk to chunk. Damage costs as little as it can: the lengths in a chunk's header have a
 * check of their own, so a chunk whose payload is broken is skipped; where a header is broken the
 * search for the next one goes byte by byte. */
#include "tracker/array.h"
#include "tracker/trace_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <zstd.h>

/* The input ended where more was due: because it can't be read, or there is no more. */
static enum rp_status breaks_off(struct rp_trace_reader *reader, const char *where)
{
    reader->finished = true;
    if (reader->input.error == ENOMEM)
        return rp_trace_report(reader, RP_NO_MEMORY, "out of memory");
    if (reader->input.error != 0)
        return rp_trace_report(reader, RP_IO, "can't be read: %s", strerror(reader->input.error));
    reader->broken_off = true;
    return rp_trace_report(
        reader, RP_DAMAGED,
        "breaks off %s, after %" PRIu64 " events (byte %" PRIu64 "): the job was "
        "killed, or still runs, or the disk was full, or the file was cut",
        where, reader->next_id, reader->input.offset + (reader->input.end - reader->input.begin));
}

/* ---- headers ----------------------------------------------------------------------- */

/* Looks for the next whole header. True when the window begins with it. */
static bool find_header(struct rp_trace_reader *reader, struct rp_trace_chunk *chunk)
{
    for (;;) {
        rp_input_skip(&reader->input, 1);
        size_t have = rp_input_want(&reader->input, RP_INPUT_READ_BYTES);
        if (have < RP_TRACE_CHUNK_BYTES) {
            rp_input_skip(&reader->input, have);
            return false;
        }
        size_t last = have - RP_TRACE_CHUNK_BYTES;
        const uint8_t *found =
            memmem(rp_input_window(&reader->input), last + 4, RP_TRACE_CHUNK_MARKER, 4);
        if (found == NULL) {
            rp_input_skip(&reader->input, last);
            continue;
        }
        rp_input_skip(&reader->input, (size_t)(found - rp_input_window(&reader->input)));
        if (rp_trace_chunk_unpack(rp_input_window(&reader->input), chunk))
            return true;
    }
}

static enum rp_status resume_behind_damage(struct rp_trace_reader *reader)
{
    uint64_t begin = reader->input.offset;

    reader->has_resumed = find_header(reader, &reader->resumed);
    if (!reader->has_resumed) {
        if (reader->input.error != 0)
            return breaks_off(reader, "in damaged bytes");
        reader->finished = true;
        return rp_trace_report(reader, RP_DAMAGED,
                               "is damaged from byte %" PRIu64 " to its end, after %" PRIu64
                               " events",
                               begin, reader->next_id);
    }
    uint64_t first = reader->resumed.first_event;
    uint64_t lost = first > reader->next_id ? first - reader->next_id : 0;
    enum rp_status status = rp_trace_report(reader, RP_DAMAGED,
                                            "is damaged from byte %" PRIu64 " to %" PRIu64
                                            ": %" PRIu64 " events are lost",
                                            begin, reader->input.offset - 1, lost);
    reader->next_id = first;
    return status;
}

/* The next header, which stays in the window. */
static enum rp_status next_header(struct rp_trace_reader *reader, struct rp_trace_chunk *chunk)
{
    if (reader->has_resumed) {
        *chunk = reader->resumed;
        reader->has_resumed = false;
        return RP_OK;
    }
    size_t have = rp_input_want(&reader->input, RP_TRACE_CHUNK_BYTES);
    if (have == 0)
        return breaks_off(reader, "without its end mark");
    size_t marker = have < 4 ? have : 4;
    if (have < RP_TRACE_CHUNK_BYTES &&
        memcmp(rp_input_window(&reader->input), RP_TRACE_CHUNK_MARKER, marker) == 0)
        return breaks_off(reader, "in the header of a chunk");
    if (have < RP_TRACE_CHUNK_BYTES ||
        !rp_trace_chunk_unpack(rp_input_window(&reader->input), chunk))
        return resume_behind_damage(reader);
    return RP_OK;
}

/* A chunk that can't be used, though its header can. */
static enum rp_status lose_chunk(struct rp_trace_reader *reader, const struct rp_trace_chunk *chunk,
                                 uint64_t at, const char *why)
{
    enum rp_status status =
        rp_trace_report(reader, RP_DAMAGED, "%s at byte %" PRIu64 ": %" PRIu64 " events are lost",
                        why, at, chunk->first_event + chunk->event_count - reader->next_id);

    reader->next_id = chunk->first_event + chunk->event_count;
    reader->in_chunk = false;
    return status;
}

static enum rp_status unpack(struct rp_trace_reader *reader, struct rp_trace_packed *packed,
                             const struct rp_trace_chunk *chunk, const uint8_t *frame)
{
    uint8_t *raw = rp_array_reserve(packed->raw, &packed->raw_capacity, chunk->raw_bytes, 1);

    if (raw == NULL)
        return RP_NO_MEMORY;
    packed->raw = raw;
    packed->chunk = *chunk;
    if (reader->zstd == NULL && (reader->zstd = ZSTD_createDCtx()) == NULL)
        return RP_NO_MEMORY;
    return ZSTD_decompressDCtx(reader->zstd, raw, chunk->raw_bytes, frame, chunk->stored_bytes) ==
                   chunk->raw_bytes
               ? RP_OK
               : RP_DAMAGED;
}

static void begin(struct rp_trace_packed *packed)
{
    rp_trace_decoder_begin(&packed->decoder, packed->raw, packed->chunk.raw_bytes,
                           packed->chunk.time_ns, packed->chunk.thread);
}

/* ---- tallies ---------------------------------------------------------------------- */

/* Whether the rows are those of the chunk, and none is of a type that is needed in full. */
static bool serves(struct rp_trace_reader *reader)
{
    struct rp_trace_packed *tally = &reader->tally;
    struct rp_event row;
    enum rp_status status;
    uint64_t counted = 0;

    begin(tally);
    while ((status = rp_trace_decode(&tally->decoder, &row)) == RP_OK) {
        if (row.time_ns - counted > tally->chunk.event_count ||
            reader->needs(reader->needs_ctx, row.def))
            return false;
        counted = row.time_ns;
    }
    return status == RP_END && counted == tally->chunk.event_count;
}

static enum rp_status read_tally(struct rp_trace_reader *reader, const struct rp_trace_chunk *chunk)
{
    size_t whole = RP_TRACE_CHUNK_BYTES + (size_t)chunk->stored_bytes;
    uint64_t at = reader->input.offset;
    enum rp_status status = RP_OK;

    if (rp_input_want(&reader->input, whole) < whole)
        return breaks_off(reader, "in a tally");
    const uint8_t *frame = rp_input_window(&reader->input) + RP_TRACE_CHUNK_BYTES;
    if (rp_trace_hash(frame, chunk->stored_bytes) != chunk->check)
        status = rp_trace_report(reader, RP_DAMAGED,
                                 "has a damaged tally at byte %" PRIu64 ": no event is lost", at);
    else if (reader->needs != NULL && unpack(reader, &reader->tally, chunk, frame) == RP_OK)
        reader->has_tally = serves(reader);
    rp_input_skip(&reader->input, whole);
    return status;
}

/* Whether the tally that was read is that of this chunk. It serves for one chunk only. */
static bool take_tally(struct rp_trace_reader *reader, const struct rp_trace_chunk *chunk)
{
    bool had = reader->has_tally;

    reader->has_tally = false;
    return had && reader->tally.chunk.first_event == chunk->first_event &&
           reader->tally.chunk.event_count == chunk->event_count;
}

/* The next row, as an event that stands for many. */
static enum rp_status next_row(struct rp_trace_reader *reader, struct rp_event *event)
{
    enum rp_status status = rp_trace_decode(&reader->tally.decoder, event);

    if (status == RP_OK) {
        event->count = event->time_ns - reader->counted;
        reader->counted = event->time_ns;
        event->id = reader->events.chunk.first_event;
        event->time_ns = reader->events.chunk.time_ns;
        event->thread = reader->events.chunk.thread;
        return RP_OK;
    }
    reader->in_tally = false;
    reader->next_id += reader->events.chunk.event_count;
    return status;
}

/* ---- events ----------------------------------------------------------------------- */

static enum rp_status read_payload(struct rp_trace_reader *reader,
                                   const struct rp_trace_chunk *chunk)
{
    size_t whole = RP_TRACE_CHUNK_BYTES + (size_t)chunk->stored_bytes;
    uint64_t at = reader->input.offset;

    if (rp_input_want(&reader->input, whole) < whole)
        return breaks_off(reader, "in a chunk");
    const uint8_t *frame = rp_input_window(&reader->input) + RP_TRACE_CHUNK_BYTES;
    bool good = rp_trace_hash(frame, chunk->stored_bytes) == chunk->check;
    reader->in_tally = take_tally(reader, chunk) && good;
    enum rp_status status = good ? RP_OK : RP_DAMAGED;
    if (good && !reader->in_tally)
        status = unpack(reader, &reader->events, chunk, frame);
    rp_input_skip(&reader->input, whole);
    if (status == RP_NO_MEMORY)
        return rp_trace_report(reader, status, "out of memory");
    if (status != RP_OK)
        return lose_chunk(reader, chunk, at, "has a damaged chunk");
    reader->events.chunk = *chunk;
    reader->chunk_at = at;
    reader->counted = 0;
    reader->in_chunk = !reader->in_tally;
    begin(reader->in_tally ? &reader->tally : &reader->events);
    return RP_OK;
}

/* Behind the end mark there is nothing, and nothing will come: whatever stands there, such as a
 * second trace, would be passed over. */
static enum rp_status end_here(struct rp_trace_reader *reader)
{
    rp_input_skip(&reader->input, RP_TRACE_CHUNK_BYTES);
    reader->finished = true;
    reader->input.grows = false;
    uint64_t end = reader->input.offset;
    bool more = rp_input_want(&reader->input, 1) > 0;
    rp_input_release(&reader->input);
    if (reader->input.error != 0)
        return breaks_off(reader, "behind its end mark");
    if (!more)
        return RP_END;
    return rp_trace_report(reader, RP_DAMAGED,
                           "goes on behind its end mark, at byte %" PRIu64 ", after %" PRIu64
                           " events: two files in one, or damage",
                           end, reader->next_id);
}

/* Whether all bytes of the next chunk are there, or damaged ones, which need no more. */
static bool is_there(struct rp_trace_reader *reader)
{
    struct rp_trace_chunk chunk;

    if (rp_input_want(&reader->input, RP_TRACE_CHUNK_BYTES) < RP_TRACE_CHUNK_BYTES)
        return false;
    if (!rp_trace_chunk_unpack(rp_input_window(&reader->input), &chunk) ||
        chunk.stored_bytes > RP_TRACE_MAX_STORED)
        return true;
    size_t whole = RP_TRACE_CHUNK_BYTES + (size_t)chunk.stored_bytes;
    return rp_input_want(&reader->input, whole) >= whole;
}

enum rp_status rp_trace_chunk_open(struct rp_trace_reader *reader)
{
    struct rp_trace_chunk chunk = {.flags = 0};

    if (reader->input.grows && !is_there(reader) && reader->input.error == 0)
        return RP_END;
    enum rp_status status = next_header(reader, &chunk);

    if (status != RP_OK)
        return status;
    if (chunk.first_event != reader->next_id) { /* whole chunks were cut out or put in */
        reader->resumed = chunk;
        reader->has_resumed = true;
        status = rp_trace_report(reader, RP_DAMAGED,
                                 "goes on with event %" PRIu64 " where event %" PRIu64
                                 " was due, at byte %" PRIu64,
                                 chunk.first_event, reader->next_id, reader->input.offset);
        reader->next_id = chunk.first_event;
        return status;
    }
    if (chunk.flags == RP_TRACE_CHUNK_END)
        return end_here(reader);
    if ((chunk.flags != 0 && chunk.flags != RP_TRACE_CHUNK_TALLY) ||
        chunk.stored_bytes > RP_TRACE_MAX_STORED || chunk.raw_bytes > RP_TRACE_MAX_RAW)
        return resume_behind_damage(reader); /* no writer makes such a header */
    return chunk.flags == RP_TRACE_CHUNK_TALLY ? read_tally(reader, &chunk)
                                               : read_payload(reader, &chunk);
}

/* The next event of the chunk that is unpacked; RP_END behind its last. */
static enum rp_status next_event(struct rp_trace_reader *reader, struct rp_event *event)
{
    const struct rp_trace_chunk *chunk = &reader->events.chunk;
    enum rp_status status = rp_trace_decode(&reader->events.decoder, event);
    bool all_there = reader->next_id == chunk->first_event + chunk->event_count;

    if (status == RP_OK && !all_there) {
        event->id = reader->next_id++;
        event->count = 1;
        return RP_OK;
    }
    reader->in_chunk = false;
    if (status == RP_END && all_there)
        return RP_END;
    if (status != RP_NO_MEMORY)
        return lose_chunk(reader, chunk, reader->chunk_at, "has a chunk that makes no sense");
    reader->finished = true;
    return rp_trace_report(reader, status, "out of memory");
}

enum rp_status rp_trace_chunk_next(struct rp_trace_reader *reader, struct rp_event *event)
{
    return reader->in_tally ? next_row(reader, event) : next_event(reader, event);
}
