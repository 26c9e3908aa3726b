/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: which bytes of state a step preserved, whose writes they were kept from, and which its
 * replays wrote. The models of the planner that ask what segments have in common need them.
 *
 * One list a step, kept from one step to the next so that it is allotted once. Wants the core's
 * lock. */
#ifndef RP_INTERPOSE_NOTES_H
#define RP_INTERPOSE_NOTES_H

#include "tracker/memory.h"

#include <stdbool.h>
#include <stddef.h>

struct rp_note {
    uint32_t place; /* the segment that read the bytes, or wrote them in its replay */
    bool written;
    uint32_t by;   /* read: the segment in whose part of the step somebody was to write them ... */
    bool backward; /* ... in its replay or backward, not in its forward */
    rp_alloc_id id;
    uint64_t lo, hi;
    uint32_t name;       /* of the declared buffer that they are of; 0 for none */
    uint64_t start, end; /* of that buffer, or of the allocation */
};

/* A step with more is told from its sums alone. */
#define RP_NOTES_MOST 65536

struct rp_notes {
    struct rp_note *items;
    size_t count, capacity;
    bool incomplete; /* there were more, or the host was out of memory */
};

/* Names the buffer; the rest is the caller's. */
void rp_notes_add(struct rp_notes *notes, struct rp_note note);
/* Forgets the notes, keeps the room. */
void rp_notes_clear(struct rp_notes *notes);
void rp_notes_release(struct rp_notes *notes);

#endif
