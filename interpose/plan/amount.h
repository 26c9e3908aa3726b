/* SPDX-License-Identifier: Apache-2.0 */
/* Amount: what copying some bytes takes, piece by piece. */
#ifndef RP_INTERPOSE_AMOUNT_H
#define RP_INTERPOSE_AMOUNT_H

#include "cuda/store.h"

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

#endif
