/* SPDX-License-Identifier: Apache-2.0 */
/* Where a segment's copies to the host land, and what stands there when a replay makes them again.
 *
 * Nobody sees host code write, so content decides: what a forward's copy has left is remembered by
 * its hash, and a replay's copy to the same bytes is compared with what stands there by then.
 * Where that is the same, nothing is lost. Where it is not, the job has put something else there,
 * which the replay's copy is about to destroy: if the place is used again, that is as it should
 * be; if it is the host's state, it is wrong. Nothing tells the two apart, and nothing is put back:
 * by the replay's end the place may belong to somebody else, on a stack say. So it is said. A
 * declared host variable or buffer is put back anyway, and no doubt about it.
 *
 * Copies that need not be over when they return, go by rows, or are of more than 16 MiB are not
 * compared: there is a remark. A replay's copy to where its forward copied nothing is its own. All
 * functions want the core's lock. */
#ifndef RP_INTERPOSE_LANDING_H
#define RP_INTERPOSE_LANDING_H

#include "interpose/run/segment.h"

/* `call`, of a forward, is over: what of it goes into the log. */
struct rp_landed rp_landing_of(const struct rp_footprint *call);

/* `call`, which repeats one of the replay's forward, is about to go out. */
void rp_landing_meet(const struct rp_scope *scope, const struct rp_footprint *call);

#endif
