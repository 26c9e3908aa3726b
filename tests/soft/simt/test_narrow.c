/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of tests/kernels on narrow types, against plain C. */
#include "tests/soft/simt/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- 14, 15: narrow types ----------------------------------------------------- */

static double half(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const double special = (double)(m ? NAN : INFINITY);
    const double v = e == 0 ? ldexp(m, -24) : e == 31 ? special : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

static uint16_t to_half(double x) /* to nearest, in the range that is used here */
{
    int e;
    const double a = fabs(x);
    frexp(a, &e);
    const double ulp = ldexp(1, (e < -13 ? -13 : e) - 11);
    const double r = nearbyint(a / ulp) * ulp;
    frexp(r, &e);
    const unsigned bits = r == 0 ? 0
                          : e < -13
                              ? (unsigned)ldexp(r, 24)
                              : (unsigned)(e + 14) << 10 | ((unsigned)ldexp(r, 11 - e) & 1023);
    return (uint16_t)(bits | (signbit(x) ? 0x8000 : 0));
}

static uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void test_halves(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 300, pairs = 150;
    open_kernels(&rig, "14_half");
    uint16_t *x = rig_buffer(&rig, 600), *y = rig_buffer(&rig, 600), *z = rig_buffer(&rig, 600);
    float *f = random_floats(&rig, 300, 9);
    uint32_t seed = 5;
    uint16_t old[300];
    for (int i = 0; i < n; i++) {
        x[i] = to_half((double)unit(&seed));
        old[i] = y[i] = to_half((double)unit(&seed));
    }
    const uint16_t a = to_half(1.5);
    rig_run(&rig, "half_axpy", RIG_X(3), RIG_X(128), RIG_ARGS(&x, &y, &a, &n));
    for (int i = 0; i < n; i++)
        assert_int_equal(y[i], to_half(1.5 * half(x[i]) + half(old[i])));
    rig_run(&rig, "half2_gelu", RIG_X(2), RIG_X(128), RIG_ARGS(&x, &z, &pairs));
    for (int i = 0; i < n; i++)
        near((float)half(z[i]), half(x[i]) / (1 + exp(-half(x[i]))), 1e-3, 1e-4, "gelu", (size_t)i);
    rig_run(&rig, "half_ops", RIG_X(3), RIG_X(128), RIG_ARGS(&x, &y, &z, &n));
    for (int i = 0; i < n; i++) {
        uint16_t c = to_half(half(x[i]) + half(y[i]));
        c = to_half(half(c) * half(x[i]));
        c = to_half(half(c) - half(y[i]));
        if (half(c) > half(x[i]))
            c ^= 0x8000;
        const double v = fmax(half(c), half(y[i]));
        near((float)half(z[i]), exp(v), 1e-3, 1e-4, "half_ops", (size_t)i);
    }
    double sums[2] = {0}; /* small integers, so that their order does not matter */
    for (int i = 0; i < n; i++) {
        x[i] = to_half(i % 13 - 6);
        sums[i & 1] += half(x[i]);
    }
    memset(y, 0, 600);
    rig_run(&rig, "half_atomic", RIG_X(2), RIG_X(128), RIG_ARGS(&y, &x, &pairs));
    assert_int_equal(y[0], to_half(sums[0]));
    assert_int_equal(y[1], to_half(sums[1]));
    rig_run(&rig, "bf16_cast", RIG_X(3), RIG_X(128), RIG_ARGS(&f, &x, &n));
    for (int i = 0; i < n; i++)
        assert_int_equal(x[i], to_bf16(f[i]));
    const float scale = 0.75f;
    memcpy(y, x, 600);
    rig_run(&rig, "bf16_axpy", RIG_X(3), RIG_X(128), RIG_ARGS(&x, &y, &scale, &n));
    for (int i = 0; i < n; i++)
        assert_int_equal(y[i], to_bf16(fmaf(scale, from_bf16(x[i]), from_bf16(x[i]))));
    if (simt_module_kernel(rig.module, "bf16x2_fma")) { /* not below sm_80 */
        memcpy(old, y, 600);
        rig_run(&rig, "bf16x2_fma", RIG_X(2), RIG_X(128), RIG_ARGS(&x, &y, &pairs));
        for (int i = 0; i < n; i++)
            assert_int_equal(y[i],
                             to_bf16(fmaf(from_bf16(x[i]), from_bf16(x[i]), from_bf16(old[i]))));
    }
    rig_close(&rig);
}

static uint32_t mixed_bits(uint32_t v)
{
    uint32_t reversed = 0, swapped = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (v >> i & 1) << (31 - i);
    for (int i = 0; i < 4; i++)
        swapped |= (v >> 8 * (3 - i) & 255) << 8 * i;
    const uint32_t w = reversed + (uint32_t)(v ? __builtin_clz(v) : 32) +
                       (uint32_t)__builtin_popcount(v) + (uint32_t)__builtin_ffs((int)v);
    return w + swapped + (v << 7 | v >> 25);
}

static void test_integers(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 300, m = 20, cols = 30, k = 40, k4 = 10;
    open_kernels(&rig, "15_int8");
    float *x = random_floats(&rig, 300, 1), *scale = rig_buffer(&rig, 4);
    int8_t *q = rig_buffer(&rig, 300), *a = rig_buffer(&rig, 800), *b = rig_buffer(&rig, 1200);
    int *c = rig_buffer(&rig, 2400);
    uint32_t seed = 3;
    *scale = 0.0071f;
    rig_run(&rig, "quant_int8", RIG_X(3), RIG_X(128), RIG_ARGS(&x, &q, &scale, &n));
    for (int i = 0; i < n; i++)
        assert_int_equal(q[i], (int)fminf(fmaxf(rintf(x[i] / *scale), -128), 127));
    for (int i = 0; i < 800; i++)
        a[i] = (int8_t)(unit(&seed) * 128);
    for (int i = 0; i < 1200; i++)
        b[i] = (int8_t)(unit(&seed) * 128);
    rig_run(&rig, "gemm_dp4a", RIG_XY(2, 2), RIG_XY(16, 16), RIG_ARGS(&a, &b, &c, &m, &cols, &k4));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < cols; j++) {
            int sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[j * k + l];
            assert_int_equal(c[i * cols + j], sum);
        }
    }
    rig_run(&rig, "gemm_s8", RIG_XY(2, 2), RIG_XY(16, 16), RIG_ARGS(&a, &b, &c, &m, &cols, &k));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < cols; j++) {
            int sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[l * cols + j];
            assert_int_equal(c[i * cols + j], sum);
        }
    }
    uint32_t *v = rig_buffer(&rig, 1200), old32[300];
    uint64_t *w = rig_buffer(&rig, 2400), old64[300];
    for (int i = 0; i < n; i++) {
        unit(&seed);
        old32[i] = v[i] = i ? seed : 0;
        old64[i] = w[i] = i ? (uint64_t)seed * 0x9e3779b97f4a7c15u >> (i & 63) : 0;
    }
    rig_run(&rig, "bits", RIG_X(3), RIG_X(128), RIG_ARGS(&v, &w, &n));
    for (int i = 0; i < n; i++) {
        const uint64_t u = old64[i];
        assert_int_equal(v[i], mixed_bits(old32[i]));
        assert_int_equal(w[i], (uint64_t)__builtin_popcountll(u) +
                                   (u ? (uint64_t)__builtin_clzll(u) : 64) + u / 7 + u % 13);
    }
    rig_close(&rig);
}

