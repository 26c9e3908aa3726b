/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/label.h"

#include <stdio.h>
#include <stdlib.h>

static enum rp_status curve_from(const struct rp_hunt *hunt, uint64_t base, struct rp_curve **out)
{
    struct rp_curve *curve = calloc(1, sizeof(*curve));

    *out = curve;
    if (curve == NULL)
        return RP_NO_MEMORY;
    *curve = (struct rp_curve){.points = calloc(hunt->count + 1, sizeof(*curve->points)),
                               .count = hunt->count,
                               .truncated = hunt->dropped,
                               .labels = hunt->work};
    for (size_t i = 0; curve->points != NULL && i < hunt->count; i++)
        curve->points[i] = (struct rp_curve_point){base + (uint64_t)hunt->labels[i].need,
                                                   (uint64_t)hunt->labels[i].time};
    if (curve->points != NULL)
        return RP_OK;
    rp_curve_destroy(curve);
    *out = NULL;
    return RP_NO_MEMORY;
}

enum rp_status rp_planner_curve(const struct rp_question *question, struct rp_curve **out,
                                char *message, size_t message_size)
{
    struct rp_chain chain;
    enum rp_status status;

    *out = NULL;
    if (question->model != RP_MODEL_NESTED || rp_profile_departure(question->profile) != NULL) {
        snprintf(message, message_size, "the curve over all budgets is for the nested model");
        return RP_UNSUPPORTED;
    }
    status = rp_chain_create(question->profile, question->allowed, &chain, message, message_size);
    if (status != RP_OK)
        return status;
    rp_chain_drop_dominated(&chain);
    struct rp_hunt hunt = {.chain = &chain,
                           .room = INT64_MAX,
                           .cutoff = INT64_MAX,
                           .max_labels = question->max_labels,
                           .evenly = true};
    status = rp_hunt_run(&hunt);
    if (status == RP_OK)
        status = curve_from(&hunt, rp_profile_base(question->profile), out);
    rp_hunt_release(&hunt);
    rp_chain_release(&chain);
    return status;
}

void rp_curve_destroy(struct rp_curve *curve)
{
    if (curve != NULL)
        free(curve->points);
    free(curve);
}

size_t rp_curve_knee(const struct rp_curve_point *points, size_t count)
{
    size_t knee = 0;
    rp_wide farthest = 0;

    for (size_t i = 0; i < count; i++) {
        rp_wide dx = points[count - 1].peak - points[0].peak;
        rp_wide dy = points[0].time - points[count - 1].time;
        rp_wide below = dy * (points[count - 1].peak - points[i].peak) -
                         dx * (points[i].time - points[count - 1].time);
        if (below > farthest) {
            farthest = below;
            knee = i;
        }
    }
    return knee;
}
