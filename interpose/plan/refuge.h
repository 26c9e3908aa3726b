/* SPDX-License-Identifier: Apache-2.0 */
/* Refuge: host memory for outputs that a replay has to be served from, where the device has none.
 *
 * A forward that serves has given up the state that a replay would need, so that its outputs have
 * to be kept, whatever has become of the memory that a plan counted on. Pinned host memory is
 * slower, and reached by the same copies. It counts for no budget of device memory. Wants the
 * core's lock. */
#ifndef RP_INTERPOSE_REFUGE_H
#define RP_INTERPOSE_REFUGE_H

#include "cuda/preserve.h"

/* What copies into it work on; made when it is first asked for. NULL when the host is out of
 * memory. */
const struct rp_bench *rp_refuge(void);
/* The context of its copies is gone. */
void rp_refuge_abandon(void);
/* After a fork. */
void rp_refuge_forget(void);

#endif
