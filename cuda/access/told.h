/* SPDX-License-Identifier: Apache-2.0 */
/* What one evaluation was told of memory and picked out of parameters: it is good for another
 * launch as long as the same stands there, and that launch does not write there itself. */
#ifndef RP_CUDA_ACCESS_TOLD_H
#define RP_CUDA_ACCESS_TOLD_H

#include "cuda/access/run.h"

#define RP_TOLD_BYTES 8192
/* Of stretches that nobody knew so many are kept, as each costs a question at every launch. That
 * one of them came to be known is enough to look at all of them again. */
#define RP_TOLD_REFUSED 2

struct rp_told_window {
    uint64_t at, bytes;  /* from the pointer on that parameter `root_param` is, an address, or */
    uint32_t root_param; /* UINT32_MAX: of none */
    bool of_params;      /* ... an offset in the parameter block */
    bool refused;        /* nobody knew what stands there: of these nothing is kept */
};

struct rp_told {
    uint32_t count, bytes; /* of windows, and of what stood in them */
    bool overfull;         /* there was more than there is room for */
    bool unheard;          /* as the launch may write there it was evaluated without */
    struct rp_told_window windows[RP_MAX_WINDOWS];
    unsigned char content[RP_TOLD_BYTES];
};

/* Into `told`, before the run ends. */
void rp_told_take(const struct rp_run *run, struct rp_told *told);
/* The launch may write there itself, and was evaluated once more without: adds what that was
 * told. */
void rp_told_dismiss(const struct rp_run *run, struct rp_told *told);
/* A copy of no more than is needed, to be freed; NULL without memory. */
struct rp_told *rp_told_keep(const struct rp_told *told);
/* The same stands there for this launch, and what is kept as not known then is not known now. */
bool rp_told_holds(const struct rp_told *told, const struct rp_launch *launch);
/* Some of [lo, hi), which it writes, was told of. */
bool rp_told_meets(const struct rp_told *told, const struct rp_launch *launch, uint64_t lo,
                   uint64_t hi);

#endif