/* ---- 16: tensor cores -------------------------------------------------------- */

/* C = A B^T on small whole numbers, which are exact whatever the order of the sums. */
static void check_tensor(struct rig *rig, const char *kernel, bool is_bf16)
{
    const int m = 32, n = 48, k = 64;
    uint16_t *a = rig_buffer(rig, (size_t)(m * k) * 2), *b = rig_buffer(rig, (size_t)(n * k) * 2);
    float *c = rig_buffer(rig, (size_t)(m * n) * 4);
    for (int i = 0; i < m * k; i++)
        a[i] = is_bf16 ? to_bf16((float)(i % 13 - 6)) : to_half(i % 13 - 6);
    for (int i = 0; i < n * k; i++)
        b[i] = is_bf16 ? to_bf16((float)(i % 11 - 5)) : to_half(i % 11 - 5);
    rig_run(rig, kernel, RIG_XY(3, 2), RIG_X(32), RIG_ARGS(&a, &b, &c, &n, &k));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int l = 0; l < k; l++)
                sum += ((i * k + l) % 13 - 6) * ((j * k + l) % 11 - 5);
            assert_true(c[i * n + j] == (float)sum * (is_bf16 ? 1.0f : 0.5f));
        }
    }
}

static void test_tensor_cores(void **state)
{
    (void)state;
    struct rig rig;
    const int m = 32, n = 48, k = 64;
    open_kernels(&rig, "16_tensor");
    check_tensor(&rig, "wmma_half", false);
    int8_t *a = rig_buffer(&rig, (size_t)(m * k)), *b = rig_buffer(&rig, (size_t)(n * k));
    int *c = rig_buffer(&rig, (size_t)(m * n) * 4);
    for (int i = 0; i < m * k; i++)
        a[i] = (int8_t)(i * 37);
    for (int i = 0; i < n * k; i++)
        b[i] = (int8_t)(i * 91);
    rig_run(&rig, "wmma_s8", RIG_XY(3, 2), RIG_X(32), RIG_ARGS(&a, &b, &c, &n, &k));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[j * k + l];
            assert_int_equal(c[i * n + j], sum);
        }
    }
    if (simt_module_kernel(rig.module, "wmma_bf16")) { /* not below sm_80 */
        check_tensor(&rig, "wmma_bf16", true);
        uint16_t *x = rig_buffer(&rig, 16 * 64 * 2), *y = rig_buffer(&rig, 8 * 64 * 2);
        float *z = rig_buffer(&rig, 16 * 8 * 4);
        for (int i = 0; i < 16 * 64; i++)
            x[i] = to_half(i % 7 - 3);
        for (int i = 0; i < 8 * 64; i++)
            y[i] = to_half(i % 5 - 2);
        rig_run(&rig, "mma_half", RIG_X(1), RIG_X(32), RIG_ARGS(&x, &y, &z, &k));
        for (int i = 0; i < 16 * 8; i++) {
            int sum = 0;
            for (int l = 0; l < 64; l++)
                sum += ((i / 8 * 64 + l) % 7 - 3) * ((i % 8 * 64 + l) % 5 - 2);
            assert_true(z[i] == (float)sum);
        }
    }
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    begin_kernels(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_tensor_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
