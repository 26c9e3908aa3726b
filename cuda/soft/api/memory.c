/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/memory.h"

#include "cuda/soft/api/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    struct soft_allocation **items; /* by address */
    size_t count, capacity;
} table;

/* ---- the table --------------------------------------------------------------------- */

static uint64_t end_of(const struct soft_allocation *allocation)
{
    return allocation->address + allocation->bytes;
}

/* Index of the first entry that ends after `address`. */
static size_t seek(uint64_t address)
{
    size_t lo = 0, hi = table.count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (end_of(table.items[mid]) <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct soft_allocation *soft_memory_next(uint64_t lo, uint64_t hi)
{
    size_t at = seek(lo);
    return at < table.count && table.items[at]->address < hi ? table.items[at] : NULL;
}

struct soft_allocation *soft_memory_find(uint64_t address)
{
    return address < UINT64_MAX ? soft_memory_next(address, address + 1) : NULL;
}

bool soft_memory_is_on_host(uint64_t address)
{
    const struct soft_allocation *allocation = soft_memory_find(address);
    return allocation == NULL || allocation->kind == SOFT_MEMORY_HOST ||
           allocation->kind == SOFT_MEMORY_REGISTERED;
}

bool soft_memory_add(struct soft_allocation *allocation)
{
    if (table.count == table.capacity) {
        size_t capacity = table.capacity ? 2 * table.capacity : 64;
        struct soft_allocation **items =
            realloc(table.items, capacity * sizeof(struct soft_allocation *));
        if (items == NULL)
            return false;
        table.items = items;
        table.capacity = capacity;
    }
    size_t at = seek(allocation->address);
    memmove(&table.items[at + 1], &table.items[at],
            (table.count - at) * sizeof(struct soft_allocation *));
    table.items[at] = allocation;
    table.count++;
    allocation->buffer_id = ++soft.next_id;
    return true;
}

void soft_memory_remove(struct soft_allocation *allocation)
{
    size_t at = seek(allocation->address);
    table.count--;
    memmove(&table.items[at], &table.items[at + 1],
            (table.count - at) * sizeof(struct soft_allocation *));
}

/* ---- who may touch what ------------------------------------------------------------ */

static bool allows(const struct soft_allocation *allocation, const struct soft_context *context,
                   bool write)
{
    unsigned who = context != NULL ? 1u << context->device->ordinal : UINT32_MAX;
    switch (allocation->kind) {
    case SOFT_MEMORY_DEVICE:
    case SOFT_MEMORY_GLOBAL:
    case SOFT_MEMORY_GRAPH:
        return context == NULL || allocation->device == context->device ||
               context->peers[allocation->device->ordinal];
    case SOFT_MEMORY_POOL:
    case SOFT_MEMORY_MAPPED:
    case SOFT_MEMORY_IMPORTED:
        return ((write ? allocation->writers : allocation->readers) & who) != 0;
    case SOFT_MEMORY_ARRAY: return context == NULL;
    case SOFT_MEMORY_REGISTERED: return !write || !allocation->read_only;
    case SOFT_MEMORY_MANAGED:
    case SOFT_MEMORY_HOST: return true;
    }
    return false;
}

static bool continues(const struct soft_allocation *left, const struct soft_allocation *right)
{
    return left->kind == SOFT_MEMORY_MAPPED && right->kind == SOFT_MEMORY_MAPPED &&
           end_of(left) == right->address;
}

/* The longest run of entries around `address` that `context` may touch. */
static bool run_around(const struct soft_context *context, uint64_t address, bool write,
                       uint64_t *lo, uint64_t *hi)
{
    size_t first = seek(address), last = first;
    struct soft_allocation **items = table.items;

    if (first == table.count || items[first]->address > address ||
        !allows(items[first], context, write))
        return false;
    while (first > 0 && continues(items[first - 1], items[first]) &&
           allows(items[first - 1], context, write))
        first--;
    while (last + 1 < table.count && continues(items[last], items[last + 1]) &&
           allows(items[last + 1], context, write))
        last++;
    *lo = items[first]->address;
    *hi = end_of(items[last]);
    return true;
}

bool soft_memory_allows(const struct soft_context *context, uint64_t address, uint64_t bytes,
                        bool write)
{
    uint64_t lo, hi;
    if (bytes == 0)
        return true;
    return run_around(context, address, write, &lo, &hi) && bytes <= hi - address;
}

bool soft_memory_bounds(void *context, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    pthread_mutex_lock(&soft.lock);
    bool inside = run_around(context, address, false, lo, hi) && bytes <= *hi - address;
    pthread_mutex_unlock(&soft.lock);
    return inside;
}

/* ---- physical memory --------------------------------------------------------------- */

bool soft_memory_charge(struct soft_device *device, uint64_t bytes)
{
    if (bytes > device->memory_limit - device->memory_used)
        return false;
    device->memory_used += bytes;
    return true;
}

void soft_memory_refund(struct soft_device *device, uint64_t bytes)
{
    device->memory_used -= bytes;
}

void soft_memory_spoil(uint64_t address, uint64_t bytes)
{
    static const unsigned char word[8] = {0xad, 0xde, 0xc0, 0x7f, 0xad, 0xde, 0xc0, 0x7f};
    unsigned char *at = soft_pointer(address);
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word)
        memcpy(at, word, sizeof word);
    memcpy(at, word, bytes);
}

/* ---- allocations ------------------------------------------------------------------- */

static struct soft_arena *arena_of(enum soft_memory_kind kind, struct soft_device *device)
{
    bool is_host = kind == SOFT_MEMORY_HOST || kind == SOFT_MEMORY_MANAGED;
    return is_host ? &soft.host_arena : &device->arena;
}

static bool is_charged(enum soft_memory_kind kind)
{
    return kind != SOFT_MEMORY_HOST && kind != SOFT_MEMORY_MANAGED;
}

/* Large allocations begin on a page of the device, as on GPUs: programs that carve up one
 * allocation count on it (Taichi rounds each piece up to 4 KiB). */
static uint64_t alignment_of(uint64_t bytes)
{
    return bytes >= UINT64_C(1) << 20 ? UINT64_C(2) << 20 : SOFT_ALIGNMENT;
}

CUresult soft_memory_allocate(struct soft_device *device, struct soft_context *context,
                              enum soft_memory_kind kind, uint64_t bytes,
                              struct soft_allocation **out)
{
    struct soft_arena *arena = arena_of(kind, device);

    if (bytes == 0 || bytes > arena->bytes)
        return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *allocation = (struct soft_allocation){
        .bytes = bytes,
        .reserved = soft_round_up(bytes, SOFT_ALIGNMENT),
        .kind = kind,
        .context = context,
        .device = device,
    };
    if (is_charged(kind) && !soft_memory_charge(device, allocation->reserved))
        goto no_memory;
    allocation->address = soft_arena_take(arena, allocation->reserved, alignment_of(bytes));
    if (allocation->address == 0)
        goto no_address;
    if (!soft_memory_add(allocation))
        goto no_entry;
    *out = allocation;
    return CUDA_SUCCESS;

no_entry:
    soft_arena_give(arena, allocation->address, allocation->reserved);
no_address:
    if (is_charged(kind))
        soft_memory_refund(device, allocation->reserved);
no_memory:
    free(allocation);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void soft_memory_vacate(uint64_t address, size_t bytes)
{
    (void)mmap(soft_pointer(address), bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void soft_memory_unmap(const struct soft_allocation *allocation)
{
    uint64_t first = allocation->address - allocation->offset;
    soft_memory_vacate(first, allocation->reserved);
    soft_arena_give(&soft.virtual_arena, first, allocation->reserved);
}

void soft_memory_free(struct soft_allocation *allocation)
{
    enum soft_memory_kind kind = allocation->kind;

    soft_memory_remove(allocation);
    if (kind == SOFT_MEMORY_IMPORTED) {
        soft_memory_unmap(allocation);
    } else if (kind != SOFT_MEMORY_REGISTERED) {
        soft_arena_give(arena_of(kind, allocation->device), allocation->address,
                        allocation->reserved);
        if (is_charged(kind))
            soft_memory_refund(allocation->device, allocation->reserved);
    }
    free(allocation);
}

void soft_memory_free_all(struct soft_context *context)
{
    for (size_t i = table.count; i > 0; i--)
        if (table.items[i - 1]->context == context &&
            table.items[i - 1]->kind != SOFT_MEMORY_GLOBAL)
            soft_memory_free(table.items[i - 1]);
}
