/* SPDX-License-Identifier: Apache-2.0 */
/* The hazards of a recorded run, from the summaries, and from the trace where a process ended
 * before it could write one. */
#ifndef RP_TOOLS_HAZARDS_H
#define RP_TOOLS_HAZARDS_H

#include "tools/source.h"

#include <jansson.h>

/* A list of JSON objects with the keys of a summary's hazards and "pid", most damaging first:
 * by kind, then by bytes, then in order of appearance. NULL when the host is out of memory.
 * *code becomes RP_EXIT_DATA when a trace that was needed is damaged. The replays of processes
 * without a summary are added to *replays. */
json_t *rp_hazards_collect(const struct rp_source *source, uint64_t *replays, int *code);

#endif
