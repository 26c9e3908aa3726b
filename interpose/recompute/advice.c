/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/advice.h"

#include "cuda/switches.h"
#include "interpose/plan/ledger.h"
#include "interpose/plan/chain.h"
#include "interpose/plan/cost.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/recipe.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "planner/planner.h"
#include "tracker/array.h"

enum { ROUNDS = 4, MOST_PLANS = 64 };

/* Of one forward of a step, in bytes. */
struct portion {
    uint32_t name;
    bool may_go;    /* its recipe is good */
    uint64_t made;  /* whole granules of outputs ... */
    uint64_t read;  /* ... of which other forwards read so much */
    uint64_t kept;  /* copies of what it has read */
    uint64_t times; /* that it was followed again */
    /* The most of the job's that was no outputs, on the host or not, while it ran, and from when it
     * was followed again until another one was. */
    uint64_t beside, beside_later;
};

/* A step. */
struct round {
    uint32_t step;
    struct portion *items;
    size_t count, capacity;
    uint64_t beside; /* the same, after the latest forward */
    uint32_t again;  /* the place that was followed again since then; UINT32_MAX: none */
};

static struct {
    struct round rounds[ROUNDS]; /* by step */
    struct rp_plan *plan;
    uint32_t plans;
    uint64_t measured; /* steps whose times the plan knows */
    const char *reason;
} advice;

static bool is_wanted(void)
{
    return rp_core.config.mode == RP_MODE_RECOMPUTE &&
           rp_core.config.contract->policy == RP_POLICY_JOINT && rp_switch_on(RP_SWITCH_ADVICE);
}

void rp_advice_forget(void)
{
    rp_plan_destroy(advice.plan);
    advice.plan = NULL;
    for (size_t i = 0; i < ROUNDS; i++)
        advice.rounds[i].count = advice.rounds[i].step = 0;
}

/* ---- a step --------------------------------------------------------------------------- */

static struct round *round_of(uint32_t step)
{
    struct round *round = &advice.rounds[step % ROUNDS];
    return round->step == step ? round : NULL;
}

static struct portion *portion_of(const struct rp_execution *execution)
{
    struct round *round = is_wanted() ? round_of(execution->instance->step) : NULL;
    return round && execution->place < round->count ? &round->items[execution->place] : NULL;
}

static struct portion *add_portion(struct round *round, const struct rp_execution *execution)
{
    void *bigger = execution->place < RP_PROFILE_MAX_SEGMENTS
                       ? rp_array_reserve(round->items, &round->capacity, execution->place + 1,
                                          sizeof *round->items)
                       : NULL;
    if (!bigger)
        return NULL;
    round->items = bigger;
    for (; round->count <= execution->place; round->count++)
        round->items[round->count] = (struct portion){0};
    return &round->items[execution->place];
}

/* What it reads of the others' outputs stays, or they would have to be made first. */
static void note_inputs(const struct rp_execution *execution)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        const struct rp_live *live = rp_instance_live(execution->instance, holding->id);
        struct portion *portion = portion_of(holding->owner);
        if (!portion || holding->owner == execution || holding->is_noted || !live ||
            !rp_spans_overlaps(&live->live_in, holding->lo, holding->hi))
            continue;
        holding->is_noted = true;
        portion->read += holding->hi - holding->lo;
    }
}

void rp_advice_forward(const struct rp_execution *execution)
{
    struct round *round = is_wanted() ? round_of(execution->instance->step) : NULL;
    struct portion *portion = round ? add_portion(round, execution) : NULL;
    if (!portion)
        return;
    portion->beside = round->beside;
    round->beside = 0;
    round->again = UINT32_MAX;
    portion->name = rp_chain_name(execution->place);
    portion->may_go = rp_recipe_is_good(execution);
    for (size_t i = 0; i < rp_holdings_count(); i++)
        if (rp_holdings_at(i)->owner == execution)
            portion->made += rp_holdings_at(i)->hi - rp_holdings_at(i)->lo;
    note_inputs(execution);
}

void rp_advice_kept(const struct rp_execution *execution, uint64_t bytes)
{
    struct portion *portion = portion_of(execution);
    if (portion && execution->instance->step == rp_core.step)
        portion->kept += bytes;
}

void rp_advice_recalled(const struct rp_execution *execution)
{
    struct round *round = round_of(rp_core.step);
    struct portion *portion = portion_of(execution);
    if (!portion || !round || execution->instance->step != rp_core.step)
        return;
    portion->times++;
    round->again = execution->place;
}

