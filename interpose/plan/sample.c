/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/sample.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct rp_part *a, const struct rp_part *b)
{
    return a->name == b->name && a->replayed == b->replayed && a->choice == b->choice;
}

bool rp_sample_same_chain(const struct rp_step_cost *a, const struct rp_step_cost *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!is_same(&a->parts[i], &b->parts[i]))
            return false;
    return true;
}

static bool has_times(const struct rp_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        if (!sample->steps[i]->plain)
            return true;
    return false;
}

void rp_sample_take(struct rp_sample *sample)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    size_t count = rp_ledger_steps(steps), first = count;
    while (first > 0 && rp_sample_same_chain(steps[first - 1], steps[count - 1]))
        first--;
    *sample = (struct rp_sample){.count = count - first, .first = rp_ledger_first()};
    memcpy(sample->steps, steps + first, sample->count * sizeof *steps);
    if (!has_times(sample))
        sample->count = 0;
    if (sample->first && (!sample->count || !rp_sample_same_chain(sample->first, sample->steps[0])))
        sample->first = NULL;
}

const char *rp_sample_departure(const struct rp_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        if (sample->steps[i]->departure)
            return sample->steps[i]->departure;
    return NULL;
}

static uint64_t least_of_step(const struct rp_step_cost *step, uint64_t least)
{
    for (size_t k = 0; k < step->count; k++)
        for (int phase = 0; phase < RP_PHASE_COUNT; phase++) {
            const struct rp_part *part = &step->parts[k];
            bool happened = part->replayed || phase == RP_PHASE_OF_FORWARD;
            if (happened && part->job[phase] < least)
                least = part->job[phase];
        }
    return least;
}

uint64_t rp_sample_least_job(const struct rp_sample *sample)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sample->count; i++)
        least = least_of_step(sample->steps[i], least);
    return least == UINT64_MAX ? 0 : least;
}

/* ---- of one segment --------------------------------------------------------- */

static const void *member_of(const struct rp_step_cost *step, size_t place, size_t member)
{
    return (const char *)&step->parts[place] + member;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool all_are_halved(const struct rp_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        if (!sample->steps[i]->halved && !sample->steps[i]->plain)
            return false;
    return true;
}

uint64_t rp_sample_median_by(const struct rp_sample *sample, size_t place,
                             rp_sample_value_fn value, const void *ctx)
{
    uint64_t values[RP_COST_STEPS];
    size_t count = 0;
    bool all = all_are_halved(sample);
    for (size_t i = 0; i < sample->count; i++)
        if (!sample->steps[i]->plain && (all || !sample->steps[i]->halved))
            values[count++] = value(ctx, &sample->steps[i]->parts[place]);
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static uint64_t value_of_member(const void *ctx, const struct rp_part *part)
{
    const size_t *member = ctx;
    return *(const uint64_t *)((const char *)part + *member);
}

uint64_t rp_sample_median(const struct rp_sample *sample, size_t place, size_t member)
{
    return rp_sample_median_by(sample, place, value_of_member, &member);
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t rp_sample_most(const struct rp_sample *sample, size_t place, size_t member)
{
    uint64_t most = sample->first ? *(const uint64_t *)member_of(sample->first, place, member) : 0;
    for (size_t i = 0; i < sample->count; i++)
        most = more(most, *(const uint64_t *)member_of(sample->steps[i], place, member));
    return most;
}

struct rp_amount rp_amount_most(struct rp_amount a, struct rp_amount b)
{
    return (struct rp_amount){more(a.bytes, b.bytes), more(a.pieces, b.pieces),
                              more(a.blocks, b.blocks)};
}

struct rp_amount rp_sample_amount(const struct rp_sample *sample, size_t place, size_t member)
{
    struct rp_amount most = {0};
    for (size_t i = 0; i < sample->count; i++)
        most = rp_amount_most(
            most, *(const struct rp_amount *)member_of(sample->steps[i], place, member));
    return most;
}

uint64_t rp_sample_blocks(const struct rp_sample *sample, size_t place, size_t member)
{
    const struct rp_amount *first = sample->first ? member_of(sample->first, place, member) : NULL;
    return more(first ? first->blocks : 0, rp_sample_amount(sample, place, member).blocks);
}

const char *rp_sample_no_retain(const struct rp_sample *sample, size_t place)
{
    for (size_t i = 0; i < sample->count; i++)
        if (sample->steps[i]->parts[place].no_retain)
            return sample->steps[i]->parts[place].no_retain;
    return NULL;
}
