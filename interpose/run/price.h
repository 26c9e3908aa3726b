/* SPDX-License-Identifier: Apache-2.0 */
/* The price of copies, from those that were made: what those that were not would take. */
#ifndef RP_INTERPOSE_PRICE_H
#define RP_INTERPOSE_PRICE_H

#include "interpose/plan/cost.h"

/* A fixed time a contiguous piece, and a time a byte, by least squares. False when no copy was
 * measured. Neither is ever negative. Where all copies had one size, what a byte takes is told by
 * halves of what was preserved (rp_bench.in_halves), or by a trial (trial.h), and what these leave
 * of the copies of every kind is by the piece: some kinds have calls of the host's around theirs.
 * Where there is none of them either, the source is RP_SOURCE_DERIVED: what copies took is measured
 * then, and what of it is by the piece is not. So it is where all copies led to host memory or from
 * it; those on the device take less. */
bool rp_price_copies(const struct rp_step_cost *const *steps, size_t count,
                     struct rp_copy_price *price);

/* Whether the step made copies, and all of one size, so that it can't tell the price. It needs no
 * times: these may come later. */
bool rp_price_is_open(const struct rp_step_cost *step);

/* Where the price is derived, what a piece took, in ns: of what it takes whatever its size, and
 * what by the byte, nothing is known then, and the price has it all by the byte. 0 where it is
 * measured, or where it took so long that its bytes must be most of it. */
uint64_t rp_price_piece(const struct rp_step_cost *const *steps, size_t count);

#endif
