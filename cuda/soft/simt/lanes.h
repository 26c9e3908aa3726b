/* SPDX-License-Identifier: Apache-2.0 */
/* How a lane loop is written: rows of 32 values, and one C loop that the compiler turns
 * into vector code. Included by the files that are built once an instruction set. */
#ifndef RP_SOFT_SIMT_LANES_H
#define RP_SOFT_SIMT_LANES_H

#include "cuda/soft/simt/machine.h"
#include "cuda/soft/simt/opcodes.h"

/* Every symbol of a build carries the name of its instruction set. */
#define ISA_PASTE(isa, name) simt_##isa##_##name
#define ISA_EXPAND(isa, name) ISA_PASTE(isa, name)
#define ISA(name) ISA_EXPAND(SIMT_ISA, name)

#define ALIAS __attribute__((may_alias))
typedef uint8_t ALIAS u8;
typedef uint16_t ALIAS u16;
typedef uint32_t ALIAS u32;
typedef uint64_t ALIAS u64;
typedef int8_t ALIAS s8;
typedef int16_t ALIAS s16;
typedef int32_t ALIAS s32;
typedef int64_t ALIAS s64;
typedef float ALIAS f32;
typedef double ALIAS f64;

/* Rows either are the same row or don't overlap, so lanes never depend on each other. */
#ifdef __clang__
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTORISE _Pragma("GCC ivdep")
#endif
#define LANES VECTORISE for (int i = 0; i < SIMT_LANES; i++)
#define EACH_LANE(m, i)                                                                         \
    for (uint32_t left_ = (m), i = 0; left_ && ((i = (uint32_t)__builtin_ctz(left_)), 1);      \
         left_ &= left_ - 1)

#define ROW(T, offset) ((T *)__builtin_assume_aligned(rows + (offset), 64))
#define MASK(offset) (*(u32 *)(rows + (offset)))

/* Lane i's bit of a mask, in the width of the value it selects, so that the compiler can
 * test all lanes with one vector operation. */
#define B4(x) (x), (x) << 1, (x) << 2, (x) << 3
#define B16(x) B4(x), B4((x) << 4), B4((x) << 8), B4((x) << 12)
static const uint16_t lane_bit16[SIMT_LANES] __attribute__((aligned(64))) = {B16(1), B16(1)};
static const uint32_t lane_bit32[SIMT_LANES] __attribute__((aligned(64))) = {
    B16(UINT32_C(1)), B16(UINT32_C(0x10000))};
static const uint64_t lane_bit64[SIMT_LANES] __attribute__((aligned(64))) = {
    B16(UINT64_C(1)), B16(UINT64_C(0x10000))};
#undef B4
#undef B16
/* For T of two bytes `m` must be the half of the mask that has lane i. */
#define ON(T, m, i)                                                                             \
    (sizeof(T) == 8   ? ((uint64_t)(m) & lane_bit64[i]) != 0                                    \
     : sizeof(T) == 4 ? ((m) & lane_bit32[i]) != 0                                              \
                      : ((uint16_t)(m) & lane_bit16[i]) != 0)
/* Loops in which ON is used: 16-bit lanes go in two halves. `part` is the mask for ON. */
#define LANES_BY_MASK(T, m)                                                                     \
    for (uint32_t first = 0, part = (m); first < SIMT_LANES;                                    \
         first += sizeof(T) == 2 ? 16 : 32, part >>= 16)                                        \
    VECTORISE for (uint32_t i = first; i < first + (sizeof(T) == 2 ? 16 : 32); i++)

/* The dispatcher has copies of its own, to be inlined. */
#ifndef LANE_LOOP_NAME
#define LANE_LOOP_NAME(id) void ISA(id)
#endif
#define LANE_LOOP(id)                                                                           \
    LANE_LOOP_NAME(id)(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t mask)
#define UNUSED_WARP (void)warp

static inline void write_mask(char *rows, uint32_t offset, uint32_t mask, uint32_t value)
{
    MASK(offset) = (MASK(offset) & ~mask) | (value & mask);
}

/* The mask of lanes whose element of `truth` is all ones (the rest is zero). */
static inline uint32_t pack_mask(const uint32_t *truth);

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
static inline uint32_t pack_mask(const uint32_t *truth)
{
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++) {
        const __m256i part = _mm256_load_si256((const __m256i *)(const void *)(truth + 8 * i));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(part)) << (8 * i);
    }
    return mask;
}
#elif defined(__SSE2__)
#include <immintrin.h>
static inline uint32_t pack_mask(const uint32_t *truth)
{
    uint32_t mask = 0;
    for (int i = 0; i < 8; i++) {
        const __m128i part = _mm_load_si128((const __m128i *)(const void *)(truth + 4 * i));
        mask |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(part)) << (4 * i);
    }
    return mask;
}
#else
static inline uint32_t pack_mask(const uint32_t *truth)
{
    uint32_t mask = 0;
    for (int i = 0; i < SIMT_LANES; i++)
        mask |= truth[i] & lane_bit32[i];
    return mask;
}
#endif

#endif
