/* SPDX-License-Identifier: Apache-2.0 */
/* The approximate functions. NVIDIA bounds their error and leaves the bits open; here each
 * is the function evaluated in double and rounded once to f32, without fma, so that every
 * instruction set and every libm gives the same bits:
 *
 *   rcp rsqrt sqrt div   correctly rounded (div.approx with its defined huge divisors)
 *   ex2 lg2 tanh         error of the double below 2^-44: at most 0.5000001 ulp
 *   sin cos              the same up to |x| = 2^20, libm's double function beyond
 *
 * PTX ISA 9.0 asks for 2 ulp (ex2), 2^-22 absolute or relative (lg2), 2^-20.5 absolute in
 * [-pi, pi] (sin, cos), 2^-11 relative (tanh): all are inside. */
#ifndef RP_SOFT_SIMT_APPROX_H
#define RP_SOFT_SIMT_APPROX_H

#include "cuda/soft/simt/real.h"

/* 2^x in double for |x| < 1100; the fraction's series is Taylor's in x ln 2, |x| <= 1/2. */
static inline double exp2_core(double x)
{
    const double shifter = 0x1.8p52;
    const double whole = (x + shifter) - shifter;
    const double t = (x - whole) * 0x1.62e42fefa39efp-1;
    double sum = 1.0 / 479001600;
    sum = sum * t + 1.0 / 39916800;
    sum = sum * t + 1.0 / 3628800;
    sum = sum * t + 1.0 / 362880;
    sum = sum * t + 1.0 / 40320;
    sum = sum * t + 1.0 / 5040;
    sum = sum * t + 1.0 / 720;
    sum = sum * t + 1.0 / 120;
    sum = sum * t + 1.0 / 24;
    sum = sum * t + 1.0 / 6;
    sum = sum * t + 0.5;
    sum = sum * t + 1.0;
    sum = sum * t + 1.0;
    /* whole + 2^52 + 2^51 has the integer in its low bits: no conversion, which not every
     * instruction set has for 64 bits. */
    const uint64_t exponent = (bits64(whole + shifter) + 1023) << 52;
    return sum * real64(exponent);
}

static inline float exp2_approx(float x)
{
    const float bounded = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x;
    const double y = exp2_core((double)(x != x ? 0.0f : bounded));
    return x != x ? real32(0x7fffffffu) : (float)y;
}

/* log2 of a positive finite double: 2/ln2 atanh((m-1)/(m+1)), m in [sqrt(1/2), sqrt(2)). */
static inline double log2_core(double x)
{
    const uint64_t bits = bits64(x);
    const uint64_t offset = bits - UINT64_C(0x3fe6a09e667f3bcd);
    const uint64_t exponent = (offset >> 52) + (offset >> 63 ? ~UINT64_C(0xfff) : 0);
    const double m = real64(bits - (exponent << 52));
    const double whole = real64((exponent + (UINT64_C(1) << 51)) | UINT64_C(0x4330000000000000)) -
                         0x1.8p52;
    const double z = (m - 1.0) / (m + 1.0), w = z * z;
    double sum = 1.0 / 21;
    sum = sum * w + 1.0 / 19;
    sum = sum * w + 1.0 / 17;
    sum = sum * w + 1.0 / 15;
    sum = sum * w + 1.0 / 13;
    sum = sum * w + 1.0 / 11;
    sum = sum * w + 1.0 / 9;
    sum = sum * w + 1.0 / 7;
    sum = sum * w + 1.0 / 5;
    sum = sum * w + 1.0 / 3;
    sum = sum * w + 1.0;
    return whole + z * sum * 0x1.71547652b82fep+1;
}

static inline float log2_approx(float x)
{
    const bool ordinary = x > 0.0f && x < INFINITY;
    const float y = (float)log2_core(ordinary ? (double)x : 1.0);
    const float special = x == 0.0f ? -INFINITY : x == INFINITY ? x : real32(0x7fffffffu);
    return ordinary ? y : special;
}

/* tanh x = 1 - 2 / (e^2x + 1), by its series where that would cancel. */
static inline float tanh_approx(float x)
{
    const double a = fabs((double)x), bounded = a > 20.0 ? 20.0 : a != a ? 0.0 : a;
    const double big = 1.0 - 2.0 / (exp2_core(bounded * 0x1.71547652b82fep+1) + 1.0);
    const double w = bounded * bounded;
    double sum = -929569.0 / 638512875;
    sum = sum * w + 21844.0 / 6081075;
    sum = sum * w - 1382.0 / 155925;
    sum = sum * w + 62.0 / 2835;
    sum = sum * w - 17.0 / 315;
    sum = sum * w + 2.0 / 15;
    sum = sum * w - 1.0 / 3;
    const double small = bounded + bounded * w * sum;
    const float y = copysignf((float)(bounded < 0.0625 ? small : big), x);
    return x != x ? real32(0x7fffffffu) : y;
}

/* sin (quarter = 0) or cos (quarter = 1) for |x| <= 2^20. */
static inline double sine_core(double x, uint64_t quarter)
{
    const double shifter = 0x1.8p52;
    const double turns = x * 0x1.45f306dc9c883p-1 + shifter;
    const double n = turns - shifter;
    const uint64_t q = bits64(turns) + quarter;
    /* pi/2 in three parts; the first two products are exact. */
    const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
    const double w = r * r;
    double s = -1.0 / 1307674368000;
    s = s * w + 1.0 / 6227020800;
    s = s * w - 1.0 / 39916800;
    s = s * w + 1.0 / 362880;
    s = s * w - 1.0 / 5040;
    s = s * w + 1.0 / 120;
    s = s * w - 1.0 / 6;
    s = r + r * w * s;
    double c = 1.0 / 20922789888000;
    c = c * w - 1.0 / 87178291200;
    c = c * w + 1.0 / 479001600;
    c = c * w - 1.0 / 3628800;
    c = c * w + 1.0 / 40320;
    c = c * w - 1.0 / 720;
    c = c * w + 1.0 / 24;
    c = c * w - 0.5;
    c = 1.0 + w * c;
    const double y = q & 1 ? c : s;
    return q & 2 ? -y : y;
}

static inline float sine_approx(float x, uint64_t quarter)
{
    if (!(fabsf(x) <= 0x1p20f)) /* NaN and infinities too */
        return canon((float)(quarter ? cos((double)x) : sin((double)x)));
    return x == 0.0f && !quarter ? x : (float)sine_core((double)x, quarter);
}

static inline float rsqrt_approx(float x)
{
    return canon((float)(1.0 / __builtin_sqrt((double)x)));
}

#endif
