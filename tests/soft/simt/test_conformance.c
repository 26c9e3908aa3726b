/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of conformance.def as two kernels, one that runs the instruction in all lanes
 * and one that runs it under a guard, over edge values and random ones. */
#include "tests/soft/simt/reference.h"
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

/* ---- the table ---------------------------------------------------------------- */

/* The bits of a result, NaN made canonical. */
static u64 as_u16(u16 x) { return x; }
static u64 as_s16(s16 x) { return (u16)x; }
static u64 as_u32(u32 x) { return x; }
static u64 as_s32(s32 x) { return (u32)x; }
static u64 as_u64(u64 x) { return x; }
static u64 as_s64(s64 x) { return (u64)x; }
static u64 as_f16(u16 x) { return x; }
static u64 as_bf16(u16 x) { return x; }
static u64 as_kept(f32 x)
{
    u32 bits;
    memcpy(&bits, &x, 4);
    return bits;
}
static u64 as_f32(f32 x)
{
    return isnan(x) ? 0x7fffffffu : as_kept(x);
}
static u64 as_f64(f64 x)
{
    u64 bits;
    memcpy(&bits, &x, 8);
    return isnan(x) ? UINT64_C(0x7ff8000000000000) : bits;
}

#define rounded32(expr, mode)                                                                   \
    __extension__({                                                                             \
        fesetround(mode);                                                                       \
        const volatile f32 r_ = (expr);                                                         \
        fesetround(FE_TONEAREST);                                                               \
        r_;                                                                                     \
    })
#define rounded64(expr, mode)                                                                   \
    __extension__({                                                                             \
        fesetround(mode);                                                                       \
        const volatile f64 r_ = (expr);                                                         \
        fesetround(FE_TONEAREST);                                                               \
        r_;                                                                                     \
    })
/* Results that are bits already: a NaN stays what it is. */
static bool kept;
#define KEEP(x) (kept = true, (x))
static u64 raw(const void *value, size_t bytes)
{
    u64 bits = 0;
    memcpy(&bits, value, bytes);
    return bits;
}
static u32 exact_bits;
static bool exact;
static f32 with_sign(f32 magnitude, bool negative)
{
    exact = true;
    exact_bits = with_sign_bits(magnitude, negative);
    return 0;
}

struct operands { u64 a, b, c; };

/* The answer to row number `row`, as bits. */
static u64 reference(int row, const struct operands *in)
{
#define ROW(key, D, A, B, C, ...)                                                               \
    case __COUNTER__ - FIRST_ROW: {                                                             \
        enum { BITS = 8 * sizeof(A) };                                                          \
        A a_;                                                                                   \
        B b_;                                                                                   \
        C c_;                                                                                   \
        (void)BITS;                                                                             \
        memcpy(&a_, &in->a, sizeof a_);                                                         \
        memcpy(&b_, &in->b, sizeof b_);                                                         \
        memcpy(&c_, &in->c, sizeof c_);                                                         \
        const volatile A a = a_;                                                                \
        const volatile B b = b_;                                                                \
        const volatile C c = c_;                                                                \
        (void)a, (void)b, (void)c;                                                              \
        const D d = (D)(__VA_ARGS__);                                                           \
        return exact ? exact_bits : kept ? raw(&d, sizeof d) : as_##D(d);                       \
    }
#define PRED(key, A, B, ...) ROW(key, u32, A, B, no, (__VA_ARGS__) ? 1 : 0)
#define TEST(key, A, ...) ROW(key, u32, A, no, no, (__VA_ARGS__) ? 1 : 0)
    enum { FIRST_ROW = __COUNTER__ + 1 };
    kept = exact = false;
    switch (row) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#include "tests/soft/simt/conformance.def"
#pragma GCC diagnostic pop
    default: return 0;
    }
}
#undef ROW
#undef PRED
#undef TEST

static const struct row {
    const char *key;
    enum kind kind[4]; /* of d, a, b, c */
} rows[] = {
#define ROW(key, D, A, B, C, ...) {key, {K_##D, K_##A, K_##B, K_##C}},
#define PRED(key, A, B, ...) {key, {K_pred, K_##A, K_##B, K_no}},
#define TEST(key, A, ...) {key, {K_pred, K_##A, K_no, K_no}},
#include "tests/soft/simt/conformance.def"
};
#define ROWS (int)(sizeof rows / sizeof rows[0])

/* ---- kernels ------------------------------------------------------------------ */

enum { COUNT = 2000, THREADS = 96, BLOCKS = (COUNT + THREADS - 1) / THREADS };

