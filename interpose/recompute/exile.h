/* SPDX-License-Identifier: Apache-2.0 */
/* Exiles: memory that no recipe can make anew, moved to host memory for the time being.
 *
 * A job's own allocator keeps what it will hand out again, and nobody can tell that from what will
 * be used: it may not be lost, but it need not be on the device. Where nothing is left to drop,
 * what was used longest ago goes to host memory, whole granules at a time, and comes back before
 * whatever may look at it. What is overwritten as a whole, unread, comes back empty.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_EXILE_H
#define RP_INTERPOSE_EXILE_H

#include "interpose/run/execution.h"

/* Moves at least `bytes` off the device, or as much as may go, and as the host has room for
 * (host.h); returns how much. The host waits for the copies. */
uint64_t rp_exile_make_room(uint64_t bytes);

/* Brings back what `call` may look at, in its stream, and puts memory where it only overwrites:
 * such exiles are claimed until rp_exile_after. RP_NO_MEMORY when there is none. */
enum rp_status rp_exile_before(const struct rp_footprint *call);
/* The call is done. `went`: it runs; `sure`: so the driver says. */
void rp_exile_after(const struct rp_footprint *call, bool went, bool sure);
/* Brings back all that following the execution's recipe would meet; or everything. */
enum rp_status rp_exile_return_for(const struct rp_execution *execution, rp_stream stream);
enum rp_status rp_exile_return_all(rp_stream stream);

/* Adds to `spans` what of the allocation is elsewhere, or whose content is not known yet. */
enum rp_status rp_exile_of(rp_alloc_id id, struct rp_spans *spans);
/* Bytes that are on the host now. */
uint64_t rp_exile_bytes(void);

/* The allocation is gone; all of them are. */
void rp_exile_forget(rp_alloc_id id);
/* Before the context goes, with the host memory that all have: those that were made in it are
 * forgotten. False when there are others. */
bool rp_exile_forget_in(uint64_t context);
void rp_exile_forget_all(void);

#endif
