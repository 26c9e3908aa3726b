/* SPDX-License-Identifier: Apache-2.0 */
/* The search for models in which one number doesn't say all about the past.
 *
 * Internal to planner/. Labels go from the first segment to the last. What a label holds is a
 * row of figures, of which less is better in each, and a set of versions already preserved, of
 * which more is better. A label dominates another when it is as good in all of that and in
 * time. A model (planner/shared.h, planner/growth.h) says what its figures are, how a choice
 * changes them, and which simpler nested chains bound what is still to come. */
#ifndef RP_PLANNER_FORWARD_H
#define RP_PLANNER_FORWARD_H

#include "planner/hull.h"

/* A nested chain that never costs more than the model: from any label on, its least time within
 * the room that the label's figure leaves is a lower bound. */
struct rp_relaxation {
    struct rp_chain chain; /* one link a segment; rows in the order of the options */
    size_t *figure;        /* at each level: which figure of a label is what is held outside */
};
#define RP_MAX_RELAXATIONS 3

/* From a label to the next: what one choice does. Bytes are above the profile's base. */
struct rp_label_step {
    int64_t forward, backward; /* held in all at the segment's own forward and backward */
    int64_t time;
};

struct rp_forward_model {
    const struct rp_profile *profile;
    struct rp_question question; /* for what it allows */
    size_t count;  /* segments */
    size_t *width; /* figures of a label at each level, 0 to count; all 0 at level 0 */
    struct rp_relaxation relaxations[RP_MAX_RELAXATIONS];
    size_t relaxation_count;

    /* From a label at level k to one at level k + 1. */
    void (*step)(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                 const int64_t *held, uint64_t preserved, int64_t *next_held,
                 uint64_t *next_preserved, struct rp_label_step *step);
    /* What that choice is charged, term by term; peaks are above what outer segments hold. */
    void (*charge)(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                   uint64_t preserved, struct rp_cost *cost);
};

/* Room in the widths, and empty relaxations, for `count` segments. */
enum rp_status rp_forward_create(struct rp_forward_model *model,
                                 const struct rp_question *question, size_t relaxations);
void rp_forward_release(struct rp_forward_model *model);

/* Fills in the answer to the question, starting from what the nested model would do. */
enum rp_status rp_forward_solve(const struct rp_forward_model *model,
                                const struct rp_question *question, struct rp_plan *plan);

/* As rp_planner_min_budget; `certain` is false when labels were dropped, so that an even smaller
 * budget may do. */
enum rp_status rp_forward_min_budget(const struct rp_forward_model *model,
                                     const struct rp_question *question, uint64_t *bytes,
                                     struct rp_moment *binding, bool *certain);

/* As rp_planner_walk; `plan`, may be NULL, receives what each choice is charged. */
enum rp_status rp_forward_walk(const struct rp_forward_model *model,
                               const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                               struct rp_moment *binding, uint64_t *held, struct rp_plan *plan);

#endif
