/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: what a step's notes say of its state, as facts of a profile: the buffers, and what each
 * segment's forward reads and somebody overwrites before its replay, and who that is.
 *
 * State that nobody overwrites is not in them: it costs nothing under any model. Wants the core's
 * lock. */
#ifndef RP_INTERPOSE_FACT_RANGES_H
#define RP_INTERPOSE_FACT_RANGES_H

#include "interpose/plan/notes.h"
#include "planner/profile.h"

struct rp_fact_ranges;

/* Adds the buffers to the profile. The notes may go. */
enum rp_status rp_fact_ranges_create(const struct rp_notes *notes, struct rp_profile *profile,
                                     struct rp_fact_ranges **out);
void rp_fact_ranges_destroy(struct rp_fact_ranges *ranges);
/* Sets the ranges of `facts` to those of the segment at `place`; they live as long as `ranges`. */
void rp_fact_ranges_of(const struct rp_fact_ranges *ranges, uint32_t place, struct rp_facts *facts);

#endif
