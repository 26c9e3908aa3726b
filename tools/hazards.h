/* SPDX-License-Identifier: Apache-2.0 */
/* The hazards of a recorded run, from the summaries, and from the trace where a process ended
 * before it could write one. */
#ifndef RP_TOOLS_HAZARDS_H
#define RP_TOOLS_HAZARDS_H

#include "tools/filter.h"
#include "tools/source.h"

#include <jansson.h>

/* False for what the contract lists as harmless, and for mere warnings. */
bool rp_hazard_counts(const json_t *hazard);
bool rp_hazard_warns(const json_t *hazard);

/* The replays that summaries tell of. *had_contract becomes true where one tells of a contract. */
uint64_t rp_hazards_replays(const struct rp_source *source, bool *had_contract);

/* A list of JSON objects with the keys of a summary's hazards and "pid", most damaging first:
 * by kind, then by bytes, then in order of appearance. NULL when the host is out of memory.
 * *code becomes RP_EXIT_DATA when a trace that was needed is damaged, RP_EXIT_NO when nothing that
 * was read passes the filter. The replays of processes without a summary are added to *replays.
 *
 * A hazard passes with the call that met it, or, where the call is not in a trace, by what it says
 * itself; where that is not enough, *code becomes RP_EXIT_NO after a message. One that may have
 * come again passes too where only the moment does not fit and is later than the first: where each
 * repeat was is not kept. *hidden becomes the number of those that count and do not pass. */
json_t *rp_hazards_collect(const struct rp_source *source, const struct rp_filter *filter,
                           uint64_t *replays, uint64_t *hidden, int *code);

#endif
