/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the summary that have files of their own. Internal to summary.c and these. */
#ifndef RP_INTERPOSE_SUMMARY_PART_H
#define RP_INTERPOSE_SUMMARY_PART_H

#include "interpose/run/json.h"

/* summary_hazards.c: an array of all that were met, sorted. */
json_t *rp_summary_hazards(void);
/* summary_costs.c: what recompute dropped and made anew, what the steps took, and what was planned,
 * as far as there is such a thing. */
void rp_summary_put_costs(json_t *summary);

#endif
