/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/span.h"

#include "tracker/array.h"

static enum rp_status reserve(struct rp_spans *set, size_t need)
{
    struct rp_span *items = rp_array_reserve(set->items, &set->capacity, need, sizeof(*items));

    if (items == NULL)
        return RP_NO_MEMORY;
    set->items = items;
    return RP_OK;
}

static void splice(struct rp_spans *set, size_t first, size_t last, const struct rp_span *with,
                   size_t n)
{
    rp_array_splice(set->items, &set->count, first, last, with, n, sizeof(*with));
}

void rp_spans_clear(struct rp_spans *set)
{
    set->count = 0;
}

void rp_spans_release(struct rp_spans *set)
{
    free(set->items);
    *set = (struct rp_spans){0};
}

size_t rp_spans_seek(const struct rp_spans *set, uint64_t at)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->items[middle].hi > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Index of the first span from `from` on that begins at `at` or later. */
static size_t seek_begin(const struct rp_spans *set, size_t from, uint64_t at)
{
    size_t low = from, high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->items[middle].lo >= at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum rp_status rp_spans_add(struct rp_spans *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return lo == hi ? RP_OK : RP_INVALID;
    if (reserve(set, set->count + 1) != RP_OK)
        return RP_NO_MEMORY;

    /* Everything that overlaps or touches [lo, hi) melts into it. */
    size_t first = lo == 0 ? 0 : rp_spans_seek(set, lo - 1);
    size_t last = hi == UINT64_MAX ? set->count : seek_begin(set, first, hi + 1);
    struct rp_span merged = {lo, hi};
    if (first < last) {
        if (set->items[first].lo < lo)
            merged.lo = set->items[first].lo;
        if (set->items[last - 1].hi > hi)
            merged.hi = set->items[last - 1].hi;
    }
    splice(set, first, last, &merged, 1);
    return RP_OK;
}

enum rp_status rp_spans_remove(struct rp_spans *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return lo == hi ? RP_OK : RP_INVALID;

    size_t first = rp_spans_seek(set, lo);
    size_t last = seek_begin(set, first, hi);
    if (first == last)
        return RP_OK;
    if (reserve(set, set->count + 1) != RP_OK)
        return RP_NO_MEMORY;

    struct rp_span rest[2];
    size_t n = 0;
    if (set->items[first].lo < lo)
        rest[n++] = (struct rp_span){set->items[first].lo, lo};
    if (set->items[last - 1].hi > hi)
        rest[n++] = (struct rp_span){hi, set->items[last - 1].hi};
    splice(set, first, last, rest, n);
    return RP_OK;
}

enum rp_status rp_spans_copy(struct rp_spans *to, const struct rp_spans *from)
{
    if (to == from)
        return RP_OK;
    if (reserve(to, from->count) != RP_OK)
        return RP_NO_MEMORY;
    to->count = 0;
    splice(to, 0, 0, from->items, from->count);
    return RP_OK;
}

/* The room for the worst case is taken first, so that no step of the loops can fail. */
enum rp_status rp_spans_add_all(struct rp_spans *set, const struct rp_spans *other)
{
    if (set == other)
        return RP_OK;
    if (reserve(set, set->count + other->count + 1) != RP_OK)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < other->count; i++)
        (void)rp_spans_add(set, other->items[i].lo, other->items[i].hi);
    return RP_OK;
}

enum rp_status rp_spans_remove_all(struct rp_spans *set, const struct rp_spans *other)
{
    if (set == other) {
        rp_spans_clear(set);
        return RP_OK;
    }
    if (reserve(set, set->count + other->count + 1) != RP_OK)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < other->count; i++)
        (void)rp_spans_remove(set, other->items[i].lo, other->items[i].hi);
    return RP_OK;
}

enum rp_status rp_spans_within(const struct rp_spans *set, uint64_t lo, uint64_t hi,
                               struct rp_spans *out)
{
    size_t first = rp_spans_seek(set, lo);
    size_t last = seek_begin(set, first, hi);

    if (reserve(out, last - first) != RP_OK)
        return RP_NO_MEMORY;
    out->count = 0;
    for (size_t i = first; i < last; i++) {
        struct rp_span piece = set->items[i];
        if (piece.lo < lo)
            piece.lo = lo;
        if (piece.hi > hi)
            piece.hi = hi;
        if (piece.lo < piece.hi)
            out->items[out->count++] = piece;
    }
    return RP_OK;
}

enum rp_status rp_spans_missing(const struct rp_spans *set, uint64_t lo, uint64_t hi,
                                struct rp_spans *out)
{
    size_t first = rp_spans_seek(set, lo);
    size_t last = seek_begin(set, first, hi);
    uint64_t at = lo;

    if (reserve(out, last - first + 1) != RP_OK)
        return RP_NO_MEMORY;
    out->count = 0;
    for (size_t i = first; i < last; i++) {
        if (set->items[i].lo > at)
            out->items[out->count++] = (struct rp_span){at, set->items[i].lo};
        at = set->items[i].hi;
    }
    if (at < hi)
        out->items[out->count++] = (struct rp_span){at, hi};
    return RP_OK;
}

bool rp_spans_overlaps(const struct rp_spans *set, uint64_t lo, uint64_t hi)
{
    size_t i = rp_spans_seek(set, lo);

    return lo < hi && i < set->count && set->items[i].lo < hi;
}

bool rp_spans_covers(const struct rp_spans *set, uint64_t lo, uint64_t hi)
{
    size_t i = rp_spans_seek(set, lo);

    return lo >= hi || (i < set->count && set->items[i].lo <= lo && hi <= set->items[i].hi);
}

uint64_t rp_spans_bytes(const struct rp_spans *set)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < set->count; i++)
        bytes += set->items[i].hi - set->items[i].lo;
    return bytes;
}

bool rp_spans_validate(const struct rp_spans *set)
{
    if (set->count > set->capacity)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].lo >= set->items[i].hi)
            return false;
        if (i > 0 && set->items[i - 1].hi >= set->items[i].lo)
            return false;
    }
    return true;
}
