/* SPDX-License-Identifier: Apache-2.0 */
/* Small problems for the planner's tests. */
#ifndef RP_TESTS_PLANNER_INSTANCE_H
#define RP_TESTS_PLANNER_INSTANCE_H

#include "tests/tracker/check.h"
#include "tests/tracker/random.h"

#include "planner/planner.h"

#include <jansson.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

/* A profile from base bytes and rows[segment][option] = {hold, peak, time}, an option with a
 * time of UINT64_MAX being not allowed. */
struct rp_profile *instance_from_rows(uint64_t base, size_t count,
                                      uint64_t (*rows)[RP_CHOICE_COUNT][3]);

/* The same from an instance of golden.json. */
struct rp_profile *instance_from_golden(json_t *instance);

/* The data files beside the tests. */
json_t *instance_load(const char *file);

/* Solves, walks the answer and checks that the walk agrees with what the plan says of itself.
 * The caller destroys the plan. */
struct rp_plan *instance_solve(const struct rp_question *question);

/* Random rows with small figures, in which all three options are worth something. */
struct rp_profile *instance_random(struct random *random, size_t count);
/* The same with figures `scale` times as large and as fine: more labels. */
struct rp_profile *instance_random_sized(struct random *random, size_t count, uint64_t scale);

/* Three segments, of which two hold something later. */
extern const char instance_later_text[];
struct rp_profile *instance_later(void);

/* A few kinds of segment over and over: many plans of equal time. */
struct rp_profile *instance_layers(struct random *random, size_t count);

/* Real sizes: activations of 8 to 512 MiB in units of 512 bytes, nanoseconds. */
struct rp_profile *instance_realistic(struct random *random, size_t count);

/* The room that the profile's smallest budget leaves below "retain everything". */
uint64_t instance_min_budget(const struct rp_profile *profile);
uint64_t instance_eager_peak(const struct rp_profile *profile);

/* The next of all plans, allowed or not, the first being all zeros; false after the last. */
bool instance_next_plan(enum rp_choice *choices, size_t count);

/* The whole curve by trying every plan; the caller frees *points. At most 12 segments. */
size_t instance_enumerate(const struct rp_profile *profile, enum rp_model model,
                          unsigned allowed, struct rp_curve_point **points);

/* The last of `points` that fits; NULL where none does. */
const struct rp_curve_point *instance_best_within(const struct rp_curve_point *points, size_t count,
                                                  uint64_t budget);

/* Asserts that the search answers what `points`, all there are, say for the question's budget, and
 * that the curve it makes is all of them. */
void instance_check_budget(const struct rp_question *question, const struct rp_curve_point *points,
                           size_t count);
void instance_check_curve(const struct rp_question *question, const struct rp_curve_point *points,
                          size_t count);

/* The same facts, with the rows that follow from them beside them; with `random`, such as they
 * might have been measured: each term of them a little more. */
struct rp_profile *instance_with_rows(const struct rp_profile *facts, struct random *random);

#endif
