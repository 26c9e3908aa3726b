/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/scalar.h"

#include <stdlib.h>
#include <string.h>

/* What goes on behind the last address does so at 0. That address itself has no end to be told by,
 * and nothing is ever claimed of it. */
void scalar_add(struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    if (hi < lo) {
        scalar_add(ranges, lo, UINT64_MAX);
        scalar_add(ranges, 0, hi);
        return;
    }
    if (ranges->count && ranges->items[ranges->count - 1].hi == lo) {
        ranges->items[ranges->count - 1].hi = hi;
        return;
    }
    if (ranges->count == ranges->capacity) {
        ranges->capacity = ranges->capacity ? ranges->capacity * 2 : 256;
        ranges->items = realloc(ranges->items, ranges->capacity * sizeof(*ranges->items));
    }
    ranges->items[ranges->count++] = (struct scalar_range){lo, hi};
}

bool scalar_holds(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    if (hi < lo)
        return false;
    for (size_t i = 0; i < ranges->count && lo < hi; i++)
        if (ranges->items[i].lo <= lo && lo < ranges->items[i].hi) {
            lo = ranges->items[i].hi;
            i = (size_t)-1;
        }
    return lo >= hi;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct scalar_range *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

void scalar_tidy(struct scalar_ranges *ranges)
{
    size_t kept = 0;
    if (!ranges->count)
        return;
    qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
    for (size_t i = 1; i < ranges->count; i++) {
        if (ranges->items[i].lo > ranges->items[kept].hi)
            ranges->items[++kept] = ranges->items[i];
        else if (ranges->items[i].hi > ranges->items[kept].hi)
            ranges->items[kept].hi = ranges->items[i].hi;
    }
    ranges->count = kept + 1;
}

bool scalar_equal(const struct scalar_ranges *a, const struct scalar_ranges *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->items, b->items, a->count * sizeof(*a->items)));
}

bool scalar_covers(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->items[i].lo <= lo && ranges->items[i].hi >= hi)
            return true;
    return lo == hi;
}

void scalar_unite(struct scalar_ranges *ranges, const struct scalar_ranges *from)
{
    for (size_t i = 0; i < from->count; i++)
        scalar_add(ranges, from->items[i].lo, from->items[i].hi);
    scalar_tidy(ranges);
}

void scalar_release(struct scalar_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct scalar_ranges){0};
}

void scalar_trace_release(struct scalar_trace *trace)
{
    scalar_release(&trace->reads);
    scalar_release(&trace->found);
    scalar_release(&trace->writes);
}
