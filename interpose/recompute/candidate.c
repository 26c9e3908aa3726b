/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/candidate.h"

#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/need.h"
#include "interpose/run/core.h"
#include "tracker/array.h"

void rp_candidate_shorten(struct rp_candidate *one, uint64_t wanted)
{
    if (wanted >= one->hi - one->lo)
        return;
    uint64_t hi = one->lo + rp_granule_span(wanted);
    one->hi = hi < one->hi ? hi : one->hi;
}

static bool candidates_add(struct rp_candidates *all, const struct rp_candidate *one)
{
    void *bigger = rp_array_reserve(all->items, &all->capacity, all->count + 1,
                                    sizeof *all->items);
    if (!bigger)
        return false;
    all->items = bigger;
    all->items[all->count++] = *one;
    return true;
}

static void add_runs(struct rp_candidates *all, const struct rp_candidate *whole)
{
    struct rp_candidate run = *whole;
    rp_backing_inside(run.backed, &run.lo, &run.hi);
    for (uint64_t end = run.hi; run.lo < end; run.lo = run.hi) {
        bool is_there;
        run.hi = end;
        rp_backing_run(run.backed, run.lo, &run.hi, &is_there, &run.used);
        if (is_there && run.used.fence < all->reach && !candidates_add(all, &run))
            return;
    }
}

static void add_free_part(struct rp_candidates *all, struct rp_backed *backed)
{
    struct rp_candidate part = {.backed = backed};
    struct rp_spans taken = {0}, rest = {0};
    uint64_t bytes = rp_backing_bytes(backed);
    if (rp_memory_find(rp_core.bench.memory, rp_backing_address(backed), &part.id, NULL, NULL) !=
            RP_OK ||
        rp_drop_taken(part.id, &taken) != RP_OK ||
        rp_holdings_of(part.id, &taken) != RP_OK || rp_exile_of(part.id, &taken) != RP_OK ||
        rp_spans_missing(&taken, 0, bytes, &rest) != RP_OK)
        rest.count = 0;
    for (size_t i = 0; i < rest.count; i++) {
        part.lo = rest.items[i].lo;
        part.hi = rest.items[i].hi;
        add_runs(all, &part);
    }
    rp_spans_release(&taken);
    rp_spans_release(&rest);
}

static int by_use(const void *a, const void *b)
{
    const struct rp_candidate *one = a, *other = b;
    if (one->used.call != other->used.call)
        return one->used.call < other->used.call ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

void rp_candidates_find(struct rp_candidates *all)
{
    all->reach = rp_fence_reach();
    if (rp_holdings_used() >= all->reach)
        return;
    for (size_t i = 0; i < rp_backings_count(); i++)
        if (!rp_backing_stays(rp_backings_at(i)))
            add_free_part(all, rp_backings_at(i));
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_use);
}

/* ---- what nobody has used yet ------------------------------------------------------------ */

static enum rp_status check_unwritten(void *ctx, uint64_t lo, uint64_t hi,
                                      const struct rp_writer *writer)
{
    (void)ctx, (void)lo, (void)hi;
    return writer->version ? RP_INVALID : RP_OK;
}

static bool is_unused(const struct rp_candidate *one)
{
    return !one->used.call && rp_versions_read(rp_core.bench.versions, one->id, one->lo, one->hi,
                                               check_unwritten, NULL) == RP_OK;
}

uint64_t rp_candidates_spare_unused(struct rp_candidates *all, uint64_t bytes)
{
    size_t kept = 0;
    uint64_t freed = 0;
    bool may_be = !rp_core.captures && rp_need_fits_device(0);
    for (size_t i = 0; i < all->count; i++) {
        struct rp_candidate one = all->items[i];
        if (may_be && freed < bytes && is_unused(&one)) {
            rp_candidate_shorten(&one, bytes - freed);
            freed += rp_backing_make_absent(one.backed, one.lo, one.hi);
        } else {
            all->items[kept++] = one;
        }
    }
    all->count = kept;
    return freed;
}
