/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards in words: the line that a job ends with, what helps, and what was taken for what. */
#ifndef RP_INTERPOSE_RUN_WORDS_H
#define RP_INTERPOSE_RUN_WORDS_H

#include "tracker/hazard.h"

/* One line, without its end, cut where the room ends: "stale-read: segment block1, at ...". */
void rp_words_line(const struct rp_hazard *hazard, char *text, size_t size);
/* What a user can do about it, one sentence. */
const char *rp_words_advice(const struct rp_hazard *hazard);
/* ASSUMED: for what it was taken, "an output", "a replay" ...; else NULL. */
const char *rp_words_taken_for(const struct rp_hazard *hazard);

#endif
