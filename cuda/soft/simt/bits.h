/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic of the lanes. Every function is total: lanes that are switched off
 * compute too, on whatever their registers hold. Edge values as the PTX ISA defines them;
 * where it leaves them open (division by zero) as NVIDIA hardware answers. */
#ifndef RP_SOFT_SIMT_BITS_H
#define RP_SOFT_SIMT_BITS_H

#include "cuda/soft/simt/lanes.h"

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

#define add_wrap(T, x, y) ((T)((uint64_t)(x) + (uint64_t)(y)))
#define negate(x) ((__typeof__(x))(0 - (uint64_t)(x)))

static inline s32 saturate_s32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (s32)x;
}

static inline uint64_t zext24(uint32_t x)
{
    return x & 0xffffff;
}

static inline int64_t sext24(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

/* Quotients of 32 bits are exact in double: no quotient of such integers lies so close
 * below the next integer that rounding to 53 bits reaches it. */
#define DIVIDE_UNSIGNED(T)                                                                      \
    static inline T divide_##T(T a, T b)                                                        \
    {                                                                                           \
        return b ? (T)(a / b) : (T)-1;                                                          \
    }                                                                                           \
    static inline T remainder_##T(T a, T b)                                                     \
    {                                                                                           \
        return b ? (T)(a % b) : a;                                                              \
    }
DIVIDE_UNSIGNED(u16) DIVIDE_UNSIGNED(u32) DIVIDE_UNSIGNED(u64)
#define DIVIDE_SIGNED(T)                                                                        \
    static inline T divide_##T(T a, T b)                                                        \
    {                                                                                           \
        return b == 0 ? (T)-1 : b == -1 ? negate(a) : (T)(a / b);                               \
    }                                                                                           \
    static inline T remainder_##T(T a, T b)                                                     \
    {                                                                                           \
        return b == 0 ? a : b == -1 ? (T)0 : (T)(a % b);                                        \
    }
DIVIDE_SIGNED(s16) DIVIDE_SIGNED(s32) DIVIDE_SIGNED(s64)
#undef DIVIDE_UNSIGNED
#undef DIVIDE_SIGNED

/* The absolute differences of the parts of `bits` bits, in their places, and their sum. */
static inline u32 part_distances(u32 a, u32 b, int bits)
{
    u32 out = 0;
    for (int at = 0; at < 32; at += bits) {
        const u32 keep = (1u << bits) - 1, x = a >> at & keep, y = b >> at & keep;
        out |= (x > y ? x - y : y - x) << at;
    }
    return out;
}

static inline u32 sum_of_distances(u32 a, u32 b, int bits)
{
    const u32 parts = part_distances(a, b, bits);
    u32 sum = 0;
    for (int at = 0; at < 32; at += bits)
        sum += parts >> at & ((1u << bits) - 1);
    return sum;
}

#define PAIR(T, name, expr)                                                                     \
    static inline u32 pair_##T##_##name(u32 x, u32 y)                                           \
    {                                                                                           \
        u32 out = 0;                                                                            \
        for (int k = 0; k < 32; k += 16) {                                                      \
            const T a = (T)(x >> k), b = (T)(y >> k);                                           \
            out |= (u32)(u16)(expr) << k;                                                       \
        }                                                                                       \
        return out;                                                                             \
    }
PAIR(u16, add, a + b)
PAIR(u16, min, a < b ? a : b)
PAIR(u16, max, a > b ? a : b)
PAIR(s16, min, a < b ? a : b)
PAIR(s16, max, a > b ? a : b)
PAIR(s16, min_relu, a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))
PAIR(s16, max_relu, a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))
#undef PAIR

/* `count` is at most 32. */
static inline u32 funnel_left(u32 lo, u32 hi, u32 count)
{
    return (u32)((((uint64_t)hi << 32 | lo) << count) >> 32);
}

static inline u32 funnel_right(u32 lo, u32 hi, u32 count)
{
    return (u32)(((uint64_t)hi << 32 | lo) >> count);
}

static inline u32 reverse32(u32 x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}

static inline u64 reverse64(u64 x)
{
    return (uint64_t)reverse32((u32)x) << 32 | reverse32((u32)(x >> 32));
}

static inline u32 highest_bit(uint64_t x)
{
    return x ? 63 - (u32)__builtin_clzll(x) : 0xffffffffu;
}

static inline u32 highest_bit_shift(uint64_t x, u32 top)
{
    return x ? top - (63 - (u32)__builtin_clzll(x)) : 0xffffffffu;
}

/* fns: the n-th set bit from `base`, upwards for n > 0, downwards for n < 0. */
static inline u32 find_nth_set(u32 mask, u32 base, int32_t n)
{
    if (base > 31)
        return 0xffffffffu;
    if (n == 0)
        return mask >> base & 1 ? base : 0xffffffffu;
    const int step = n < 0 ? -1 : 1;
    int64_t wanted = n < 0 ? -(int64_t)n : n;
    for (int bit = (int)base; bit >= 0 && bit < 32; bit += step) {
        if ((mask >> bit & 1) && --wanted == 0)
            return (u32)bit;
    }
    return 0xffffffffu;
}

