/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: one large reserved range of addresses, handed out in pieces.
 *
 * The addresses are the same in every run where the system allows it, and a freed piece is
 * the first choice of the next request that it fits: the smallest hole that fits, the lowest
 * of equals. So recycled addresses are common, as they are with a real driver.
 *
 * Not thread-safe; the device's lock guards it. */
#ifndef RP_CUDA_SOFT_API_ARENA_H
#define RP_CUDA_SOFT_API_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft_hole {
    uint64_t lo, hi;
};

struct soft_arena {
    uint64_t base, bytes;
    struct soft_hole *holes; /* free ranges by address, disjoint and not touching */
    size_t count, capacity;
};

/* Reserves `bytes` near `hint` with the protection of mmap (PROT_NONE for addresses
 * alone), or where the system does not give that much, about half of what it gives. False
 * when it gives nothing. */
bool soft_arena_open(struct soft_arena *arena, uint64_t hint, uint64_t bytes, int protection);

/* 0 when no hole fits. `alignment` is a power of two; both are multiples of 512. */
uint64_t soft_arena_take(struct soft_arena *arena, uint64_t bytes, uint64_t alignment);
/* Takes exactly [address, address+bytes); false when any of it is taken. */
bool soft_arena_take_at(struct soft_arena *arena, uint64_t address, uint64_t bytes);
/* Returns a piece. A hole that can't be noted for want of host memory is lost, no more. */
void soft_arena_give(struct soft_arena *arena, uint64_t address, uint64_t bytes);

/* Moves the arena's memory into a file, under its addresses; what is taken keeps its contents.
 * False with nothing changed. */
bool soft_arena_share(struct soft_arena *arena, int *file);

#endif
