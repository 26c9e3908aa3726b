/* SPDX-License-Identifier: Apache-2.0 */
/* The summaries of a run: what the layer wrote at the end of each process.
 *
 * They are read as JSON documents, tolerantly: a figure that is not there counts as 0. */
#ifndef RP_TOOLS_SUMMARY_H
#define RP_TOOLS_SUMMARY_H

#include "tracker/trace.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct rp_summaries {
    json_t **items; /* objects with "format": "reprise-summary" */
    size_t count;
    size_t bad; /* files that should be summaries and are none, or are damaged */
};

/* Reads summary-*.json of a folder; files that are no summaries are passed over, said and
 * counted in *bad (may be NULL). False when the folder can't be read. */
bool rp_summaries_load(const char *folder, struct rp_summaries *summaries, size_t *bad);
void rp_summaries_release(struct rp_summaries *summaries);

/* The sum, over all processes, of an integer at the top of the summary. */
uint64_t rp_summaries_total(const struct rp_summaries *summaries, const char *key);
/* How many hazards there are that count, and how many that only warn. */
uint64_t rp_summaries_hazards(const struct rp_summaries *summaries);
uint64_t rp_summaries_warnings(const struct rp_summaries *summaries);
/* True when any process saw the segment or the buffer of the contract. A process without the
 * list (it stopped early) counts as one that saw nothing. */
bool rp_summaries_saw_segment(const struct rp_summaries *summaries, const char *name);
bool rp_summaries_saw_replay(const struct rp_summaries *summaries, const char *name);
bool rp_summaries_saw_buffer(const struct rp_summaries *summaries, const char *name);

/* Whether there is the summary of what left this trace: of the same process and of the same
 * program, where one was executed in the place of another. */
bool rp_summaries_tell(const struct rp_summaries *summaries, const struct rp_trace_reader *trace);

/* Members of one object: 0 and "" for what is absent or of another type. */
uint64_t rp_member_number(const json_t *object, const char *key);
const char *rp_member_text(const json_t *object, const char *key);

#endif
