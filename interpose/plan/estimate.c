/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/estimate.h"

#include "interpose/plan/clock.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/facts.h"
#include "interpose/plan/growth.h"
#include "interpose/plan/ranges.h"
#include "interpose/plan/sample.h"
#include "interpose/plan/trade.h"
#include "interpose/recompute/advice.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "planner/purpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one option ------------------------------------------------------------- */

struct estimate {
    struct rp_sample sample;
    struct rp_profile *profile;
    uint64_t base;
    bool priced; /* copies that were not made can be priced */
    uint64_t piece; /* see rp_price_piece */
    bool trades;    /* calls that trade idle blocks would tell in a step's time */
    bool grows;     /* what is kept later is told from what is kept from the forward on */
    struct rp_growth_of state, outputs; /* of the segment that is looked at */
    struct rp_ranges *ranges; /* of state, or NULL: then there are rows alone */
};

static struct rp_measure timed(uint64_t ns)
{
    return (struct rp_measure){ns, rp_clock_source()};
}

static struct rp_measure counted(uint64_t bytes)
{
    return (struct rp_measure){bytes, RP_SOURCE_COUNTED};
}

static struct rp_measure derived(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_DERIVED};
}

/* What the job itself has on the device in a phase, above the base. */
static uint64_t job(const struct estimate *estimate, size_t place, enum rp_phase phase)
{
    size_t member = RP_PART(job) + phase * sizeof(uint64_t);
    uint64_t bytes = rp_sample_most(&estimate->sample, place, member);
    return bytes > estimate->base ? bytes - estimate->base : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct rp_amount amount_of(const struct estimate *estimate, size_t place, size_t member)
{
    return rp_sample_amount(&estimate->sample, place, member);
}

static uint64_t blocks_of(const struct estimate *estimate, size_t place, size_t member)
{
    return rp_sample_blocks(&estimate->sample, place, member);
}

static struct rp_measure time_of(const struct estimate *estimate, size_t place, size_t member)
{
    return timed(rp_sample_median(&estimate->sample, place, member));
}

/* What copies take at least, by those of the same kind that the segment has made: whatever of their
 * time was by the piece and what by the byte, the smaller ratio of the two is due. The price is the
 * same for every kind, but each has its own calls of the host around it. */
static uint64_t due(const struct estimate *estimate, size_t place, enum rp_copying kind,
                    struct rp_amount amount)
{
    size_t copies = RP_PART(copies) + (size_t)kind * sizeof(struct rp_amount);
    struct rp_amount made = amount_of(estimate, place, copies);
    uint64_t ns = rp_sample_median(&estimate->sample, place,
                                   RP_PART(copy_ns) + (size_t)kind * sizeof(uint64_t));
    if (!made.pieces || !made.bytes)
        return 0;
    double pieces = (double)amount.pieces / (double)made.pieces;
    double bytes = (double)amount.bytes / (double)made.bytes;
    return (uint64_t)((double)ns * (pieces < bytes ? pieces : bytes));
}

/* The time of copies that were not made. */
static struct rp_measure priced(const struct estimate *estimate, size_t place,
                                enum rp_copying kind, struct rp_amount amount)
{
    uint64_t ns = 0;
    if (!amount.bytes)
        return derived(0);
    if (!estimate->priced ||
        rp_copy_time(estimate->profile, amount.bytes, amount.pieces, &ns) != RP_OK)
        return (struct rp_measure){0, RP_SOURCE_ABSENT};
    ns = more(ns, estimate->piece * amount.pieces);
    return derived(more(ns, due(estimate, place, kind, amount)));
}

struct copying {
    const struct rp_profile *profile; /* which has a price */
    enum rp_copying kind;
};

static uint64_t as_on_device(const void *ctx, const struct rp_part *part)
{
    const struct copying *copying = ctx;
    const struct rp_amount *abroad = &part->abroad[copying->kind];
    uint64_t ns = 0;
    if (rp_copy_time(copying->profile, abroad->bytes, abroad->pieces, &ns) != RP_OK)
        ns = part->copy_ns[RP_COPYING_ABROAD]; /* more than it can be */
    return part->copy_ns[copying->kind] + ns;
}

/* Copies that were made; those that led to host memory or from it as if there had been room. */
static struct rp_measure copied(const struct estimate *estimate, size_t place,
                                enum rp_copying kind)
{
    struct copying copying = {estimate->profile, kind};
    size_t abroad = RP_PART(abroad) + (size_t)kind * sizeof(struct rp_amount);
    if (!amount_of(estimate, place, abroad).bytes)
        return time_of(estimate, place, RP_PART(copy_ns) + (size_t)kind * sizeof(uint64_t));
    if (!estimate->priced)
        return (struct rp_measure){0, RP_SOURCE_ABSENT};
    return derived(rp_sample_median_by(&estimate->sample, place, as_on_device, &copying));
}

static void set_passes(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++)
        cost->terms[t] = derived(0);
    cost->terms[RP_TERM_FORWARD_TIME] = time_of(estimate, place, RP_PART(ns[RP_PHASE_OF_FORWARD]));
    cost->terms[RP_TERM_BACKWARD_TIME] =
        time_of(estimate, place, RP_PART(ns[RP_PHASE_OF_BACKWARD]));
}

