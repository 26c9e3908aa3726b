/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/exile.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/door/real.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/candidate.h"
#include "interpose/recompute/claim.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/host_memory.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/shelf.h"
#include "interpose/run/core.h"
#include "tracker/array.h"

struct exile {
    rp_alloc_id id;
    uint64_t lo, hi; /* bytes of the allocation */
    struct rp_backed *backed;
    struct rp_shelf *shelf; /* has its content ... */
    uint64_t from;          /* ... from this byte on */
    const struct rp_footprint *claim; /* there is memory, and this call overwrites all of it */
    bool lost;             /* such a call may have run, or not: nobody knows what stands there */
};

static struct {
    struct exile *items;
    size_t count, capacity;
} exiles;

/* Memory that is there has no content yet, or one that a call under way may have left or not: to
 * move it once more would put that in the place of the content that is elsewhere. */
enum rp_status rp_exile_of(rp_alloc_id id, struct rp_spans *spans)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < exiles.count; i++)
        if (exiles.items[i].id == id)
            status = rp_spans_add(spans, exiles.items[i].lo, exiles.items[i].hi);
    return status;
}

/* ---- going -------------------------------------------------------------------------- */

static enum rp_status copy_out(const struct rp_workbench *bench, const struct rp_candidate *one,
                               rp_stream line)
{
    struct exile exile = {.id = one->id, .lo = one->lo, .hi = one->hi, .backed = one->backed};
    void *bigger = rp_array_reserve(exiles.items, &exiles.capacity, exiles.count + 1,
                                    sizeof *exiles.items);
    if (!bigger)
        return RP_NO_MEMORY;
    exiles.items = bigger;
    enum rp_status status =
        rp_shelf_fill(bench, rp_backing_address(one->backed) + one->lo, one->hi - one->lo, line,
                      &exile.shelf);
    if (status != RP_OK)
        return status;
    exiles.items[exiles.count++] = exile;
    return RP_OK;
}

/* The memory goes once the copies are there, and not before. */
static uint64_t give_memory(size_t from, const struct rp_workbench *bench)
{
    uint64_t freed = 0;
    bool copied = rp_drop_moved();
    for (size_t i = from; i < exiles.count; i++) {
        struct exile *exile = &exiles.items[i];
        if (!copied) {
            rp_shelf_give(exile->shelf, bench);
            continue;
        }
        uint64_t bytes = rp_backing_empty(exile->backed, exile->lo, exile->hi);
        rp_core.figures.bytes_in_refuge += bytes;
        freed += bytes;
    }
    if (!copied)
        exiles.count = from;
    return freed;
}

/* How much more the host is to hold. */
static uint64_t host_room(const struct rp_workbench *bench)
{
    uint64_t share = rp_host_memory_share(rp_store_reserved(bench->store)), used = rp_exile_bytes();
    return share > used ? share - used : 0;
}

static uint64_t move(const struct rp_candidates *all, const struct rp_workbench *bench,
                     uint64_t bytes)
{
    size_t from = exiles.count;
    uint64_t copied = 0, room = all->count ? host_room(bench) : 0;
    rp_stream line;
    if (!rp_drop_mover(&line))
        return 0;
    bytes = bytes < room ? bytes : room;
    /* Else what goes is idle. */
    if (all->reach == UINT64_MAX && rp_order_gather(rp_core.bench.order, line) != RP_OK)
        return 0;
    for (size_t i = 0; i < all->count && copied < bytes; i++) {
        rp_candidate_shorten(&all->items[i], bytes - copied);
        if (copy_out(bench, &all->items[i], line) != RP_OK)
            break;
        copied += all->items[i].hi - all->items[i].lo;
    }
    return copied ? give_memory(from, bench) : 0;
}

/* Host memory goes with the context that was current when it was made: that has to be the one of
 * what is moved, wherever the call works that wants its place. */