/* d is loaded first, so that lanes that are guarded off show that they kept it. */
static void add_kernel(struct text *text, int number, bool guarded)
{
    const struct row *row = &rows[number];
    static const char names[] = "dabc";
    add(text,
        ".visible .entry %s%d(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
        ".reg .pred %%p<4>; .reg .b32 %%i<6>; .reg .b64 %%x<12>;\n",
        guarded ? "guarded" : "plain", number);
    for (int k = 0; k < 4; k++)
        add(text, ".reg .b%d %%%c;\n", width_of[row->kind[k]] ? 8 * width_of[row->kind[k]] : 32,
            names[k]);
    add(text, "mov.u32 %%i0, %%ctaid.x; mov.u32 %%i1, %%tid.x;\n"
              "mad.lo.u32 %%i0, %%i0, %d, %%i1;\nsetp.ge.u32 %%p0, %%i0, %d;\n@%%p0 ret;\n"
              "rem.u32 %%i2, %%i0, 3;\nsetp.ne.u32 %%p1, %%i2, 0;\n", THREADS, COUNT);
    for (int k = 0; k < 4; k++) {
        if (row->kind[k] != K_no)
            add(text, "ld.param.u64 %%x%d, [%c];\nmad.wide.u32 %%x%d, %%i0, %d, %%x%d;\n"
                      "ld.global.b%d %%%c, [%%x%d];\n",
                k, names[k], k, width_of[row->kind[k]], k, 8 * width_of[row->kind[k]], names[k], k);
    }
    if (row->kind[0] == K_pred)
        add(text, "setp.ne.b32 %%p2, %%d, 0;\n");
    add(text, "%s%s %s", guarded ? "@%p1 " : "", row->key, row->kind[0] == K_pred ? "%p2" : "%d");
    for (int k = 1; k < 4 && row->kind[k] != K_no; k++)
        add(text, ", %%%c", names[k]);
    add(text, ";\n");
    if (row->kind[0] == K_pred)
        add(text, "selp.b32 %%d, 1, 0, %%p2;\n");
    add(text, "st.global.b%d [%%x0], %%d;\nret;\n}\n", 8 * width_of[row->kind[0]]);
}

static char *all_kernels(void)
{
    struct text text = {0};
    add(&text, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int row = 0; row < ROWS; row++) {
        add_kernel(&text, row, false);
        add_kernel(&text, row, true);
    }
    return text.at;
}

static u64 read_value(const unsigned char *from, int width, int i)
{
    u64 value = 0;
    memcpy(&value, from + (size_t)i * (size_t)width, (size_t)width);
    return value;
}

static bool is_same(enum kind kind, u64 is, u64 wanted)
{
    if (kind == K_f64 && wanted == UINT64_C(0x7ff8000000000000))
        return (is & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return is == wanted;
}

static int check_row(struct rig *rig, int number, bool guarded, unsigned char *const memory[4])
{
    const struct row *row = &rows[number];
    char name[32];
    int wrong = 0;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < COUNT && width_of[row->kind[k]]; i++) {
            const u64 value = value_of_kind(row->kind[k]);
            memcpy(memory[k] + i * width_of[row->kind[k]], &value, (size_t)width_of[row->kind[k]]);
        }
    }
    unsigned char before[8 * COUNT];
    memcpy(before, memory[0], sizeof before);
    snprintf(name, sizeof name, "%s%d", guarded ? "guarded" : "plain", number);
    rig_run(rig, name, RIG_X(BLOCKS), RIG_X(THREADS),
            RIG_ARGS(&memory[0], &memory[1], &memory[2], &memory[3]));
    for (int i = 0; i < COUNT; i++) {
        struct operands in = {0};
        u64 *const operand[] = {&in.a, &in.b, &in.c};
        for (int k = 1; k < 4; k++)
            *operand[k - 1] = read_value(memory[k], width_of[row->kind[k]], i);
        const int width = width_of[row->kind[0]];
        const bool skipped = guarded && i % 3 == 0;
        u64 wanted = skipped ? read_value(before, width, i) : reference(number, &in);
        if (skipped && row->kind[0] == K_pred)
            wanted = wanted != 0;
        const u64 is = read_value(memory[0], width, i);
        if ((skipped ? is != wanted : !is_same(row->kind[0], is, wanted)) && wrong++ < 3)
            print_error("%s%s of %#llx, %#llx, %#llx is %#llx, not %#llx\n", row->key,
                        skipped ? " (guarded off)" : "", (unsigned long long)in.a,
                        (unsigned long long)in.b, (unsigned long long)in.c, (unsigned long long)is,
                        (unsigned long long)wanted);
    }
    return wrong != 0;
}

static void test_every_row(void **state)
{
    (void)state;
    struct rig rig;
    char *text = all_kernels();
    rig_open(&rig, text, 2);
    free(text);
    unsigned char *memory[4];
    for (int k = 0; k < 4; k++)
        memory[k] = rig_buffer(&rig, 8 * COUNT);
    int wrong = 0;
    for (int row = 0; row < ROWS; row++)
        wrong += check_row(&rig, row, false, memory) + check_row(&rig, row, true, memory);
    rig_close(&rig);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    print_message("seed %llu, %d rows\n", (unsigned long long)random_state, ROWS);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
