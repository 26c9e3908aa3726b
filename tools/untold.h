/* SPDX-License-Identifier: Apache-2.0 */
/* What no summary tells: of processes that ended before they could write one, by a signal, by
 * _exit, or since another program took their place. Their traces are read for it, and nothing is
 * said of them. */
#ifndef RP_TOOLS_UNTOLD_H
#define RP_TOOLS_UNTOLD_H

#include "tools/summary.h"

struct rp_untold {
    uint64_t calls, launches;
    uint64_t hazards, warnings; /* as `reprise check` counts them */
};

void rp_untold_count(const char *folder, const struct rp_summaries *summaries,
                     struct rp_untold *untold);

#endif
