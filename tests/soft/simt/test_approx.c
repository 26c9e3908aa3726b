/* SPDX-License-Identifier: Apache-2.0 */
/* The approximate functions against long double: how far off each may be is what approx.h
 * promises, and far inside what the PTX ISA asks for. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

enum { COUNT = 4096 };

static long double two_to(long double x) { return exp2l(x); }
static long double one_over(long double x) { return 1 / x; }
static long double one_over_root(long double x) { return 1 / sqrtl(x); }

/* `ulps` is the largest error; the argument is drawn from all floats, or from [-limit, limit]. */
static const struct function {
    const char *opcode;
    long double (*exact)(long double x);
    double ulps, limit;
} functions[] = {
    {"ex2.approx.f32", two_to, 0.500001, 160}, {"lg2.approx.f32", log2l, 0.500001, 0},
    {"tanh.approx.f32", tanhl, 0.500001, 12},  {"sin.approx.f32", sinl, 0.500001, 1000},
    {"cos.approx.f32", cosl, 0.500001, 1000},  {"rsqrt.approx.f32", one_over_root, 0.500001, 0},
    {"sqrt.approx.f32", sqrtl, 0.5, 0},        {"rcp.approx.f32", one_over, 0.5, 0},
    {"ex2.approx.ftz.f32", two_to, 0.500001, 120}, {"lg2.approx.ftz.f32", log2l, 0.500001, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static char *all_kernels(void)
{
    struct text text = {0};
    add(&text, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int n = 0; n < FUNCTIONS; n++)
        add(&text,
            ".visible .entry k%d(.param .u64 to, .param .u64 from)\n{\n"
            ".reg .b32 %%r<4>; .reg .f32 %%f<2>; .reg .b64 %%x<4>;\n"
            "mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%tid.x; mad.lo.u32 %%r0, %%r0, 128, %%r1;\n"
            "ld.param.u64 %%x0, [to]; ld.param.u64 %%x1, [from];\n"
            "mad.wide.u32 %%x0, %%r0, 4, %%x0; mad.wide.u32 %%x1, %%r0, 4, %%x1;\n"
            "ld.global.f32 %%f0, [%%x1]; %s %%f1, %%f0; st.global.f32 [%%x0], %%f1;\nret;\n}\n",
            n, functions[n].opcode);
    return text.at;
}

static f32 argument(const struct function *function)
{
    const u32 bits = (u32)value_of_kind(K_f32);
    f32 x;
    memcpy(&x, &bits, 4);
    if (function->limit > 0 && (isnan(x) || fabsf(x) > (f32)function->limit))
        x = (f32)((double)(s64)random64() * 0x1p-63 * function->limit);
    return x;
}

/* The distance from the exact value in units of the last place of the floats around it. */
static double error_of(f32 is, long double exact, bool flushed)
{
    const f32 near = (f32)exact;
    if (isnan(exact))
        return isnan(is) ? 0 : INFINITY;
    if (flushed && fabsl(exact) < 0x1p-126L)
        return is == 0 || fabsf(is) == 0x1p-126f ? 0 : INFINITY;
    if (isinf(near) || isinf(is))
        return is == near ? 0 : INFINITY;
    int e = ilogbl(exact == 0 ? 0x1p-149L : exact);
    if (e < -126)
        e = -126;
    return (double)(fabsl((long double)is - exact) / ldexpl(1, e - 23));
}

static void test_errors(void **state)
{
    (void)state;
    struct rig rig;
    char *text = all_kernels(), name[16];
    int wrong = 0;
    rig_open(&rig, text, 2);
    free(text);
    f32 *to = rig_buffer(&rig, 4 * COUNT), *from = rig_buffer(&rig, 4 * COUNT);
    for (int n = 0; n < FUNCTIONS; n++) {
        const struct function *function = &functions[n];
        const bool flushed = strstr(function->opcode, ".ftz") != NULL;
        double worst = 0;
        for (int i = 0; i < COUNT; i++)
            from[i] = argument(function);
        snprintf(name, sizeof name, "k%d", n);
        rig_run(&rig, name, RIG_X(COUNT / 128), RIG_X(128), RIG_ARGS(&to, &from));
        for (int i = 0; i < COUNT; i++) {
            const f32 x = flushed ? flush(from[i]) : from[i];
            const double error = error_of(to[i], function->exact((long double)x), flushed);
            if (error > worst)
                worst = error;
            if (error > function->ulps && wrong++ < 5)
                print_error("%s of %a is %a, %g ulp off\n", function->opcode, (double)from[i],
                            (double)to[i], error);
        }
        print_message("%-20s at most %.7f ulp\n", function->opcode, worst);
    }
    rig_close(&rig);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
