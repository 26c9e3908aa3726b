/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: a call that is about to overwrite all of something dropped needs its memory, and not its
 * content. From then until the call is done the holding is claimed: nobody makes it anew.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_CLAIM_H
#define RP_INTERPOSE_CLAIM_H

#include "interpose/run/footprint.h"

/* Puts memory where `call` overwrites something dropped that nobody needs any more. RP_NO_MEMORY
 * when there is none; what was claimed by then stays so until rp_claim_after. */
enum rp_status rp_claim_before(const struct rp_footprint *call);
/* The call is done. `went`: it runs; `sure`: so the driver says, and not perhaps. What it has
 * overwritten is no output any more. */
void rp_claim_after(const struct rp_footprint *call, bool went, bool sure);

#endif
