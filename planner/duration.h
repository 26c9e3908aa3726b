/* SPDX-License-Identifier: Apache-2.0 */
/* Times for people. */
#ifndef RP_PLANNER_DURATION_H
#define RP_PLANNER_DURATION_H

#include <stdint.h>

#define RP_DURATION_TEXT 32

/* "850 ns", "1.250 ms", "3.000 s": three digits behind the point from microseconds on, rounded
 * down. Returns `out`. */
char *rp_duration_format(char out[RP_DURATION_TEXT], uint64_t ns);

#endif