/* Bytes that the layer holds: `start` from the forward on, `held` in the end, `all` when the replay
 * begins, and `stashed` more while that runs. */
static void set_bytes(const struct estimate *estimate, size_t place, uint64_t start, uint64_t held,
                      uint64_t all, uint64_t stashed, struct rp_cost *cost)
{
    uint64_t forward = job(estimate, place, RP_PHASE_OF_FORWARD) + start;
    uint64_t replay = job(estimate, place, RP_PHASE_OF_REPLAY) + all + stashed;
    uint64_t backward = job(estimate, place, RP_PHASE_OF_BACKWARD);
    cost->terms[RP_TERM_HOLD] = counted(held);
    cost->terms[RP_TERM_STASH] = counted(stashed);
    cost->terms[RP_TERM_PEAK_FORWARD] = counted(forward);
    cost->terms[RP_TERM_PEAK_BACKWARD] = counted(more(more(replay, backward), held));
}

/* The same with what is kept, some of which may come to it later than the forward. */
static void set_kept_bytes(const struct estimate *estimate, size_t place, uint64_t all,
                           uint64_t stashed, const struct rp_growth_of *kept, struct rp_cost *cost)
{
    set_bytes(estimate, place, estimate->grows ? kept->start : kept->held, kept->held, all, stashed,
              cost);
    cost->later = kept->later; /* the profile copies it */
    cost->later_count = estimate->grows ? kept->count : 0;
}

/* As replayed with what was preserved in the steps. */
static void set_state_bytes(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    set_kept_bytes(estimate, place, blocks_of(estimate, place, RP_PART(state.all)),
                   blocks_of(estimate, place, RP_PART(copies[RP_COPYING_STASH])),
                   &estimate->state, cost);
}

/* As served from outputs. Until the forward ends its state is kept too, for there is still
 * another way. Where trades tell there is room for blocks of all sizes that it takes, be they
 * needed in turn. */
static void set_output_bytes(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    struct rp_measure *peak = &cost->terms[RP_TERM_PEAK_FORWARD];
    uint64_t early = blocks_of(estimate, place, RP_PART(state.early)) +
                     blocks_of(estimate, place, RP_PART(outputs.early));
    set_kept_bytes(estimate, place, blocks_of(estimate, place, RP_PART(outputs.all)), 0,
                   &estimate->outputs, cost);
    if (estimate->trades)
        early = more(early, rp_trade_room(&estimate->sample, place));
    peak->value = more(peak->value, job(estimate, place, RP_PHASE_OF_FORWARD) + early);
}

