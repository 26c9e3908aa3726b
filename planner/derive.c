/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/derive.h"

#include "planner/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums that stay within 63 bits -------------------------------------------- */

/* Once over, it stays over. */
struct sum {
    uint64_t value;
    bool over;
};

static struct sum add(struct sum sum, uint64_t value)
{
    sum.over |= __builtin_add_overflow(sum.value, value, &sum.value) || sum.value > INT64_MAX;
    return sum;
}

static struct sum total(uint64_t a, uint64_t b, uint64_t c)
{
    return add(add(add((struct sum){0, false}, a), b), c);
}

static struct sum largest(struct sum a, struct sum b)
{
    bool over = a.over || b.over;
    struct sum larger = a.value > b.value ? a : b;

    larger.over = over;
    return larger;
}

enum rp_status rp_copy_time(const struct rp_profile *profile, uint64_t bytes, uint64_t pieces,
                            uint64_t *ns)
{
    const struct rp_copy_price *price = rp_profile_copy_price(profile);
    rp_unsigned_wide time = (rp_unsigned_wide)price->fixed.value * pieces;

    if (bytes > 0)
        time += ((rp_unsigned_wide)bytes * 1000 + price->bytes_per_us.value - 1) /
                price->bytes_per_us.value;
    *ns = (uint64_t)time;
    return time > INT64_MAX ? RP_INVALID : RP_OK;
}

/* ---- one option --------------------------------------------------------------- */

enum rp_status rp_cost_sum(struct rp_cost *cost)
{
    uint64_t forward = cost->terms[RP_TERM_PEAK_FORWARD].value;
    uint64_t backward = cost->terms[RP_TERM_PEAK_BACKWARD].value;
    struct sum time = {0, false};

    for (int t = RP_TERM_FIRST_TIME; t < RP_TERM_COUNT; t++)
        time = add(time, cost->terms[t].value);
    cost->hold = cost->terms[RP_TERM_HOLD].value;
    cost->peak = forward > backward ? forward : backward;
    cost->time = time.value;
    return time.over ? RP_INVALID : RP_OK;
}

/* Activation and workspaces, each rounded to the allocator's unit. */
struct sizes {
    uint64_t activation, forward, backward;
};

static enum rp_status round_sizes(const struct rp_profile *profile, const struct rp_facts *facts,
                                  struct sizes *sizes)
{
    enum rp_status status = rp_round_up(profile, facts->activation.value, &sizes->activation);

    if (status == RP_OK)
        status = rp_round_up(profile, facts->forward_workspace.value, &sizes->forward);
    if (status == RP_OK)
        status = rp_round_up(profile, facts->backward_workspace.value, &sizes->backward);
    return status;
}

static void set(struct rp_cost *cost, enum rp_term term, uint64_t value)
{
    cost->terms[term] = (struct rp_measure){value, RP_SOURCE_DERIVED};
}

static enum rp_status set_sum(struct rp_cost *cost, enum rp_term term, struct sum sum)
{
    set(cost, term, sum.value);
    return sum.over ? RP_INVALID : RP_OK;
}

static void start(struct rp_cost *cost, const struct rp_facts *facts)
{
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++)
        set(cost, (enum rp_term)t, 0);
    cost->terms[RP_TERM_FORWARD_TIME] = facts->forward_time;
    cost->terms[RP_TERM_BACKWARD_TIME] = facts->backward_time;
}

static enum rp_status derive_retain(const struct rp_profile *profile,
                                    const struct rp_facts *facts, struct rp_cost *cost)
{
    struct sizes sizes;
    enum rp_status status = round_sizes(profile, facts, &sizes);

    start(cost, facts);
    if (status != RP_OK)
        return status;
    set(cost, RP_TERM_HOLD, sizes.activation);
    status = set_sum(cost, RP_TERM_PEAK_FORWARD,
                     total(facts->forward_base.value, sizes.forward, sizes.activation));
    if (status == RP_OK)
        status = set_sum(cost, RP_TERM_PEAK_BACKWARD,
                         total(facts->backward_base.value, sizes.activation, sizes.backward));
    return status == RP_OK ? rp_cost_sum(cost) : status;
}

static enum rp_status set_copies(const struct rp_profile *profile, const struct rp_replay *replay,
                                 struct rp_cost *cost)
{
    uint64_t restore, stash;

