/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier: barriers that are objects in shared memory.
 *
 * PTX leaves the 64 bits of the object and of the state that an arrival answers open. Here
 * both are the same word: the phase, the arrivals that are expected in each phase, those that
 * the current one still waits for, and the bytes of asynchronous copies that it still waits
 * for. A phase ends when the latter two are zero. All lanes of a block belong to one thread of
 * the machine, so plain loads and stores are atomic enough.
 *
 * Operands: d the result (SIMT_MBAR_RESULT), a the address (+ imm), b a count, c the state or
 * the parity that is waited for. */
#include "cuda/soft/simt/scalar.h"

#include <string.h>

#define COUNT_BITS 20
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define BYTES_BITS 22

struct object {
    uint64_t phase, expected, pending;
    int64_t bytes;
};

static struct object unpack(uint64_t word)
{
    const uint64_t bytes = word >> 2 * COUNT_BITS & ((UINT64_C(1) << BYTES_BITS) - 1);
    return (struct object){.phase = word >> 63,
                           .expected = word >> COUNT_BITS & COUNT_MASK,
                           .pending = word & COUNT_MASK,
                           .bytes = (int64_t)(bytes << (64 - BYTES_BITS)) >> (64 - BYTES_BITS)};
}

static uint64_t pack(struct object object)
{
    if (object.pending == 0 && object.bytes == 0) {
        object.phase ^= 1;
        object.pending = object.expected;
    }
    const uint64_t bytes = (uint64_t)object.bytes & ((UINT64_C(1) << BYTES_BITS) - 1);
    return object.phase << 63 | bytes << 2 * COUNT_BITS | object.expected << COUNT_BITS |
           object.pending;
}

/* An arrival of more than are waited for is undefined in PTX; here it is a trap. */
static bool arrive(const struct simt_op *op, uint64_t *word, uint32_t count)
{
    struct object object = unpack(*word);
    if (op->flags & SIMT_MBAR_EXPECT) {
        object.bytes += count;
        count = 1;
    }
    if (!(op->flags & SIMT_MBAR_ONLY_EXPECT)) {
        if (count > object.pending || (op->flags & SIMT_MBAR_DROP && count > object.expected))
            return false;
        object.pending -= count;
        if (op->flags & SIMT_MBAR_DROP)
            object.expected -= count;
    }
    *word = pack(object);
    return true;
}

static bool load(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t lane,
                 bool is_write, uint64_t *word)
{
    const uint64_t address = lane_address(rows, op, lane);
    if (!simt_memory_check(warp, op, (int)lane, address, 8, is_write))
        return false;
    memcpy(word, (const void *)(uintptr_t)address, sizeof *word);
    return true;
}

static void store(const char *rows, const struct simt_op *op, uint32_t lane, uint64_t word)
{
    memcpy((void *)(uintptr_t)lane_address(rows, op, lane), &word, sizeof word);
}

SCALAR_LOOP(mbarrier_init)
{
    EACH(mask, i)
    {
        uint64_t word;
        const uint64_t count = const_row32(rows, op->b)[i];
        if (!load(warp, rows, op, i, true, &word))
            return;
        if (count == 0 || count > COUNT_MASK) {
            simt_fault_raise(warp, op, (int)i, SIMT_FAULT_TRAP, lane_address(rows, op, i), true);
            return;
        }
        store(rows, op, i, count << COUNT_BITS | count);
    }
}

SCALAR_LOOP(mbarrier_arrive)
{
    EACH(mask, i)
    {
        uint64_t word, before;
        if (!load(warp, rows, op, i, true, &word))
            return;
        before = word;
        if (!arrive(op, &word, const_row32(rows, op->b)[i])) {
            simt_fault_raise(warp, op, (int)i, SIMT_FAULT_TRAP, lane_address(rows, op, i), true);
            return;
        }
        store(rows, op, i, word);
        if (op->flags & SIMT_MBAR_RESULT)
            row64(rows, op->d)[i] = before;
    }
}

/* Is the phase of the state, or the one of the given parity, over? */
SCALAR_LOOP(mbarrier_wait)
{
    uint32_t over = 0;
    EACH(mask, i)
    {
        uint64_t word;
        if (!load(warp, rows, op, i, false, &word))
            return;
        const uint64_t waited = op->flags & SIMT_MBAR_PARITY ? const_row32(rows, op->c)[i] & 1
                                                             : const_row64(rows, op->c)[i] >> 63;
        over |= (word >> 63) != waited ? 1u << i : 0;
    }
    *row32(rows, op->d) = (*row32(rows, op->d) & ~mask) | over;
}

SCALAR_LOOP(mbarrier_pending)
{
    (void)warp;
    EACH(mask, i) row32(rows, op->d)[i] = (uint32_t)(const_row64(rows, op->a)[i] & COUNT_MASK);
}
