/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a run: its summaries and traces together, in at most three lines. */
#ifndef RP_TOOLS_OUTCOME_H
#define RP_TOOLS_OUTCOME_H

#include "tools/summary.h"
#include "tools/untold.h"
#include "tracker/contract.h"

struct rp_outcome {
    struct rp_summaries summaries;
    struct rp_untold untold; /* of processes without one */
    uint64_t hazards;     /* those that count: not the ones listed as harmless ... */
    uint64_t warnings;    /* ... nor those that only warn */
    uint64_t trace_bytes; /* of the trace files on disk */
    uint64_t traces;
};

void rp_outcome_read(const char *folder, struct rp_outcome *outcome);
/* `contract` may be NULL; without one a job that never came to the driver is nothing to talk of,
 * unless `verbose`. */
void rp_outcome_say(const struct rp_outcome *outcome, const char *folder,
                    const struct rp_contract *contract, bool verbose);
void rp_outcome_release(struct rp_outcome *outcome);

#endif