void rp_advice_call(void)
{
    struct round *round = is_wanted() ? round_of(rp_core.step) : NULL;
    uint64_t outputs = rp_holdings_standing();
    uint64_t all = round ? rp_core.device_bytes + rp_exile_bytes() : 0;
    if (!round || all < outputs)
        return;
    uint64_t *most = round->again < round->count ? &round->items[round->again].beside_later
                                                 : &round->beside;
    if (all - outputs > *most)
        *most = all - outputs;
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

/* What the last measured step took beside its forwards and their repetitions. */
static uint64_t other_ns(void)
{
    const struct rp_step_cost *last = rp_ledger_last();
    const struct round *round = last ? round_of(last->step) : NULL;
    uint64_t ns = 0;
    for (size_t k = 0; round && k < round->count; k++)
        ns += forward_ns(k) * (1 + round->items[k].times);
    return last && last->ns > ns ? last->ns - ns : 0;
}

static uint64_t copy_ns(const struct rp_profile *profile, bool is_priced, uint64_t bytes)
{
    uint64_t ns = 0;
    if (!is_priced || !bytes || rp_copy_time(profile, bytes, 1, &ns) != RP_OK)
        return 0;
    return ns;
}

static void mask(struct rp_cost *cost, const char *reason)
{
    *cost = (struct rp_cost){.masked = (char *)(uintptr_t)reason}; /* the profile copies it */
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The least that there is beside outputs while a forward runs: it is there all the time. */
static uint64_t base_of(const struct round *round)
{
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < round->count; k++)
        if (round->items[k].beside < least)
            least = round->items[k].beside;
    return least == UINT64_MAX ? 0 : least;
}

/* What there is beside them, above the base, at a segment's worst moment. */
static uint64_t beside_of(const struct round *round, size_t place)
{
    const struct portion *portion = &round->items[place];
    uint64_t most = more(portion->beside, portion->beside_later);
    if (place + 1 == round->count)
        most = more(most, round->beside);
    return most - base_of(round);
}

/* What is kept is kept in either case: where memory is shorter than planned, it may be needed. */
static enum rp_status add_row(struct rp_profile *profile, const struct round *round,
                              size_t place, bool is_priced)
{
    const struct portion *portion = &round->items[place];
    uint64_t held = portion->read + portion->kept, all = portion->made + portion->kept;
    uint64_t peak = all + beside_of(round, place);
    uint64_t ns = forward_ns(place), copies = copy_ns(profile, is_priced, portion->kept);
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    costs[RP_CHOICE_RETAIN] =
        (struct rp_cost){.allowed = true, .hold = all, .peak = peak, .time = ns + copies};
    mask(&costs[RP_CHOICE_WHOLE], "mode recompute keeps what is overwritten, and no more");
    if (portion->may_go)
        costs[RP_CHOICE_REGIONS] =
            (struct rp_cost){.allowed = true, .hold = held, .peak = peak + portion->kept,
                             .time = 2 * ns + 4 * copies};
    else
        mask(&costs[RP_CHOICE_REGIONS], "it can't be run again");
    return rp_profile_add_row(profile, rp_name(portion->name), costs);
}

static enum rp_status describe(const struct round *round, struct rp_profile *profile)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    struct rp_copy_price price;
    bool is_priced = rp_price_copies(steps, rp_ledger_steps(steps), &price);
    enum rp_status status = RP_OK;
    if (is_priced)
        rp_profile_set_copy_price(profile, &price);
    rp_profile_set_base(profile, base_of(round));
    for (size_t k = 0; status == RP_OK && k < round->count; k++)
        status = add_row(profile, round, k, is_priced);
    return status;
}

/* ---- a plan --------------------------------------------------------------------------- */

static enum rp_status solve(const struct round *round, struct rp_plan **plan)
{
    struct rp_profile *profile;
    char message[256];
    enum rp_status status = rp_profile_create(&profile);
    if (status != RP_OK)
        return status;
    status = describe(round, profile);
    if (status == RP_OK)
        status = rp_profile_close(profile, message, sizeof message);
    struct rp_question question = rp_question_default(profile, rp_core.config.budget);
    if (question.budget > INT64_MAX)
        question.budget = INT64_MAX - 1;
    if (status == RP_OK)
        status = rp_planner_solve(&question, plan, message, sizeof message);
    rp_profile_destroy(profile);
    return status;
}

static bool is_alike(const struct round *a, const struct round *b)
{
    if (!a || !b || a->count != b->count)
        return false;
    for (size_t k = 0; k < a->count; k++)
        if (a->items[k].name != b->items[k].name || a->items[k].made != b->items[k].made ||
            a->items[k].may_go != b->items[k].may_go)
            return false;
    return true;
}

static void plan_anew(const struct round *round)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    uint64_t measured = rp_ledger_steps(steps);
    struct rp_plan *plan;
    bool is_known = advice.plan && measured == advice.measured &&
                    is_alike(round, round_of(rp_core.step - 1));
    if (!measured || is_known || advice.plans >= MOST_PLANS)
        return;
    if (solve(round, &plan) != RP_OK) {
        advice.reason = "the steps could not be planned";
        return;
    }
    if (rp_plan_has_choices(plan)) {
        plan->time += other_ns();
        advice.plans++;
    }
    rp_plan_destroy(advice.plan);
    advice.plan = plan;
    advice.measured = measured;
    advice.reason = rp_plan_has_choices(plan)
                        ? NULL
                        : "no plan is sure to fit the budget: what is missed last goes first";
}

/* The step that has ended is rp_core.step still. */
void rp_advice_step_begins(void)
{
    if (!is_wanted())
        return;
    const struct round *ended = round_of(rp_core.step);
    if (ended && ended->count)
        plan_anew(ended);
    struct round *next = &advice.rounds[(rp_core.step + 1) % ROUNDS];
    *next = (struct round){.step = rp_core.step + 1, .again = UINT32_MAX, .items = next->items,
                           .capacity = next->capacity};
}

bool rp_advice_retains(uint32_t place)
{
    return is_wanted() && advice.plan && rp_plan_has_choices(advice.plan) &&
           place < advice.plan->count && advice.plan->choices[place] == RP_CHOICE_RETAIN;
}

struct rp_advice rp_advice(void)
{
    return (struct rp_advice){advice.plan, advice.plans, advice.reason};
}
