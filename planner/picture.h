/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a comparison: one SVG document that needs nothing else.
 *
 * Above, the time of each baseline over the budget; below, the bytes that a plan holds at each
 * event of the step, against its budget. */
#ifndef RP_PLANNER_PICTURE_H
#define RP_PLANNER_PICTURE_H

#include "planner/baseline.h"

/* Text that the caller frees; NULL when out of memory. `plan`, may be NULL, must have choices
 * and belong to the profile. */
char *rp_picture_draw(const struct rp_comparison *comparison, const struct rp_profile *profile,
                      const struct rp_plan *plan);

#endif