    if (rp_copy_time(profile, replay->restored, replay->restored_pieces, &restore) != RP_OK ||
        rp_copy_time(profile, replay->stashed, replay->stashed_pieces, &stash) != RP_OK)
        return RP_INVALID;
    set(cost, RP_TERM_PRESERVE_TIME, replay->preserve_time);
    set(cost, RP_TERM_RESTORE_TIME, restore);
    set(cost, RP_TERM_STASH_TIME, stash);
    set(cost, RP_TERM_REINSTATE_TIME, stash);
    return RP_OK;
}

enum rp_status rp_derive_replay(const struct rp_profile *profile, const struct rp_facts *facts,
                                const struct rp_replay *replay, struct rp_cost *cost)
{
    struct sizes sizes;
    uint64_t stashed = replay->held_stash;
    enum rp_status status = round_sizes(profile, facts, &sizes);

    start(cost, facts);
    if (status != RP_OK)
        return status;
    set(cost, RP_TERM_HOLD, replay->held);
    set(cost, RP_TERM_STASH, stashed);
    cost->terms[RP_TERM_REPLAY_TIME] = facts->replay_time;
    if (replay->tracks)
        cost->terms[RP_TERM_TRACKING_TIME] = facts->tracking_time;
    struct sum forward = total(replay->held_forward, sizes.forward, sizes.activation);
    struct sum backward = largest(largest(total(replay->held, stashed, 0),
                                          total(stashed, sizes.forward, sizes.activation)),
                                  total(sizes.activation, sizes.backward, 0));
    status = set_sum(cost, RP_TERM_PEAK_FORWARD, add(forward, facts->forward_base.value));
    if (status == RP_OK)
        status = set_sum(cost, RP_TERM_PEAK_BACKWARD, add(backward, facts->backward_base.value));
    if (status == RP_OK)
        status = set_copies(profile, replay, cost);
    return status == RP_OK ? rp_cost_sum(cost) : status;
}

/* All copies private and made at the forward. */
static enum rp_status private_replay(const struct rp_profile *profile,
                                     const struct rp_spans *preserved,
                                     const struct rp_spans *stashed, struct rp_replay *replay)
{
    uint64_t bytes = rp_spans_bytes(preserved);

    *replay = (struct rp_replay){.restored = bytes,
                                 .restored_pieces = preserved->count,
                                 .stashed = rp_spans_bytes(stashed),
                                 .stashed_pieces = stashed->count};
    if (rp_round_pieces(profile, preserved, &replay->held) != RP_OK ||
        rp_round_pieces(profile, stashed, &replay->held_stash) != RP_OK ||
        rp_copy_time(profile, bytes, preserved->count, &replay->preserve_time) != RP_OK)
        return RP_INVALID;
    replay->held_forward = replay->held;
    return RP_OK;
}

enum rp_status rp_derive_regions(const struct rp_profile *profile,
                                 const struct rp_clobbers *clobbers, size_t k,
                                 struct rp_replay *replay)
{
    enum rp_status status =
        private_replay(profile, &clobbers->clobbered[k], &clobbers->stashed[k], replay);

    replay->tracks = true;
    return status;
}

/* ---- checks ------------------------------------------------------------------- */

struct named_fact {
    const char *name;
    const struct rp_measure *fact;
};

static const char *absent_fact(const struct rp_facts *facts)
{
    const struct named_fact all[] = {
        {"forward_ns", &facts->forward_time},
        {"backward_ns", &facts->backward_time},
        {"activation_bytes", &facts->activation},
        {"forward_workspace_bytes", &facts->forward_workspace},
        {"backward_workspace_bytes", &facts->backward_workspace},
        {"forward_base_bytes", &facts->forward_base},
        {"backward_base_bytes", &facts->backward_base},
        {"replay_ns", &facts->replay_time},
        {"tracking_ns", &facts->tracking_time},
    };
    size_t count = sizeof(all) / sizeof(*all) - (facts->no_replay != NULL ? 2 : 0);

    for (size_t i = 0; i < count; i++)
        if (all[i].fact->source == RP_SOURCE_ABSENT)
            return all[i].name;
    return NULL;
}

