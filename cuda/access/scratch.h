/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one evaluation, in one piece. */
#ifndef RP_CUDA_ACCESS_SCRATCH_H
#define RP_CUDA_ACCESS_SCRATCH_H

#include "cuda/access/run.h"

struct rp_scratch;

/* Of at least proof->scratch_bytes; NULL without memory. */
struct rp_scratch *rp_scratch_take(size_t bytes);
void rp_scratch_give(struct rp_scratch *scratch);
/* Makes `run` a run of the launch in it, of which nothing is known yet. */
void rp_scratch_prepare(struct rp_scratch *scratch, const struct rp_proof *proof,
                        const struct rp_launch *launch, struct rp_run *run);

#endif
