/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAST_BYTES (UINT64_C(1) << 26)

static bool reserve_holes(struct soft_arena *arena, size_t count)
{
    if (count <= arena->capacity)
        return true;
    size_t capacity = arena->capacity ? 2 * arena->capacity : 16;
    struct soft_hole *holes = realloc(arena->holes, capacity * sizeof *holes);
    if (holes == NULL)
        return false;
    arena->holes = holes;
    arena->capacity = capacity;
    return true;
}

static bool insert_hole(struct soft_arena *arena, size_t at, uint64_t lo, uint64_t hi)
{
    if (!reserve_holes(arena, arena->count + 1))
        return false;
    memmove(&arena->holes[at + 1], &arena->holes[at], (arena->count - at) * sizeof *arena->holes);
    arena->holes[at] = (struct soft_hole){lo, hi};
    arena->count++;
    return true;
}

static void remove_hole(struct soft_arena *arena, size_t at)
{
    arena->count--;
    memmove(&arena->holes[at], &arena->holes[at + 1], (arena->count - at) * sizeof *arena->holes);
}

/* Index of the first hole that ends after `address`. */
static size_t seek_hole(const struct soft_arena *arena, uint64_t address)
{
    size_t lo = 0, hi = arena->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (arena->holes[mid].hi <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool soft_arena_open(struct soft_arena *arena, uint64_t hint, uint64_t bytes, int protection)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const uint64_t wanted = bytes;
    void *place = MAP_FAILED;

    /* Halving serves machines that limit address space or commit memory strictly. */
    for (; bytes >= LEAST_BYTES; bytes /= 2) {
        place = mmap((void *)(uintptr_t)hint, bytes, protection, flags, -1, 0);
        if (place != MAP_FAILED)
            break;
    }
    if (place == MAP_FAILED)
        return false;
    if (bytes < wanted && bytes / 2 >= LEAST_BYTES) {
        bytes /= 2; /* the rest of the process has to live within that limit, too */
        munmap((char *)place + bytes, bytes);
    }
    madvise(place, bytes, MADV_DONTDUMP);
    *arena = (struct soft_arena){.base = (uintptr_t)place, .bytes = bytes};
    return insert_hole(arena, 0, arena->base, arena->base + bytes);
}

/* Cuts [lo, hi) out of hole `at`, which contains it. */
static bool cut_hole(struct soft_arena *arena, size_t at, uint64_t lo, uint64_t hi)
{
    struct soft_hole *hole = &arena->holes[at];
    if (hole->lo == lo && hole->hi == hi) {
        remove_hole(arena, at);
    } else if (hole->lo == lo) {
        hole->lo = hi;
    } else if (hole->hi == hi) {
        hole->hi = lo;
    } else {
        if (!insert_hole(arena, at + 1, hi, hole->hi))
            return false;
        arena->holes[at].hi = lo;
    }
    return true;
}

uint64_t soft_arena_take(struct soft_arena *arena, uint64_t bytes, uint64_t alignment)
{
    size_t best = arena->count;
    uint64_t best_bytes = UINT64_MAX;

    for (size_t i = 0; i < arena->count; i++) {
        const struct soft_hole *hole = &arena->holes[i];
        uint64_t lo = (hole->lo + alignment - 1) & -alignment;
        if (lo < hole->hi && hole->hi - lo >= bytes && hole->hi - hole->lo < best_bytes) {
            best = i;
            best_bytes = hole->hi - hole->lo;
        }
    }
    if (best == arena->count)
        return 0;
    uint64_t address = (arena->holes[best].lo + alignment - 1) & -alignment;
    return cut_hole(arena, best, address, address + bytes) ? address : 0;
}

bool soft_arena_take_at(struct soft_arena *arena, uint64_t address, uint64_t bytes)
{
    size_t at = seek_hole(arena, address);
    if (at == arena->count || arena->holes[at].lo > address ||
        arena->holes[at].hi - address < bytes)
        return false;
    return cut_hole(arena, at, address, address + bytes);
}

void soft_arena_give(struct soft_arena *arena, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes;
    size_t at = seek_hole(arena, address);
    bool joins_left = at > 0 && arena->holes[at - 1].hi == address;
    bool joins_right = at < arena->count && arena->holes[at].lo == end;

    if (joins_left && joins_right) {
        arena->holes[at - 1].hi = arena->holes[at].hi;
        remove_hole(arena, at);
    } else if (joins_left) {
        arena->holes[at - 1].hi = end;
    } else if (joins_right) {
        arena->holes[at].lo = address;
    } else {
        insert_hole(arena, at, address, end);
    }
}

static bool write_out(int file, const struct soft_arena *arena, uint64_t lo, uint64_t hi)
{
    while (lo < hi) {
        ssize_t got = pwrite(file, (const void *)(uintptr_t)lo, hi - lo, (off_t)(lo - arena->base));
        if (got <= 0)
            return false;
        lo += (uint64_t)got;
    }
    return true;
}

/* What lies between the holes. */
static bool write_taken(int file, const struct soft_arena *arena)
{
    uint64_t at = arena->base;
    for (size_t i = 0; i < arena->count; i++) {
        if (!write_out(file, arena, at, arena->holes[i].lo))
            return false;
        at = arena->holes[i].hi;
    }
    return write_out(file, arena, at, arena->base + arena->bytes);
}

bool soft_arena_share(struct soft_arena *arena, int *file)
{
    int fresh = memfd_create("reprise-soft-device", MFD_CLOEXEC);
    if (fresh < 0)
        return false;
    if (ftruncate(fresh, (off_t)arena->bytes) == 0 && write_taken(fresh, arena) &&
        mmap((void *)(uintptr_t)arena->base, arena->bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fresh, 0) != MAP_FAILED) {
        madvise((void *)(uintptr_t)arena->base, arena->bytes, MADV_DONTDUMP);
        *file = fresh;
        return true;
    }
    close(fresh);
    return false;
}
