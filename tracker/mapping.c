/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/mapping.h"

#include "tracker/array.h"

enum rp_status rp_mappings_create(struct rp_mappings *mappings)
{
    *mappings = (struct rp_mappings){
        .hints = calloc((size_t)1 << RP_MAPPING_HINT_BITS, sizeof(*mappings->hints))};
    return mappings->hints != NULL ? RP_OK : RP_NO_MEMORY;
}

void rp_mappings_release(struct rp_mappings *mappings)
{
    free(mappings->items);
    free(mappings->views);
    free(mappings->hints);
}

/* ---- looking up ------------------------------------------------------------------- */

/* Whether the mapping of this index ends at `address` or before it: 1 or 0. */
static size_t is_behind(const struct rp_mappings *mappings, size_t index, uint64_t address)
{
    const struct rp_mapping *m = &mappings->items[index];

    return m->address + m->length <= address;
}

/* Every launch looks up each of its ranges: the way through is the same whatever is found, as the
 * processor could not foresee it. */
size_t rp_mappings_seek(const struct rp_mappings *mappings, uint64_t address)
{
    size_t low = 0, count = mappings->count;

    while (count > 1) {
        size_t half = count / 2;
        low += half & (0 - is_behind(mappings, low + half - 1, address));
        count -= half;
    }
    return count == 1 ? low + is_behind(mappings, low, address) : low;
}

const struct rp_mapping *rp_mappings_look(const struct rp_mappings *mappings, uint64_t address,
                                          uint32_t *hint)
{
    size_t at = rp_mappings_seek(mappings, address);

    if (at == mappings->count || !rp_mapping_holds(&mappings->items[at], address))
        return NULL;
    *hint = (uint32_t)at;
    return &mappings->items[at];
}

/* Index of the first view of `id` at `address` or above, or of what follows it. */
static size_t seek_view(const struct rp_mappings *mappings, rp_alloc_id id, uint64_t address)
{
    size_t low = 0, high = mappings->view_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_view *v = &mappings->views[middle];
        if (v->id > id || (v->id == id && v->address >= address))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct rp_mapping *rp_mappings_reach(const struct rp_mappings *mappings, rp_alloc_id id,
                                           uint64_t offset)
{
    for (size_t i = seek_view(mappings, id, 0);
         i < mappings->view_count && mappings->views[i].id == id; i++) {
        const struct rp_mapping *m =
            &mappings->items[rp_mappings_seek(mappings, mappings->views[i].address)];
        if (offset >= m->offset && offset - m->offset < m->length)
            return m;
    }
    return NULL;
}

/* ---- changing --------------------------------------------------------------------- */

enum rp_status rp_mappings_reserve(struct rp_mappings *mappings, size_t more)
{
    struct rp_mapping *items = rp_array_reserve(mappings->items, &mappings->capacity,
                                                mappings->count + more, sizeof(*items));
    if (items == NULL)
        return RP_NO_MEMORY;
    mappings->items = items;

    struct rp_view *views = rp_array_reserve(mappings->views, &mappings->view_capacity,
                                             mappings->view_count + more, sizeof(*views));
    if (views == NULL)
        return RP_NO_MEMORY;
    mappings->views = views;
    return RP_OK;
}

static void splice(struct rp_mappings *mappings, size_t first, size_t last,
                   const struct rp_mapping *with, size_t n)
{
    rp_array_splice(mappings->items, &mappings->count, first, last, with, n, sizeof(*with));
}

static void splice_views(struct rp_mappings *mappings, size_t first, size_t last,
                         const struct rp_view *with, size_t n)
{
    rp_array_splice(mappings->views, &mappings->view_count, first, last, with, n, sizeof(*with));
}

static void view_add(struct rp_mappings *mappings, rp_alloc_id id, uint64_t address)
{
    size_t at = seek_view(mappings, id, address);
    struct rp_view view = {id, address};

    splice_views(mappings, at, at, &view, 1);
}

static void view_remove(struct rp_mappings *mappings, rp_alloc_id id, uint64_t address)
{
    size_t at = seek_view(mappings, id, address);

    splice_views(mappings, at, at + 1, NULL, 0);
}

void rp_mappings_cut(struct rp_mappings *mappings, uint64_t lo, uint64_t hi)
{
    size_t first = rp_mappings_seek(mappings, lo), last = first;
    struct rp_mapping rest[2];
    size_t n = 0;

    for (; last < mappings->count && mappings->items[last].address < hi; last++) {
        struct rp_mapping m = mappings->items[last];
        uint64_t end = m.address + m.length;
        view_remove(mappings, m.id, m.address);
        if (m.address < lo)
            rest[n++] = (struct rp_mapping){m.address, lo - m.address, m.id, m.offset};
        if (end > hi)
            rest[n++] = (struct rp_mapping){hi, end - hi, m.id, m.offset + (hi - m.address)};
    }
    splice(mappings, first, last, rest, n);
    for (size_t i = 0; i < n; i++)
        view_add(mappings, rest[i].id, rest[i].address);
}

void rp_mappings_show(struct rp_mappings *mappings, struct rp_mapping mapping)
{
    rp_mappings_cut(mappings, mapping.address, mapping.address + mapping.length);
    size_t at = rp_mappings_seek(mappings, mapping.address);
    splice(mappings, at, at, &mapping, 1);
    view_add(mappings, mapping.id, mapping.address);
}

void rp_mappings_hide(struct rp_mappings *mappings, rp_alloc_id id)
{
    size_t first = seek_view(mappings, id, 0), last = first;

    for (; last < mappings->view_count && mappings->views[last].id == id; last++) {
        size_t at = rp_mappings_seek(mappings, mappings->views[last].address);
        splice(mappings, at, at + 1, NULL, 0);
    }
    if (first < last)
        splice_views(mappings, first, last, NULL, 0);
}

/* ---- invariants ------------------------------------------------------------------- */

static bool has_view(const struct rp_mappings *mappings, const struct rp_mapping *m)
{
    size_t at = seek_view(mappings, m->id, m->address);

    return at < mappings->view_count && mappings->views[at].id == m->id &&
           mappings->views[at].address == m->address;
}

bool rp_mappings_validate(const struct rp_mappings *mappings)
{
    if (mappings->count != mappings->view_count)
        return false;
    for (size_t i = 1; i < mappings->view_count; i++) {
        const struct rp_view *a = &mappings->views[i - 1], *b = &mappings->views[i];
        if (a->id > b->id || (a->id == b->id && a->address >= b->address))
            return false;
    }
    for (size_t i = 0; i < mappings->count; i++) {
        const struct rp_mapping *m = &mappings->items[i];
        if (m->length == 0 || m->address > UINT64_MAX - m->length || !has_view(mappings, m))
            return false;
        if (i > 0 && m[-1].address + m[-1].length > m->address)
            return false;
    }
    return true;
}
