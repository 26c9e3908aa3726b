/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one call through the tracker: contract, hazards, preservation, versions. */
#ifndef RP_INTERPOSE_TRACK_H
#define RP_INTERPOSE_TRACK_H

#include "interpose/run/footprint.h"

/* What became of a call that went to the driver. */
enum rp_outcome {
    RP_OUTCOME_RAN,
    RP_OUTCOME_REJECTED, /* it changed nothing */
    RP_OUTCOME_UNSURE    /* it failed, and may have run in part */
};

/* Both under the core's lock, which is open while the driver works.
 *
 * rp_track comes before the driver call goes out, with its complete footprint: what must be
 * copied is copied, what must be refused is refused, and what a forward reads is noted. Gives
 * call->seq. rp_track_done comes after it, on the same thread and with the same scopes open:
 * what the call wrote becomes history. Of a rejected call nothing does. */
void rp_track(struct rp_footprint *call);
void rp_track_done(struct rp_footprint *call, enum rp_outcome outcome);

/* An allocation dies: nothing can be read or clobbered there any more. */
void rp_track_death(rp_alloc_id id);

#endif
