/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/ledger.h"

#include "interpose/plan/marks.h"

static struct {
    struct rp_step_cost first, steps[RP_COST_STEPS], last, last_divided;
    size_t count; /* of steps */
    uint64_t collected;
} ledger;

bool rp_ledger_has_place(void)
{
    return ledger.count < RP_COST_STEPS;
}

/* The first step of all makes place for the second. */
static void move_first(void)
{
    struct rp_step_cost spare = ledger.first;
    ledger.first = ledger.steps[0];
    ledger.steps[0] = spare;
    ledger.count = 0;
}

static void keep_step(struct rp_step_cost *cost)
{
    if (ledger.count == 1 && ledger.steps[0].step == 1)
        move_first();
    struct rp_step_cost *slot = &ledger.steps[ledger.count++];
    const struct rp_step_cost taken = *cost;
    *cost = (struct rp_step_cost){.parts = slot->parts, .capacity = slot->capacity,
                                  .notes = slot->notes};
    *slot = taken;
}

void rp_ledger_take(struct rp_step_cost *cost)
{
    ledger.last = *cost;
    ledger.last.parts = NULL;
    ledger.last.notes = (struct rp_notes){0};
    ledger.collected++;
    if (cost->count)
        ledger.last_divided = ledger.last;
    if (cost->by_part && cost->count && rp_ledger_has_place())
        keep_step(cost);
}

size_t rp_ledger_steps(const struct rp_step_cost *steps[RP_COST_STEPS])
{
    rp_marks_take_off(ledger.steps, ledger.count);
    for (size_t i = 0; i < ledger.count; i++)
        steps[i] = &ledger.steps[i];
    return ledger.count;
}

const struct rp_step_cost *rp_ledger_first(void)
{
    return ledger.first.step ? &ledger.first : NULL;
}

const struct rp_step_cost *rp_ledger_last(void)
{
    return ledger.collected ? &ledger.last : NULL;
}

const struct rp_step_cost *rp_ledger_last_divided(void)
{
    return ledger.last_divided.count ? &ledger.last_divided : NULL;
}

uint64_t rp_ledger_count(void)
{
    return ledger.collected;
}

void rp_ledger_restart(void)
{
    ledger.count = 0;
    ledger.first.step = 0;
}

void rp_ledger_forget(void)
{
    rp_step_cost_release(&ledger.first);
    for (size_t i = 0; i < RP_COST_STEPS; i++)
        rp_step_cost_release(&ledger.steps[i]);
    ledger.count = ledger.last_divided.count = 0;
    ledger.collected = 0;
}
