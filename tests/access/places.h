/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch is claimed to touch of allocations, as the layer puts it together: those that the
 * launch's pointers lead into, or end at, each with neighbours that begin where it ends.
 *
 * One launch at a time. */
#ifndef RP_TESTS_ACCESS_PLACES_H
#define RP_TESTS_ACCESS_PLACES_H

#include "tests/access/generate.h"
#include "tests/access/scalar.h"

struct rp_memo;

/* Allocations about the pointers of the launch, as `seed` has it. */
void places_make(const struct generated *launch, uint64_t seed);
void places_clear(void);

/* False, and why in `message`, where the trace has bytes that were not claimed. What leaves the
 * memory of its pointer need not be, unless that is not assumed to happen. */
bool places_check(const struct rp_proof *proof, struct rp_memo *memo,
                  const struct rp_launch *launch, const struct scalar_trace *trace,
                  char message[160]);

#endif
