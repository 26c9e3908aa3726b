/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a plan event by event with real bytes: allocates, copies, writes, replays, frees.
 *
 * It knows the facts of a profile and the words of a model, and nothing of rows, clobber sets
 * or searches: every byte of state has a value and is looked at by itself. */
#ifndef RP_TESTS_PLANNER_WALKER_H
#define RP_TESTS_PLANNER_WALKER_H

#include "tests/planner/instance.h"

/* A profile of facts with a few small buffers: reads, writes and backward writes overlap at
 * random, sometimes with all writes late, and some segments can't be replayed. */
struct rp_profile *walker_random(struct random *random, size_t count);

/* Fails the test when a replay doesn't compute what the forward computed, or when the final
 * state isn't that of the run that retains everything. */
void walker_run(const struct rp_profile *profile, enum rp_model model,
                const enum rp_choice *choices, uint64_t *peak, uint64_t *time);

#endif
