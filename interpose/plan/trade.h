/* SPDX-License-Identifier: Apache-2.0 */
/* Trade: idle blocks of one size that are given back to the driver for one of another size.
 *
 * A retained segment keeps state until its forward is over, and then outputs. Where what a plan
 * says that a step takes has no room for blocks of both, each step gives the ones back for the
 * others: two calls, which tell in a step of a few calls (cuda/lodging.h says when it need not).
 * Large steps do not feel them, and have better uses for memory. Wants the core's lock. */
#ifndef RP_INTERPOSE_TRADE_H
#define RP_INTERPOSE_TRADE_H

#include "interpose/plan/sample.h"

/* Whether it would tell in these steps, of the host's calls of `call_ns`. */
bool rp_trade_tells(const struct rp_sample *sample, uint64_t call_ns);
/* What the blocks of the segment at `place` take where nothing has to be traded; where it has too
 * many sizes, what they need. */
uint64_t rp_trade_room(const struct rp_sample *sample, size_t place);

#endif
