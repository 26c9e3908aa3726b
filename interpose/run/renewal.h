/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that come again (`repeat`) are a replay, or the next forward: no name tells. Where the
 * job has filled an input anew since, as it had filled it for the forward, they may well be that,
 * and what the forward has read is about to stand there instead. Under the core's lock. */
#ifndef RP_RUN_RENEWAL_H
#define RP_RUN_RENEWAL_H

#include "interpose/run/segment.h"

/* The replay has been settled on by its first call, and nothing is rewound for it yet. */
void rp_renewal_doubt(const struct rp_scope *scope, const struct rp_footprint *call);

#endif
