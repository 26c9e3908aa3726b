/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t rp_trace_hash(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}

/* ---- the file: magic 8, version 2, lowest reader 2, properties 4, check 8 ---------- */

enum { FILE_VERSION = 8, FILE_LOWEST = 10, FILE_PROPERTIES = 12, FILE_CHECK = 16 };

static uint64_t file_check(const uint8_t *header, const uint8_t *properties, size_t bytes)
{
    return XXH3_64bits_withSeed(properties, bytes, rp_trace_hash(header, FILE_CHECK));
}

void rp_trace_header_pack(uint8_t out[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                          uint32_t bytes)
{
    memcpy(out, RP_TRACE_MAGIC, FILE_VERSION);
    rp_put_fixed(out + FILE_VERSION, RP_TRACE_VERSION, 2);
    rp_put_fixed(out + FILE_LOWEST, RP_TRACE_LOWEST_READER, 2);
    rp_put_fixed(out + FILE_PROPERTIES, bytes, 4);
    rp_trace_header_check(out, properties, bytes);
}

void rp_trace_header_check(uint8_t header[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                           uint32_t bytes)
{
    rp_put_fixed(header + FILE_CHECK, file_check(header, properties, bytes), 8);
}

enum rp_trace_header_state rp_trace_header_unpack(const uint8_t in[RP_TRACE_HEADER_BYTES],
                                                  struct rp_trace_header *header)
{
    header->version = (uint16_t)rp_get_fixed(in + FILE_VERSION, 2);
    header->lowest_reader = (uint16_t)rp_get_fixed(in + FILE_LOWEST, 2);
    header->properties_bytes = (uint32_t)rp_get_fixed(in + FILE_PROPERTIES, 4);
    header->check = rp_get_fixed(in + FILE_CHECK, 8);
    if (memcmp(in, RP_TRACE_MAGIC, FILE_VERSION) != 0)
        return RP_TRACE_HEADER_FOREIGN;
    return header->lowest_reader > RP_TRACE_VERSION ? RP_TRACE_HEADER_NEWER : RP_TRACE_HEADER_GOOD;
}

bool rp_trace_header_matches(const uint8_t in[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                             const struct rp_trace_header *header)
{
    return file_check(in, properties, header->properties_bytes) == header->check;
}

/* ---- a chunk: marker 4, flags 4, stored 4, raw 4, events 4, own check 4, then four of 8 - */

enum {
    CHUNK_FLAGS = 4,
    CHUNK_STORED = 8,
    CHUNK_RAW = 12,
    CHUNK_EVENTS = 16,
    CHUNK_OWN_CHECK = 20,
    CHUNK_FIRST = 24,
    CHUNK_THREAD = 32,
    CHUNK_TIME = 40,
    CHUNK_CHECK = 48
};

static uint64_t chunk_own_check(const uint8_t *in)
{
    uint8_t copy[RP_TRACE_CHUNK_BYTES];

    memcpy(copy, in, sizeof(copy));
    memset(copy + CHUNK_OWN_CHECK, 0, 4);
    return rp_trace_hash(copy, sizeof(copy)) & UINT32_MAX;
}

void rp_trace_chunk_pack(uint8_t out[RP_TRACE_CHUNK_BYTES], const struct rp_trace_chunk *chunk)
{
    memcpy(out, RP_TRACE_CHUNK_MARKER, CHUNK_FLAGS);
    rp_put_fixed(out + CHUNK_FLAGS, chunk->flags, 4);
    rp_put_fixed(out + CHUNK_STORED, chunk->stored_bytes, 4);
    rp_put_fixed(out + CHUNK_RAW, chunk->raw_bytes, 4);
    rp_put_fixed(out + CHUNK_EVENTS, chunk->event_count, 4);
    rp_put_fixed(out + CHUNK_FIRST, chunk->first_event, 8);
    rp_put_fixed(out + CHUNK_THREAD, chunk->thread, 8);
    rp_put_fixed(out + CHUNK_TIME, chunk->time_ns, 8);
    rp_put_fixed(out + CHUNK_CHECK, chunk->check, 8);
    rp_put_fixed(out + CHUNK_OWN_CHECK, chunk_own_check(out), 4);
}

bool rp_trace_chunk_unpack(const uint8_t in[RP_TRACE_CHUNK_BYTES], struct rp_trace_chunk *chunk)
{
    *chunk = (struct rp_trace_chunk){
        .flags = (uint32_t)rp_get_fixed(in + CHUNK_FLAGS, 4),
        .stored_bytes = (uint32_t)rp_get_fixed(in + CHUNK_STORED, 4),
        .raw_bytes = (uint32_t)rp_get_fixed(in + CHUNK_RAW, 4),
        .event_count = (uint32_t)rp_get_fixed(in + CHUNK_EVENTS, 4),
        .first_event = rp_get_fixed(in + CHUNK_FIRST, 8),
        .thread = rp_get_fixed(in + CHUNK_THREAD, 8),
        .time_ns = rp_get_fixed(in + CHUNK_TIME, 8),
        .check = rp_get_fixed(in + CHUNK_CHECK, 8),
    };
    return memcmp(in, RP_TRACE_CHUNK_MARKER, CHUNK_FLAGS) == 0 &&
           rp_get_fixed(in + CHUNK_OWN_CHECK, 4) == chunk_own_check(in);
}