static inline uint64_t low_bits(u32 count)
{
    return count > 63 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/* bfe, bfi: position and length are bytes of their operands. */
static inline uint64_t extract_u(uint64_t x, u32 position, u32 length, u32 width)
{
    position &= 0xff;
    length &= 0xff;
    (void)width;
    return position > 63 ? 0 : (x >> position) & low_bits(length);
}

static inline int64_t extract_s(int64_t x, u32 position, u32 length, u32 width)
{
    position &= 0xff;
    length &= 0xff;
    if (length == 0)
        return 0;
    const u32 last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    const bool sign = (uint64_t)x >> last & 1;
    const uint64_t field = position > width - 1 ? 0 : (uint64_t)x >> position;
    const uint64_t keep = low_bits(last >= position ? last - position + 1 : 0);
    return (int64_t)((field & keep) | (sign ? ~keep : 0));
}

static inline uint64_t insert_bits(uint64_t from, uint64_t into, u32 position, u32 length,
                                   u32 width)
{
    position &= 0xff;
    length &= 0xff;
    if (position >= width)
        return into;
    const uint64_t field = low_bits(length) << position;
    return (into & ~field) | (from << position & field);
}

static inline u32 bit_mask_clamp(u32 position, u32 width)
{
    return position > 31 ? 0 : (u32)(low_bits(width > 32 ? 32 : width) << position);
}

/* szext.s32: the low `bits` of x with their sign. */
static inline u32 sign_extend_bits(u32 x, u32 bits)
{
    return bits == 0 ? 0 : (u32)((int32_t)(x << (32 - bits)) >> (32 - bits));
}

static inline u32 lop3(u32 a, u32 b, u32 c, u32 table)
{
    u32 out = 0;
    for (u32 k = 0; k < 8; k++) {
        const u32 term = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        out |= term & (0u - (table >> k & 1));
    }
    return out;
}

/* prmt: each selector nibble picks a byte, or with its top bit the byte's sign. */
static inline u32 permute(u32 a, u32 b, u32 selectors)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    u32 out = 0;
    for (u32 k = 0; k < 4; k++) {
        const u32 selector = selectors >> (4 * k) & 15;
        const u32 byte = (u32)(bytes >> (8 * (selector & 7))) & 0xff;
        const u32 sign = byte & 0x80 ? 0xff : 0;
        out |= (selector & 8 ? sign : byte) << (8 * k);
    }
    return out;
}

static inline u32 nibbles(u32 b0, u32 b1, u32 b2, u32 b3)
{
    return b0 | b1 << 4 | b2 << 8 | b3 << 12;
}

static inline u32 permute_f4e(u32 c)
{
    c &= 3;
    return nibbles(c, c + 1, c + 2, c + 3);
}

static inline u32 permute_b4e(u32 c)
{
    c &= 3;
    return nibbles(c, (c - 1) & 7, (c - 2) & 7, (c - 3) & 7);
}

static inline u32 permute_rc8(u32 c)
{
    c &= 3;
    return nibbles(c, c, c, c);
}

static inline u32 permute_ecl(u32 c)
{
    c &= 3;
    return nibbles(c, c > 1 ? c : 1, c > 2 ? c : 2, 3);
}

static inline u32 permute_ecr(u32 c)
{
    c &= 3;
    return nibbles(0, c < 1 ? c : 1, c < 2 ? c : 2, c);
}

static inline u32 permute_rc16(u32 c)
{
    const u32 half = (c & 1) * 2;
    return nibbles(half, half + 1, half, half + 1);
}

#define byte_u32(x, k) ((uint32_t)((x) >> (8 * (k)) & 0xff))
#define byte_s32(x, k) ((uint32_t)(int32_t)(int8_t)((x) >> (8 * (k))))
#define half_u32(x, k) ((uint32_t)((x) >> (16 * (k)) & 0xffff))
#define half_s32(x, k) ((uint32_t)(int32_t)(int16_t)((x) >> (16 * (k))))
#define dot4(ta, tb, x, y)                                                                      \
    (byte_##ta(x, 0) * byte_##tb(y, 0) + byte_##ta(x, 1) * byte_##tb(y, 1) +                    \
     byte_##ta(x, 2) * byte_##tb(y, 2) + byte_##ta(x, 3) * byte_##tb(y, 3))
#define dot2(ta, tb, x, y, from)                                                                \
    (half_##ta(x, 0) * byte_##tb((y) >> (from), 0) +                                            \
     half_##ta(x, 1) * byte_##tb((y) >> (from), 1))

#endif
