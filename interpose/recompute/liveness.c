/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/liveness.h"

#include "interpose/run/core.h"
#include "tracker/array.h"

/* One use of one holding, in the order in which they came. */
struct use {
    uint32_t place, nth;
    bool is_old; /* its forward was one of an earlier step */
    uint64_t at;
};

struct uses {
    struct use *items;
    size_t count, capacity;
};

static struct {
    struct uses known, seen; /* of the last step, of this one */
    uint64_t at;             /* calls of this step so far */
} liveness;

enum { MOST_USES = 1 << 18 };

void rp_liveness_forget(void)
{
    liveness.known.count = liveness.seen.count = 0;
    liveness.at = 0;
}

static int by_holding(const void *a, const void *b)
{
    const struct use *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    if (one->nth != other->nth)
        return one->nth < other->nth ? -1 : 1;
    if (one->is_old != other->is_old)
        return one->is_old ? 1 : -1;
    return one->at < other->at ? -1 : one->at > other->at;
}

void rp_liveness_step_begins(void)
{
    struct uses old = liveness.known;
    liveness.known = liveness.seen;
    liveness.seen = old;
    liveness.seen.count = 0;
    liveness.at = 0;
    if (liveness.known.count)
        qsort(liveness.known.items, liveness.known.count, sizeof *liveness.known.items,
              by_holding);
}

static bool is_old(const struct rp_holding *holding)
{
    return holding->owner->instance->step != rp_core.step;
}

static void see(const struct rp_holding *holding)
{
    struct uses *seen = &liveness.seen;
    void *bigger =
        seen->count < MOST_USES
            ? rp_array_reserve(seen->items, &seen->capacity, seen->count + 1, sizeof *seen->items)
            : NULL;
    if (!bigger)
        return;
    seen->items = bigger;
    seen->items[seen->count++] = (struct use){holding->owner->place, holding->nth,
                                              is_old(holding), liveness.at};
}

static bool meets(const struct rp_reach *reach, const struct rp_holding *holding)
{
    return reach->id == holding->id && reach->lo < holding->hi && holding->lo < reach->hi;
}

static bool overwrites(const struct rp_reach *reach, const struct rp_holding *holding)
{
    return reach->effect == RP_WRITE && reach->certain && reach->lo <= holding->lo &&
           holding->hi <= reach->hi;
}

/* To overwrite all of it is not to use it. */
static bool uses(const struct rp_footprint *call, const struct rp_holding *holding)
{
    bool any = false, is_overwritten = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (!meets(reach, holding))
            continue;
        if (reach->effect != RP_WRITE)
            return true;
        any = true;
        is_overwritten |= overwrites(reach, holding);
    }
    return any && !is_overwritten;
}

void rp_liveness_call(const struct rp_footprint *call)
{
    liveness.at++;
    for (size_t i = 0; i < rp_holdings_count(); i++)
        if (uses(call, rp_holdings_at(i)))
            see(rp_holdings_at(i));
}

/* Index of the first known use that is not before `wanted`. */
static size_t seek(const struct use *wanted)
{
    size_t lo = 0, hi = liveness.known.count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_holding(&liveness.known.items[mid], wanted) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_of(const struct use *use, const struct use *wanted)
{
    return use->place == wanted->place && use->nth == wanted->nth &&
           use->is_old == wanted->is_old;
}

uint64_t rp_liveness_next(const struct rp_holding *holding)
{
    const struct use wanted = {holding->owner->place, holding->nth, is_old(holding),
                               liveness.at + 1};
    if (!liveness.known.count)
        return UINT64_MAX / 2 - holding->owner->place;
    size_t at = seek(&wanted);
    const struct use *next = &liveness.known.items[at];
    return at < liveness.known.count && is_of(next, &wanted) ? next->at : UINT64_MAX;
}
