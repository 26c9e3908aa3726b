/* SPDX-License-Identifier: Apache-2.0 */
/* Carry chains, clocks, fences, address spaces and asynchronous copies. */
#include "cuda/soft/simt/scalar.h"

#include <string.h>
#include <time.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* One lane of a chain: `wide` is the exact result, of which the low part is kept and bit
 * WIDTH is the carry. Subtraction borrows: its flag is the complement of a carry out of
 * a + ~b + 1. */
#define CHAIN(id, ROW, WIDTH, wide)                                                             \
    SCALAR_LOOP(id)                                                                             \
    {                                                                                           \
        (void)warp;                                                                             \
        const uint32_t flags_in = op->flags & SIMT_CARRY_IN ? *row32(rows, op->e) : 0;          \
        uint32_t flags_out = 0;                                                                 \
        EACH(mask, i)                                                                           \
        {                                                                                       \
            const uint128 a = ROW(rows, op->a)[i], b = ROW(rows, op->b)[i];                     \
            const uint128 c = ROW(rows, op->c)[i], carry = flags_in >> i & 1;                   \
            (void)c;                                                                            \
            const uint128 sum = (wide);                                                         \
            ROW(rows, op->d)[i] = (__typeof__(ROW(rows, 0)[0]))sum;                             \
            flags_out |= (uint32_t)(sum >> WIDTH & 1) << i;                                     \
        }                                                                                       \
        if (op->flags & SIMT_CARRY_OUT)                                                         \
            *row32(rows, op->e) = (*row32(rows, op->e) & ~mask) | flags_out;                    \
    }
#define LOW32(x) ((uint32_t)(x))
#define LOW64(x) ((uint64_t)(x))
#define HIGH_U32(x, y) ((uint128)(((uint64_t)(x) * (uint64_t)(y)) >> 32))
#define HIGH_S32(x, y) ((uint128)LOW32(((int64_t)(int32_t)(x) * (int32_t)(y)) >> 32))
#define HIGH_U64(x, y) (((x) * (y)) >> 64)
#define HIGH_S64(x, y) ((uint128)LOW64(((int128)(int64_t)(x) * (int64_t)(y)) >> 64))
CHAIN(addc_32, row32, 32, a + b + carry)
CHAIN(addc_64, row64, 64, a + b + carry)
CHAIN(subc_32, row32, 32, a - b - carry)
CHAIN(subc_64, row64, 64, a - b - carry)
CHAIN(madc_lo_32, row32, 32, (uint128)LOW32(a * b) + c + carry)
CHAIN(madc_hi_u32, row32, 32, HIGH_U32(a, b) + c + carry)
CHAIN(madc_hi_s32, row32, 32, HIGH_S32(a, b) + c + carry)
CHAIN(madc_lo_64, row64, 64, (uint128)LOW64(a * b) + c + carry)
CHAIN(madc_hi_u64, row64, 64, HIGH_U64(a, b) + c + carry)
CHAIN(madc_hi_s64, row64, 64, HIGH_S64(a, b) + c + carry)

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The device's clock ticks once a nanosecond. */
#define CLOCK(id, ROW, expr)                                                                    \
    SCALAR_LOOP(id)                                                                             \
    {                                                                                           \
        (void)warp;                                                                             \
        const uint64_t now = (expr);                                                            \
        EACH(mask, i) ROW(rows, op->d)[i] = (__typeof__(ROW(rows, 0)[0]))now;                   \
    }
CLOCK(clock32, row32, nanoseconds(CLOCK_MONOTONIC))
CLOCK(clock32_hi, row32, nanoseconds(CLOCK_MONOTONIC) >> 32)
CLOCK(clock64, row64, nanoseconds(CLOCK_MONOTONIC))
CLOCK(timer32, row32, nanoseconds(CLOCK_REALTIME))
CLOCK(timer32_hi, row32, nanoseconds(CLOCK_REALTIME) >> 32)
CLOCK(timer64, row64, nanoseconds(CLOCK_REALTIME))

SCALAR_LOOP(fence)
{
    (void)warp, (void)rows, (void)op, (void)mask;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* isspacep: c says which space; global is what is neither of the others. */
SCALAR_LOOP(isspacep)
{
    const struct simt_block *block = warp->block;
    const struct simt_run *run = warp->worker->run;
    uint32_t result = 0;
    EACH(mask, i)
    {
        const uint64_t address = lane_address(rows, op, i);
        const bool shared = address - block->shared_lo < block->shared_bytes;
        const bool local =
            address - block->local_lo < (uint64_t)run->threads * block->local_stride;
        const bool param = address - (uintptr_t)run->params < run->param_bytes;
        const bool answer = op->c == RP_PTX_SHARED  ? shared
                            : op->c == RP_PTX_LOCAL ? local
                            : op->c == RP_PTX_PARAM ? param
                                                    : !shared && !local && !param;
        result |= answer ? 1u << i : 0;
    }
    *row32(rows, op->d) = (*row32(rows, op->d) & ~mask) | result;
}

/* cp.async at once: d is the shared address, a the global one, imm its offset, b the offset
 * of d, c the size, f the row of the source size (SIMT_COPY_SIZED). The rest is zeroed. */
static uint32_t copied(const char *rows, const struct simt_op *op, uint32_t lane)
{
    if (op->flags & SIMT_COPY_UNLESS)
        return *const_row32(rows, op->f) >> lane & 1 ? 0 : op->c;
    const uint32_t wanted = op->flags & SIMT_COPY_SIZED ? const_row32(rows, op->f)[lane] : op->c;
    return wanted < op->c ? wanted : op->c;
}

static uint64_t copy_target(const char *rows, const struct simt_op *op, uint32_t lane)
{
    if (op->flags & SIMT_COPY_TO_32)
        return (uint32_t)(const_row32(rows, op->d)[lane] + op->b);
    return const_row64(rows, op->d)[lane] + (uint64_t)(int32_t)op->b;
}

SCALAR_LOOP(copy_async)
{
    const uint32_t bytes = op->c;
    EACH(mask, i)
    {
        uint64_t to[SIMT_LANES] = {0}, from[SIMT_LANES] = {0};
        const uint32_t taken = copied(rows, op, i);
        to[i] = copy_target(rows, op, i);
        from[i] = lane_address(rows, op, i);
        if (!simt_memory_check(warp, op, (int)i, to[i], bytes, true) ||
            (taken &&
             !simt_memory_check_part(warp, op, (int)i, from[i], taken, bytes, false)))
            return;
        memcpy((void *)(uintptr_t)to[i], (const void *)(uintptr_t)from[i], taken);
        memset((char *)(uintptr_t)to[i] + taken, 0, bytes - taken);
        if (warp->observed && taken)
            simt_memory_observe(warp, 1u << i, from, taken, false);
        if (warp->observed)
            simt_memory_observe(warp, 1u << i, to, bytes, true);
    }
}
