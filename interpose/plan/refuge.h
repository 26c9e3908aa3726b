/* SPDX-License-Identifier: Apache-2.0 */
/* Refuge: host memory for what has to be kept, where the device has no room for it.
 *
 * A forward that serves has given up the state that a replay would need, so that its outputs have
 * to be kept, whatever has become of the memory that a plan counted on. And where there is no plan
 * yet, the safe policy may need more than the budget, though some plan does with it. Pinned host
 * memory is slower, and reached by the same copies. It counts for no budget of device memory.
 * Wants the core's lock. */
#ifndef RP_INTERPOSE_REFUGE_H
#define RP_INTERPOSE_REFUGE_H

#include "cuda/preserve.h"

/* What copies into it work on; made when it is first asked for. NULL when the host is out of
 * memory. */
const struct rp_workbench *rp_refuge(void);
/* rp_bench.refuge: of a run that is planned, or is to be. A plan that had counted on that room
 * falls. */
struct rp_store *rp_refuge_store(uint64_t bytes);
/* Moves there what of the copies is on the device; `owner` is whose they are, for the meter. The
 * bytes that were moved. */
uint64_t rp_refuge_move(struct rp_copies *copies, uint32_t owner);
/* The context of its copies is gone. */
void rp_refuge_abandon(void);
/* After a fork. */
void rp_refuge_forget(void);

#endif
