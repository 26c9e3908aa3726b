/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/answer.h"
#include "planner/model.h"

/* The peaks of a segment's forward and backward; equal where the profile doesn't tell. */
static void peaks_of(const struct rp_cost *cost, uint64_t *forward, uint64_t *backward)
{
    *forward = cost->has_terms ? cost->terms[RP_TERM_PEAK_FORWARD].value : cost->peak;
    *backward = cost->has_terms ? cost->terms[RP_TERM_PEAK_BACKWARD].value : cost->peak;
}

static bool are_allowed(const struct rp_profile *profile, const enum rp_choice *choices)
{
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        if (!rp_profile_segment(profile, k)->costs[choices[k]].allowed)
            return false;
    return true;
}

static enum rp_status walk_nested(const struct rp_profile *profile, const enum rp_choice *choices,
                                  uint64_t *peak, uint64_t *time, struct rp_moment *binding,
                                  uint64_t *held)
{
    uint64_t outer = rp_profile_base(profile);
    size_t count = rp_profile_count(profile);

    *peak = outer;
    *time = 0;
    *binding = (struct rp_moment){RP_PASS_NONE, 0};
    for (size_t k = 0; k < count; k++) {
        const struct rp_cost *cost = &rp_profile_segment(profile, k)->costs[choices[k]];
        uint64_t forward, backward;
        peaks_of(cost, &forward, &backward);
        if (binding->pass == RP_PASS_NONE || outer + cost->peak > *peak) {
            *peak = outer + cost->peak;
            *binding = rp_moment_of(profile, k, choices[k]);
        }
        if (held != NULL) {
            held[k] = outer + forward;
            held[2 * count - 1 - k] = outer + backward;
        }
        outer += cost->hold;
        *time += cost->time;
    }
    if (held != NULL)
        held[2 * count] = rp_profile_base(profile);
    return RP_OK;
}

static enum rp_status walk_forward(const struct rp_profile *profile, enum rp_model model,
                                   const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                                   struct rp_moment *binding, uint64_t *held)
{
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_open_model open;
    char message[160];

    question.model = model;
    enum rp_status status = rp_model_open(&question, &open, message, sizeof(message));

    if (status == RP_OK) {
        status = rp_forward_walk(open.forward, choices, peak, time, binding, held, NULL);
        rp_model_close(&open);
    }
    return status;
}

enum rp_status rp_planner_walk(const struct rp_profile *profile, enum rp_model model,
                               const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                               struct rp_moment *binding, uint64_t *held)
{
    bool has_facts = rp_profile_count(profile) == 0 || rp_profile_facts(profile, 0) != NULL;
    struct rp_moment at;
    enum rp_status status;

    if (!are_allowed(profile, choices) || (model != RP_MODEL_NESTED && !has_facts))
        return RP_INVALID;
    if (rp_model_is_scalar(profile, model))
        status = walk_nested(profile, choices, peak, time, &at, held);
    else
        status = walk_forward(profile, model, choices, peak, time, &at, held);
    if (status == RP_OK && binding != NULL)
        *binding = at;
    return status;
}
