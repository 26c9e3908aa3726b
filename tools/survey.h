/* SPDX-License-Identifier: Apache-2.0 */
/* What ran, as one JSON document: the traces and the summaries of a run added up. `info`
 * prints it, for people or as it is. */
#ifndef RP_TOOLS_SURVEY_H
#define RP_TOOLS_SURVEY_H

#include "tools/filter.h"
#include "tools/source.h"

#include <jansson.h>

/* {"format": "reprise-info", "version": 1,
 *  "run":       what `reprise run` was asked for, or absent,
 *  "processes": [{"pid", "command", "mode", "driver", "device", "trace", "events",
 *                 "first_event" (how many were dropped before the first one that was kept, or
 *                 absent), "lost", "broken"}],
 *  "calls":     {NAME: count},                    as entered
 *  "kernels":   {NAME: {"launches", "verdict", "proof", "verdicts": {VERDICT: launches}}},
 *  "reasons":   {REASON: launches},               why no more is known of these
 *  "allocations": {"count", "freed", "bytes", "peak_bytes", "kinds": {KIND: {"count", "bytes"}}},
 *  "segments":  {NAME: {"forwards", "replays", "unreplayed", "refused"}},
 *  "buffers":   {NAME: found},
 *  "routes":    {ROUTE: count},
 *  "unknown":   [{"call", "count", "reason"}],
 *  "steps", "launches", "hazards", "bytes_preserved", "bytes_held_peak", "transactions"}
 *
 * Steps, launches and hazards of processes without a summary are counted from their events; the
 * totals that only summaries know are absent where there is none.
 *
 * With a filter that is not NULL and not open: of what passes it, and nothing from the summaries,
 * which know only the whole. NULL when the host is out of memory. *code becomes RP_EXIT_DATA for
 * a damaged trace, summary or run.json. */
json_t *rp_survey(const struct rp_source *source, const struct rp_filter *filter, int *code);

#endif
