/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest forms of calls whose sizes have 32 bits. Those with addresses of 32 bits are not
 * there: no memory of this device has one. */
#include "cuda/soft/api/soft.h"

#include <limits.h>

static unsigned narrowed(size_t bytes)
{
    return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

CUresult CUDAAPI cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    size_t all;
    if (bytes == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuDeviceTotalMem_v2(&all, dev);
    if (result == CUDA_SUCCESS)
        *bytes = narrowed(all);
    return result;
}

CUresult CUDAAPI cuMemGetInfo(unsigned int *free, unsigned int *total)
{
    size_t unused, all;
    if (free == NULL && total == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuMemGetInfo_v2(&unused, &all);
    if (result != CUDA_SUCCESS)
        return result;
    if (free != NULL)
        *free = narrowed(unused);
    if (total != NULL)
        *total = narrowed(all);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost(void **pp, unsigned int bytesize)
{
    return cuMemAllocHost_v2(pp, bytesize);
}
