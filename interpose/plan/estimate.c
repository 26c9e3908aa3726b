/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/estimate.h"

#include "interpose/door/shortage.h"
#include "interpose/plan/clock.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/fact_ranges.h"
#include "interpose/plan/facts.h"
#include "interpose/plan/growth.h"
#include "interpose/plan/option.h"
#include "interpose/plan/sample.h"
#include "interpose/plan/trade.h"
#include "interpose/recompute/advice.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "interpose/run/remark.h"
#include "planner/purpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static void estimate_unreplayed(const struct rp_basis *basis, size_t place,
                                struct rp_cost costs[RP_CHOICE_COUNT])
{
    rp_option_unreplayed(basis, place, &costs[RP_CHOICE_RETAIN]);
    mask(&costs[RP_CHOICE_WHOLE], "the job does not replay it");
    mask(&costs[RP_CHOICE_REGIONS], "the job does not replay it");
}

static void estimate_replayed(const struct rp_basis *basis, size_t place,
                              const struct rp_part *part, struct rp_cost costs[RP_CHOICE_COUNT])
{
    if (rp_sample_no_retain(&basis->sample, place))
        mask(&costs[RP_CHOICE_RETAIN], rp_sample_no_retain(&basis->sample, place));
    else if (part->choice == RP_CHOICE_RETAIN)
        rp_option_measured(basis, place, &costs[RP_CHOICE_RETAIN]);
    else
        rp_option_retain(basis, place, &costs[RP_CHOICE_RETAIN]);
    if (part->choice == RP_CHOICE_RETAIN) {
        mask(&costs[RP_CHOICE_WHOLE], "its replay was served, and so not measured");
        mask(&costs[RP_CHOICE_REGIONS], "its replay was served, and so not measured");
        return;
    }
    enum rp_choice other = part->choice == RP_CHOICE_WHOLE ? RP_CHOICE_REGIONS : RP_CHOICE_WHOLE;
    rp_option_measured(basis, place, &costs[part->choice]);
    if (!rp_core_guards())
        mask(&costs[other], "nothing is preserved but in guard, and so nothing measured");
    else if (other == RP_CHOICE_WHOLE)
        rp_option_whole(basis, place, &costs[other]);
    else
        mask(&costs[other], "the steps were run with whole buffers, which does not tell what "
                            "is clobbered of them");
}

static void look_at(struct rp_basis *basis, size_t place)
{
    rp_growth_find(&basis->sample, place, RP_PART(state), &basis->state);
    rp_growth_find(&basis->sample, place, RP_PART(outputs), &basis->outputs);
}

/* `ranges` of state, or NULL: then there are rows alone. */
static enum rp_status add_segment(struct rp_basis *basis, struct rp_fact_ranges *ranges,
                                  size_t place)
{
    const struct rp_part *part = &basis->sample.steps[basis->sample.count - 1]->parts[place];
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    look_at(basis, place);
    if (part->replayed)
        estimate_replayed(basis, place, part, costs);
    else
        estimate_unreplayed(basis, place, costs);
    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        if (costs[c].allowed && (enum rp_choice)c != part->choice && has_absent(&costs[c]))
            mask(&costs[c], "no copy was made by which its own could be priced");
    if (!ranges)
        return rp_profile_add_row(basis->profile, rp_name(part->name), costs);
    struct rp_facts facts = rp_facts_of(&basis->sample, place, basis->base);
    rp_fact_ranges_of(ranges, (uint32_t)place, &facts);
    return rp_profile_add_both(basis->profile, rp_name(part->name), costs, &facts);
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

static enum rp_status set_head(struct rp_basis *basis)
{
    struct rp_profile *profile = basis->profile;
    struct rp_copy_price price;
    basis->priced = rp_price_copies(basis->sample.steps, basis->sample.count, &price);
    basis->piece = rp_price_piece(basis->sample.steps, basis->sample.count);
    if (basis->priced)
        rp_profile_set_copy_price(profile, &price);
    basis->base = rp_sample_least_job(&basis->sample);
    rp_profile_set_base(profile, basis->base);
    rp_profile_set_quantum(profile, RP_STORE_QUANTUM);
    const char *departure = rp_sample_departure(&basis->sample);
    enum rp_status status = rp_profile_set_purpose(profile, rp_estimate_purpose());
    return status == RP_OK && departure ? rp_profile_set_departure(profile, departure) : status;
}

/* A copy is a call of the host's at least. */
static uint64_t call_time(const struct rp_basis *basis)
{
    uint64_t fixed = rp_profile_copy_price(basis->profile)->fixed.value;
    return basis->piece > fixed ? basis->piece : fixed;
}

static enum rp_status open_ranges(const struct rp_basis *basis, struct rp_fact_ranges **ranges)
{
    const char *missing = rp_facts_missing(&basis->sample, basis->priced);
    return missing ? rp_profile_set_no_facts(basis->profile, missing)
                   : rp_fact_ranges_create(rp_facts_notes(&basis->sample), basis->profile, ranges);
}

enum rp_status rp_estimate_profile(struct rp_profile **out)
{
    struct rp_basis basis = {.base = 0};
    struct rp_fact_ranges *ranges = NULL;
    rp_sample_take(&basis.sample);
    if (!basis.sample.count)
        return RP_NOT_FOUND;
    enum rp_status status = rp_profile_create(&basis.profile);
    if (status != RP_OK)
        return status;
    status = set_head(&basis);
    basis.trades = rp_trade_tells(&basis.sample, call_time(&basis));
    basis.grows = rp_growth_tells(&basis.sample);
    if (status == RP_OK)
        status = open_ranges(&basis, &ranges);
    for (size_t k = 0; status == RP_OK && k < basis.sample.steps[0]->count; k++)
        status = add_segment(&basis, ranges, k);
    rp_fact_ranges_destroy(ranges);
    if (status == RP_OK)
        *out = basis.profile;
    else
        rp_profile_destroy(basis.profile);
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

static void write_profile(void)
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
    if (rp_profile_save(profile, path, false) != RP_OK)
        rp_remark("profile.json", "it could not be written");
    rp_profile_destroy(profile);
}

/* The job is over, and right whether it leaves a profile or not. */
void rp_estimate_write(void)
{
    bool owed = rp_shortage_set_aside();
    write_profile();
    if (rp_shortage_take_back(owed))
        rp_remark("profile.json", "the host had no memory for it");
}
