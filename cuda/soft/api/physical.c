/* SPDX-License-Identifier: Apache-2.0 */
/* Physical allocations: cuMemCreate and what one can do with its handle. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/multicast.h"
#include "cuda/soft/api/vmm.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct soft_physical *physicals;

/* ---- inside ------------------------------------------------------------------------ */

static CUmemGenericAllocationHandle to_handle(const struct soft_physical *physical)
{
    return (uintptr_t)physical;
}

CUresult soft_physical_find(CUmemGenericAllocationHandle handle, struct soft_physical **out)
{
    struct soft_physical *physical = soft_pointer(handle);
    if (!soft_handle_is(physical, SOFT_HANDLE_PHYSICAL) || physical->handles == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = physical;
    return CUDA_SUCCESS;
}

void soft_physical_settle(struct soft_physical *physical)
{
    struct soft_physical **at = &physicals;

    if (physical->handles > 0 || physical->mappings > 0)
        return;
    while (*at != physical)
        at = &(*at)->next;
    *at = physical->next;
    soft_handle_remove(physical);
    close(physical->file);
    if (physical->device != NULL)
        soft_memory_refund(physical->device, physical->bytes);
    free(physical);
}

/* Takes over `file`. */
static CUresult enlist(int file, uint64_t bytes, const CUmemAllocationProp *properties,
                       struct soft_physical **out)
{
    struct soft_device *device = NULL;
    struct soft_physical *physical = calloc(1, sizeof *physical);

    if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        device = soft_device_find(properties->location.id);
    if (physical == NULL || !soft_handle_add(physical, SOFT_HANDLE_PHYSICAL))
        goto fail;
    if (device != NULL && !soft_memory_charge(device, bytes)) {
        soft_handle_remove(physical);
        goto fail;
    }
    *physical = (struct soft_physical){
        .next = physicals,
        .block_id = ++soft.next_id,
        .bytes = bytes,
        .file = file,
        .device = device,
        .properties = *properties,
        .handles = 1,
    };
    physicals = physical;
    *out = physical;
    return CUDA_SUCCESS;

fail:
    free(physical);
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check_properties(const CUmemAllocationProp *properties)
{
    const unsigned handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

    if (properties == NULL || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (((unsigned)properties->requestedHandleTypes & ~handle_types) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    switch ((int)properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return soft_device_find(properties->location.id) != NULL ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Device memory is spoiled; host memory is zeros, as a new file is. */
static bool spoil(int file, uint64_t bytes)
{
    void *window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (window == MAP_FAILED)
        return false;
    soft_memory_spoil((uintptr_t)window, bytes);
    munmap(window, bytes);
    return true;
}

static int make_file(uint64_t bytes, bool is_device)
{
    int file = memfd_create("reprise-soft-memory", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    if (ftruncate(file, (off_t)bytes) == 0 && (!is_device || spoil(file, bytes)))
        return file;
    close(file);
    return -1;
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (granularity == NULL || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = check_properties(prop);
    if (result == CUDA_SUCCESS)
        *granularity = soft.options.granularity;
    return soft_leave(result);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (handle == NULL || size == 0 || size % soft.options.granularity != 0 || flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = check_properties(prop);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    const struct soft_device *device = NULL;
    if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        device = soft_device_find(prop->location.id);
    if (device != NULL && size > device->memory_limit - device->memory_used)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    soft_leave(CUDA_SUCCESS); /* making it may take long */
    int file = make_file(size, device != NULL);
    if (file < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&soft.lock);
    result = enlist(file, size, prop, &physical);
    if (result == CUDA_SUCCESS)
        *handle = to_handle(physical);
    return soft_leave(result);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (soft_multicast_is(handle)) {
        soft_multicast_release(handle);
        return soft_leave(CUDA_SUCCESS);
    }
    result = soft_physical_find(handle, &physical);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    physical->handles--;
    soft_physical_settle(physical);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = soft_memory_find((uintptr_t)addr);
    if (handle == NULL || allocation == NULL || allocation->kind != SOFT_MEMORY_MAPPED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    allocation->physical->handles++;
    *handle = to_handle(allocation->physical);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle)
{
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = prop != NULL ? soft_physical_find(handle, &physical) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *prop = physical->properties;
    return soft_leave(result);
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle,
                                              CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (shareableHandle == NULL || flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_physical_find(handle, &physical);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !((unsigned)physical->properties.requestedHandleTypes & (unsigned)handleType))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    int file = dup(physical->file);
    if (file < 0)
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    *(int *)shareableHandle = file;
    return soft_leave(CUDA_SUCCESS);
}

/* A file that this process already knows is the same memory again. */
static struct soft_physical *find_file(const struct stat *wanted)
{
    struct stat each;
    for (struct soft_physical *physical = physicals; physical != NULL; physical = physical->next)
        if (fstat(physical->file, &each) == 0 && each.st_ino == wanted->st_ino &&
            each.st_dev == wanted->st_dev)
            return physical;
    return NULL;
}

/* Memory of another process counts against no limit of this one's devices. */
CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    const CUmemAllocationProp foreign = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_HOST},
    };
    struct soft_physical *physical;
    struct stat status;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    int shared = (int)(intptr_t)osHandle;
    if (handle == NULL || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        fstat(shared, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    physical = find_file(&status);
    if (physical != NULL) {
        physical->handles++;
    } else {
        int file = dup(shared);
        if (file < 0)
            return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
        result = enlist(file, (uint64_t)status.st_size, &foreign, &physical);
    }
    if (result == CUDA_SUCCESS)
        *handle = to_handle(physical);
    return soft_leave(result);
}
