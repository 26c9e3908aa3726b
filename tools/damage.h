/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with one trace: said as it is met, but for the many of a file that is damaged all
 * over. */
#ifndef RP_TOOLS_DAMAGE_H
#define RP_TOOLS_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

struct rp_damage {
    uint64_t count;
    char *first; /* message */
};

/* Says it, unless enough has been said of this trace. */
void rp_damage_note(struct rp_damage *damage, const char *message);
/* Behind the end of the trace: says how many were not said. Returns what was wrong in one line,
 * NULL where nothing was; it lives until the release. */
const char *rp_damage_sum_up(struct rp_damage *damage, const char *path);
void rp_damage_release(struct rp_damage *damage);

#endif
