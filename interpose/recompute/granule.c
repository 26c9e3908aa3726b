/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/granule.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"

static struct {
    uint64_t bytes; /* 0 until it was asked for */
    bool unable;
} granule;

static CUmemAllocationProp properties(int device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

static CUmemAccessDesc access_of(int device)
{
    return (CUmemAccessDesc){.location = properties(device).location,
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static enum rp_status status_of(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return RP_OK;
    return result == CUDA_ERROR_OUT_OF_MEMORY ? RP_NO_MEMORY : RP_UNSUPPORTED;
}

int rp_granule_device(void)
{
    CUdevice device;
    return rp_real.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

uint64_t rp_granule_bytes(void)
{
    size_t bytes = 0;
    int device = granule.bytes || granule.unable ? -1 : rp_granule_device();
    if (device < 0)
        return granule.bytes;
    const CUmemAllocationProp wanted = properties(device);
    granule.unable = rp_real.cuMemGetAllocationGranularity(
                         &bytes, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS;
    return granule.bytes = granule.unable ? 0 : bytes;
}

uint64_t rp_granule_span(uint64_t bytes)
{
    return (bytes + granule.bytes - 1) / granule.bytes * granule.bytes;
}

/* ---- addresses --------------------------------------------------------------------------- */

enum rp_status rp_granules_reserve(uint64_t span, uint64_t *address)
{
    CUdeviceptr place = 0;
    enum rp_status status =
        status_of(rp_real.cuMemAddressReserve(&place, span + granule.bytes, 0, 0, 0));
    *address = place;
    return status;
}

void rp_granules_free(uint64_t address, uint64_t span)
{
    rp_real.cuMemAddressFree(address, span + granule.bytes);
}

/* ---- memory ------------------------------------------------------------------------------ */

static CUresult show(uint64_t address, int device, CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc access = access_of(device);
    CUresult result = rp_real.cuMemMap(address, granule.bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = rp_real.cuMemSetAccess(address, granule.bytes, &access, 1);
    if (result != CUDA_SUCCESS)
        rp_real.cuMemUnmap(address, granule.bytes);
    return result;
}

enum rp_status rp_granule_fill(uint64_t address, int device, uint64_t *handle)
{
    CUmemGenericAllocationHandle made;
    const CUmemAllocationProp wanted = properties(device);
    CUresult result = rp_real.cuMemCreate(&made, granule.bytes, &wanted, 0);
    if (result != CUDA_SUCCESS)
        return status_of(result);
    result = show(address, device, made);
    if (result != CUDA_SUCCESS) {
        rp_real.cuMemRelease(made);
        return status_of(result);
    }
    *handle = made;
    return RP_OK;
}

void rp_granule_empty(uint64_t address, uint64_t handle)
{
    rp_real.cuMemUnmap(address, granule.bytes);
    rp_real.cuMemRelease(handle);
}

void rp_granules_show(uint64_t address, uint64_t span, int device)
{
    const CUmemAccessDesc access = access_of(device);
    rp_real.cuMemSetAccess(address, span, &access, 1);
}

void rp_granules_forget(void)
{
    granule.bytes = 0;
}
