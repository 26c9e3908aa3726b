/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C answers for PTX arithmetic, written apart from the interpreter's: every float is
 * taken to quadruple precision, where all of these types are exact, and rounded once by an
 * integer routine. */
#ifndef RP_TESTS_SIMT_REFERENCE_H
#define RP_TESTS_SIMT_REFERENCE_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef uint16_t f16;
typedef uint16_t bf16;
typedef uint8_t u8;
typedef int8_t s8;
typedef int no;
typedef uint64_t W; /* wraps */
__extension__ typedef __int128 I; /* holds every product of 64 bits */
__extension__ typedef unsigned __int128 U128;
__extension__ typedef __float128 quad;

/* ---- integers ----------------------------------------------------------------- */

static inline I limit(I x, I low, I high)
{
    return x < low ? low : x > high ? high : x;
}

static inline I signed24(u32 x)
{
    return (I)(x & 0x7fffff) - (x & 0x800000);
}

static inline int count_bits(u64 x)
{
    int count = 0;
    for (; x; x >>= 1)
        count += (int)(x & 1);
    return count;
}

static inline int top_bit(u64 x)
{
    int bit = -1;
    for (; x; x >>= 1)
        bit++;
    return bit;
}

static inline u64 mirror(u64 x, int width)
{
    u64 out = 0;
    for (int i = 0; i < width; i++)
        out |= (x >> i & 1) << (width - 1 - i);
    return out;
}

/* bfe as the PTX ISA's pseudocode has it */
static inline u64 field(u64 a, u32 b, u32 c, u32 width, bool sign)
{
    const u32 position = b & 0xff, length = c & 0xff;
    const u32 last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    const bool filler = sign && length && (a >> last & 1);
    u64 out = 0;
    for (u32 i = 0; i < width; i++) {
        const bool bit = i < length && position + i < width ? a >> (position + i) & 1 : filler;
        out |= (u64)bit << i;
    }
    return out;
}

static inline u32 pick_bytes(u32 a, u32 b, u32 selectors)
{
    u32 out = 0;
    for (int i = 0; i < 4; i++) {
        const u32 selector = selectors >> 4 * i & 15, at = selector & 7;
        u32 byte = (at < 4 ? a >> 8 * at : b >> 8 * (at - 4)) & 0xff;
        if (selector & 8)
            byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * i;
    }
    return out;
}

/* The distances between the digits of a and b to a base, as digits to another: to base 1 their
 * sum. */
static inline uint32_t distances(uint32_t a, uint32_t b, uint64_t base, uint64_t answer)
{
    uint64_t out = 0, place = 1;
    for (uint64_t unit = 1; unit < UINT64_C(1) << 32; unit *= base, place *= answer) {
        const int64_t x = (int64_t)(a / unit % base), y = (int64_t)(b / unit % base);
        out += place * (uint64_t)(x < y ? y - x : x - y);
    }
    return (uint32_t)out;
}

static inline u32 dot(u32 a, u32 b, int width_a, int width_b, int count, bool sign_a, bool sign_b,
                      int from)
{
    I sum = 0;
    for (int i = 0; i < count; i++) {
        I x = (I)(a >> i * width_a & ((1u << width_a) - 1));
        I y = (I)(b >> (from + i * width_b) & ((1u << width_b) - 1));
        if (sign_a && x >> (width_a - 1))
            x -= (I)1 << width_a;
        if (sign_b && y >> (width_b - 1))
            y -= (I)1 << width_b;
        sum += x * y;
    }
    return (u32)sum;
}

/* ---- floats ------------------------------------------------------------------- */

