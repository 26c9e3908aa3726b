/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast objects: a team of devices, and what memory of each is bound where.
 *
 * Only devices of compute capability 9.0 have them. The object keeps the books; its address, to
 * which only multimem instructions may write, can't be had: those are not run here. */
#include "cuda/soft/api/multicast.h"

#include "cuda/soft/api/context.h"

#include <stdlib.h>

#define FIRST_CAPABILITY 90

struct binding {
    struct binding *next;
    struct soft_physical *physical; /* which lives as long as it is bound */
    const struct soft_device *device;
    uint64_t offset, bytes; /* in the object */
};

struct soft_multicast {
    CUmulticastObjectProp properties;
    unsigned team; /* devices, a bit each */
    struct binding *bindings;
};

/* ---- inside ------------------------------------------------------------------------ */

static bool is_granular(uint64_t value)
{
    return value % soft.options.granularity == 0;
}

static CUresult check(const CUmulticastObjectProp *is)
{
    if (is == NULL || is->numDevices == 0 || is->size == 0 || !is_granular(is->size) ||
        is->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (soft.options.capability < FIRST_CAPABILITY)
        return soft_refuse("multicast objects before compute capability 9.0");
    if (is->handleTypes != 0)
        return soft_refuse("multicast objects that are shared");
    return is->numDevices <= soft.options.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find(CUmemGenericAllocationHandle handle, struct soft_multicast **out)
{
    *out = soft_pointer(handle);
    return soft_handle_is(*out, SOFT_HANDLE_MULTICAST) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool is_complete(const struct soft_multicast *multicast)
{
    return (unsigned)__builtin_popcount(multicast->team) == multicast->properties.numDevices;
}

/* Is any of the range bound already, for this device? */
static bool is_bound(const struct soft_multicast *multicast, const struct soft_device *device,
                     uint64_t offset, uint64_t bytes)
{
    for (const struct binding *each = multicast->bindings; each != NULL; each = each->next)
        if (each->device == device && offset < each->offset + each->bytes &&
            each->offset < offset + bytes)
            return true;
    return false;
}

static CUresult bind(struct soft_multicast *multicast, uint64_t offset,
                     struct soft_physical *physical, uint64_t from, uint64_t bytes)
{
    const struct soft_device *device = physical->device;
    uint64_t size = multicast->properties.size;

    if (bytes == 0 || !is_granular(bytes) || !is_granular(offset) || !is_granular(from) ||
        offset > size || bytes > size - offset || from > physical->bytes ||
        bytes > physical->bytes - from || device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((multicast->team & 1u << device->ordinal) == 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!is_complete(multicast) || is_bound(multicast, device, offset, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct binding *binding = malloc(sizeof *binding);
    if (binding == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *binding = (struct binding){multicast->bindings, physical, device, offset, bytes};
    multicast->bindings = binding;
    physical->mappings++;
    return CUDA_SUCCESS;
}

/* Takes the first binding of the list out of it. */
static void unbind(struct binding **at)
{
    struct binding *binding = *at;
    *at = binding->next;
    binding->physical->mappings--;
    soft_physical_settle(binding->physical);
    free(binding);
}

bool soft_multicast_is(CUmemGenericAllocationHandle handle)
{
    return soft_handle_is(soft_pointer(handle), SOFT_HANDLE_MULTICAST);
}

void soft_multicast_release(CUmemGenericAllocationHandle handle)
{
    struct soft_multicast *multicast = soft_pointer(handle);
    while (multicast->bindings != NULL)
        unbind(&multicast->bindings);
    soft_handle_remove(multicast);
    free(multicast);
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                           CUmulticastGranularity_flags option)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (granularity == NULL || (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
                                option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = check(prop);
    if (result == CUDA_SUCCESS)
        *granularity = soft.options.granularity;
    return soft_leave(result);
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle,
                                   const CUmulticastObjectProp *prop)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = mcHandle != NULL ? check(prop) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_multicast *multicast = calloc(1, sizeof *multicast);
    if (multicast == NULL || !soft_handle_add(multicast, SOFT_HANDLE_MULTICAST)) {
        free(multicast);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    multicast->properties = *prop;
    *mcHandle = (uintptr_t)multicast;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
    struct soft_multicast *multicast;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = find(mcHandle, &multicast);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (soft_device_find(dev) == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    if (is_complete(multicast) || (multicast->team & 1u << dev) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    multicast->team |= 1u << dev;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                    CUmemGenericAllocationHandle memHandle, size_t memOffset,
                                    size_t size, unsigned long long flags)
{
    struct soft_multicast *multicast;
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = flags == 0 ? find(mcHandle, &multicast) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = soft_physical_find(memHandle, &physical);
    if (result == CUDA_SUCCESS)
        result = bind(multicast, mcOffset, physical, memOffset, size);
    return soft_leave(result);
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                     CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    struct soft_multicast *multicast;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = flags == 0 ? find(mcHandle, &multicast) : CUDA_ERROR_INVALID_VALUE;
    const struct soft_allocation *mapped = soft_memory_find(memptr);
    if (result == CUDA_SUCCESS && (mapped == NULL || mapped->kind != SOFT_MEMORY_MAPPED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = bind(multicast, mcOffset, mapped->physical, memptr - mapped->address, size);
    return soft_leave(result);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                   size_t mcOffset, size_t size)
{
    struct soft_multicast *multicast;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = find(mcHandle, &multicast);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    const struct soft_device *device = soft_device_find(dev);
    struct binding **at = &multicast->bindings;
    while (*at != NULL &&
           ((*at)->device != device || (*at)->offset != mcOffset || (*at)->bytes != size))
        at = &(*at)->next;
    if (*at == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    unbind(at);
    return soft_leave(CUDA_SUCCESS);
}
