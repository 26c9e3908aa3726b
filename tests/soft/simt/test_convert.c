/* SPDX-License-Identifier: Apache-2.0 */
/* cvt between every pair of types in every rounding mode that PTX allows for the pair, with
 * registers as narrow as the types and wider ones, against exact arithmetic. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

static const struct type {
    const char *name;
    enum kind kind;
    int bits, precision, exponents; /* of floats */
    bool is_real, is_signed;
} types[] = {
    {"u8", K_u8, 8, 0, 0, false, false},    {"s8", K_s8, 8, 0, 0, false, true},
    {"u16", K_u16, 16, 0, 0, false, false}, {"s16", K_s16, 16, 0, 0, false, true},
    {"u32", K_u32, 32, 0, 0, false, false}, {"s32", K_s32, 32, 0, 0, false, true},
    {"u64", K_u64, 64, 0, 0, false, false}, {"s64", K_s64, 64, 0, 0, false, true},
    {"f16", K_f16, 16, 11, 5, true, true},  {"bf16", K_bf16, 16, 8, 8, true, true},
    {"f32", K_f32, 32, 24, 8, true, true},  {"f64", K_f64, 64, 53, 11, true, true},
};
enum { TYPES = sizeof types / sizeof types[0] };

static const struct mode { const char *name; enum direction direction; bool whole; } modes[] = {
    {"", NEAREST, false},    {".rn", NEAREST, false}, {".rz", ZERO, false}, {".rm", DOWN, false},
    {".rp", UP, false},      {".rni", NEAREST, true}, {".rzi", ZERO, true}, {".rmi", DOWN, true},
    {".rpi", UP, true},
};
enum { MODES = sizeof modes / sizeof modes[0] };

struct conversion {
    const struct type *to, *from;
    const struct mode *mode;
    bool ftz, sat;
    int to_width, from_width; /* of the registers, in bits */
};

/* What the interpreter runs; the PTX ISA's table allows a little more for narrow floats. */
static bool allowed(const struct conversion *c)
{
    const struct type *to = c->to, *from = c->from;
    const bool plain = !c->mode->name[0];
    const bool has_bf16 = to->kind == K_bf16 || from->kind == K_bf16;
    if (c->ftz && (to->kind != K_f32 || !to->is_real) && from->kind != K_f32)
        return false;
    if (c->ftz &&
        (to->kind == K_bf16 || from->kind == K_bf16 || (!to->is_real && c->sat) ||
         (to->kind == K_f64 && c->sat) || (to->kind == K_f16 && c->sat) || !from->is_real))
        return false;
    if (!to->is_real && !from->is_real)
        return plain;
    if (!to->is_real)
        return c->mode->whole;
    if (!from->is_real)
        return !plain && !c->mode->whole && !c->sat;
    if (to->kind == from->kind) {
        if (has_bf16)
            return c->mode->whole && !c->sat;
        return (plain || c->mode->whole) && !(to->kind == K_f16 && c->mode->whole && c->sat);
    }
    const bool narrows = to->bits < from->bits || (to->bits == 16 && from->bits == 16);
    if (narrows)
        return !plain && !c->mode->whole && !(to->kind == K_bf16 && c->sat);
    return plain && !(to->kind == K_f64 && from->bits == 16 && c->sat);
}

static void spell(const struct conversion *c, char text[64])
{
    snprintf(text, 64, "cvt%s%s%s.%s.%s", c->mode->name, c->ftz ? ".ftz" : "", c->sat ? ".sat" : "",
             c->to->name, c->from->name);
}

/* ---- what it should be -------------------------------------------------------- */

static quad value_of(const struct type *type, u64 bits)
{
    f32 narrow;
    f64 wide;
    const u32 low = (u32)bits;
    switch ((int)type->kind) {
    case K_f16: return (quad)from_f16(low & 0xffff);
    case K_bf16: return (quad)from_bf16(low & 0xffff);
    case K_f32: memcpy(&narrow, &low, 4); return (quad)narrow;
    case K_f64: memcpy(&wide, &bits, 8); return (quad)wide;
    case K_s8: return (quad)(s8)bits;
    case K_s16: return (quad)(s16)bits;
    case K_s32: return (quad)(s32)bits;
    case K_s64: return (quad)(s64)bits;
    default: return (quad)(type->bits == 64 ? bits : bits & (((u64)1 << type->bits) - 1));
    }
}

