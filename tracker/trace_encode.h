/* SPDX-License-Identifier: Apache-2.0 */
/* Events into the records of a chunk. Internal to tracker/.
 *
 * A coder holds the dictionaries of the chunk that one thread is filling: which event types
 * and names the chunk has already defined, and the last value of each numeric field, from
 * which the next one is written as a difference. All of it starts anew with each chunk, so
 * that any chunk can be read without the others. Nothing here is thread-safe. */
#ifndef RP_TRACKER_TRACE_ENCODE_H
#define RP_TRACKER_TRACE_ENCODE_H

#include "tracker/trace.h"

#include <stdatomic.h>

struct rp_trace_brief;
struct rp_trace_tally;
struct tally_row;

#define RP_TALLY_ROW_SIZES 2 /* of a note's BYTES fields so many are added up */

/* A registered event type. */
struct rp_trace_type {
    const struct rp_event_def *def;
    uint32_t id;    /* in the writer */
    uint32_t bound; /* bytes of a record and its definitions at most, texts apart */
    uint32_t numbers;                        /* how many fields are written as differences */
    uint32_t text_count, name_count;         /* of these fields ... */
    uint8_t texts[RP_EVENT_MAX_FIELDS];      /* ... TEXT and NAME together, */
    uint8_t names[RP_EVENT_MAX_FIELDS];      /* NAME alone */
    uint32_t tally_names, tally_sizes;       /* how many NAME and BYTES fields a tally takes, */
    uint8_t sizes[RP_EVENT_MAX_FIELDS];      /* and which are these BYTES */
    struct rp_trace_brief *brief;            /* how it tells of them; made when first needed */
    uint32_t definition_bytes;
    uint8_t definition[]; /* the record that defines it */
};

/* NULL when the host is out of memory, or when `def` is too large. */
struct rp_trace_type *rp_trace_type_create(const struct rp_event_def *def, uint32_t id);
void rp_trace_type_destroy(struct rp_trace_type *type);

#define RP_TRACE_FILLING UINT64_MAX

/* Records on their way to the file: they grow from the front of `data`, their times from its
 * back, until the buffer is sealed. Between the two there is room for the times once more, so that
 * sealing copies them and what is there stays whole. */
struct rp_trace_buffer {
    struct rp_trace_buffer *next;
    uint64_t thread;
    /* For who finds it in a shelter: bytes of records, shifted by 32, plus the number of events,
     * all of them whole; and when it was queued, or RP_TRACE_FILLING, or 0 for empty. */
    _Atomic uint64_t committed, order;
    uint32_t slot, trace_slot; /* in the shelter; slot 0: in the process's own memory */
    uint64_t first_ns, last_ns; /* since the start of the trace */
    uint32_t events;
    uint32_t used, times, capacity; /* bytes */
    struct rp_trace_tally *tally;   /* of these events; NULL: nobody counts */
    uint8_t data[];
};

enum { RP_TRACE_RECENT_NAMES = 64 }; /* a power of two */

/* What a tally wants to know of an event that comes again. */
struct coder_event {
    const struct rp_trace_type *type;
    struct tally_row *row; /* NULL: nobody counts */
    uint64_t sizes[RP_TALLY_ROW_SIZES];
};

struct rp_trace_coder {
    uint32_t chunk; /* entries of other chunks are void: a new chunk clears nothing */
    struct coder_type {
        uint32_t chunk, number, last_at;
        struct tally_row *row; /* that counts them, when it is one for all; or NULL */
    } *types; /* by writer's id */
    size_t type_capacity;
    uint32_t type_count;
    uint64_t *last; /* each defined type has its run of last values */
    size_t last_used, last_capacity;
    struct coder_name {
        uint64_t hash;
        uint32_t chunk, number, at, length; /* where its text stands in the buffer */
    } *names; /* a hash table with open addressing, a power of two of slots */
    size_t name_slots;
    uint32_t name_count;
    /* By where the text was in the job's memory: most come from the same place each time, and
     * comparing costs less than hashing. Never believed without comparing. */
    struct coder_recent {
        const char *text;
        uint32_t chunk, number, at, length;
    } recent[RP_TRACE_RECENT_NAMES];
    /* Of the chunk's events the latest, and how many came one by one since the last that came
     * again: of these a group may be made. */
    struct coder_event latest[RP_TRACE_GROUP_EVENTS];
    uint32_t latest_at, singles;
    struct coder_group {
        uint32_t count;
        uint64_t uncounted; /* comings that the tally does not know of yet */
        uint64_t slots[RP_TRACE_SLOTS];
        struct coder_event events[RP_TRACE_GROUP_EVENTS];
    } *groups;
    size_t group_capacity;
    uint32_t group_count;
};

