/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/later.h"

/* Where the profile doesn't tell a forward's peak from a backward's, either may be the one. */
static void set_peaks(const struct rp_cost *row, struct rp_cost *cost)
{
    *cost = *row;
    if (!row->has_terms)
        cost->terms[RP_TERM_PEAK_FORWARD].value = cost->terms[RP_TERM_PEAK_BACKWARD].value =
            row->peak;
}

static enum rp_status add_parts(const struct rp_cost *cost, size_t count,
                                struct rp_growth_hold *hold)
{
    enum rp_status status = RP_OK;

    hold->start = (int64_t)cost->hold;
    for (size_t i = 0; i < cost->later_count && status == RP_OK; i++) {
        const struct rp_later *later = &cost->later[i];
        status = rp_growth_add(hold, rp_later_event(later, count), (int64_t)later->bytes);
        hold->start -= (int64_t)later->bytes; /* all of them are part of it */
    }
    return status;
}

enum rp_status rp_later_fill(const struct rp_question *question, struct rp_growth *growth)
{
    size_t count = rp_profile_count(question->profile);
    enum rp_status status = RP_OK;

    for (size_t k = 0; k < count && status == RP_OK; k++)
        for (int c = 0; c < RP_CHOICE_COUNT && status == RP_OK; c++) {
            const struct rp_cost *cost = &rp_profile_segment(question->profile, k)->costs[c];
            struct rp_growth_segment *segment = rp_growth_segment(growth, k);
            set_peaks(cost, &segment->costs[c]);
            if (rp_question_allows(question, k, (enum rp_choice)c))
                status = add_parts(cost, count, &segment->holds[c]);
        }
    return status;
}
