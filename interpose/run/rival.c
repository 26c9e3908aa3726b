/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/rival.h"

#include "interpose/run/core.h"

static bool holds_same(uint64_t lo, uint64_t hi, const struct rp_writer *a,
                       const struct rp_writer *b)
{
    return rp_versions_same_bytes(rp_core.bench.versions, lo, hi, a, b) ||
           (a->value && a->value == b->value && a->place == b->place);
}

struct comparing {
    const struct rp_execution *chosen, *other;
    rp_alloc_id id;
    const struct rp_writer *live;
    bool told; /* by some bytes, that it is the chosen one's replay ... */
    struct rp_filled untold; /* ... and not by these */
};

/* Returns RP_END where the live bytes are not what the chosen one has read. */
static enum rp_status differs(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    const struct comparing *comparing = ctx;
    return holds_same(lo, hi, comparing->live, read) ? RP_OK : RP_END;
}

static bool is_read_by_chosen(const struct comparing *comparing, uint64_t lo, uint64_t hi)
{
    return rp_versions_read(comparing->chosen->instance->expected, comparing->id, lo, hi, differs,
                            (void *)(uintptr_t)comparing) == RP_OK;
}

static enum rp_status is_others(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    const struct comparing *comparing = ctx;
    bool is_put_back = comparing->live->version != read->version &&
                       comparing->live->seq > comparing->other->instance->since;
    if (!is_put_back || !holds_same(lo, hi, comparing->live, read))
        return RP_OK;
    return is_read_by_chosen(comparing, lo, hi) ? RP_OK : RP_END;
}

/* The job itself has put there what the other one read. What segments write is no such sign. */
static enum rp_status speaks_for_other(void *ctx, uint64_t lo, uint64_t hi,
                                       const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    if (live->made_in)
        return RP_OK;
    return rp_versions_read(comparing->other->instance->expected, comparing->id, lo, hi, is_others,
                            comparing);
}

static enum rp_status is_no_longer(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    return is_read_by_chosen(comparing, lo, hi) ? RP_OK : RP_END;
}

/* Visits what stands now where the call reads; false when a visit has ended it. */
static bool each_read(const struct rp_footprint *call, rp_versions_fn visit,
                      struct comparing *comparing)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        comparing->id = reach->id;
        if (rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, visit,
                             comparing) != RP_OK)
            return false;
    }
    return true;
}

static enum rp_status is_another(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    (void)lo, (void)hi;
    return ((const struct rp_writer *)ctx)->version == read->version ? RP_OK : RP_END;
}

/* It has been put there since both began, where each has read something of its own. */
static bool is_put_since(const struct comparing *comparing, uint64_t lo, uint64_t hi,
                         const struct rp_writer *read)
{
    const struct rp_instance *chosen = comparing->chosen->instance;
    return !comparing->live->made_in && comparing->live->seq > chosen->since &&
           comparing->live->seq > comparing->other->instance->since &&
           rp_versions_read(chosen->expected, comparing->id, lo, hi, is_another,
                            (void *)(uintptr_t)read) != RP_OK;
}

static enum rp_status weigh(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    struct comparing *comparing = ctx;
    bool is_others = holds_same(lo, hi, comparing->live, read);
    bool is_chosens = is_read_by_chosen(comparing, lo, hi);
    if (is_chosens && !is_others)
        comparing->told = true;
    else if (is_chosens == is_others && is_put_since(comparing, lo, hi, read))
        comparing->untold = (struct rp_filled){comparing->id, lo, hi, *comparing->live};
    return RP_OK;
}

static enum rp_status weigh_live(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    if (live->origin != live->version || live->speculative ||
        rp_state_name(rp_core.state, comparing->id, lo, hi, NULL, NULL))
        return RP_OK; /* state goes its own way */
    return rp_versions_read(comparing->other->instance->expected, comparing->id, lo, hi, weigh,
                            comparing);
}

static bool wrote_at(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t at = rp_pairing_twin(execution, call);
    return at < execution->log_count && execution->log[at].outputs == rp_pairing_outputs(call);
}

static bool saw_alike(const struct comparing *between, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct comparing comparing = *between;
    comparing.id = id;
    return rp_versions_read(between->other->instance->expected, id, lo, hi, is_no_longer,
                            &comparing) == RP_OK;
}

