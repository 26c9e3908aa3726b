/* SPDX-License-Identifier: Apache-2.0 */
/* Victims: which holding goes first where memory is short.
 *
 * To make one output anew is to make all of its forward's, and what that reads has to stand. So
 * the outputs of one forward go together, those of the forward that is missed last before others;
 * what nobody is going to use goes before all of them, and what another forward reads after them,
 * for without it one recall leads to the next. Of what others read, that goes first whose own
 * forward has the shortest row of such recalls before it: where all of a row of layers is gone,
 * each the input of the next, all of them are followed for the last.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_VICTIM_H
#define RP_INTERPOSE_VICTIM_H

#include "interpose/recompute/holding.h"

/* Puts what is known now in order; to be asked for before a row of rp_victim_best(). */
void rp_victims_rank(void);
/* The best that may go, or NULL. One that was dropped and has memory is the best of all. */
struct rp_holding *rp_victim_best(void);
/* It was dropped: what its forward reads is wanted from now on. */
void rp_victim_went(const struct rp_holding *victim);

#endif
