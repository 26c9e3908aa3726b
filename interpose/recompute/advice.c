/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/advice.h"

#include "cuda/switches.h"
#include "interpose/door/shortage.h"
#include "interpose/plan/estimate.h"
#include "interpose/plan/ledger.h"
#include "interpose/recompute/backing.h"
#include "interpose/recompute/earlier.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/round.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "interpose/run/report.h"
#include "planner/planner.h"

#include <string.h>

enum { MOST_PLANS = 64 };

static struct {
    struct rp_plan *plan;
    bool is_given; /* from outside: no other is made */
    uint32_t plans;
    uint64_t measured; /* steps whose times the plan knows */
    uint64_t moved;    /* to the host before this step began, in bytes */
    int64_t spare;     /* bytes that the steps have shown to be needless, or too few (below 0) */
    const char *reason;
} advice;

static bool is_joint(void)
{
    return rp_core.config.mode == RP_MODE_RECOMPUTE &&
           rp_core.config.contract->policy == RP_POLICY_JOINT && rp_switch_on(RP_SWITCH_ADVICE);
}

static bool has_choices(void)
{
    return advice.plan && rp_plan_has_choices(advice.plan);
}

void rp_advice_forget(void)
{
    rp_plan_destroy(advice.plan);
    rp_earlier_forget();
    memset(&advice, 0, sizeof advice);
}

/* ---- a profile ------------------------------------------------------------------------ */

/* The least that the forward took in any step: what else it took was waiting. */
static uint64_t forward_ns(size_t place)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    size_t count = rp_ledger_steps(steps);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (place < steps[i]->count && steps[i]->parts[place].ns[RP_PHASE_OF_FORWARD] < least)
            least = steps[i]->parts[place].ns[RP_PHASE_OF_FORWARD];
    return least == UINT64_MAX ? 0 : least;
}

static uint64_t copy_ns(const struct rp_profile *profile, bool is_priced, uint64_t bytes)
{
    uint64_t ns = 0;
    if (!is_priced || !bytes || rp_copy_time(profile, bytes, 1, &ns) != RP_OK)
        return 0;
    return ns;
}

/* To run a forward again is to stash, restore and reinstate what was kept for it, too. */
enum { COPIES_OF_REPLAY = 3 };

/* What the last step took beside its forwards, their repetitions, and the copies of both. */
static uint64_t other_ns(const struct rp_profile *profile, bool is_priced)
{
    const struct rp_step_cost *last = rp_ledger_last_divided();
    const struct rp_round *round = last ? rp_round_of(last->step) : NULL;
    uint64_t ns = 0;
    for (size_t k = 0; round && k < round->count; k++) {
        const struct rp_portion *portion = &round->items[k];
        ns += forward_ns(k) * (1 + portion->times) +
              copy_ns(profile, is_priced, portion->kept) * (1 + COPIES_OF_REPLAY * portion->times);
    }
    return last && last->ns > ns ? last->ns - ns : 0;
}

static void mask(struct rp_cost *cost, const char *reason)
{
    *cost = (struct rp_cost){.masked = (char *)(uintptr_t)reason}; /* the profile copies it */
}

/* What is kept is kept in either case: where memory is shorter than planned, it may be needed. The
 * backward passes are not told apart: all that is no forward is the last segment's. */
static enum rp_status add_row(struct rp_profile *profile, const struct rp_round *round,
                              size_t place, bool is_priced)
{
    const struct rp_portion *portion = &round->items[place];
    uint64_t held = portion->read + portion->kept, all = portion->made + portion->kept;
    uint64_t peak = all + rp_round_beside(round, place);
    uint64_t ns = forward_ns(place), copies = copy_ns(profile, is_priced, portion->kept);
    uint64_t other = place + 1 == round->count ? other_ns(profile, is_priced) : 0;
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    costs[RP_CHOICE_RETAIN] = (struct rp_cost){.allowed = true, .hold = all, .peak = peak,
                                               .time = ns + copies + other};
    mask(&costs[RP_CHOICE_WHOLE], "mode recompute keeps what is overwritten, and no more");
    if (portion->may_go)
        costs[RP_CHOICE_REGIONS] =
            (struct rp_cost){.allowed = true, .hold = held, .peak = peak + portion->kept,
                             .time = 2 * ns + (1 + COPIES_OF_REPLAY) * copies + other};
    else
        mask(&costs[RP_CHOICE_REGIONS], "it can't be run again");
    return rp_profile_add_row(profile, rp_name(portion->name), costs);
}

