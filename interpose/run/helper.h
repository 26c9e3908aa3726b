/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers: threads that never open a range, and make calls while another thread's segment is under
 * way. Whether these are a part of it nothing tells, and no part they are taken for: what a
 * helper steps beside a forward, and once more beside its replay, is told. Both want the core's
 * lock. */
#ifndef RP_INTERPOSE_HELPER_H
#define RP_INTERPOSE_HELPER_H

#include "interpose/run/segment.h"

/* A call of the thread is about to go out while the forward of `execution`, another thread's, is
 * under way, respectively its replay. */
void rp_helper_beside_forward(const struct rp_thread *thread, struct rp_execution *execution,
                              const struct rp_footprint *call);
void rp_helper_beside_replay(const struct rp_thread *thread, const struct rp_execution *execution,
                             const struct rp_footprint *call);

#endif
