/* SPDX-License-Identifier: Apache-2.0 */
/* How often which event came in a chunk, for readers who only count. Internal to tracker/.
 *
 * While a buffer fills, its events are counted by rows: those of one type that agree in all names
 * are one row. The rows are written in front of the chunk, as a chunk of their own, whose records
 * stand for as many events as they count. Not thread-safe. */
#ifndef RP_TRACKER_TRACE_TALLY_H
#define RP_TRACKER_TRACE_TALLY_H

#include "tracker/trace_encode.h"

/* What a tally can hold; a chunk with more has none. Of a type's fields the first names and sizes
 * are counted by, and sizes only of notes: nobody adds up the arguments of calls. */
#define RP_TALLY_TYPES 256
#define RP_TALLY_NAMES 1024
#define RP_TALLY_ROWS 256
#define RP_TALLY_ROW_NAMES 8

struct rp_trace_tally {
    bool whole; /* nothing was too much for it */
    uint32_t type_count, name_count, row_count;
    struct rp_trace_type *types[RP_TALLY_TYPES]; /* by their number in the chunk */
    struct tally_name {
        uint32_t at, length; /* in the buffer */
    } names[RP_TALLY_NAMES]; /* by their number, from 1 */
    struct tally_row {
        uint32_t type, names[RP_TALLY_ROW_NAMES];
        uint64_t count, sum[RP_TALLY_ROW_SIZES], most[RP_TALLY_ROW_SIZES];
    } rows[RP_TALLY_ROWS];
    uint16_t slots[2 * RP_TALLY_ROWS]; /* a hash table: a row's number + 1 */
};

/* ---- while the chunk fills --------------------------------------------------------- */

void rp_trace_tally_begin(struct rp_trace_tally *tally);
/* The chunk's next type, and its next name. */
void rp_trace_tally_type(struct rp_trace_tally *tally, struct rp_trace_type *type);
void rp_trace_tally_name(struct rp_trace_tally *tally, uint32_t at, uint32_t length);
/* The row that counts events of the chunk's type `number` with these names in its NAME fields; NULL
 * when the tally can't count them, and is no longer whole. */
struct tally_row *rp_trace_tally_row(struct rp_trace_tally *tally, uint32_t number,
                                     const uint32_t *names);
static inline void rp_trace_tally_add(struct tally_row *row, const struct rp_trace_type *type,
                                      const union rp_value *values)
{
    row->count++;
    for (uint32_t i = 0; i < type->tally_sizes; i++) {
        uint64_t value = values[type->sizes[i]].u;
        row->sum[i] += value;
        if (value > row->most[i])
            row->most[i] = value;
    }
}

/* ---- in front of the chunk --------------------------------------------------------- */

/* Makes records of the rows in *out, which is made or made larger as needed. RP_END: the tally
 * is not whole; RP_NO_MEMORY. */
enum rp_status rp_trace_tally_pack(const struct rp_trace_tally *tally,
                                   const struct rp_trace_buffer *chunk,
                                   struct rp_trace_coder *coder, struct rp_trace_buffer **out);

/* Of a type that is destroyed. */
void rp_trace_brief_destroy(struct rp_trace_brief *brief);

#endif
