/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics: every operation, type and space. */
#include "tests/soft/simt/entry.h"
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

static u64 after(const char *op, const char *type, u64 old, u64 b, u64 c)
{
    const bool is_signed = type[0] == 's', wide = !strcmp(type + 1, "64");
    const I x = wide ? is_signed ? (I)(s64)old : (I)old : is_signed ? (I)(s32)old : (I)(u32)old;
    const I y = wide ? is_signed ? (I)(s64)b : (I)b : is_signed ? (I)(s32)b : (I)(u32)b;
    if (!strcmp(op, "add")) return (u64)(x + y);
    if (!strcmp(op, "min")) return (u64)(x < y ? x : y);
    if (!strcmp(op, "max")) return (u64)(x > y ? x : y);
    if (!strcmp(op, "and")) return old & b;
    if (!strcmp(op, "or")) return old | b;
    if (!strcmp(op, "xor")) return old ^ b;
    if (!strcmp(op, "exch")) return b;
    if (!strcmp(op, "inc")) return x >= y ? 0 : (u64)(x + 1);
    if (!strcmp(op, "dec")) return x == 0 || x > y ? (u64)y : (u64)(x - 1);
    return old == b ? c : old; /* cas */
}

/* Every operation and type in global, shared and generic memory, lane after lane. */
static void test_atomics(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"add", "u32"}, {"add", "s32"}, {"add", "u64"}, {"min", "u32"}, {"min", "s32"},
        {"min", "u64"}, {"min", "s64"}, {"max", "u32"}, {"max", "s32"}, {"max", "u64"},
        {"max", "s64"}, {"and", "b32"}, {"and", "b64"}, {"or", "b32"},  {"or", "b64"},
        {"xor", "b32"}, {"xor", "b64"}, {"exch", "b32"}, {"exch", "b64"}, {"inc", "u32"},
        {"dec", "u32"}, {"cas", "b32"}, {"cas", "b64"}};
    static const char *const where[] = {".global", ".shared", "", ".relaxed.gpu.global",
                                        ".acq_rel.cta.shared::cta"};
    enum { ROWS = sizeof rows / sizeof rows[0], WHERE = sizeof where / sizeof where[0] };
    struct text text = {0};
    struct rig rig;
    add(&text, HEAD);
    for (int n = 0; n < ROWS * WHERE; n++) {
        const char *op = rows[n % ROWS][0], *type = rows[n % ROWS][1];
        const bool shared = strstr(where[n / ROWS], "shared") != NULL;
        const int bits = atoi(type + 1);
        add(&text,
            ".visible .entry k%d(.param .u64 out, .param .u64 in)\n{\n%s.reg .b%d %%v<6>;\n"
            ".shared .align 8 .b64 cell; mov.u32 %%i, %%tid.x; ld.param.u64 %%x, [out];\n"
            "ld.param.u64 %%y, [in]; mov.u64 %%d3, %%x; mov.u64 %%d2, cell;\n"
            "ld.global.b%d %%v4, [%%x]; st.shared.b%d [cell], %%v4;\n"
            "mad.wide.u32 %%y, %%i, %d, %%y; ld.global.b%d %%v0, [%%y]; ld.global.b%d %%v1, "
            "[%%y+8];\n"
            "atom%s.%s.%s %%v2, [%s], %%v0%s;\n"
            "mad.wide.u32 %%d4, %%i, 8, %%x; st.global.b%d [%%d4+8], %%v2;\n",
            n, REGISTERS, bits, bits, bits, 8, bits, bits, where[n / ROWS], op, type,
            shared ? "%d2" : "%d3", strcmp(op, "cas") ? "" : ", %v1", bits);
        add(&text,
            shared ? "ld.shared.b%d %%v3, [cell]; st.global.b%d [%%x], %%v3; ret;\n}\n"
                   : "ret;\n}\n",
            bits, bits);
    }
    rig_open(&rig, text.at, 1);
    free(text.at);
    u64 *out = rig_buffer(&rig, 33 * 8), *in = rig_buffer(&rig, 40 * 8);
    for (int n = 0; n < ROWS * WHERE; n++) {
        const char *op = rows[n % ROWS][0], *type = rows[n % ROWS][1];
        const u64 keep = strstr(type, "64") ? ~(u64)0 : 0xffffffffu;
        char name[16];
        snprintf(name, sizeof name, "k%d", n);
        memset(out, 0, 33 * 8);
        u64 cell = out[0] = random64() & keep;
        for (int i = 0; i < 34; i++)
            in[i] = random64() % 3 ? random64() & keep : cell + random64() % 3;
        if (!strcmp(op, "cas"))
            in[3] = cell;
        rig_run(&rig, name, RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
        for (int i = 0; i < 32; i++) {
            assert_int_equal(out[1 + i], cell);
            cell = after(op, type, cell, in[i] & keep, in[i + 1] & keep) & keep;
        }
        assert_int_equal(out[0], cell);
    }
    rig_close(&rig);
}

