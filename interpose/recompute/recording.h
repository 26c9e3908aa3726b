/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: what the calls of a thread's forwards are, for their recipes, and what other threads'
 * calls mean to them. Wants the core's lock. */
#ifndef RP_INTERPOSE_RECORDING_H
#define RP_INTERPOSE_RECORDING_H

#include "interpose/run/footprint.h"

/* A call runs. A recipe has its own thread's calls, and finds one content of what they read: what
 * another thread writes between two of them would not be there. Such a forward is retained. */
void rp_recording_doubt(const struct rp_footprint *call);

#endif