static uint64_t base_of(const struct rp_round *round)
{
    uint64_t base = rp_round_base(round);
    if (advice.spare > 0 && (uint64_t)advice.spare > base)
        return 0;
    return base - (uint64_t)advice.spare;
}

static enum rp_status describe(const struct rp_round *round, struct rp_profile *profile)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    struct rp_copy_price price;
    bool is_priced = rp_price_copies(steps, rp_ledger_steps(steps), &price);
    enum rp_status status = rp_profile_set_purpose(profile, rp_estimate_purpose());
    if (is_priced)
        rp_profile_set_copy_price(profile, &price);
    rp_profile_set_base(profile, base_of(round));
    rp_profile_set_quantum(profile, rp_granule_bytes() ? rp_granule_bytes() : 1);
    rp_profile_set_least(profile, rp_need_least());
    for (size_t k = 0; status == RP_OK && k < round->count; k++)
        status = add_row(profile, round, k, is_priced);
    return status;
}

static enum rp_status portray(const struct rp_round *round, struct rp_profile **out)
{
    char message[256];
    enum rp_status status = rp_profile_create(out);
    if (status != RP_OK)
        return status;
    status = describe(round, *out);
    if (status == RP_OK)
        status = rp_profile_close(*out, message, sizeof message);
    if (status != RP_OK) {
        rp_profile_destroy(*out);
        *out = NULL;
    }
    return status;
}

enum rp_status rp_advice_profile(struct rp_profile **out)
{
    const struct rp_step_cost *last = rp_ledger_last_divided();
    const struct rp_round *round = last ? rp_round_of(last->step) : NULL;
    return round && round->count ? portray(round, out) : RP_NOT_FOUND;
}

/* ---- a plan --------------------------------------------------------------------------- */

/* Nothing goes before the budget is full: where anything goes, a step takes all of it. */
static void expect_all_of_budget(struct rp_plan *plan)
{
    for (size_t k = 0; rp_plan_has_choices(plan) && k < plan->count; k++)
        if (plan->choices[k] == RP_CHOICE_REGIONS)
            plan->peak = rp_core.config.budget;
}

static void adopt(struct rp_plan *plan)
{
    expect_all_of_budget(plan);
    rp_plan_destroy(advice.plan);
    advice.plan = plan;
    advice.plans += rp_plan_has_choices(plan);
    advice.reason = rp_plan_has_choices(plan)
                        ? NULL
                        : "no plan is sure to fit the budget: what is missed last goes first";
}

static enum rp_status solve(const struct rp_profile *profile, struct rp_plan **plan)
{
    char message[256];
    struct rp_question question = rp_question_default(profile, rp_core.config.budget);
    if (question.budget > INT64_MAX)
        question.budget = INT64_MAX - 1;
    return rp_planner_solve(&question, plan, message, sizeof message);
}

/* By a profile, or what a step has shown. Of memory that is too little for this nothing hangs but
 * the plan: there is none then. */
static bool look_for_plan(const struct rp_profile *given, const struct rp_round *round)
{
    struct rp_profile *own = NULL;
    struct rp_plan *plan = NULL;
    bool owed = rp_shortage_set_aside();
    if (given || portray(round, &own) == RP_OK)
        (void)solve(given ? given : own, &plan);
    rp_profile_destroy(own);
    if (rp_shortage_take_back(owed)) {
        rp_plan_destroy(plan); /* it may not be all that it seems */
        plan = NULL;
    }
    if (plan)
        adopt(plan);
    return plan != NULL;
}