static uint64_t move_in_its_context(const struct rp_candidates *all, uint64_t bytes)
{
    const struct rp_workbench *bench = rp_refuge();
    uint64_t freed = 0, owner = all->count ? rp_backing_owner(all->items[0].backed) : 0;
    CUcontext left;
    if (!bench || !owner)
        return 0;
    if (owner == rp_backing_context())
        return move(all, bench, bytes);
    if (rp_real.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)owner) == CUDA_SUCCESS) {
        freed = move(all, bench, bytes);
        rp_real.cuCtxPopCurrent_v2(&left);
    }
    return freed;
}

uint64_t rp_exile_make_room(uint64_t bytes)
{
    struct rp_candidates all = {0};
    if (!rp_switch_on(RP_SWITCH_EXILE) || rp_backing_is_shared())
        return 0;
    rp_candidates_find(&all);
    uint64_t freed = rp_candidates_spare_unused(&all, bytes);
    if (freed < bytes)
        freed += move_in_its_context(&all, bytes - freed);
    free(all.items);
    return freed;
}

/* ---- coming back -------------------------------------------------------------------- */

/* Cuts it at `at`, which it holds, and appends the latter part. False without memory. */
static bool split(size_t index, uint64_t at)
{
    void *bigger = rp_array_reserve(exiles.items, &exiles.capacity, exiles.count + 1,
                                    sizeof *exiles.items);
    if (!bigger)
        return false;
    exiles.items = bigger;
    struct exile *former = &exiles.items[index], *latter = &exiles.items[exiles.count++];
    *latter = *former;
    latter->from += at - former->lo;
    latter->lo = former->hi = at;
    rp_shelf_divide(latter->shelf);
    return true;
}

/* Where there is no room for all of it just the granules that [lo, hi) meets come back. */
static struct exile *narrow(struct exile *exile, uint64_t lo, uint64_t hi)
{
    uint64_t granule = rp_granule_bytes();
    size_t index = (size_t)(exile - exiles.items);
    if (rp_backing_fits(rp_granule_span(exile->hi - exile->lo)))
        return exile;
    lo = lo / granule * granule;
    if (lo > exile->lo && split(index, lo))
        index = exiles.count - 1;
    hi = rp_granule_span(hi);
    if (hi < exiles.items[index].hi)
        (void)split(index, hi);
    return &exiles.items[index];
}

static void remove_exile(struct exile *exile)
{
    *exile = exiles.items[--exiles.count];
}

/* Puts memory where it was. Others may have to go for that, and the list changes. */
static enum rp_status fill(struct exile *exile, struct exile **listed)
{
    const struct exile found = *exile;
    enum rp_status status = rp_drop_fill(found.backed, found.lo, found.hi);
    if (status != RP_OK)
        rp_backing_empty(found.backed, found.lo, found.hi);
    *listed = exiles.items;
    while ((*listed)->id != found.id || (*listed)->lo != found.lo)
        (*listed)++;
    return status;
}

/* Where no copy can be issued the content stays away, and nothing is lost. Every stream waits for
 * it: nobody knows who will ask for it first. */
static enum rp_status bring_back(struct exile *exile, rp_stream stream)
{
    struct exile *listed;
    rp_stream mover;
    if (exile->lost)
        return RP_IO;
    if (rp_drop_mover(&mover))
        stream = mover; /* which no gate holds up */
    enum rp_status status = fill(exile, &listed);
    if (status != RP_OK)
        return status;
    status = rp_shelf_copy(listed->shelf, listed->from, listed->hi - listed->lo,
                           rp_backing_address(listed->backed) + listed->lo, stream);
    if (status != RP_OK) {
        rp_backing_empty(listed->backed, listed->lo, listed->hi);
        return status;
    }
    struct exile back = *listed;
    remove_exile(listed);
    rp_holdings_use_part(back.id, back.lo, back.hi); /* a forward may have begun by it */
    status = rp_order_release(rp_core.bench.order, stream);
    rp_shelf_give(back.shelf, rp_refuge());
    return status == RP_OK ? RP_OK : RP_IO;
}

static const struct rp_reach *find_met(const struct exile *exile, const struct rp_reach *reaches,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (exile->id == reaches[i].id && exile->lo < reaches[i].hi && reaches[i].lo < exile->hi)
            return &reaches[i];
    return NULL;
}

