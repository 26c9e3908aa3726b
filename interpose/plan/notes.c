/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/notes.h"

#include "interpose/run/core.h"
#include "tracker/array.h"

#include <stdlib.h>

static void name_buffer(struct rp_note *note)
{
    const char *name = rp_state_name(rp_core.state, note->id, note->lo, note->hi, &note->start,
                                     &note->end);
    note->name = name ? rp_names_id(rp_core.names, name) : 0;
    /* What is kept may reach beyond what is declared: then it is of the allocation. */
    if (name && note->start <= note->lo && note->hi <= note->end)
        return;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, note->id);
    note->name = 0;
    note->start = 0;
    note->end = alloc ? alloc->bytes : note->hi;
}

void rp_notes_add(struct rp_notes *notes, struct rp_note note)
{
    struct rp_note *items = notes->count < RP_NOTES_MOST
                                ? rp_array_reserve(notes->items, &notes->capacity,
                                                   notes->count + 1, sizeof *items)
                                : NULL;
    if (!items) {
        notes->incomplete = true;
        return;
    }
    name_buffer(&note);
    notes->items = items;
    items[notes->count++] = note;
}

void rp_notes_clear(struct rp_notes *notes)
{
    notes->count = 0;
    notes->incomplete = false;
}

void rp_notes_release(struct rp_notes *notes)
{
    free(notes->items);
    *notes = (struct rp_notes){0};
}
