/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/answer.h"

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

enum rp_status rp_walk_nested(const struct rp_profile *profile, const enum rp_choice *choices,
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

enum rp_status rp_planner_walk(const struct rp_profile *profile, enum rp_model model,
                               const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                               struct rp_moment *binding, uint64_t *held)
{
    struct rp_moment at;

    (void)model;
    if (!are_allowed(profile, choices))
        return RP_INVALID;
    enum rp_status status = rp_walk_nested(profile, choices, peak, time, &at, held);
    if (status == RP_OK && binding != NULL)
        *binding = at;
    return status;
}
