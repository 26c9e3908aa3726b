/* SPDX-License-Identifier: Apache-2.0 */
/* The no-op build, libreprise-nop.so: the same exports and look-up as the layer, and nothing
 * behind them. What a job costs under it is the price of being preloaded at all. */
#ifndef RP_INTERPOSE_NOP_H
#define RP_INTERPOSE_NOP_H

#include "cuda/calls/calls.h"
#include "interpose/door/lookup.h"
#include "interpose/door/real.h"

#include <stdatomic.h>

#define RP_EXPORT __attribute__((visibility("default")))

extern _Atomic bool rp_nop_opened RP_HIDDEN;

/* Finds the driver, once. */
void rp_nop_find(void);

static inline void rp_nop_open(void)
{
    if (__builtin_expect(!atomic_load_explicit(&rp_nop_opened, memory_order_acquire), 0))
        rp_nop_find();
}

#endif
