/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/pool.h"

CUresult soft_pool_create_default(struct soft_device *device)
{
    (void)device;
    return CUDA_SUCCESS;
}

void soft_pool_take_back(struct soft_allocation *allocation)
{
    soft_memory_free(allocation);
}

bool soft_pool_trim_all(struct soft_device *device)
{
    (void)device;
    return false;
}