void rp_trace_coder_release(struct rp_trace_coder *coder);
/* The next record begins a chunk. */
void rp_trace_coder_begin(struct rp_trace_coder *coder);

/* Whether the chunk can take one more event of this type. RP_END: it has all the types or
 * names that a chunk may have, begin another; RP_NO_MEMORY. */
enum rp_status rp_trace_coder_prepare(struct rp_trace_coder *coder,
                                      const struct rp_trace_type *type);

/* Whether events of this type are nothing but numbers, of at most RP_TRACE_GROUP_BOUND bytes with
 * their times twice, and the chunk has met it. Such an event needs no preparing. */
static inline bool rp_trace_coder_is_ready(const struct rp_trace_coder *coder,
                                           const struct rp_trace_type *type)
{
    return type->numbers == type->def->field_count && type->id < coder->type_capacity &&
           coder->types[type->id].chunk == coder->chunk;
}

/* The most bytes that this event can take in a buffer. */
size_t rp_trace_bound(const struct rp_trace_type *type, const union rp_value *values);

/* Appends the event; prepared, and with room for the bound. */
void rp_trace_encode(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                     struct rp_trace_type *type, const union rp_value *values, uint64_t time_ns);
/* The same for one of a type that is ready, as most are. */
void rp_trace_encode_numbers(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                             const struct rp_trace_type *type, const union rp_value *values,
                             uint64_t time_ns);

/* ---- trace_again.c ---- */

/* Remembers an event that has just been encoded. */
void rp_trace_coder_note(struct rp_trace_coder *coder, const struct rp_trace_type *type,
                         struct tally_row *row, const union rp_value *values);
/* The most bytes that either of the following takes in a buffer, its times twice. */
enum { RP_TRACE_GROUP_BOUND = 4096 };
/* Makes a group of the latest events, and gives its number; false when that can't be. */
bool rp_trace_encode_group(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                           unsigned count, const struct rp_trace_move *moves, unsigned move_count,
                           const uint64_t slots[RP_TRACE_SLOTS], uint32_t *number);
/* The group's events again: the last at `now_ns`, those before it at `before_ns`. */
unsigned rp_trace_encode_again(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                               uint32_t number, const uint64_t slots[RP_TRACE_SLOTS],
                               uint64_t before_ns, uint64_t now_ns);

/* Before the chunk is handed over: its tally learns how often each group came again. */
void rp_trace_count_again(struct rp_trace_coder *coder);

/* From back to front, so that the reader, who comes from the back, finds a varint. Records that
 * are alike but for their times are the same bytes, for which the compression is grateful. */
static inline void rp_trace_put_time(struct rp_trace_buffer *buffer, uint64_t later)
{
    uint8_t *out = buffer->data + buffer->capacity - buffer->times;

    for (; later >= 0x80; later >>= 7)
        *--out = (uint8_t)(later | 0x80);
    *--out = (uint8_t)later;
    buffer->times = (uint32_t)(buffer->data + buffer->capacity - out);
}

/* What is there now is whole. */
static inline void rp_trace_commit(struct rp_trace_buffer *buffer)
{
    atomic_store_explicit(&buffer->committed, (uint64_t)buffer->used << 32 | buffer->events,
                          memory_order_release);
}

/* Nothing more is appended: the first `used` bytes are what a chunk holds. */
void rp_trace_seal(struct rp_trace_buffer *buffer);

#endif
