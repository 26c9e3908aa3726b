/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's own records of kernels and copies (CUPTI activity), where they are asked for.
 *
 * libcupti is opened, never linked. A profiler that is there already has the first right to it:
 * then, and where anything is missing, nothing is started and a reason is left.
 *
 * Each driver call is given a tag by what it is for; its kernels and copies come back with their
 * own times and are added up by tag. Records come on threads of CUPTI's, which is why what is here
 * has a lock of its own and never takes the core's. The layout of records is that of CUPTI 9 to 13
 * (cupti_activity.h: the fields that are read have not moved since CUpti_ActivityKernel4,
 * CUpti_ActivityMemcpy and CUpti_ActivityMemset). */
#ifndef RP_INTERPOSE_PROFILER_H
#define RP_INTERPOSE_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

/* Starts it at the first call, if REPRISE_TIMES says "cupti". True when it runs. */
bool rp_profiler_start(void);
bool rp_profiler_runs(void);
/* Why it does not although it was asked for, or NULL. */
const char *rp_profiler_refused(void);

/* What this thread calls from here on belongs to `tag`, until the next one; 0 for nothing. */
void rp_profiler_tag(uint64_t tag);

/* Has what is done so far handed over; and visits the time of each tag from `first` to `last`,
 * then forgets it. A device that has passed an event has its records of what came before. */
typedef void (*rp_profiler_fn)(void *ctx, uint64_t tag, uint64_t ns);
void rp_profiler_take(uint64_t first, uint64_t last, rp_profiler_fn visit, void *ctx);

#endif