static inline f32 flush(f32 x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static inline f32 unit(f32 x)
{
    return isnan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
}

static inline f32 lesser(f32 a, f32 b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static inline f64 lesser64(f64 a, f64 b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static inline u32 with_sign_bits(f32 magnitude, bool negative)
{
    u32 bits;
    memcpy(&bits, &magnitude, 4);
    if (isnan(magnitude))
        bits = 0x7fffffffu;
    return (bits & 0x7fffffffu) | (u32)negative << 31;
}

enum direction { NEAREST, ZERO, DOWN, UP, AWAY };

/* A magnitude times 2^-shift, rounded. */
static inline U128 shift_round(U128 m, int shift, enum direction direction, bool negative)
{
    if (shift <= 0)
        return m << -shift;
    const U128 kept = shift > 127 ? 0 : m >> shift;
    const U128 lost = shift > 127 ? m : m & (((U128)1 << shift) - 1);
    const U128 half = shift > 127 ? (U128)1 << 127 : (U128)1 << (shift - 1);
    bool up = false;
    switch (direction) {
    case NEAREST: up = shift <= 127 && (lost > half || (lost == half && (kept & 1))); break;
    case AWAY: up = shift <= 127 && lost >= half; break;
    case UP: up = lost && !negative; break;
    case DOWN: up = lost && negative; break;
    case ZERO: break;
    }
    return kept + up;
}

static inline bool is_nan(quad x)
{
    return x != x;
}

static inline U128 quad_bits(quad x)
{
    U128 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline quad quad_of(U128 bits)
{
    quad x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x in a format of `precision` bits (the hidden one counts) and `exponents` exponent bits;
 * NaN becomes all ones but the sign. Infinities of the format end with its top exponent. */
static inline u64 encode(quad x, int precision, int exponents, enum direction direction)
{
    const U128 bits = quad_bits(x);
    const bool negative = bits >> 127;
    const int biased = (int)(bits >> 112 & 0x7fff);
    const int bias = (1 << (exponents - 1)) - 1;
    const u64 sign = (u64)negative << (precision - 1 + exponents);
    const u64 infinity = (u64)((1 << exponents) - 1) << (precision - 1);
    if (is_nan(x))
        return infinity | (((u64)1 << (precision - 1)) - 1);
    if (biased == 0x7fff)
        return sign | infinity;
    if (biased == 0)
        return sign;
    const U128 m = (bits & (((U128)1 << 112) - 1)) | (U128)1 << 112;
    const int e = biased - 16383; /* x = m / 2^112 * 2^e */
    const int lowest = 1 - bias;
    const int quantum = (e < lowest ? lowest : e) - (precision - 1);
    u64 units = (u64)shift_round(m, 112 + quantum - e, direction, negative);
    int exponent = quantum + precision - 1;
    if (units >> precision) {
        units >>= 1;
        exponent++;
    }
    const bool normal = units >> (precision - 1);
    if (normal && exponent > bias) {
        const bool down = direction == ZERO || (direction == UP && negative) ||
                          (direction == DOWN && !negative);
        return sign | (infinity - down);
    }
    return sign | (normal ? (u64)(exponent + bias) << (precision - 1) : 0) |
           (units & (((u64)1 << (precision - 1)) - 1));
}

static inline f32 from_f16(u32 h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const f32 v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((f32)(1024 + m), e - 25)
                                                     : ldexpf((f32)m, -24);
    return h & 0x8000 ? -v : v;
}

static inline f32 from_bf16(u32 h)
{
    const u32 bits = h << 16;
    f32 x;
    memcpy(&x, &bits, 4);
    return x;
}

#define to_f16(x) ((u16)encode((quad)(x), 11, 5, NEAREST))
#define to_bf16(x) ((u16)encode((quad)(x), 8, 8, NEAREST))

/* a * b + c in quadruple precision, with an odd last bit where anything was lost. */
static inline quad fused(quad a, quad b, quad c)
{
    const quad p = a * b, q = p + c;
    const quad part = q - p, lost = (p - (q - part)) + (c - part);
    if (is_nan(q) || lost == 0 || (quad_bits(q) >> 112 & 0x7fff) == 0x7fff ||
        (quad_bits(q) & 1))
        return q;
    return quad_of((lost > 0) == (q > 0) ? quad_bits(q) + 1 : quad_bits(q) - 1);
}

static inline u16 fused_f16(u32 a, u32 b, u32 c)
{
    return to_f16(fused((quad)from_f16(a), (quad)from_f16(b), (quad)from_f16(c)));
}

static inline u16 fused_bf16(u32 a, u32 b, u32 c)
{
    return to_bf16(fused((quad)from_bf16(a), (quad)from_bf16(b), (quad)from_bf16(c)));
}

static inline u16 flush_f16(u32 h)
{
    return (u16)(h & 0x7c00 ? h : h & 0x8000);
}

static inline u16 positive_f16(u32 h)
{
    return (u16)(isnan(from_f16(h)) ? 0x7fff : h >> 15 ? 0 : h);
}

static inline u16 positive_bf16(u32 h)
{
    return (u16)(isnan(from_bf16(h)) ? 0x7fff : h >> 15 ? 0 : h);
}

static inline u16 finite_f16(u32 h)
{
    return (u16)((h & 0x7fff) == 0x7c00 ? h - 1 : h);
}

static inline u16 finite_bf16(u32 h)
{
    return (u16)((h & 0x7fff) == 0x7f80 ? h - 1 : h);
}

static inline u32 positive_fp8(u32 b)
{
    return b & 0x80 ? 0 : b;
}

static inline u32 tf32_away(f32 x)
{
    return isnan(x) ? 0x7fffffffu : (u32)(encode((quad)x, 11, 8, AWAY) << 13);
}

static inline f32 from_fp8(u32 b, int exponents)
{
    const int mantissa = 7 - exponents, bias = (1 << (exponents - 1)) - 1;
    const int e = (int)(b >> mantissa) & ((1 << exponents) - 1), m = (int)b & ((1 << mantissa) - 1);
    f32 v = e ? ldexpf((f32)((1 << mantissa) + m), e - bias - mantissa)
              : ldexpf((f32)m, 1 - bias - mantissa);
    if (exponents == 5 && e == 31)
        v = m ? NAN : INFINITY;
    if (exponents == 4 && (b & 0x7f) == 0x7f)
        v = NAN;
    return b & 0x80 ? -v : v;
}

/* The nearest of all finite values, ties to the even pattern. */
static inline u32 fp8(f32 x, int exponents, f32 largest)
{
    u32 best = 0;
    if (isnan(x))
        return 0x7f;
    const f32 a = fabsf(x) > largest ? largest : fabsf(x);
    for (u32 b = 1; b < 0x80; b++) {
        const f32 v = from_fp8(b, exponents);
        if (isnan(v) || v > largest)
            continue;
        const f64 d = fabs((f64)v - (f64)a), e = fabs((f64)from_fp8(best, exponents) - (f64)a);
        if (d < e || (d == e && !(b & 1)))
            best = b;
    }
    return best | (signbit(x) ? 0x80 : 0);
}

#endif
