/* SPDX-License-Identifier: Apache-2.0 */
/* Facts: what the planner's models that know of ranges need beside measured rows.
 *
 * The job replays by itself, and what it has on the device itself in each phase is measured as one
 * figure. So a profile's facts say of a run: the base at the forward is all that the job has there,
 * that at the backward what it has during the replay, and the backward's workspace what it has more
 * after it; an activation's size of its own there is none. Wants the core's lock. */
#ifndef RP_INTERPOSE_FACTS_H
#define RP_INTERPOSE_FACTS_H

#include "interpose/plan/sample.h"

/* What is missing of them, or NULL. One line that lives as long as the process. `priced`: whether
 * copies have a price. */
const char *rp_facts_missing(const struct rp_sample *sample, bool priced);
/* The notes of the step that preserved most. */
const struct rp_notes *rp_facts_notes(const struct rp_sample *sample);
/* All but the ranges of the segment at `place`; `base` is the profile's. */
struct rp_facts rp_facts_of(const struct rp_sample *sample, size_t place, uint64_t base);

#endif
