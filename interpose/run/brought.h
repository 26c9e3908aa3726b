/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_INTERPOSE_BROUGHT_H
#define RP_INTERPOSE_BROUGHT_H

#include "interpose/run/execution.h"

/* A replay is about to be given its past: what the job's copies have put there since the forward is
 * not what it finds, and is remarked. */
void rp_brought_remark(const struct rp_execution *execution);

#endif