/* Whatever the call repeats, it does the same. */
static bool read_alike(const struct comparing *between, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        if (!saw_alike(between, call->reaches[i].id, call->reaches[i].lo, call->reaches[i].hi))
            return false;
    return true;
}

/* Whichever is replayed, it comes out the same. */
static bool are_alike(const struct comparing *between)
{
    const struct rp_instance *other = between->other->instance;
    for (size_t i = 0; i < other->live_count; i++)
        if (!saw_alike(between, other->lives[i].id, 0, UINT64_MAX))
            return false;
    return true;
}

static void find_grave(struct rp_objection *found, const char *why)
{
    found->worst = RP_OBJECTION_GRAVE;
    found->why = why;
}

/* Where another has had its output says whose replay it is, where the same memory serves the same
 * purpose each time. A call that does the same for both may as well have got any memory. */
static enum rp_objection_grade objection_of_place(const struct comparing *between,
                                                  const struct rp_footprint *first)
{
    if (wrote_at(between->chosen, first) || !wrote_at(between->other, first) || are_alike(between))
        return RP_OBJECTION_NONE;
    return read_alike(between, first) ? RP_OBJECTION_SLIGHT : RP_OBJECTION_GRAVE;
}

/* The job has put something where both have read, and it is both's or neither's that is known. */
static enum rp_objection_grade objection_of_input(struct comparing *between,
                                                  const struct rp_footprint *first)
{
    each_read(first, weigh_live, between);
    return between->untold.id && !between->told ? RP_OBJECTION_UNTOLD : RP_OBJECTION_NONE;
}

static enum rp_objection_grade worse(enum rp_objection_grade a, enum rp_objection_grade b)
{
    return a > b ? a : b;
}

static bool is_told_by_place(const struct comparing *between, const struct rp_footprint *first)
{
    return wrote_at(between->chosen, first) && !wrote_at(between->other, first);
}

static void compare(struct rp_objection *found, struct comparing *between,
                    const struct rp_footprint *first)
{
    enum rp_objection_grade of_place = objection_of_place(between, first);
    found->worst = worse(found->worst, of_place);
    found->worst = worse(found->worst, objection_of_input(between, first));
    if (found->worst == RP_OBJECTION_UNTOLD && between->untold.id)
        found->untold = between->untold;
    found->is_place = of_place == RP_OBJECTION_GRAVE;
    if (of_place == RP_OBJECTION_GRAVE)
        find_grave(found, "if it is the one in order, whose output then lies elsewhere, nothing "
                          "is wrong but that nothing tells: " RP_PAIR_BY_KEY);
    else if (!each_read(first, speaks_for_other, between))
        find_grave(found, "the job has put there again what another forward that waits has read: "
                          RP_PAIR_BY_KEY);
    else if (!between->told && !is_told_by_place(between, first) && !are_alike(between))
        found->worst = worse(found->worst, RP_OBJECTION_BY_ORDER);
}

void rp_rival_weigh(struct rp_objection *found, const struct rp_execution *chosen,
                    const struct rp_execution *rival, const struct rp_footprint *first)
{
    struct comparing between = {.chosen = chosen, .other = rival};
    compare(found, &between, first);
}

/* The buffers have named another forward than the order did. They tell nothing where the bytes by
 * which the two differ have been replaced since: slots are filled again, and in any order. */
static bool is_told_by_buffers(const struct rp_execution *chosen, const struct rp_execution *order,
                               const struct rp_footprint *first)
{
    struct comparing comparing = {.chosen = chosen, .other = order};
    for (size_t i = 0; i < first->count && first->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &first->reaches[i];
        const struct rp_live *live = rp_instance_live(order->instance, reach->id);
        comparing.id = reach->id;
        if ((!live || !rp_spans_overlaps(&live->live_in, reach->lo, reach->hi)) &&
            rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, is_no_longer,
                             &comparing) != RP_OK)
            return false;
    }
    return true;
}

void rp_rival_in_order(struct rp_objection *found, const struct rp_execution *chosen,
                       const struct rp_execution *order, const struct rp_footprint *first)
{
    if (!is_told_by_buffers(chosen, order, first))
        find_grave(found, "it works on the buffers of another forward than the order names, and "
                          "they hold other bytes by now: " RP_PAIR_BY_KEY);
}
