/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point of the lanes, the same bits on every instruction set.
 *
 * A NaN result is the canonical one, 0x7fffffff in f32 (x86 would answer with the payload of
 * whichever operand the compiler put first). Directed rounding and the fma of machines
 * without one go through "round to odd": the exact result is rounded to a double whose last
 * bit says whether anything was lost, and rounding that to 24 bits is right in every mode. */
#ifndef RP_SOFT_SIMT_REAL_H
#define RP_SOFT_SIMT_REAL_H

#include "cuda/soft/simt/lanes.h"

#include <math.h>

static inline uint32_t bits32(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, 4);
    return bits;
}

static inline float real32(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
}

static inline uint64_t bits64(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, 8);
    return bits;
}

static inline double real64(uint64_t bits)
{
    double x;
    __builtin_memcpy(&x, &bits, 8);
    return x;
}

static inline float canon(float x)
{
    return x != x ? real32(0x7fffffffu) : x;
}

/* Subnormals become zeros of their sign. */
static inline float ftz(float x)
{
    const uint32_t bits = bits32(x);
    return real32(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

/* [0, 1], NaN becomes +0. */
static inline float sat(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

static inline double sat64(double x)
{
    return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
}

/* f64 keeps the payload of its first NaN operand. */
static inline double quiet64(double x)
{
    return real64(bits64(x) | UINT64_C(0x0008000000000000));
}

static inline double canon64(double result, double a, double b, double c)
{
    const double nan = a != a   ? quiet64(a)
                       : b != b ? quiet64(b)
                       : c != c ? quiet64(c)
                                : real64(UINT64_C(0xfff8000000000000));
    return result != result ? nan : result;
}

/* a + b in double, rounded to odd. */
static inline double add_odd(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    const double lost = (a - (sum - part)) + (b - part);
    uint64_t bits = bits64(sum);
    const bool finite = (bits & UINT64_C(0x7ff0000000000000)) != UINT64_C(0x7ff0000000000000);
    const bool inexact = lost != 0.0 && finite && !(bits & 1);
    const uint64_t away = (lost > 0.0) == (sum > 0.0) ? 1 : ~UINT64_C(0);
    bits += inexact ? away : 0;
    return real64(bits);
}

/* The product of two floats is exact in double. */
static inline double fma_odd(float a, float b, float c)
{
    return add_odd((double)a * (double)b, (double)c);
}

static inline float fma32(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return (float)fma_odd(a, b, c);
#endif
}

static inline double fma64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

/* Rounding of an odd-rounded double to f32, by mode. */
static inline float round_rn(double x)
{
    return (float)x;
}

static inline float round_rz(double x)
{
    const float near = (float)x;
    const bool over = fabs((double)near) > fabs(x);
    return real32(bits32(near) - over);
}

static inline float round_rm(double x)
{
    const float near = (float)x;
    const uint32_t bits = bits32(near);
    const uint32_t below = near == 0.0f ? 0x80000001u : bits >> 31 ? bits + 1 : bits - 1;
    return real32((double)near > x ? below : bits);
}

static inline float round_rp(double x)
{
    const float near = (float)x;
    const uint32_t bits = bits32(near);
    const uint32_t above = near == 0.0f ? 1u : bits >> 31 ? bits - 1 : bits + 1;
    return real32((double)near < x ? above : bits);
}

/* An exact zero sum is -0 when rounding down, unless both terms are +0. */
static inline double add_down(double a, double b)
{
    const double sum = add_odd(a, b);
    const bool positive = !((bits64(a) | bits64(b)) >> 63);
    return sum == 0.0 && !positive ? -0.0 : sum;
}

#define add32_rn(a, b) ((a) + (b))
#define add32_rz(a, b) round_rz(add_odd((double)(a), (double)(b)))
#define add32_rm(a, b) round_rm(add_down((double)(a), (double)(b)))
#define add32_rp(a, b) round_rp(add_odd((double)(a), (double)(b)))
#define mul32_rn(a, b) ((a) * (b))
#define mul32_rz(a, b) round_rz((double)(a) * (double)(b))
#define mul32_rm(a, b) round_rm((double)(a) * (double)(b))
#define mul32_rp(a, b) round_rp((double)(a) * (double)(b))
#define fma32_rn(a, b, c) fma32(a, b, c)
#define fma32_rz(a, b, c) round_rz(fma_odd(a, b, c))
#define fma32_rm(a, b, c) round_rm(add_down((double)(a) * (double)(b), (double)(c)))
#define fma32_rp(a, b, c) round_rp(fma_odd(a, b, c))
/* Quotients and roots of floats that are no floats stay so far from every float that
 * rounding them to double first can't move them across one. */
#define div32_rn(a, b) ((a) / (b))
#define div32_rz(a, b) round_rz((double)(a) / (double)(b))
#define div32_rm(a, b) round_rm((double)(a) / (double)(b))
#define div32_rp(a, b) round_rp((double)(a) / (double)(b))
#define sqrt32_rn(a) __builtin_sqrtf(a)
#define sqrt32_rz(a) round_rz(__builtin_sqrt((double)(a)))
#define sqrt32_rm(a) round_rm(__builtin_sqrt((double)(a)))
#define sqrt32_rp(a) round_rp(__builtin_sqrt((double)(a)))

/* div.approx is defined for huge divisors: 0, or NaN when the dividend is infinite. */
static inline float div_approx(float a, float b)
{
    const bool huge = fabsf(b) > 0x1p126f && fabsf(b) < INFINITY;
    return huge ? a * (b > 0 ? 0.0f : -0.0f) : a / b;
}

#define sub32_rn(a, b) ((a) - (b))
#define sub32_rz(a, b) add32_rz(a, -(b))
#define sub32_rm(a, b) add32_rm(a, -(b))
#define sub32_rp(a, b) add32_rp(a, -(b))

/* min and max: a NaN loses against a number, -0 is less than +0. One choice after the other,
 * so that all lanes make them at once. */
static inline float pick32(float picked, float equal, float a, float b)
{
    picked = a == b ? equal : picked;
    picked = a != a ? canon(b) : picked;
    return b != b ? canon(a) : picked;
}

static inline float min32(float a, float b)
{
    return pick32(a < b ? a : b, real32(bits32(a) | bits32(b)), a, b);
}

static inline float max32(float a, float b)
{
    return pick32(a > b ? a : b, real32(bits32(a) & bits32(b)), a, b);
}

static inline float min32_nan(float a, float b)
{
    return a != a || b != b ? real32(0x7fffffffu) : min32(a, b);
}

static inline float max32_nan(float a, float b)
{
    return a != a || b != b ? real32(0x7fffffffu) : max32(a, b);
}

/* .xorsign.abs: the magnitude is picked, the sign is the product's. */
static inline float xorsign(float magnitude, float a, float b)
{
    return real32(bits32(magnitude) | ((bits32(a) ^ bits32(b)) & 0x80000000u));
}

static inline double min64(double a, double b)
{
    const double equal = real64(bits64(a) | bits64(b));
    return a < b ? a : b < a ? b : a == b ? equal : a != a ? b : a;
}

static inline double max64(double a, double b)
{
    const double equal = real64(bits64(a) & bits64(b));
    return a > b ? a : b > a ? b : a == b ? equal : a != a ? b : a;
}

/* round.c: f64 in a directed mode. */
enum simt_rounding { SIMT_ROUND_rz, SIMT_ROUND_rm, SIMT_ROUND_rp };
double simt_add_f64(enum simt_rounding mode, double a, double b);
double simt_sub_f64(enum simt_rounding mode, double a, double b);
double simt_mul_f64(enum simt_rounding mode, double a, double b);
double simt_div_f64(enum simt_rounding mode, double a, double b);
double simt_fma_f64(enum simt_rounding mode, double a, double b, double c);
double simt_sqrt_f64(enum simt_rounding mode, double a);

/* The f64 approximations work on the upper 32 bits: the lower ones of source and result
 * are zero, and subnormals are flushed. */
static inline double upper_half(double x)
{
    const uint64_t bits = bits64(x) & UINT64_C(0xffffffff00000000);
    return real64(bits & UINT64_C(0x7ff0000000000000) ? bits : bits & (UINT64_C(1) << 63));
}

static inline double rcp_approx64(double a)
{
    const double x = upper_half(a);
    return x != x ? real64(UINT64_C(0x7fffffff00000000)) : upper_half(1.0 / x);
}

static inline double rsqrt_approx64(double a)
{
    const double x = upper_half(a);
    return x != x || x < 0.0 ? real64(UINT64_C(0x7fffffff00000000))
                             : upper_half(1.0 / __builtin_sqrt(x));
}

/* testp */
static inline bool is_normal32(float x)
{
    const uint32_t exponent = bits32(x) & 0x7f800000u;
    return exponent != 0 && exponent != 0x7f800000u;
}

static inline bool is_normal64(double x)
{
    const uint64_t exponent = bits64(x) & UINT64_C(0x7ff0000000000000);
    return exponent != 0 && exponent != UINT64_C(0x7ff0000000000000);
}

#endif