static struct exile *first_met(const struct rp_reach *reaches, size_t count)
{
    for (size_t i = 0; i < exiles.count; i++) {
        struct exile *exile = &exiles.items[i];
        const struct rp_reach *met = exile->claim ? NULL : find_met(exile, reaches, count);
        if (met)
            return narrow(exile, met->lo, met->hi);
    }
    return NULL;
}

static struct exile *first_read_by(const struct rp_execution *execution)
{
    for (size_t i = 0; i < exiles.count; i++) {
        struct exile *exile = &exiles.items[i];
        const struct rp_live *live = rp_instance_live(execution->instance, exile->id);
        for (size_t j = 0; !exile->claim && live && j < live->live_in.count; j++) {
            const struct rp_span *read = &live->live_in.items[j];
            if (read->lo < exile->hi && exile->lo < read->hi)
                return narrow(exile, read->lo, read->hi);
        }
    }
    return NULL;
}

enum rp_status rp_exile_return_for(const struct rp_execution *execution, rp_stream stream)
{
    const struct rp_recipe *recipe = execution->recipe;
    struct exile *exile;
    enum rp_status status = RP_OK;
    while (status == RP_OK && ((exile = first_read_by(execution)) ||
                               (exile = first_met(recipe->reaches, recipe->reach_count))))
        status = bring_back(exile, stream);
    return status;
}

enum rp_status rp_exile_return_all(rp_stream stream)
{
    enum rp_status status = RP_OK;
    rp_drop_hold(true); /* or they would make way for each other */
    for (size_t i = 0; status == RP_OK && i < exiles.count;) {
        if (exiles.items[i].claim)
            i++;
        else
            status = bring_back(&exiles.items[i], stream);
    }
    rp_drop_hold(false);
    return status;
}

/* ---- before and after a call ---------------------------------------------------------- */

static struct exile *first_overwritten(const struct rp_footprint *call)
{
    for (size_t i = 0; i < exiles.count && rp_switch_on(RP_SWITCH_CLAIM); i++) {
        struct exile *exile = &exiles.items[i];
        if (!exile->claim && rp_claim_overwrites(call, exile->id, exile->lo, exile->hi, NULL))
            return exile;
    }
    return NULL;
}

enum rp_status rp_exile_before(const struct rp_footprint *call)
{
    struct exile *exile;
    enum rp_status status = RP_OK;
    while (status == RP_OK && (exile = first_overwritten(call)) != NULL) {
        status = fill(exile, &exile);
        exile->claim = status == RP_OK ? call : NULL;
    }
    while (status == RP_OK && (exile = first_met(call->reaches, call->count)) != NULL)
        status = bring_back(exile, call->stream);
    return status;
}

void rp_exile_after(const struct rp_footprint *call, bool went, bool sure)
{
    for (size_t i = exiles.count; i-- > 0;) {
        struct exile *exile = &exiles.items[i];
        if (exile->claim != call)
            continue;
        exile->claim = NULL;
        exile->lost = went && !sure;
        if (!went)
            rp_backing_empty(exile->backed, exile->lo, exile->hi);
        if (!went || !sure)
            continue;
        rp_shelf_give(exile->shelf, rp_refuge());
        remove_exile(exile);
    }
}

uint64_t rp_exile_bytes(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < exiles.count; i++)
        bytes += exiles.items[i].hi - exiles.items[i].lo;
    return bytes;
}

void rp_exile_forget(rp_alloc_id id)
{
    for (size_t i = exiles.count; i-- > 0;) {
        if (exiles.items[i].id != id)
            continue;
        rp_shelf_give(exiles.items[i].shelf, rp_refuge());
        remove_exile(&exiles.items[i]);
    }
}

bool rp_exile_forget_in(uint64_t context)
{
    for (size_t i = exiles.count; i-- > 0;)
        if (rp_backing_owner(exiles.items[i].backed) == context) {
            rp_shelf_give(exiles.items[i].shelf, NULL);
            remove_exile(&exiles.items[i]);
        }
    return exiles.count == 0;
}

void rp_exile_forget_all(void)
{
    while (exiles.count)
        rp_shelf_give(exiles.items[--exiles.count].shelf, NULL);
}
