/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/holding.h"

#include "interpose/recompute/fence.h"
#include "interpose/recompute/recipe.h"
#include "interpose/run/core.h"
#include "tracker/array.h"

static struct {
    struct rp_holding *items;
    size_t count, capacity, dropped;
    uint64_t standing; /* bytes */
    uint64_t used; /* any of them, the last time, by rp_fence_now */
} holdings;

size_t rp_holdings_count(void)
{
    return holdings.count;
}

struct rp_holding *rp_holdings_at(size_t index)
{
    return &holdings.items[index];
}

static uint64_t bytes_of(const struct rp_holding *holding)
{
    return holding->hi - holding->lo;
}

uint64_t rp_holdings_standing(void)
{
    return holdings.standing;
}

void rp_holding_set(struct rp_holding *holding, enum rp_holding_state state)
{
    bool was = holding->state == RP_HOLDING_DROPPED, is = state == RP_HOLDING_DROPPED;
    holdings.dropped += (size_t)is - (size_t)was;
    holdings.standing += was && !is ? bytes_of(holding) : 0;
    holdings.standing -= is && !was ? bytes_of(holding) : 0;
    holding->owner->recipe->dropped += (size_t)is - (size_t)was;
    holding->state = state;
}

void rp_holding_claim(struct rp_holding *holding, bool claimed)
{
    holding->owner->recipe->claimed += (size_t)claimed - (size_t)holding->claimed;
    holding->claimed = claimed;
}

static bool meets(const struct rp_holding *holding, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    return holding->id == id && holding->lo < hi && lo < holding->hi;
}

struct rp_holding *rp_holding_dropped(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; holdings.dropped && i < holdings.count; i++)
        if (holdings.items[i].state == RP_HOLDING_DROPPED && meets(&holdings.items[i], id, lo, hi))
            return &holdings.items[i];
    return NULL;
}

struct rp_holding *rp_holding_any_dropped(void)
{
    for (size_t i = 0; holdings.dropped && i < holdings.count; i++)
        if (holdings.items[i].state == RP_HOLDING_DROPPED && !holdings.items[i].claimed)
            return &holdings.items[i];
    return NULL;
}

static void remove_at(size_t at)
{
    rp_holding_claim(&holdings.items[at], false);
    rp_holding_set(&holdings.items[at], RP_HOLDING_STANDS);
    holdings.items[at].owner->recipe->held--;
    holdings.standing -= bytes_of(&holdings.items[at]);
    holdings.items[at] = holdings.items[--holdings.count];
}

void rp_holdings_release(struct rp_execution *execution)
{
    for (size_t i = holdings.count; i-- > 0;)
        if (holdings.items[i].owner == execution)
            remove_at(i);
}

bool rp_holdings_overwrite(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    bool any = false;
    for (size_t i = holdings.count; i-- > 0;) {
        const struct rp_holding *holding = &holdings.items[i];
        if (!meets(holding, id, lo, hi) ||
            (holding->state == RP_HOLDING_DROPPED && !holding->claimed))
            continue;
        remove_at(i);
        any = true;
    }
    return any;
}

void rp_holdings_forget(rp_alloc_id id)
{
    for (size_t i = holdings.count; i-- > 0;)
        if (holdings.items[i].id == id)
            remove_at(i);
}

enum rp_status rp_holdings_of(rp_alloc_id id, struct rp_spans *spans)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < holdings.count; i++)
        if (holdings.items[i].id == id)
            status = rp_spans_add(spans, holdings.items[i].lo, holdings.items[i].hi);
    return status;
}

void rp_holdings_use_any(void)
{
    holdings.used = rp_fence_now();
}

void rp_holdings_use(const struct rp_footprint *call)
{
    if (call->in_graph || rp_footprint_is_unproved(call))
        rp_holdings_use_any();
    for (size_t i = 0; i < holdings.count; i++)
        for (size_t j = 0; j < call->count; j++)
            if (meets(&holdings.items[i], call->reaches[j].id, call->reaches[j].lo,
                      call->reaches[j].hi))
                holdings.items[i].used = rp_fence_now();
}

void rp_holdings_use_part(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < holdings.count; i++)
        if (meets(&holdings.items[i], id, lo, hi))
            holdings.items[i].used = rp_fence_now();
}

uint64_t rp_holdings_used(void)
{
    return holdings.used;
}

uint64_t rp_holding_used(const struct rp_holding *holding)
{
    return holding->used > holdings.used ? holding->used : holdings.used;
}

void rp_holdings_forget_all(void)
{
    holdings.count = holdings.dropped = 0;
    holdings.standing = 0;
}

/* ---- what a forward holds --------------------------------------------------------- */

/* By what the recipe does, for the same step may find its memory elsewhere the next time. */
static uint32_t first_write(const struct rp_recipe *recipe, const struct rp_holding *holding)
{
    for (size_t i = 0; i < recipe->reach_count; i++) {
        const struct rp_reach *reach = &recipe->reaches[i];
        if (reach->effect == RP_WRITE && meets(holding, reach->id, reach->lo, reach->hi))
            return (uint32_t)i;
    }
    return UINT32_MAX;
}

static enum rp_status add_holding(struct rp_execution *execution, rp_alloc_id id,
                                  struct rp_backed *backed, struct rp_span span)
{
    struct rp_holding holding = {.id = id, .lo = span.lo, .hi = span.hi, .backed = backed,
                                 .owner = execution, .used = rp_fence_now()};
    rp_backing_inside(backed, &holding.lo, &holding.hi);
    if (holding.lo == holding.hi)
        return RP_OK;
    void *bigger = rp_array_reserve(holdings.items, &holdings.capacity, holdings.count + 1,
                                    sizeof *holdings.items);
    if (!bigger)
        return RP_NO_MEMORY;
    holding.nth = first_write(execution->recipe, &holding);
    holdings.items = bigger;
    holdings.items[holdings.count++] = holding;
    holdings.standing += bytes_of(&holding);
    execution->recipe->held++;
    return RP_OK;
}

/* State that it carries on from is no output, though it has written it. */
static enum rp_status outputs_in(const struct rp_live *live, struct rp_spans *outputs)
{
    enum rp_status status = rp_spans_copy(outputs, &live->written);
    return status == RP_OK ? rp_spans_remove_all(outputs, &live->live_in) : status;
}

enum rp_status rp_holdings_add(struct rp_execution *execution)
{
    struct rp_spans outputs = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < execution->instance->live_count; i++) {
        const struct rp_live *live = &execution->instance->lives[i];
        struct rp_backed *backed = rp_backing_of(live->id);
        if (backed)
            status = outputs_in(live, &outputs);
        for (size_t j = 0; backed && status == RP_OK && j < outputs.count; j++)
            status = add_holding(execution, live->id, backed, outputs.items[j]);
    }
    rp_spans_release(&outputs);
    return status;
}

static enum rp_status check_writer(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    return rp_recipe_wrote(ctx, writer->version) ? RP_OK : RP_INVALID;
}

bool rp_holding_is_own(const struct rp_holding *holding)
{
    return rp_versions_read(rp_core.bench.versions, holding->id, holding->lo, holding->hi,
                            check_writer, holding->owner->recipe) == RP_OK;
}

bool rp_holding_is_read(const struct rp_holding *holding, const struct rp_execution *execution)
{
    const struct rp_live *live = rp_instance_live(execution->instance, holding->id);
    return live && rp_spans_overlaps(&live->live_in, holding->lo, holding->hi);
}
