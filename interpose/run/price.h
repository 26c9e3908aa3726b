/* SPDX-License-Identifier: Apache-2.0 */
/* The price of copies, from those that were made: what those that were not would take. */
#ifndef RP_INTERPOSE_PRICE_H
#define RP_INTERPOSE_PRICE_H

#include "interpose/plan/cost.h"

/* A fixed time a contiguous piece, and a time a byte, by least squares. False when no copy was
 * measured. Neither is ever negative. */
bool rp_price_copies(const struct rp_step_cost *const *steps, size_t count,
                     struct rp_copy_price *price);

#endif