/* To an integer in floating point; magnitudes from 2^113 on are integers already. */
static quad whole(quad x, enum direction direction)
{
    const U128 bits = quad_bits(x);
    const int e = (int)(bits >> 112 & 0x7fff) - 16383;
    const bool negative = bits >> 127;
    if (is_nan(x) || e >= 112)
        return x;
    const U128 m = (bits & (((U128)1 << 112) - 1)) | (e > -16383 ? (U128)1 << 112 : 0);
    const quad magnitude = (quad)shift_round(m, e < -16000 ? 112 : 112 - e > 200 ? 200 : 112 - e,
                                             direction, negative);
    return negative ? -magnitude : magnitude;
}

static I lowest(const struct type *type)
{
    return type->is_signed ? -((I)1 << (type->bits - 1)) : 0;
}

static I highest(const struct type *type)
{
    return ((I)1 << (type->bits - type->is_signed)) - 1;
}

static u64 to_integer(const struct conversion *c, quad x)
{
    const struct type *to = c->to;
    if (is_nan(x)) {
        if (c->from->kind != K_f64 && to->bits != 64)
            return 0;
        return (u64)1 << (to->bits - 1);
    }
    x = whole(x, c->mode->direction);
    if (x < (quad)lowest(to))
        return (u64)lowest(to);
    return (u64)(x > (quad)highest(to) ? highest(to) : (I)x);
}

static quad flushed(quad x)
{
    const quad least = quad_of((U128)(16383 - 126) << 112); /* 2^-126 */
    const quad zero = quad_of(quad_bits(x) >> 127 << 127);
    return !is_nan(x) && x < least && x > -least ? zero : x;
}

static u64 to_real(const struct conversion *c, quad x, u64 bits)
{
    if (c->from->kind == c->to->kind && !c->mode->whole && !c->sat && !c->ftz &&
        c->to->kind != K_f32)
        return bits; /* a move */
    if (c->mode->whole)
        x = is_nan(x) || x == 0 ? x : whole(x, c->mode->direction);
    if (c->sat)
        x = is_nan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
    return encode(x, c->to->precision, c->to->exponents, c->mode->direction);
}

/* The whole register: results are extended by the sign of their type. */
static u64 expected(const struct conversion *c, u64 bits)
{
    quad x = value_of(c->from, bits);
    if (c->ftz && c->from->kind == K_f32)
        x = flushed(x);
    u64 result;
    if (!c->to->is_real && !c->from->is_real) {
        const I i = (I)x;
        result = (u64)(c->sat ? limit(i, lowest(c->to), highest(c->to)) : i);
    } else if (!c->to->is_real) {
        result = to_integer(c, x);
    } else {
        result = to_real(c, x, bits);
    }
    if (c->ftz && c->to->kind == K_f32) {
        const u32 exponent = (u32)result & 0x7f800000u;
        result &= exponent ? 0xffffffffu : 0x80000000u;
    }
    if (!c->to->is_real && c->to->bits < 64) {
        result &= ((u64)1 << c->to->bits) - 1;
        if (c->to->is_signed && result >> (c->to->bits - 1))
            result |= ~(((u64)1 << c->to->bits) - 1);
    }
    return c->to_width == 64 ? result : result & (((u64)1 << c->to_width) - 1);
}

/* ---- kernels ------------------------------------------------------------------ */

enum { COUNT = 640, THREADS = 64, MAX_CONVERSIONS = 4000 };

static struct conversion conversions[MAX_CONVERSIONS];
static int conversion_count;

static void add_conversion(struct text *text, const struct conversion *c)
{
    char key[64];
    spell(c, key);
    add(text, ".visible .entry k%d(.param .u64 d, .param .u64 a)\n{\n.reg .b32 %%i<3>; "
              ".reg .b64 %%x<3>; .reg .b%d %%d; .reg .b%d %%a;\n"
              "mov.u32 %%i0, %%ctaid.x; mov.u32 %%i1, %%tid.x; mad.lo.u32 %%i0, %%i0, %d, %%i1;\n"
              "ld.param.u64 %%x0, [d]; ld.param.u64 %%x1, [a];\n"
              "mad.wide.u32 %%x0, %%i0, 8, %%x0; mad.wide.u32 %%x1, %%i0, 8, %%x1;\n"
              "ld.global.b%d %%a, [%%x1];\n%s %%d, %%a;\nst.global.b%d [%%x0], %%d;\nret;\n}\n",
        conversion_count, c->to_width, c->from_width, THREADS, c->from_width, key, c->to_width);
    assert_true(conversion_count < MAX_CONVERSIONS);
    conversions[conversion_count++] = *c;
}

