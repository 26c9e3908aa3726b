/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_CUDA_SOFT_API_OCCUPANCY_H
#define RP_CUDA_SOFT_API_OCCUPANCY_H

#include "cuda/soft/api/module.h"

/* How many blocks of `threads` threads one multiprocessor holds at once. */
unsigned soft_occupancy_blocks(const struct soft_function *function, unsigned threads,
                               uint64_t dynamic_shared);

#endif