static bool are_inside(const struct rp_profile *profile, const struct rp_buffer_range *ranges,
                       size_t count)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);

    for (size_t i = 0; i < count; i++)
        if (ranges[i].buffer >= buffer_count || ranges[i].lo > ranges[i].hi ||
            ranges[i].hi > buffers[ranges[i].buffer].bytes)
            return false;
    return true;
}

static enum rp_status check_facts(const struct rp_profile *profile, size_t k, char *message,
                                  size_t message_size)
{
    const struct rp_facts *facts = rp_profile_facts(profile, k);
    const char *name = rp_profile_segment(profile, k)->name, *absent = absent_fact(facts);

    if (absent != NULL) {
        snprintf(message, message_size, "segment '%s': %s is absent; it has to be measured", name,
                 absent);
        return RP_INVALID;
    }
    if (!are_inside(profile, facts->reads, facts->read_count) ||
        !are_inside(profile, facts->writes, facts->write_count) ||
        !are_inside(profile, facts->backward_writes, facts->backward_write_count)) {
        snprintf(message, message_size, "segment '%s': a range of state leaves its buffer", name);
        return RP_INVALID;
    }
    return RP_OK;
}

static enum rp_status check_price(const struct rp_copy_price *price, char *message,
                                  size_t message_size)
{
    if (price->fixed.source == RP_SOURCE_ABSENT || price->bytes_per_us.source == RP_SOURCE_ABSENT)
        snprintf(message, message_size, "the price of a copy is absent; it has to be measured");
    else if (price->bytes_per_us.value == 0)
        snprintf(message, message_size, "the price of a copy: 0 bytes per microsecond");
    else
        return RP_OK;
    return RP_INVALID;
}

/* ---- all ---------------------------------------------------------------------- */

static enum rp_status mask(struct rp_cost *cost, const char *reason)
{
    *cost = (struct rp_cost){.masked = strdup(reason)};
    return cost->masked != NULL ? RP_OK : RP_NO_MEMORY;
}

static enum rp_status derive_segment(const struct rp_profile *profile,
                                     const struct rp_clobbers *clobbers, size_t k,
                                     struct rp_segment *segment)
{
    const struct rp_facts *facts = rp_profile_facts(profile, k);
    struct rp_cost *whole = &segment->costs[RP_CHOICE_WHOLE];
    struct rp_cost *regions = &segment->costs[RP_CHOICE_REGIONS];
    enum rp_status status = derive_retain(profile, facts, &segment->costs[RP_CHOICE_RETAIN]);

    if (status == RP_OK && facts->no_replay != NULL) {
        status = mask(whole, facts->no_replay);
        return status == RP_OK ? mask(regions, facts->no_replay) : status;
    }
    struct rp_replay replay;
    if (status == RP_OK)
        status = private_replay(profile, &clobbers->whole[k], &clobbers->whole[k], &replay);
    if (status == RP_OK)
        status = rp_derive_replay(profile, facts, &replay, whole);
    if (status == RP_OK)
        status = rp_derive_regions(profile, clobbers, k, &replay);
    if (status == RP_OK)
        status = rp_derive_replay(profile, facts, &replay, regions);
    return status;
}

enum rp_status rp_derive_costs(const struct rp_profile *profile,
                               const struct rp_copy_price *price, struct rp_segment *segments,
                               size_t *culprit, char *message, size_t message_size)
{
    struct rp_clobbers clobbers;
    size_t count = rp_profile_count(profile);
    enum rp_status status = check_price(price, message, message_size);

    for (size_t k = 0; k < count && status == RP_OK; k++) {
        *culprit = k;
        status = check_facts(profile, k, message, message_size);
    }
    if (status != RP_OK)
        return status;
    *culprit = count;
    status = rp_clobbers_create(profile, &clobbers);
    if (status != RP_OK) {
        snprintf(message, message_size, "the buffers together leave 63 bits");
        return status;
    }
    for (size_t k = 0; k < count && status == RP_OK; k++) {
        *culprit = k;
        status = derive_segment(profile, &clobbers, k, &segments[k]);
        if (status == RP_INVALID)
            snprintf(message, message_size, "segment '%s': a figure leaves 63 bits",
                     rp_profile_segment(profile, k)->name);
    }
    rp_clobbers_release(&clobbers);
    return status;
}