/* The option by which the steps were run: every copy of it was measured. */
static void set_measured(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    static const struct {
        enum rp_copying kind;
        enum rp_term term;
    } copies[] = {{RP_COPYING_PRESERVE, RP_TERM_PRESERVE_TIME},
                  {RP_COPYING_STASH, RP_TERM_STASH_TIME},
                  {RP_COPYING_RESTORE, RP_TERM_RESTORE_TIME},
                  {RP_COPYING_REINSTATE, RP_TERM_REINSTATE_TIME}};
    const struct rp_sample *sample = &estimate->sample;
    set_passes(estimate, place, cost);
    if (rp_core.config.mode != RP_MODE_GUARD) {
        for (int t = 0; t < RP_TERM_COUNT; t++) /* nothing was preserved that could be measured */
            if (t != RP_TERM_FORWARD_TIME && t != RP_TERM_BACKWARD_TIME)
                cost->terms[t].source = RP_SOURCE_ABSENT;
        return;
    }
    if (sample->steps[0]->parts[place].choice == RP_CHOICE_RETAIN)
        set_output_bytes(estimate, place, cost);
    else
        set_state_bytes(estimate, place, cost);
    cost->terms[RP_TERM_REPLAY_TIME] = time_of(estimate, place, RP_PART(ns[RP_PHASE_OF_REPLAY]));
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        cost->terms[copies[i].term] = copied(estimate, place, copies[i].kind);
}

/* The other option that replays: the same replay, with other copies around it. Whole buffers
 * are preserved, and stashed together with what the replay writes beside them. */
static void set_whole(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    struct rp_amount kept = amount_of(estimate, place, RP_PART(whole));
    struct rp_amount stash = amount_of(estimate, place, RP_PART(copies[RP_COPYING_STASH]));
    stash = stash.bytes > kept.bytes ? rp_amount_most(kept, stash) : kept; /* pieces of it */
    uint64_t blocks = blocks_of(estimate, place, RP_PART(whole));
    set_passes(estimate, place, cost);
    set_bytes(estimate, place, blocks, blocks, blocks,
              more(blocks, blocks_of(estimate, place, RP_PART(copies[RP_COPYING_STASH]))), cost);
    cost->terms[RP_TERM_REPLAY_TIME] = time_of(estimate, place, RP_PART(ns[RP_PHASE_OF_REPLAY]));
    cost->terms[RP_TERM_PRESERVE_TIME] =
        priced(estimate, place, RP_COPYING_PRESERVE, kept);
    cost->terms[RP_TERM_RESTORE_TIME] =
        priced(estimate, place, RP_COPYING_RESTORE, kept);
    cost->terms[RP_TERM_STASH_TIME] =
        priced(estimate, place, RP_COPYING_STASH, stash);
    cost->terms[RP_TERM_REINSTATE_TIME] =
        priced(estimate, place, RP_COPYING_REINSTATE, stash);
}

static void set_retain(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    struct rp_amount kept = amount_of(estimate, place, RP_PART(outputs.all));
    struct rp_amount state = amount_of(estimate, place, RP_PART(state.early));
    struct rp_amount both = {kept.bytes + state.bytes, kept.pieces + state.pieces, 0};
    set_passes(estimate, place, cost);
    set_output_bytes(estimate, place, cost);
    cost->terms[RP_TERM_PRESERVE_TIME] =
        priced(estimate, place, RP_COPYING_PRESERVE, both);
    cost->terms[RP_TERM_RESTORE_TIME] =
        priced(estimate, place, RP_COPYING_RESTORE, amount_of(estimate, place, RP_PART(served)));
}

static void mask(struct rp_cost *cost, const char *reason)
{
    *cost = (struct rp_cost){.masked = (char *)(uintptr_t)reason}; /* the profile copies it */
}

static bool has_absent(const struct rp_cost *cost)
{
    for (int t = 0; t < RP_TERM_COUNT; t++)
        if (cost->terms[t].source == RP_SOURCE_ABSENT)
            return true;
    return false;
}

/* ---- one segment ------------------------------------------------------------ */

