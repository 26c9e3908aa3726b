/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: which segments to retain and which to replay, and how, so that a step takes the
 * least time within a budget of device memory.
 *
 *   struct rp_profile *profile;                 // planner/profile.h
 *   struct rp_plan *plan;                       // planner/plan.h
 *   rp_profile_load("profile.json", &profile, message, sizeof message);
 *   struct rp_question question = rp_question_default(profile, budget);
 *   rp_planner_solve(&question, &plan, message, sizeof message);
 *
 * Everything is counted in whole bytes and nanoseconds; floating point decides nothing. The
 * same question has the same answer on every machine, however many threads work on it. No
 * function here needs CUDA, a driver or a GPU, none writes to stderr, and none is limited to
 * one thread: all that is shared is only read. */
#ifndef RP_PLANNER_PLANNER_H
#define RP_PLANNER_PLANNER_H

#include "planner/plan.h"
#include "planner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Labels kept per segment unless the question says otherwise. */
#define RP_PLANNER_MAX_LABELS ((size_t)1 << 20)

/* Told how far long work has come, by the thread that asked and no other: `done` parts of `all`,
 * or, where nobody knows how many there will be, `done` labels and `all` 0. */
struct rp_watch {
    void (*at)(void *context, uint64_t done, uint64_t all);
    void *context;
};

struct rp_question {
    const struct rp_profile *profile;
    enum rp_model model;
    unsigned allowed;  /* RP_CHOICE_BIT()s; an option must also be allowed by the profile */
    const uint8_t *allowed_each; /* the same, one a segment; NULL takes nothing more away */
    uint64_t budget;   /* bytes */
    size_t max_labels; /* per segment; at least 1. What is dropped is accounted for */
    bool plain;        /* search without bounds or incumbent: slow, and an oracle for the rest */
    const struct rp_watch *watch; /* or NULL */
};

/* Nested, every option, default limits. */
struct rp_question rp_question_default(const struct rp_profile *profile, uint64_t budget);
bool rp_question_allows(const struct rp_question *question, size_t segment,
                        enum rp_choice choice);

/* Answers the question. RP_OK with a plan for every answer, "infeasible" included; the caller
 * destroys it. RP_INVALID when the restriction leaves a segment without any option;
 * RP_UNSUPPORTED when the profile doesn't fit the model: `message` says why. Among plans of
 * equal time it returns one of smallest peak, except where labels were dropped. */
enum rp_status rp_planner_solve(const struct rp_question *question, struct rp_plan **out,
                                char *message, size_t message_size);

/* The smallest feasible budget, by a recursion of its own (nested) or a search for it (shared,
 * lazy), without the time. `binding`, may be NULL, receives where it is reached. */
enum rp_status rp_planner_min_budget(const struct rp_question *question, uint64_t *bytes,
                                     struct rp_moment *binding, char *message,
                                     size_t message_size);

/* Solves `count` questions that differ only in their budget, on as many threads as the process may
 * run on processors. plans[i] answers budgets[i]. On failure no plan is handed out. */
enum rp_status rp_planner_sweep(const struct rp_question *question, const uint64_t *budgets,
                                size_t count, struct rp_plan **plans, char *message,
                                size_t message_size);

/* ---- the whole curve ---------------------------------------------------------- */

/* Peaks increase strictly, times decrease strictly: the best time for a budget is that of the
 * last point whose peak fits it. */
struct rp_curve_point {
    uint64_t peak, time;
};

struct rp_curve {
    enum rp_model model;
    struct rp_curve_point *points;
    size_t count;
    bool truncated; /* labels were dropped: points are feasible, but better ones may be missing */
    uint64_t gap;   /* nanoseconds by which the curve lies above the exact one at most, at any
                     * budget from its first point on; 0 unless truncated */
    uint64_t labels;
};

/* The curve over all budgets. Of the question, the budget is ignored. Under the nested model it
 * comes from one search; a truncated one is held against exact plans for a hundred of its budgets:
 * they mend it where they are better, and between them they bound what it may still miss. Under
 * the other models it is walked down, a plan for a budget just below the peak of the last. */
enum rp_status rp_planner_curve(const struct rp_question *question, struct rp_curve **out,
                                char *message, size_t message_size);
void rp_curve_destroy(struct rp_curve *curve);

/* The point of a curve after which more memory buys the least: the farthest from the straight
 * line between both ends. 0 for an empty curve. */
size_t rp_curve_knee(const struct rp_curve_point *points, size_t count);

/* ---- walking a plan ----------------------------------------------------------- */

/* Executes `choices` on the profile's rows: what a plan is checked by, independently of how it
 * was found. Any choice that a segment doesn't allow is RP_INVALID. `held`, may be NULL, has
 * room for 2 * count + 1 byte counts and receives the bytes held at each event: the forwards
 * 0, 1, ..., then the backwards ..., 1, 0; then the base alone. */
enum rp_status rp_planner_walk(const struct rp_profile *profile, enum rp_model model,
                               const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                               struct rp_moment *binding, uint64_t *held);

#ifdef __cplusplus
}
#endif

#endif
