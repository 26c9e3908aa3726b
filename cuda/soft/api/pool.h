/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered memory. */
#ifndef RP_CUDA_SOFT_API_POOL_H
#define RP_CUDA_SOFT_API_POOL_H

#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/stream.h"

CUresult soft_pool_create_default(struct soft_device *device);
/* A pool's allocation that was freed, with all work that used it done. */
void soft_pool_take_back(struct soft_allocation *allocation);
/* Gives back what the device's pools keep without using it; false when that is nothing. */
bool soft_pool_trim_all(struct soft_device *device);

#endif
