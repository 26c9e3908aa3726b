/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/round.h"

#include "interpose/plan/chain.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/recipe.h"
#include "interpose/run/core.h"
#include "planner/profile.h"
#include "tracker/array.h"

enum { ROUNDS = 4 };

static struct rp_round rounds[ROUNDS]; /* in a ring */
static size_t latest;

void rp_rounds_forget(void)
{
    for (size_t i = 0; i < ROUNDS; i++)
        rounds[i].count = rounds[i].step = 0;
}

/* A step without forwards makes place for the next one: what is known of others is worth more. */
void rp_round_begins(void)
{
    latest = rounds[latest].count ? (latest + 1) % ROUNDS : latest;
    struct rp_round *next = &rounds[latest];
    *next = (struct rp_round){.step = rp_core.step + 1, .again = UINT32_MAX,
                              .items = next->items, .capacity = next->capacity};
}

static struct rp_round *round_of(uint32_t step)
{
    for (size_t i = ROUNDS; i > 0; i--)
        if (rounds[(latest + i) % ROUNDS].step == step)
            return &rounds[(latest + i) % ROUNDS];
    return NULL;
}

const struct rp_round *rp_round_of(uint32_t step)
{
    return round_of(step);
}

const struct rp_round *rp_round_before(const struct rp_round *round)
{
    size_t at = (size_t)(round - rounds);
    const struct rp_round *before = &rounds[(at + ROUNDS - 1) % ROUNDS];
    return before->count && before->step < round->step ? before : NULL;
}

/* ---- while it runs -------------------------------------------------------------------- */

static struct rp_portion *portion_of(const struct rp_execution *execution)
{
    struct rp_round *round = round_of(execution->instance->step);
    return round && execution->place < round->count ? &round->items[execution->place] : NULL;
}

static struct rp_portion *add_portion(struct rp_round *round,
                                      const struct rp_execution *execution)
{
    void *bigger = execution->place < RP_PROFILE_MAX_SEGMENTS
                       ? rp_array_reserve(round->items, &round->capacity, execution->place + 1,
                                          sizeof *round->items)
                       : NULL;
    if (!bigger)
        return NULL;
    round->items = bigger;
    for (; round->count <= execution->place; round->count++)
        round->items[round->count] = (struct rp_portion){0};
    return &round->items[execution->place];
}

/* What it reads of the others' outputs stays, or they would have to be made first. */
static void note_inputs(const struct rp_execution *execution)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        const struct rp_live *live = rp_instance_live(execution->instance, holding->id);
        struct rp_portion *portion = portion_of(holding->owner);
        if (!portion || holding->owner == execution || holding->is_noted || !live ||
            !rp_spans_overlaps(&live->live_in, holding->lo, holding->hi))
            continue;
        holding->is_noted = true;
        portion->read += holding->hi - holding->lo;
    }
}

void rp_round_forward(const struct rp_execution *execution)
{
    struct rp_round *round = round_of(execution->instance->step);
    struct rp_portion *portion = round ? add_portion(round, execution) : NULL;
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

void rp_round_kept(const struct rp_execution *execution, uint64_t bytes)
{
    struct rp_portion *portion = portion_of(execution);
    if (portion && execution->instance->step == rp_core.step)
        portion->kept += bytes;
}

void rp_round_recalled(const struct rp_execution *execution)
{
    struct rp_round *round = round_of(rp_core.step);
    struct rp_portion *portion = portion_of(execution);
    if (!portion || !round || execution->instance->step != rp_core.step)
        return;
    portion->times++;
    round->again = execution->place;
}

void rp_round_call(void)
{
    struct rp_round *round = round_of(rp_core.step);
    uint64_t outputs = rp_holdings_standing();
    uint64_t all = round ? rp_core.device_bytes + rp_exile_bytes() : 0;
    if (!round || all < outputs)
        return;
    uint64_t *most = round->again < round->count ? &round->items[round->again].beside_later
                                                 : &round->beside;
    if (all - outputs > *most)
        *most = all - outputs;
}

/* ---- afterwards ------------------------------------------------------------------------- */

bool rp_rounds_are_alike(const struct rp_round *a, const struct rp_round *b)
{
    if (!a || !b || a->count != b->count)
        return false;
    for (size_t k = 0; k < a->count; k++)
        if (a->items[k].name != b->items[k].name || a->items[k].made != b->items[k].made ||
            a->items[k].may_go != b->items[k].may_go)
            return false;
    return true;
}

uint64_t rp_round_base(const struct rp_round *round)
{
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < round->count; k++)
        if (round->items[k].beside < least)
            least = round->items[k].beside;
    return least == UINT64_MAX ? 0 : least;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t rp_round_beside(const struct rp_round *round, size_t place)
{
    const struct rp_portion *portion = &round->items[place];
    uint64_t most = more(portion->beside, portion->beside_later);
    if (place + 1 == round->count)
        most = more(most, round->beside);
    return most - rp_round_base(round);
}
