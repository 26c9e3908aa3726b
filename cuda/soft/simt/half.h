/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 of the lanes, as 16-bit patterns. NaN results are 0x7fff.
 *
 * Sums, products and quotients are computed in f32 and rounded once more: 24 bits are more
 * than twice 11 plus two, so the second rounding can't err. Where f32 could (fma, products
 * of bf16 near its smallest numbers) the way goes over a double rounded to odd. */
#ifndef RP_SOFT_SIMT_HALF_H
#define RP_SOFT_SIMT_HALF_H

#include "cuda/soft/simt/approx.h"

static inline float f16_to_f32(uint32_t h)
{
    const uint32_t magnitude = h & 0x7fff;
    const uint32_t scaled = bits32(real32(magnitude << 13) * 0x1p112f);
    const uint32_t special = magnitude > 0x7c00 ? 0x7fffffffu : 0x7f800000u;
    const uint32_t sign = magnitude > 0x7c00 ? 0 : (h & 0x8000) << 16;
    return real32((magnitude >= 0x7c00 ? special : scaled) | sign);
}

static inline float bf16_to_f32(uint32_t h)
{
    return canon(real32(h << 16));
}

static inline u16 f16_rn(float x)
{
    const uint32_t bits = bits32(x), magnitude = bits & 0x7fffffffu;
    const uint32_t small = bits32(real32(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    const uint32_t ordinary = magnitude >= 0x477ff000u ? 0x7c00 : finite;
    return (u16)(magnitude > 0x7f800000u ? 0x7fff : ordinary | (bits >> 16 & 0x8000));
}

static inline u16 bf16_rn(float x)
{
    const uint32_t bits = bits32(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (u16)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fff : rounded);
}

/* The double rounded to f32, to odd, so that a narrower rounding may follow. */
static inline float odd32(double x)
{
    const float cut = round_rz(x);
    return (double)cut == x || x != x ? cut : real32(bits32(cut) | 1);
}

/* Directed modes: the neighbour of the nearest value when that lies on the wrong side. The
 * patterns of one sign are in the order of their magnitudes. */
#define DIRECTED_HALF(F)                                                                        \
    static inline u16 F##_rz(float x)                                                           \
    {                                                                                           \
        const u16 near = F##_rn(x);                                                             \
        return (u16)(near - (fabsf(F##_to_f32(near)) > fabsf(x)));                              \
    }                                                                                           \
    static inline u16 F##_rm(float x)                                                           \
    {                                                                                           \
        const u16 near = F##_rn(x);                                                             \
        const u16 below = (near & 0x7fff) == 0 ? 0x8001 : near & 0x8000 ? near + 1 : near - 1;  \
        return F##_to_f32(near) > x ? below : near;                                             \
    }                                                                                           \
    static inline u16 F##_rp(float x)                                                           \
    {                                                                                           \
        const u16 near = F##_rn(x);                                                             \
        const u16 above = (near & 0x7fff) == 0 ? 0x0001 : near & 0x8000 ? near - 1 : near + 1;  \
        return F##_to_f32(near) < x ? above : near;                                             \
    }
DIRECTED_HALF(f16)
DIRECTED_HALF(bf16)
#undef DIRECTED_HALF

static inline u16 f16_ftz(uint32_t h)
{
    return (u16)(h & 0x7c00 ? h : h & 0x8000);
}

static inline u16 f16_relu(uint32_t h)
{
    return (u16)((h & 0x7fff) > 0x7c00 ? 0x7fff : h & 0x8000 ? 0 : h);
}

static inline u16 bf16_relu(uint32_t h)
{
    return (u16)((h & 0x7fff) > 0x7f80 ? 0x7fff : h & 0x8000 ? 0 : h);
}

#define f16_add(a, b) f16_rn(f16_to_f32(a) + f16_to_f32(b))
#define f16_sub(a, b) f16_rn(f16_to_f32(a) - f16_to_f32(b))
#define f16_mul(a, b) f16_rn(f16_to_f32(a) * f16_to_f32(b))
#define f16_fma(a, b, c) f16_rn(odd32(fma_odd(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c))))
#define f16_sat(h) f16_rn(sat(f16_to_f32(h)))
#define bf16_add(a, b) bf16_rn(bf16_to_f32(a) + bf16_to_f32(b))
#define bf16_sub(a, b) bf16_rn(bf16_to_f32(a) - bf16_to_f32(b))
#define bf16_mul(a, b) bf16_rn(odd32((double)bf16_to_f32(a) * (double)bf16_to_f32(b)))
#define bf16_fma(a, b, c) bf16_rn(odd32(fma_odd(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c))))
#define bf16_fma_rz(a, b, c) bf16_rz(odd32(fma_odd(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c))))

/* min and max pick one of their operands, so rounding is the identity. */
#define f16_min(a, b) f16_rn(min32(f16_to_f32(a), f16_to_f32(b)))
#define f16_max(a, b) f16_rn(max32(f16_to_f32(a), f16_to_f32(b)))
#define f16_min_nan(a, b) f16_rn(min32_nan(f16_to_f32(a), f16_to_f32(b)))
#define f16_max_nan(a, b) f16_rn(max32_nan(f16_to_f32(a), f16_to_f32(b)))
#define bf16_min(a, b) bf16_rn(min32(bf16_to_f32(a), bf16_to_f32(b)))
#define bf16_max(a, b) bf16_rn(max32(bf16_to_f32(a), bf16_to_f32(b)))
#define bf16_min_nan(a, b) bf16_rn(min32_nan(bf16_to_f32(a), bf16_to_f32(b)))
#define bf16_max_nan(a, b) bf16_rn(max32_nan(bf16_to_f32(a), bf16_to_f32(b)))
#define half_xorsign(h, a, b) (((h) & 0x7fff) | (((a) ^ (b)) & 0x8000))

#define lo16(x) ((x) & 0xffff)
#define hi16(x) ((x) >> 16)
#define join16(lo, hi) ((u32)(u16)(lo) | (u32)(u16)(hi) << 16)

#endif