/* Where the job retains by itself there is nothing to choose. */
static void estimate_unreplayed(const struct estimate *estimate, size_t place,
                                struct rp_cost costs[RP_CHOICE_COUNT])
{
    uint64_t blocks = blocks_of(estimate, place, RP_PART(state.all));
    set_passes(estimate, place, &costs[RP_CHOICE_RETAIN]);
    set_bytes(estimate, place, blocks, blocks, blocks, 0, &costs[RP_CHOICE_RETAIN]);
    costs[RP_CHOICE_RETAIN].terms[RP_TERM_PRESERVE_TIME] =
        copied(estimate, place, RP_COPYING_PRESERVE);
    mask(&costs[RP_CHOICE_WHOLE], "the job does not replay it");
    mask(&costs[RP_CHOICE_REGIONS], "the job does not replay it");
}

static void estimate_replayed(const struct estimate *estimate, size_t place,
                              const struct rp_part *part, struct rp_cost costs[RP_CHOICE_COUNT])
{
    if (rp_sample_no_retain(&estimate->sample, place))
        mask(&costs[RP_CHOICE_RETAIN], rp_sample_no_retain(&estimate->sample, place));
    else if (part->choice == RP_CHOICE_RETAIN)
        set_measured(estimate, place, &costs[RP_CHOICE_RETAIN]);
    else
        set_retain(estimate, place, &costs[RP_CHOICE_RETAIN]);
    if (part->choice == RP_CHOICE_RETAIN) {
        mask(&costs[RP_CHOICE_WHOLE], "its replay was served, and so not measured");
        mask(&costs[RP_CHOICE_REGIONS], "its replay was served, and so not measured");
        return;
    }
    enum rp_choice other = part->choice == RP_CHOICE_WHOLE ? RP_CHOICE_REGIONS : RP_CHOICE_WHOLE;
    set_measured(estimate, place, &costs[part->choice]);
    if (rp_core.config.mode != RP_MODE_GUARD)
        mask(&costs[other], "nothing is preserved but in guard, and so nothing measured");
    else if (other == RP_CHOICE_WHOLE)
        set_whole(estimate, place, &costs[other]);
    else
        mask(&costs[other], "the steps were run with whole buffers, which does not tell what "
                            "is clobbered of them");
}

static void look_at(struct estimate *estimate, size_t place)
{
    rp_growth_find(&estimate->sample, place, RP_PART(state), &estimate->state);
    rp_growth_find(&estimate->sample, place, RP_PART(outputs), &estimate->outputs);
}

static enum rp_status add_segment(struct estimate *estimate, size_t place)
{
    const struct rp_part *part = &estimate->sample.steps[estimate->sample.count - 1]->parts[place];
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    look_at(estimate, place);
    if (part->replayed)
        estimate_replayed(estimate, place, part, costs);
    else
        estimate_unreplayed(estimate, place, costs);
    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        if (costs[c].allowed && (enum rp_choice)c != part->choice && has_absent(&costs[c]))
            mask(&costs[c], "no copy was made by which its own could be priced");
    if (!estimate->ranges)
        return rp_profile_add_row(estimate->profile, rp_name(part->name), costs);
    struct rp_facts facts = rp_facts_of(&estimate->sample, place, estimate->base);
    rp_ranges_of(estimate->ranges, (uint32_t)place, &facts);
    return rp_profile_add_both(estimate->profile, rp_name(part->name), costs, &facts);
}

/* ---- the profile ------------------------------------------------------------ */

const char *rp_estimate_refused(void)
{
    struct rp_sample sample;
    rp_sample_take(&sample);
    if (!rp_core.config.contract || !rp_core.config.contract->step_nvtx)
        return "the contract names no step";
    if (!sample.count && rp_core.config.plan_path)
        return "the steps ran under a plan: their parts are not measured then";
    if (!sample.count)
        return "no step was measured to its end";
    /* What recompute notes of a step does not go by passes. */
    return rp_core.config.mode == RP_MODE_RECOMPUTE ? NULL : rp_sample_departure(&sample);
}

