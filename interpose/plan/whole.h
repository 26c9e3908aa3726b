/* SPDX-License-Identifier: Apache-2.0 */
/* What policy whole keeps of an execution: asked of executions that are run by another policy,
 * so that the planner can compare. Wants the core's lock. */
#ifndef RP_INTERPOSE_WHOLE_H
#define RP_INTERPOSE_WHOLE_H

#include "interpose/plan/amount.h"
#include "interpose/run/execution.h"

/* Of an execution whose forward is over and whose clobbers are known: declared buffers that the
 * forward touched; with `discovered`, all that it read of allocations that are clobbered; and what
 * a run keeps that it has made itself, whatever its policy. */
enum rp_status rp_whole_size(const struct rp_execution *execution, struct rp_amount *amount);

#endif