static void test_float_atomics(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             KERNEL("f32")
                 "red.global.add.f32 [%x], 0f3FC00000; atom.add.f32 %r1, [%x+4], 0fBF800000;\n"
                 "red.relaxed.sys.global.add.u32 [%x+8], 3; ret;\n}\n"
             KERNEL("f64") "red.global.add.f64 [%x], 0d3FF8000000000000; ret;\n}\n"
             KERNEL("halves")
                 "mov.b16 %h1, 0x3c00; mov.b32 %r1, 0x40003c00; mov.b16 %h2, 0x3f80;\n"
                 "mov.b32 %r2, 0x40003f80; atom.global.add.noftz.f16 %h3, [%x], %h1;\n"
                 "atom.global.add.noftz.f16x2 %r3, [%x+4], %r1;\n"
                 "red.global.add.noftz.bf16 [%x+8], %h2;\n"
                 "red.global.add.noftz.bf16x2 [%x+12], %r2; ret;\n}\n"
             KERNEL("subnormal")
                 ".shared .align 4 .b32 cell; st.shared.u32 [cell], 1;\n"
                 "red.shared.add.f32 [cell], 0f00000001; ld.shared.u32 %r1, [cell];\n"
                 "st.global.u32 [%x], 1; red.global.add.f32 [%x], 0f00000001;\n"
                 "st.global.u32 [%x+4], %r1; ret;\n}\n",
             2);
    float *sum = rig_buffer(&rig, 16);
    double *wide = rig_buffer(&rig, 8);
    u16 *halves = rig_buffer(&rig, 16);
    u32 *bits = rig_buffer(&rig, 8);
    rig_run(&rig, "f32", RIG_X(10), RIG_X(100), RIG_ARGS(&sum, &sum));
    assert_true(sum[0] == 1500.0f && sum[1] == -1000.0f);
    assert_int_equal(((u32 *)(void *)sum)[2], 3000);
    rig_run(&rig, "f64", RIG_X(10), RIG_X(100), RIG_ARGS(&wide, &wide));
    assert_true(*wide == 1500.0);
    rig_run(&rig, "halves", RIG_X(1), RIG_X(64), RIG_ARGS(&halves, &halves));
    assert_int_equal(halves[0], 0x5400);
    assert_int_equal(halves[2], 0x5400);
    assert_int_equal(halves[3], 0x5800);
    assert_int_equal(halves[4], 0x4280);
    assert_int_equal(halves[6], 0x4280);
    assert_int_equal(halves[7], 0x4300);
    /* Global memory flushes subnormals, shared memory keeps them. */
    rig_run(&rig, "subnormal", RIG_X(1), RIG_X(1), RIG_ARGS(&bits, &bits));
    assert_int_equal(bits[0], 0);
    assert_int_equal(bits[1], 2);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_float_atomics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
