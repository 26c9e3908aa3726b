/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: one choice a segment, and how sure it is.
 *
 * A plan owns all that it points to and is plain data; destroy it with rp_plan_destroy(). */
#ifndef RP_PLANNER_PLAN_H
#define RP_PLANNER_PLAN_H

#include "planner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RP_PLAN_VERSION 1

/* What is assumed about preserved copies. */
enum rp_model {
    /* Private copies, made at the forward, held until the replay. Lifetimes nest, so that one
     * number says all about the past: the search is exact. */
    RP_MODEL_NESTED,
    /* As nested, but a version that several segments read is preserved once, and held until
     * the outermost of them has been replayed. Exact: labels carry the set of versions that
     * are preserved. Needs facts. */
    RP_MODEL_SHARED,
    /* Private copies, made at the first write that would clobber the bytes. What is held
     * grows with time, so labels carry a vector. Exact within this model. Needs facts. */
    RP_MODEL_LAZY
};

enum rp_answer {
    RP_ANSWER_OPTIMAL,    /* nothing was dropped */
    RP_ANSWER_CERTIFIED,  /* labels were dropped, none of which could have been better */
    RP_ANSWER_FEASIBLE,   /* labels were dropped; the optimum is at most `gap` below */
    RP_ANSWER_INFEASIBLE, /* no plan fits; `min_budget` is the least that does */
    RP_ANSWER_UNKNOWN     /* labels were dropped and no plan was found */
};

enum rp_pass {
    RP_PASS_NONE,   /* no segment at all: only the base */
    RP_PASS_EITHER, /* the profile doesn't say which of the two */
    RP_PASS_FORWARD,
    RP_PASS_BACKWARD
};

/* A moment of the step. */
struct rp_moment {
    enum rp_pass pass;
    size_t segment;
};

struct rp_plan {
    enum rp_answer answer;
    enum rp_model model;
    uint64_t budget;
    bool has_min_budget; /* false when it could not be determined (UNKNOWN) */
    uint64_t min_budget; /* the smallest feasible budget under the same restrictions */
    struct rp_moment min_binding; /* where that budget is reached */
    bool truncated;
    uint64_t labels; /* kept in all, a measure of the work */

    /* Without a plan (INFEASIBLE, UNKNOWN) choices is NULL and the figures are 0. */
    size_t count;
    char **names; /* of the segments, in forward order */
    enum rp_choice *choices;
    struct rp_cost *charged; /* what each choice costs under the model; NULL in a loaded plan */
    uint64_t peak, time;
    uint64_t gap;             /* nanoseconds; FEASIBLE only */
    struct rp_moment binding; /* where the peak is reached */

    /* What the plan was made for. */
    char *job, *device, *contract;
    uint64_t least; /* the profile's: of a run in recompute, what its job needs at least; or 0 */
    uint64_t fingerprint;
};

void rp_plan_destroy(struct rp_plan *plan);

static inline bool rp_plan_has_choices(const struct rp_plan *plan)
{
    return plan->answer != RP_ANSWER_INFEASIBLE && plan->answer != RP_ANSWER_UNKNOWN;
}

/* RP_OK when the plan was made for this purpose and these segments, in this order. Otherwise
 * RP_INVALID, and `message` says what differs. Only what the purpose knows is asked of the plan;
 * its job in any case. A plan's job may hold a `*` for any text (planner/purpose.h). */
enum rp_status rp_plan_fits(const struct rp_plan *plan, const struct rp_purpose *purpose,
                            const char *const *names, size_t count, char *message,
                            size_t message_size);
/* RP_OK when a run takes no more memory under it than it says: it was made under the nested
 * model, for a run keeps a copy for each reader, and one for each write. Otherwise RP_INVALID, and
 * `message` says so. */
enum rp_status rp_plan_holds(const struct rp_plan *plan, char *message, size_t message_size);

/* The terms of all segments that have one choice, added up. False when the profile gave no
 * terms, only reduced rows. */
bool rp_plan_totals(const struct rp_plan *plan, enum rp_choice choice, size_t *segments,
                    uint64_t totals[RP_TERM_COUNT]);

const char *rp_pass_name(enum rp_pass pass); /* "forward" */
const char *rp_model_name(enum rp_model model);
/* One line: under which conditions the model's optimum is one. */
const char *rp_model_exactness(enum rp_model model);
/* The word in files: "optimal", "optimal (certified despite truncation)", "feasible",
 * "infeasible", "unknown". */
const char *rp_answer_name(enum rp_answer answer);
/* The same for people, with the gap or the smallest budget. Returns `text`. */
char *rp_answer_format(const struct rp_plan *plan, char *text, size_t size);

/* ---- files -------------------------------------------------------------------- */

/* The document that `reprise plan --json` prints and -o writes, as text that the caller frees;
 * NULL when out of memory. `profile`, may be NULL, adds which options are masked, and why. */
char *rp_plan_to_json(const struct rp_plan *plan, const struct rp_profile *profile);

/* Reads such a document. Only one with choices is a plan to obey; anything else is
 * RP_INVALID. On failure `message` holds one line that begins with the file's name. */
enum rp_status rp_plan_load(const char *path, struct rp_plan **out, char *message,
                            size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
