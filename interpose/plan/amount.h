/* SPDX-License-Identifier: Apache-2.0 */
/* Amount: what copying some bytes takes, piece by piece. */
#ifndef RP_INTERPOSE_AMOUNT_H
#define RP_INTERPOSE_AMOUNT_H

#include "cuda/preserve.h"

struct rp_amount {
    uint64_t bytes, pieces;
    uint64_t blocks; /* bytes that the pieces take in an exact store, see cuda/store.h */
};

/* One contiguous piece more. */
static inline void rp_amount_add(struct rp_amount *amount, uint64_t bytes)
{
    amount->bytes += bytes;
    amount->pieces++;
    amount->blocks += rp_store_block_bytes(bytes);
}

/* The same by kind. Halves count for themselves, two pieces each, and as preserved. */
static inline void rp_amounts_add(struct rp_amount amounts[RP_COPYING_COUNT],
                                  enum rp_copying kind, uint64_t bytes)
{
    if (kind == RP_COPYING_HALVES) {
        amounts[kind].bytes += bytes;
        amounts[kind].pieces += 2;
        kind = RP_COPYING_PRESERVE;
    }
    rp_amount_add(&amounts[kind], bytes);
}

#endif