/* Bytes of outputs that the plan says `choice` of, and that were made again, or were not. */
static int64_t outputs_of(const struct rp_round *round, enum rp_choice choice, bool made_again)
{
    int64_t bytes = 0;
    for (size_t k = 0; k < round->count && round->count == advice.plan->count; k++) {
        const struct rp_portion *portion = &round->items[k];
        if (advice.plan->choices[k] == choice && portion->may_go &&
            (portion->times > 0) == made_again && portion->made > portion->read)
            bytes += (int64_t)(portion->made - portion->read);
    }
    return bytes;
}

/* Under a plan: what that expected to go, and stood; or else to stand, and went. Without one: what
 * none was sure to fit by, where the step has fitted by itself. */
static int64_t spare_in(const struct rp_round *round)
{
    uint64_t budget = rp_core.config.budget;
    if (has_choices()) {
        int64_t stood = outputs_of(round, RP_CHOICE_REGIONS, false);
        return stood ? stood : -outputs_of(round, RP_CHOICE_RETAIN, true);
    }
    bool fitted = rp_core.figures.bytes_in_refuge == advice.moved;
    return fitted && advice.plan->has_min_budget && advice.plan->min_budget > budget
               ? (int64_t)(advice.plan->min_budget - budget)
               : 0;
}

/* True when the plan that the step ran under was made with another notion of the memory. */
static bool learn_from(const struct rp_round *round)
{
    int64_t spare = advice.plan ? spare_in(round) : 0;
    advice.spare += spare;
    return spare != 0;
}

static void plan_anew(const struct rp_round *round)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    uint64_t measured = rp_ledger_steps(steps);
    bool is_like_before = rp_rounds_are_alike(round, rp_round_before(round));
    bool is_news = is_like_before && learn_from(round);
    bool is_known = advice.plan && measured == advice.measured && is_like_before && !is_news;
    if (!measured || is_known || advice.plans >= MOST_PLANS)
        return;
    if (look_for_plan(NULL, round))
        advice.measured = measured;
    else
        advice.reason = "the steps could not be planned";
}

/* ---- a plan that is given ------------------------------------------------------------ */

static bool names_differ(const struct rp_round *round)
{
    const struct rp_plan *plan = advice.plan;
    bool differ = round->count != plan->count;
    for (size_t k = 0; !differ && k < plan->count; k++)
        differ = strcmp(plan->names[k], rp_name(round->items[k].name)) != 0;
    return differ;
}

/* What the plan says of one segment would be said of another. */
static void hold_against(const struct rp_round *ended)
{
    if (advice.is_given && !advice.reason && ended && names_differ(ended))
        advice.reason = "the step's segments are not those of the plan: what is missed last goes "
                        "first";
}

static void begin(void)
{
    const struct rp_profile *profile = rp_earlier_profile();
    rp_earlier_check_device();
    struct rp_plan *plan = rp_earlier_take_plan();
    advice.is_given = plan != NULL;
    if (plan)
        adopt(plan);
    else if (profile && is_joint() && !look_for_plan(profile, NULL))
        advice.reason = "the profile could not be planned from";
    rp_earlier_forget();
}

void rp_advice_step_begins(void)
{
    const struct rp_round *ended = rp_round_of(rp_core.step);
    if (rp_core.step == 0)
        begin();
    else if (advice.is_given)
        hold_against(ended);
    else if (is_joint() && ended && ended->count)
        plan_anew(ended);
    advice.moved = rp_core.figures.bytes_in_refuge;
}

bool rp_advice_retains(uint32_t place)
{
    bool has_fallen = advice.is_given && advice.reason;
    return rp_switch_on(RP_SWITCH_ADVICE) && has_choices() && !has_fallen &&
           place < advice.plan->count && advice.plan->choices[place] == RP_CHOICE_RETAIN;
}

struct rp_advice rp_advice(void)
{
    return (struct rp_advice){advice.plan, advice.plans, advice.reason};
}
