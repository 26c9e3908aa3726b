/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/lazy.h"

#include "planner/clobber.h"
#include "planner/derive.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of one segment that are clobbered first at one event. */
struct part {
    size_t event;
    uint64_t bytes, pieces;
    uint64_t held; /* rounded up, piece by piece */
};

/* Of one segment, in order of time. */
struct parts {
    struct part *items;
    size_t count;
};

/* ---- parts -------------------------------------------------------------------- */

static enum rp_status add_part(const struct rp_profile *profile, struct parts *parts,
                               const struct rp_spans *taken, size_t event)
{
    struct part *grown = realloc(parts->items, (parts->count + 1) * sizeof(*grown));
    uint64_t held;

    if (grown == NULL)
        return RP_NO_MEMORY;
    parts->items = grown;
    enum rp_status status = rp_round_pieces(profile, taken, &held);
    if (status == RP_OK)
        grown[parts->count++] = (struct part){event, rp_spans_bytes(taken), taken->count, held};
    return status;
}

/* Moves what `writes` clobbers out of `rest` into a part. */
static enum rp_status take_part(const struct rp_profile *profile, struct parts *parts,
                                struct rp_spans *rest, const struct rp_spans *writes,
                                size_t event)
{
    struct rp_spans taken = {NULL, 0, 0}, within = {NULL, 0, 0};
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < rest->count && writes->count > 0 && status == RP_OK; i++) {
        status = rp_spans_within(writes, rest->items[i].lo, rest->items[i].hi, &within);
        if (status == RP_OK)
            status = rp_spans_add_all(&taken, &within);
    }
    if (status == RP_OK && taken.count > 0) {
        status = add_part(profile, parts, &taken, event);
        if (status == RP_OK)
            status = rp_spans_remove_all(rest, &taken);
    }
    rp_spans_release(&taken);
    rp_spans_release(&within);
    return status;
}

static enum rp_status find_parts(const struct rp_profile *profile,
                                 const struct rp_clobbers *clobbers, size_t k,
                                 struct parts *parts)
{
    struct rp_spans rest = {NULL, 0, 0};
    size_t count = clobbers->count, events = 2 * count;
    enum rp_status status = rp_spans_copy(&rest, &clobbers->clobbered[k]);

    for (size_t event = k; event < events - 1 - k && status == RP_OK && rest.count > 0; event++) {
        const struct rp_spans *writes = event < count
                                            ? &clobbers->writes[event]
                                            : &clobbers->backward_writes[events - 1 - event];
        status = take_part(profile, parts, &rest, writes, event);
    }
    rp_spans_release(&rest);
    return status;
}

/* ---- costs -------------------------------------------------------------------- */

static bool add_to(uint64_t *sum, uint64_t value)
{
    return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

static enum rp_status cost_of_regions(const struct rp_profile *profile,
                                      const struct rp_clobbers *clobbers, size_t k,
                                      const struct parts *parts, struct rp_cost *cost)
{
    struct rp_replay replay;

    if (rp_derive_regions(profile, clobbers, k, &replay) != RP_OK)
        return RP_INVALID;
    replay.held = replay.held_forward = replay.preserve_time = replay.restored_pieces = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        uint64_t time;
        if (rp_copy_time(profile, part->bytes, part->pieces, &time) != RP_OK ||
            !add_to(&replay.preserve_time, time) || !add_to(&replay.held, part->held))
            return RP_INVALID;
        replay.restored_pieces += part->pieces;
        if (part->event == k)
            replay.held_forward = part->held;
    }
    return rp_derive_replay(profile, rp_profile_facts(profile, k), &replay, cost);
}

static enum rp_status set_hold(const struct parts *parts, size_t k, struct rp_growth_hold *hold)
{
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < parts->count && status == RP_OK; i++) {
        const struct part *part = &parts->items[i];
        if (part->event == k)
            hold->start = (int64_t)part->held;
        else
            status = rp_growth_add(hold, part->event, (int64_t)part->held);
    }
    return status;
}

static enum rp_status derive_segment(const struct rp_question *question,
                                     const struct rp_clobbers *clobbers, size_t k,
                                     struct rp_growth_segment *segment)
{
    const struct rp_profile *profile = question->profile;
    const struct rp_segment *from = rp_profile_segment(profile, k);
    struct parts parts = {NULL, 0};
    enum rp_status status = RP_OK;

    for (int c = 0; c < RP_CHOICE_COUNT; c++) {
        segment->costs[c] = from->costs[c];
        segment->holds[c].start = (int64_t)from->costs[c].hold;
    }
    if (from->costs[RP_CHOICE_REGIONS].allowed) {
        segment->holds[RP_CHOICE_REGIONS].start = 0;
        status = find_parts(profile, clobbers, k, &parts);
        if (status == RP_OK)
            status = cost_of_regions(profile, clobbers, k, &parts,
                                     &segment->costs[RP_CHOICE_REGIONS]);
        if (status == RP_OK)
            status = set_hold(&parts, k, &segment->holds[RP_CHOICE_REGIONS]);
    }
    free(parts.items);
    return status;
}

/* ---- the whole ---------------------------------------------------------------- */

enum rp_status rp_lazy_fill(const struct rp_question *question, struct rp_growth *growth)
{
    struct rp_clobbers clobbers;
    enum rp_status status = rp_clobbers_create(question->profile, &clobbers);

    if (status != RP_OK)
        return status;
    for (size_t k = 0; k < clobbers.count && status == RP_OK; k++)
        status = derive_segment(question, &clobbers, k, rp_growth_segment(growth, k));
    rp_clobbers_release(&clobbers);
    return status;
}