/* Integers and bytes also in registers that are too wide for them. */
static void add_widths(struct text *text, struct conversion *c)
{
    const int to = c->to->bits < 16 ? 16 : c->to->bits,
              from = c->from->bits < 16 ? 16 : c->from->bits;
    const int widest_to = c->to->is_real ? to : 64, widest_from = c->from->is_real ? from : 64;
    for (c->to_width = to; c->to_width <= widest_to; c->to_width *= 2) {
        for (c->from_width = from; c->from_width <= widest_from; c->from_width *= 2) {
            if (c->to_width == to || c->from_width == from)
                add_conversion(text, c);
        }
    }
}

static char *all_kernels(void)
{
    struct text text = {0};
    add(&text, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int n = 0; n < TYPES * TYPES * MODES * 4; n++) {
        struct conversion c = {.to = &types[n % TYPES],
                               .from = &types[n / TYPES % TYPES],
                               .mode = &modes[n / TYPES / TYPES % MODES],
                               .ftz = n / TYPES / TYPES / MODES & 1,
                               .sat = n / TYPES / TYPES / MODES & 2};
        if (allowed(&c))
            add_widths(&text, &c);
    }
    return text.at;
}

static u64 random_value(enum kind kind)
{
    static const u64 near_limits[] = {0x41dfffffffc00000, 0x41efffffffe00000, 0x43dfffffffffffff,
                                      0x43e0000000000000, 0x43efffffffffffff, 0xc3e0000000000001,
                                      0xc1e0000000000000, 0xc1e0000000200000, 0x40e0000000000000,
                                      0x406fe00000000000, 0x4012000000000000, 0xbfe0000000000000};
    static const u32 near_limits32[] = {0x4effffff, 0x4f000000, 0x4f7fffff, 0x5effffff, 0x5f000000,
                                        0xcf000000, 0xcf000001, 0xdf000001, 0x40200000, 0x40600000,
                                        0xbf000000, 0x3effffff, 0x437f8000, 0x42ff8000};
    if (kind == K_f64 && random64() % 3 == 0)
        return PICK(near_limits);
    if (kind == K_f32 && random64() % 3 == 0)
        return PICK(near_limits32);
    return value_of_kind(kind);
}

static void test_every_conversion(void **state)
{
    (void)state;
    struct rig rig;
    int wrong = 0;
    char *text = all_kernels();
    print_message("%d conversions\n", conversion_count);
    rig_open(&rig, text, 2);
    free(text);
    u64 *to = rig_buffer(&rig, 8 * COUNT), *from = rig_buffer(&rig, 8 * COUNT);
    for (int n = 0; n < conversion_count; n++) {
        const struct conversion *c = &conversions[n];
        char name[16], key[64];
        snprintf(name, sizeof name, "k%d", n);
        spell(c, key);
        for (int i = 0; i < COUNT; i++) {
            from[i] = random_value(c->from->kind);
            to[i] = 0;
        }
        rig_run(&rig, name, RIG_X(COUNT / THREADS), RIG_X(THREADS), RIG_ARGS(&to, &from));
        int shown = 0;
        for (int i = 0; i < COUNT; i++) {
            const u64 wanted = expected(c, from[i]);
            const bool both_nan = c->to->kind == K_f64 && is_nan(value_of(c->to, wanted)) &&
                                  is_nan(value_of(c->to, to[i]));
            if (to[i] == wanted || both_nan)
                continue;
            wrong++;
            if (shown++ < 2)
                print_error("%s (%d from %d bits) of %#llx is %#llx, not %#llx\n", key, c->to_width,
                            c->from_width, (unsigned long long)from[i], (unsigned long long)to[i],
                            (unsigned long long)wanted);
        }
    }
    rig_close(&rig);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_conversion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
