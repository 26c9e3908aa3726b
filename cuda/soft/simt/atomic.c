/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red: each lane in turn, one compare-and-swap loop for every operation. Operands:
 * address a (+ imm), values b and c, the old value goes to d. All lanes are checked before
 * the first one writes. */
#include "cuda/soft/simt/half.h"
#include "cuda/soft/simt/scalar.h"

static bool check(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t mask,
                  uint32_t bytes)
{
    uint64_t address[SIMT_LANES] = {0};
    EACH(mask, i)
    {
        address[i] = lane_address(rows, op, i);
        const struct simt_range *site = &warp->sites[op->target];
        const bool known = address[i] >= site->lo && address[i] < site->hi &&
                           site->hi - address[i] >= bytes && (address[i] & (bytes - 1)) == 0;
        if (!known && !simt_memory_check(warp, op, (int)i, address[i], bytes, true))
            return false;
    }
    if (warp->observed) {
        simt_memory_observe(warp, mask, address, bytes, false);
        simt_memory_observe(warp, mask, address, bytes, true);
    }
    return true;
}

static bool in_shared(const struct simt_warp *warp, uint64_t address)
{
    return address - warp->block->shared_lo < warp->block->shared_bytes;
}

/* M is the type in memory; `expr` makes the new value of `old` and the operands b, c. */
#define ATOMIC(id, M, R, expr)                                                                  \
    SCALAR_LOOP(atom_##id)                                                                      \
    {                                                                                           \
        if (!check(warp, rows, op, mask, sizeof(M)))                                            \
            return;                                                                             \
        EACH(mask, i)                                                                           \
        {                                                                                       \
            const uint64_t address = lane_address(rows, op, i);                                 \
            M *cell = (M *)(uintptr_t)address;                                                  \
            const M b = (M)((const R *)(const void *)(rows + op->b))[i];                        \
            const M c = (M)((const R *)(const void *)(rows + op->c))[i];                        \
            M old = __atomic_load_n(cell, __ATOMIC_RELAXED), new;                               \
            (void)b, (void)c;                                                                   \
            do                                                                                  \
                new = (M)(expr);                                                                \
            while (!__atomic_compare_exchange_n(cell, &old, new, false, __ATOMIC_SEQ_CST,       \
                                                __ATOMIC_SEQ_CST));                             \
            ((R *)(void *)(rows + op->d))[i] = (R)old;                                          \
        }                                                                                       \
    }
#define SAME(id, T, expr) ATOMIC(id##_##T, T, T, expr)

SAME(add, u32, old + b) SAME(add, u64, old + b)
SAME(min, u32, old < b ? old : b) SAME(min, s32, old < b ? old : b)
SAME(min, u64, old < b ? old : b) SAME(min, s64, old < b ? old : b)
SAME(max, u32, old > b ? old : b) SAME(max, s32, old > b ? old : b)
SAME(max, u64, old > b ? old : b) SAME(max, s64, old > b ? old : b)
SAME(inc, u32, old >= b ? 0 : old + 1)
SAME(dec, u32, old == 0 || old > b ? b : old - 1)
SAME(and, u32, old & b) SAME(or, u32, old | b) SAME(xor, u32, old ^ b)
SAME(and, u64, old & b) SAME(or, u64, old | b) SAME(xor, u64, old ^ b)
SAME(exch, u32, b) SAME(exch, u64, b)
SAME(cas, u16, old == b ? c : old)
SAME(cas, u32, old == b ? c : old)
SAME(cas, u64, old == b ? c : old)

/* Global memory flushes subnormals of f32, shared memory keeps them (PTX ISA, atom). */
static uint32_t add_real(const struct simt_warp *warp, uint64_t address, uint32_t a, uint32_t b)
{
    const float x = real32(a), y = real32(b);
    return bits32(in_shared(warp, address) ? canon(x + y) : ftz(canon(ftz(x) + ftz(y))));
}

static uint64_t add_double(uint64_t a, uint64_t b)
{
    return bits64(canon64(real64(a) + real64(b), real64(a), real64(b), 0.0));
}

ATOMIC(add_f32, u32, u32, add_real(warp, address, old, b))
ATOMIC(add_f64, u64, u64, add_double(old, b))
ATOMIC(add_f16, u16, u16, f16_add(old, b))
ATOMIC(add_f16x2, u32, u32,
       join16(f16_add(lo16(old), lo16(b)), f16_add(hi16(old), hi16(b))))
ATOMIC(add_bf16, u16, u16, bf16_add(old, b))
ATOMIC(add_bf16x2, u32, u32,
       join16(bf16_add(lo16(old), lo16(b)), bf16_add(hi16(old), hi16(b))))
#define EXTREMES(name, F)                                                                       \
    ATOMIC(name##_##F, u16, u16, F##_##name(old, b))                                            \
    ATOMIC(name##_##F##x2, u32, u32,                                                            \
           join16(F##_##name(lo16(old), lo16(b)), F##_##name(hi16(old), hi16(b))))
EXTREMES(min, f16) EXTREMES(max, f16) EXTREMES(min, bf16) EXTREMES(max, bf16)