static enum rp_status set_head(struct estimate *estimate)
{
    struct rp_profile *profile = estimate->profile;
    struct rp_copy_price price;
    estimate->priced = rp_price_copies(estimate->sample.steps, estimate->sample.count, &price);
    estimate->piece = rp_price_piece(estimate->sample.steps, estimate->sample.count);
    if (estimate->priced)
        rp_profile_set_copy_price(profile, &price);
    estimate->base = rp_sample_least_job(&estimate->sample);
    rp_profile_set_base(profile, estimate->base);
    rp_profile_set_quantum(profile, RP_STORE_QUANTUM);
    const char *departure = rp_sample_departure(&estimate->sample);
    enum rp_status status = rp_profile_set_purpose(profile, rp_estimate_purpose());
    return status == RP_OK && departure ? rp_profile_set_departure(profile, departure) : status;
}

/* A copy is a call of the host's at least. */
static uint64_t call_time(const struct estimate *estimate)
{
    return more(estimate->piece, rp_profile_copy_price(estimate->profile)->fixed.value);
}

static enum rp_status open_ranges(struct estimate *estimate)
{
    const char *missing = rp_facts_missing(&estimate->sample, estimate->priced);
    return missing ? rp_profile_set_no_facts(estimate->profile, missing)
                   : rp_ranges_create(rp_facts_notes(&estimate->sample), estimate->profile,
                                      &estimate->ranges);
}

enum rp_status rp_estimate_profile(struct rp_profile **out)
{
    struct estimate estimate = {.base = 0};
    rp_sample_take(&estimate.sample);
    if (!estimate.sample.count)
        return RP_NOT_FOUND;
    enum rp_status status = rp_profile_create(&estimate.profile);
    if (status != RP_OK)
        return status;
    status = set_head(&estimate);
    estimate.trades = rp_trade_tells(&estimate.sample, call_time(&estimate));
    estimate.grows = rp_growth_tells(&estimate.sample);
    if (status == RP_OK)
        status = open_ranges(&estimate);
    for (size_t k = 0; status == RP_OK && k < estimate.sample.steps[0]->count; k++)
        status = add_segment(&estimate, k);
    rp_ranges_destroy(estimate.ranges);
    if (status == RP_OK)
        *out = estimate.profile;
    else
        rp_profile_destroy(estimate.profile);
    return status;
}

/* ---- purpose and file ------------------------------------------------------- */

static bool read_contract(char hash[RP_PURPOSE_CONTRACT])
{
    const char *path = secure_getenv("REPRISE_CONTRACT");
    FILE *file = path ? fopen(path, "re") : NULL;
    char *text = file ? malloc(1 << 20) : NULL;
    size_t length = text ? fread(text, 1, 1 << 20, file) : 0;
    if (text)
        rp_purpose_contract(text, length, hash);
    free(text);
    if (file)
        fclose(file);
    return *hash != '\0';
}

const struct rp_purpose *rp_estimate_purpose(void)
{
    static struct rp_purpose purpose;
    static char contract[RP_PURPOSE_CONTRACT];
    if (!purpose.contract) {
        const char *job = secure_getenv("REPRISE_JOB");
        purpose.job = job && *job ? job : NULL;
        purpose.contract = read_contract(contract) ? contract : NULL;
    }
    purpose.device = rp_clock_device();
    return &purpose;
}

static enum rp_status make_profile(struct rp_profile **profile)
{
    return rp_core.config.mode == RP_MODE_RECOMPUTE ? rp_advice_profile(profile)
                                                    : rp_estimate_profile(profile);
}

void rp_estimate_write(void)
{
    struct rp_profile *profile;
    char path[4096], message[256];
    rp_cost_collect(true);
    if (!rp_core.config.output || make_profile(&profile) != RP_OK)
        return;
    /* Not fit for planning, perhaps; the file is written all the same, and says what is absent. */
    (void)rp_profile_close(profile, message, sizeof message);
    snprintf(path, sizeof path, "%s/profile.json", rp_core.config.output);
    if (access(path, F_OK) == 0)
        snprintf(path, sizeof path, "%s/profile-%d.json", rp_core.config.output, (int)getpid());
    rp_profile_save(profile, path, false);
    rp_profile_destroy(profile);
}
