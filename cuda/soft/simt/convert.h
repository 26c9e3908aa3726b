/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of the lanes, by the rules of cvt: integers wrap unless .sat is written,
 * floats to integers always clamp, and NaN becomes 0, or the smallest integer when either
 * side has 64 bits. */
#ifndef RP_SOFT_SIMT_CONVERT_H
#define RP_SOFT_SIMT_CONVERT_H

#include "cuda/soft/simt/half.h"

#define lowest_u8 0
#define lowest_u16 0
#define lowest_u32 0
#define lowest_u64 0
#define lowest_s8 INT8_MIN
#define lowest_s16 INT16_MIN
#define lowest_s32 INT32_MIN
#define lowest_s64 INT64_MIN
#define highest_u8 UINT8_MAX
#define highest_u16 UINT16_MAX
#define highest_u32 UINT32_MAX
#define highest_u64 UINT64_MAX
#define highest_s8 INT8_MAX
#define highest_s16 INT16_MAX
#define highest_s32 INT32_MAX
#define highest_s64 INT64_MAX

/* Clamping x to D. Where the limits of D lie outside of W they can't be reached. */
#define LOW_IN(W, D)                                                                            \
    ((int64_t)lowest_##D < (int64_t)lowest_##W ? lowest_##W : (int64_t)lowest_##D)
#define HIGH_IN(W, D)                                                                           \
    ((uint64_t)highest_##D > (uint64_t)highest_##W ? highest_##W : (int64_t)highest_##D)
#define CLAMP_IN(W, D, x) ((D)between_##W(x, (W)LOW_IN(W, D), (W)HIGH_IN(W, D)))
static inline s32 between_s32(s32 x, s32 low, s32 high)
{
    return x < low ? low : x > high ? high : x;
}
static inline s64 between_s64(s64 x, s64 low, s64 high)
{
    return x < low ? low : x > high ? high : x;
}
static inline u64 at_most(u64 x, u64 high)
{
    return x > high ? high : x;
}
#define CLAMP_u8(D, x) CLAMP_IN(s32, D, x)
#define CLAMP_s8(D, x) CLAMP_IN(s32, D, x)
#define CLAMP_u16(D, x) CLAMP_IN(s32, D, x)
#define CLAMP_s16(D, x) CLAMP_IN(s32, D, x)
#define CLAMP_u32(D, x) CLAMP_IN(s64, D, x)
#define CLAMP_s32(D, x) CLAMP_IN(s64, D, x)
#define CLAMP_s64(D, x) CLAMP_IN(s64, D, x)
#define CLAMP_u64(D, x) ((D)at_most(x, (uint64_t)highest_##D))

/* Rounded double to integer; `wide` when the source was f64. */
#define TO_NARROW(D)                                                                            \
    static inline D real_to_##D(double x, bool wide)                                            \
    {                                                                                           \
        const D nan = wide ? (D)(UINT64_C(1) << (8 * sizeof(D) - 1)) : (D)0;                    \
        const double low = (double)lowest_##D, high = (double)highest_##D;                      \
        const double clamped = x < low ? low : x > high ? high : x == x ? x : 0.0;              \
        return x == x ? (D)clamped : nan;                                                       \
    }
TO_NARROW(u8) TO_NARROW(u16) TO_NARROW(u32) TO_NARROW(s8) TO_NARROW(s16) TO_NARROW(s32)
#undef TO_NARROW

static inline s64 real_to_s64(double x, bool wide)
{
    (void)wide;
    return x != x || x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (s64)x;
}

static inline u64 real_to_u64(double x, bool wide)
{
    (void)wide;
    return x != x ? UINT64_C(1) << 63 : x < 0.0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (u64)x;
}

#define whole_rni(x) __builtin_rint(x)
#define whole_rzi(x) __builtin_trunc(x)
#define whole_rmi(x) __builtin_floor(x)
#define whole_rpi(x) __builtin_ceil(x)
#define whole32_rni(x) __builtin_rintf(x)
#define whole32_rzi(x) __builtin_truncf(x)
#define whole32_rmi(x) __builtin_floorf(x)
#define whole32_rpi(x) __builtin_ceilf(x)

/* A 64-bit integer as a double rounded to odd: enough to round on to f32 and below. */
static inline double odd_u64(uint64_t x)
{
    const uint64_t cut = (x >> 11) | ((x & 0x7ff) != 0);
    return x >> 53 ? (double)cut * 2048.0 : (double)x;
}

static inline double odd_s64(int64_t x)
{
    return x < 0 ? -odd_u64(0 - (uint64_t)x) : odd_u64((uint64_t)x);
}

#define odd_u8(x) ((double)(x))
#define odd_s8(x) ((double)(x))
#define odd_u16(x) ((double)(x))
#define odd_s16(x) ((double)(x))
#define odd_u32(x) ((double)(x))
#define odd_s32(x) ((double)(x))

double simt_signed_to_f64(enum simt_rounding mode, int64_t x);
double simt_unsigned_to_f64(enum simt_rounding mode, uint64_t x);

static inline u16 f16_satfinite(uint32_t h)
{
    return (u16)((h & 0x7fff) == 0x7c00 ? h - 1 : h);
}

static inline u16 bf16_satfinite(uint32_t h)
{
    return (u16)((h & 0x7fff) == 0x7f80 ? h - 1 : h);
}

/* tf32: the upper 19 bits of an f32. */
static inline u32 tf32_rna(float x)
{
    const uint32_t bits = bits32(x);
    return (bits & 0x7fffffffu) >= 0x7f800000u ? bits32(canon(x)) : (bits + 0x1000) & ~0x1fffu;
}

static inline u32 tf32_rn(float x)
{
    const uint32_t bits = bits32(x);
    return (bits & 0x7fffffffu) >= 0x7f800000u
               ? bits32(canon(x))
               : (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

static inline u32 tf32_rz(float x)
{
    return x != x ? 0x7fffffffu : bits32(x) & ~0x1fffu;
}

static inline u32 relu32(u32 bits)
{
    return bits >> 31 && (bits & 0x7fffffffu) <= 0x7f800000u ? 0 : bits;
}

/* fp8: e4m3 has no infinities, its NaN is 0x7f; e5m2 is f16 cut to a byte. Both conversions
 * saturate to the largest finite value. */
static inline uint32_t e4m3_from(float x)
{
    const uint32_t sign = bits32(x) >> 24 & 0x80;
    const float a = fabsf(x);
    if (a != a)
        return 0x7f;
    if (a >= 448.0f)
        return sign | 0x7e;
    if (a < 0x1p-6f) /* subnormal steps of 2^-9 */
        return sign | (bits32(a + 0x1p14f) - bits32(0x1p14f));
    const uint32_t bits = bits32(a);
    return sign | (((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120u << 3));
}

static inline float e4m3_to_f32(uint32_t b)
{
    const uint32_t magnitude = b & 0x7f;
    const float value = magnitude < 8 ? (float)(int32_t)magnitude * 0x1p-9f
                                      : real32((magnitude << 20) + (120u << 23));
    return magnitude == 0x7f ? real32(0x7fffffffu) : b & 0x80 ? -value : value;
}

static inline uint32_t e5m2_from(float x)
{
    const uint32_t sign = bits32(x) >> 24 & 0x80;
    const float a = fabsf(x);
    if (a != a)
        return 0x7f;
    if (a >= 57344.0f)
        return sign | 0x7b;
    if (a < 0x1p-14f) /* subnormal steps of 2^-16 */
        return sign | (bits32(a + 0x1p7f) - bits32(0x1p7f));
    const uint32_t bits = bits32(a);
    return sign | (((bits + 0xfffff + (bits >> 21 & 1)) >> 21) - (112u << 2));
}

static inline float e5m2_to_f32(uint32_t b)
{
    return f16_to_f32((b & 0xff) << 8);
}

#define e4m3_relu(b) ((b) & 0x80 ? 0 : (b))
#define e5m2_relu(b) ((b) & 0x80 ? 0 : (b))
#define lo8(x) ((x) & 0xffu)
#define hi8(x) ((x) >> 8 & 0xffu)

#endif
