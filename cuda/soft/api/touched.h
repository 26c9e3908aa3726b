/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation touches: the exact bytes of device-visible memory that it reads and writes.
 *
 * Any thread that works for the operation notes, while it runs; the walk is for one thread,
 * afterwards. Kept where somebody asked for it: the oracle, the model clock or the race
 * detector. */
#ifndef RP_CUDA_SOFT_API_TOUCHED_H
#define RP_CUDA_SOFT_API_TOUCHED_H

#include "cuda/soft/api/work.h"
#include "cuda/soft/simt.h"

#define SOFT_PAGE_SHIFT 12
#define SOFT_PAGE_BYTES (UINT64_C(1) << SOFT_PAGE_SHIFT)
#define SOFT_PAGE_WORDS (SOFT_PAGE_BYTES / 64)

enum soft_access { SOFT_READS, SOFT_WRITES, SOFT_SIDES };

struct soft_page {
    uint64_t number; /* address >> SOFT_PAGE_SHIFT; 0: empty */
    uint64_t bits[SOFT_SIDES][SOFT_PAGE_WORDS]; /* a bit each byte */
};

struct soft_touched;

struct soft_touched *soft_touched_create(void); /* NULL: no host memory */
void soft_touched_destroy(struct soft_touched *touched);

/* Nothing happens where the operation's touches are not kept. */
void soft_touched_note(const struct soft_op *op, uint64_t address, uint64_t bytes, bool is_write);
/* simt_oracle_fn; `op` is the struct soft_op. */
void soft_touched_by_kernel(void *op, const struct simt_touch *touches, size_t count);

/* The pages that were touched, sorted. Ends the noting. */
const struct soft_page *soft_touched_pages(struct soft_touched *touched, size_t *count);
/* Some notes are missing, for want of host memory. */
bool soft_touched_is_lost(const struct soft_touched *touched);
/* Bytes that a GPU's caches would move: each access in whole sectors of 32 bytes. */
uint64_t soft_touched_moved(const struct soft_touched *touched);
/* Bytes of the sectors of a page that were read, plus those that were written. */
uint64_t soft_page_sectors(const struct soft_page *page);

/* The first place from `from` on whose bit is `value`, or SOFT_PAGE_BYTES. */
unsigned soft_page_find(const uint64_t *bits, unsigned from, bool value);

#endif
