/* SPDX-License-Identifier: Apache-2.0 */
/* Address reservations and what is mapped into them.
 *
 * Unmapping waits for what is running now, not for what is still to come: work that uses
 * the address later faults, as it does on a GPU. */
#include "cuda/soft/api/vmm.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/multicast.h"
#include "cuda/soft/api/work.h"

#include <stdlib.h>
#include <sys/mman.h>

struct reservation {
    struct reservation *next;
    uint64_t address, bytes;
};

static struct reservation *reservations;

/* ---- reservations ------------------------------------------------------------------ */

static struct reservation *find_reservation(uint64_t address, uint64_t bytes)
{
    for (struct reservation *each = reservations; each != NULL; each = each->next)
        if (address >= each->address && address - each->address < each->bytes &&
            bytes <= each->bytes - (address - each->address))
            return each;
    return NULL;
}

static bool is_aligned(uint64_t value)
{
    return value != 0 && value % soft.options.granularity == 0;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (ptr == NULL || !is_aligned(size) || flags != 0 || (alignment & (alignment - 1)) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (alignment < soft.options.granularity)
        alignment = soft.options.granularity;
    struct reservation *reservation = malloc(sizeof *reservation);
    if (reservation == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    /* The wished-for address is a hint. */
    uint64_t address = 0;
    if (addr != 0 && addr % alignment == 0 && soft_arena_take_at(&soft.virtual_arena, addr, size))
        address = addr;
    if (address == 0)
        address = soft_arena_take(&soft.virtual_arena, size, alignment);
    if (address == 0) {
        free(reservation);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *reservation = (struct reservation){reservations, address, size};
    reservations = reservation;
    *ptr = address;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    struct reservation *reservation = find_reservation(ptr, size);
    if (reservation == NULL || reservation->address != ptr || reservation->bytes != size ||
        soft_memory_next(ptr, ptr + size) != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct reservation **at = &reservations;
    while (*at != reservation)
        at = &(*at)->next;
    *at = reservation->next;
    soft_arena_give(&soft.virtual_arena, ptr, size);
    free(reservation);
    return soft_leave(CUDA_SUCCESS);
}

/* ---- mappings ---------------------------------------------------------------------- */

/* Nothing is mapped yet with access: the pages are there, who may touch them is the table's
 * business. */
static CUresult map(uint64_t address, uint64_t bytes, struct soft_physical *physical)
{
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *allocation = (struct soft_allocation){
        .address = address,
        .bytes = bytes,
        .reserved = bytes,
        .kind = SOFT_MEMORY_MAPPED,
        .device = physical->device != NULL ? physical->device : &soft.devices[0],
        .physical = physical,
    };
    if (mmap(soft_pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             physical->file, 0) == MAP_FAILED) {
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!soft_memory_add(allocation)) {
        soft_memory_vacate(address, bytes);
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->mappings++;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct soft_physical *physical;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (soft_multicast_is(handle))
        return soft_leave(soft_refuse("the address of a multicast object"));
    result = soft_physical_find(handle, &physical);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    /* Drivers map from the start of an allocation only: "offset must be zero" says cuda.h. */
    if (!is_aligned(size) || !is_aligned(ptr) || offset != 0 || flags != 0 ||
        size > physical->bytes || find_reservation(ptr, size) == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (soft_memory_next(ptr, ptr + size) != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(map(ptr, size, physical));
}

/* True when [lo, hi) is made of whole mappings, without a gap. */
static bool is_made_of_mappings(uint64_t lo, uint64_t hi)
{
    while (lo < hi) {
        const struct soft_allocation *next = soft_memory_next(lo, hi);
        if (next == NULL || next->kind != SOFT_MEMORY_MAPPED || next->address != lo)
            return false;
        lo += next->bytes;
    }
    return lo == hi;
}

static void unmap(struct soft_allocation *allocation)
{
    struct soft_physical *physical = allocation->physical;

    soft_memory_vacate(allocation->address, allocation->bytes);
    soft_memory_remove(allocation);
    free(allocation);
    physical->mappings--;
    soft_physical_settle(physical);
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    struct soft_allocation *each;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    soft_scheduler_hold();
    if (!is_aligned(ptr) || !is_aligned(size) || !is_made_of_mappings(ptr, ptr + size))
        result = CUDA_ERROR_INVALID_VALUE;
    while (result == CUDA_SUCCESS && (each = soft_memory_next(ptr, ptr + size)) != NULL)
        unmap(each);
    soft_scheduler_resume();
    return soft_leave(result);
}

/* ---- access ------------------------------------------------------------------------ */

static CUresult check_access(const CUmemAccessDesc *access)
{
    unsigned flags = (unsigned)access->flags;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)access->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return soft_device_find(access->location.id) != NULL ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static void set_access(struct soft_allocation *allocation, const CUmemAccessDesc *access)
{
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return; /* the host reaches everything here */
    unsigned bit = 1u << access->location.id;
    allocation->readers &= ~bit;
    allocation->writers &= ~bit;
    if (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        allocation->readers |= bit;
    if (access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        allocation->writers |= bit;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (desc == NULL || count == 0 || !is_aligned(ptr) || !is_aligned(size) ||
        !is_made_of_mappings(ptr, ptr + size))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = check_access(&desc[i]);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    for (uint64_t at = ptr; at < ptr + size;) {
        struct soft_allocation *each = soft_memory_find(at);
        for (size_t i = 0; i < count; i++)
            set_access(each, &desc[i]);
        at += each->bytes;
    }
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr ptr)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = soft_memory_find(ptr);
    if (flags == NULL || location == NULL || allocation == NULL ||
        allocation->kind != SOFT_MEMORY_MAPPED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || soft_device_find(location->id) == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    unsigned bit = 1u << location->id;
    if (allocation->writers & bit)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    else if (allocation->readers & bit)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    else
        *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return soft_leave(CUDA_SUCCESS);
}
