/* SPDX-License-Identifier: Apache-2.0 */
/* The trace on disk: what writer and reader share. trace-format.md is the grammar; numbers
 * are little-endian. Internal to tracker/. */
#ifndef RP_TRACKER_TRACE_FORMAT_H
#define RP_TRACKER_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RP_TRACE_MAGIC "\x89RPT\r\n\x1a\n" /* breaks visibly when it passes through a text mode */
#define RP_TRACE_VERSION 3
#define RP_TRACE_LOWEST_READER 3 /* the oldest reader that understands what is written today */

/* What no file may exceed, so that a hostile one can't claim memory. */
#define RP_TRACE_MAX_PROPERTIES (1u << 20)
#define RP_TRACE_MAX_RAW (16u << 20)
#define RP_TRACE_MAX_STORED (RP_TRACE_MAX_RAW + (1u << 17))
#define RP_TRACE_MAX_EVENT_TYPES 4096u /* in a chunk */
#define RP_TRACE_MAX_DEFINITION 4095u  /* bytes of one, without its tag */
#define RP_TRACE_MAX_NAMES 65536u      /* in a chunk */
#define RP_TRACE_MAX_GROUPS 1024u     /* in a chunk */
#define RP_TRACE_MAX_TEXT (512u << 10) /* longer texts are cut and end in "..." */

/* Tags of records; an event of the chunk's type n has the tag RP_TRACE_TAG_EVENT + n. */
enum {
    RP_TRACE_TAG_DEFINE,
    RP_TRACE_TAG_NAME,
    RP_TRACE_TAG_GROUP,
    RP_TRACE_TAG_AGAIN,
    RP_TRACE_TAG_EVENT,
    RP_TRACE_TAG_EVENT_2 = RP_TRACE_TAG_GROUP /* up to version 2, which had no groups */
};

/* ---- the header of the file ------------------------------------------------------- */

#define RP_TRACE_HEADER_BYTES 24

struct rp_trace_header {
    uint16_t version, lowest_reader;
    uint32_t properties_bytes; /* what follows */
    uint64_t check;            /* of all before it, and of the properties */
};

enum rp_trace_header_state {
    RP_TRACE_HEADER_GOOD,
    RP_TRACE_HEADER_FOREIGN, /* no trace at all */
    RP_TRACE_HEADER_NEWER    /* not for this reader; version and lowest_reader are set */
};

/* Writes the header of `properties` before it. */
void rp_trace_header_pack(uint8_t out[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                          uint32_t bytes);
/* Sets the check in a header again. */
void rp_trace_header_check(uint8_t header[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                           uint32_t bytes);
enum rp_trace_header_state rp_trace_header_unpack(const uint8_t in[RP_TRACE_HEADER_BYTES],
                                                  struct rp_trace_header *header);
bool rp_trace_header_matches(const uint8_t in[RP_TRACE_HEADER_BYTES], const uint8_t *properties,
                             const struct rp_trace_header *header);

/* ---- the header of a chunk -------------------------------------------------------- */

#define RP_TRACE_CHUNK_MARKER "RPC\x1a"
#define RP_TRACE_CHUNK_BYTES 56
#define RP_TRACE_CHUNK_END 1u   /* flag: the trace was closed; no payload, nothing follows */
#define RP_TRACE_CHUNK_TALLY 2u /* flag: of the chunk that follows; no events of its own */

struct rp_trace_chunk {
    uint32_t flags;
    uint32_t stored_bytes; /* of the zstd frame that follows */
    uint32_t raw_bytes;    /* what it holds */
    uint32_t event_count;
    uint64_t first_event; /* events in all chunks before it */
    uint64_t thread;
    uint64_t time_ns; /* of its first event, since the start of the trace */
    uint64_t check;   /* of the zstd frame */
};

/* The packed header carries a check of itself, so that its lengths can be trusted even when
 * the payload can't. Unpacking says whether this is a whole and right header. */
void rp_trace_chunk_pack(uint8_t out[RP_TRACE_CHUNK_BYTES], const struct rp_trace_chunk *chunk);
bool rp_trace_chunk_unpack(const uint8_t in[RP_TRACE_CHUNK_BYTES], struct rp_trace_chunk *chunk);

uint64_t rp_trace_hash(const void *bytes, size_t count);

/* ---- numbers ---------------------------------------------------------------------- */

#define RP_TRACE_MAX_VARINT 10

/* Seven bits a byte, lowest first, the top bit says that more follow. */
static inline uint8_t *rp_put_varint(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* False at the end of the input and for more than 64 bits. */
static inline bool rp_get_varint(const uint8_t **in, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && *in < end; shift += 7) {
        uint8_t byte = *(*in)++;
        if (shift == 63 && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

/* Signed numbers near zero become small unsigned ones: 0, -1, 1, -2, ... */
static inline uint64_t rp_zigzag(uint64_t value)
{
    return value << 1 ^ (0 - (value >> 63));
}

static inline uint64_t rp_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static inline uint8_t *rp_put_fixed(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

static inline uint64_t rp_get_fixed(const uint8_t *in, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)in[i] << (8 * i);
    return value;
}

static inline uint8_t *rp_put_bytes(uint8_t *out, const void *bytes, size_t count)
{
    out = rp_put_varint(out, count);
    if (count > 0)
        memcpy(out, bytes, count);
    return out + count;
}

#endif
