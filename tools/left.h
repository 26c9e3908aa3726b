/* SPDX-License-Identifier: Apache-2.0 */
/* What a run left in JSON in its folder, its summaries and run.json: whether one is what it should
 * be, of a version that is known here, and every member that is used of its type. Members that are
 * not known are let pass: keys are added, never renamed; what is not there is not missed. */
#ifndef RP_TOOLS_LEFT_H
#define RP_TOOLS_LEFT_H

#include <jansson.h>

/* NULL after a message that ends in `otherwise` and why, or names the version. */
json_t *rp_left_load(const char *path, const char *format, const char *otherwise);

#endif
