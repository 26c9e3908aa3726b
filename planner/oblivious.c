/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/oblivious.h"

#include "planner/answer.h"
#include "planner/search.h"

#include <stdlib.h>
#include <string.h>

/* Repairs before the planner is given up as unable to meet the budget. */
#define MAX_REPAIRS 64

/* How a segment preserves when it is replayed. */
static bool replay_choice(const struct rp_question *question, size_t k, enum rp_choice *choice)
{
    *choice = rp_question_allows(question, k, RP_CHOICE_REGIONS) ? RP_CHOICE_REGIONS
                                                                 : RP_CHOICE_WHOLE;
    return rp_question_allows(question, k, *choice);
}

const char *rp_oblivious_obstacle(const struct rp_profile *profile)
{
    for (size_t k = 0; k < rp_profile_count(profile); k++) {
        const struct rp_segment *segment = rp_profile_segment(profile, k);
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            if (segment->costs[c].allowed && !segment->costs[c].has_terms)
                return "it needs the terms of each option, and the profile has reduced rows";
    }
    return NULL;
}

static uint64_t from_forward_on(const struct rp_cost *cost)
{
    uint64_t held = cost->terms[RP_TERM_HOLD].value;

    for (size_t i = 0; i < cost->later_count; i++)
        held -= cost->later[i].bytes; /* all are part of it */
    return held;
}

/* A replay without its state: nothing is held, stashed or copied. */
static struct rp_row stateless_row(const struct rp_segment *segment, const struct rp_cost *cost)
{
    const struct rp_cost *retain = &segment->costs[RP_CHOICE_RETAIN];
    uint64_t forward = cost->terms[RP_TERM_PEAK_FORWARD].value, held = from_forward_on(cost);
    uint64_t peak = forward > held ? forward - held : 0;
    uint64_t time = cost->terms[RP_TERM_FORWARD_TIME].value +
                    cost->terms[RP_TERM_BACKWARD_TIME].value +
                    cost->terms[RP_TERM_REPLAY_TIME].value;

    if (retain->allowed && retain->terms[RP_TERM_PEAK_BACKWARD].value > peak)
        peak = retain->terms[RP_TERM_PEAK_BACKWARD].value;
    return (struct rp_row){0, (int64_t)peak, (int64_t)time};
}

static enum rp_status stateless_chain(const struct rp_question *question, struct rp_chain *chain)
{
    const struct rp_profile *profile = question->profile;
    size_t count = rp_profile_count(profile);

    *chain = (struct rp_chain){calloc(count + 1, sizeof(struct rp_link)), count};
    if (chain->links == NULL)
        return RP_NO_MEMORY;
    for (size_t k = 0; k < count; k++) {
        const struct rp_segment *segment = rp_profile_segment(profile, k);
        const struct rp_cost *retain = &segment->costs[RP_CHOICE_RETAIN];
        struct rp_link *link = &chain->links[k];
        enum rp_choice replay;
        if (rp_question_allows(question, k, RP_CHOICE_RETAIN)) {
            link->rows[link->count] = (struct rp_row){
                (int64_t)retain->hold, (int64_t)retain->peak, (int64_t)retain->time};
            link->choice[link->count++] = RP_CHOICE_RETAIN;
        }
        if (replay_choice(question, k, &replay)) {
            link->rows[link->count] = stateless_row(segment, &segment->costs[replay]);
            link->choice[link->count++] = (uint8_t)replay;
        }
    }
    return RP_OK;
}

/* Plans without state for a room; false when that does not fit. */
static enum rp_status plan_without_state(const struct rp_question *question,
                                         const struct rp_chain *chain, int64_t room,
                                         enum rp_choice *choices, bool *found)
{
    struct rp_search search = {.chain = chain,
                               .room = room,
                               .max_labels = question->max_labels,
                               .rows = calloc(chain->count + 1, 1)};
    enum rp_status status = search.rows != NULL ? RP_OK : RP_NO_MEMORY;

    *found = false;
    if (status == RP_OK && rp_chain_need(chain).room <= room)
        status = rp_search_run(&search);
    if (status == RP_OK && search.found) {
        *found = true;
        for (size_t k = 0; k < chain->count; k++)
            choices[k] = (enum rp_choice)chain->links[k].choice[search.rows[k]];
    }
    free(search.rows);
    return status;
}

static enum rp_status repair(const struct rp_question *question, const struct rp_chain *chain,
                             enum rp_choice *choices, struct rp_trial *trial)
{
    uint64_t base = rp_profile_base(question->profile), budget = question->budget;
    int64_t room = (int64_t)(budget - base);

    for (int repairs = 0; repairs < MAX_REPAIRS && room >= 0; repairs++) {
        bool found;
        enum rp_status status = plan_without_state(question, chain, room, choices, &found);
        if (status != RP_OK || !found)
            return status;
        status = rp_planner_walk(question->profile, question->model, choices, &trial->peak,
                                 &trial->time, NULL, NULL);
        if (status != RP_OK)
            return status;
        trial->fits = trial->peak <= budget;
        if (trial->fits)
            return RP_OK;
        uint64_t over = trial->peak - budget;
        if (repairs == 0)
            trial->overrun = over;
        room -= (int64_t)over;
    }
    return RP_OK;
}

enum rp_status rp_oblivious_solve(const struct rp_question *question, struct rp_trial *trial)
{
    enum rp_choice *choices = calloc(rp_profile_count(question->profile) + 1, sizeof(*choices));
    struct rp_chain chain;

    *trial = (struct rp_trial){.certain = true};
    if (choices == NULL)
        return RP_NO_MEMORY;
    enum rp_status status = stateless_chain(question, &chain);
    if (status == RP_OK) {
        if (question->budget >= rp_profile_base(question->profile))
            status = repair(question, &chain, choices, trial);
        rp_chain_release(&chain);
    }
    free(choices);
    return status;
}
