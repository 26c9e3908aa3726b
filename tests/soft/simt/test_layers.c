/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of tests/kernels that layers are made of, against plain C. */
#include "tests/soft/simt/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- 01, 02: matrices --------------------------------------------------------- */

static void check_product(const float *a, const float *b, const float *c, int m, int n, int k,
                          bool transposed, const float *bias)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = bias ? (double)bias[j] : 0.0;
            for (int l = 0; l < k; l++)
                sum += (double)(transposed ? a[l * m + i] : a[i * k + l]) * (double)b[l * n + j];
            near(c[i * n + j], bias && sum < 0 ? 0 : sum, 1e-5, 1e-5, "C", (size_t)(i * n + j));
        }
    }
}

static void test_matrices(void **state)
{
    (void)state;
    struct rig rig;
    const int m = 37, n = 45, k = 29;
    open_kernels(&rig, "02_matmul_naive");
    float *a = random_floats(&rig, (size_t)(m * k), 1),
          *b = random_floats(&rig, (size_t)(k * n), 2);
    float *bias = random_floats(&rig, (size_t)n, 3), *c = rig_buffer(&rig, (size_t)(m * n) * 4);
    rig_run(&rig, "matmul_naive", RIG_XY(3, 3), RIG_XY(16, 16), RIG_ARGS(&a, &b, &c, &m, &n, &k));
    check_product(a, b, c, m, n, k, false, NULL);
    rig_run(&rig, "matmul_naive", RIG_XY(2, 5), RIG_XY(32, 8), RIG_ARGS(&a, &b, &c, &m, &n, &k));
    check_product(a, b, c, m, n, k, false, NULL);
    rig_run(&rig, "matmul_bias_relu", RIG_XY(2, 5), RIG_XY(32, 8),
            RIG_ARGS(&a, &b, &bias, &c, &m, &n, &k));
    check_product(a, b, c, m, n, k, false, bias);
    rig_run(&rig, "matmul_tn", RIG_XY(3, 3), RIG_XY(16, 16), RIG_ARGS(&a, &b, &c, &m, &n, &k));
    check_product(a, b, c, m, n, k, true, NULL);
    rig_close(&rig);
}

static void test_tiled_matrices(void **state)
{
    (void)state;
    struct rig rig;
    const int m = 50, n = 33, k = 40, side = 64;
    const float alpha = 1.0f, beta = 0.0f;
    open_kernels(&rig, "01_sgemm_tiled");
    float *a = random_floats(&rig, 4096, 1), *b = random_floats(&rig, 4096, 2);
    float *c = rig_buffer(&rig, 4096 * 4);
    rig_run(&rig, "sgemm_tiled", RIG_XY(3, 4), RIG_XY(16, 16),
            RIG_ARGS(&a, &b, &c, &m, &n, &k, &alpha, &beta));
    check_product(a, b, c, m, n, k, false, NULL);
    rig_run(&rig, "sgemm_64x64", RIG_X(1), RIG_X(256), RIG_ARGS(&a, &b, &c, &side, &side, &side));
    check_product(a, b, c, side, side, side, false, NULL);
    rig_close(&rig);
}

/* ---- 03, 04: normalisation ---------------------------------------------------- */

static void test_layernorm(void **state)
{
    (void)state;
    struct rig rig;
    const int rows = 5, width = 100;
    const float eps = 1e-5f;
    open_kernels(&rig, "03_layernorm");
    float *x = random_floats(&rig, 500, 1), *g = random_floats(&rig, 100, 2);
    float *b = random_floats(&rig, 100, 3), *dy = random_floats(&rig, 500, 4);
    float *y = rig_buffer(&rig, 2000), *mean = rig_buffer(&rig, 20), *rstd = rig_buffer(&rig, 20);
    float *dx = rig_buffer(&rig, 2000), *dg = rig_buffer(&rig, 400), *db = rig_buffer(&rig, 400);
    rig_run(&rig, "layernorm_fwd", RIG_X(5), RIG_X(64),
            RIG_ARGS(&x, &g, &b, &y, &mean, &rstd, &width, &eps));
    rig_run(&rig, "layernorm_bwd", RIG_X(5), RIG_X(32),
            RIG_ARGS(&dy, &x, &g, &mean, &rstd, &dx, &dg, &db, &width));
    double sum_dg[100] = {0}, sum_db[100] = {0};
    for (int r = 0; r < rows; r++) {
        double s = 0, q = 0, da = 0, dc = 0;
        for (int i = 0; i < width; i++) {
            s += (double)x[r * width + i];
            q += (double)x[r * width + i] * (double)x[r * width + i];
        }
        const double m = s / width, rs = 1 / sqrt(q / width - m * m + (double)eps);
        near(mean[r], m, 1e-5, 1e-6, "mean", (size_t)r);
        near(rstd[r], rs, 1e-5, 1e-6, "rstd", (size_t)r);
        for (int i = 0; i < width; i++) {
            const double h = ((double)x[r * width + i] - m) * rs;
            const double d = (double)dy[r * width + i] * (double)g[i];
            near(y[r * width + i], h * (double)g[i] + (double)b[i], 1e-5, 1e-5, "y", (size_t)i);
            da += d / width;
            dc += d * h / width;
            sum_dg[i] += (double)dy[r * width + i] * h;
            sum_db[i] += (double)dy[r * width + i];
        }
        for (int i = 0; i < width; i++) {
            const double h = ((double)x[r * width + i] - m) * rs;
            near(dx[r * width + i], ((double)dy[r * width + i] * (double)g[i] - da - h * dc) * rs,
                 1e-4, 1e-5, "dx", (size_t)i);
        }
    }
    for (int i = 0; i < width; i++) {
        near(dg[i], sum_dg[i], 1e-4, 1e-5, "dg", (size_t)i);
        near(db[i], sum_db[i], 1e-4, 1e-5, "db", (size_t)i);
    }
    rig_close(&rig);
}

static void test_softmax(void **state)
{
    (void)state;
    struct rig rig;
    const int rows = 9, width = 75;
    open_kernels(&rig, "04_softmax");
    float *x = random_floats(&rig, 675, 1), *dy = random_floats(&rig, 675, 2);
    float *y = rig_buffer(&rig, 2700), *dx = rig_buffer(&rig, 2700), *f = rig_buffer(&rig, 2700);
    for (int i = 0; i < 675; i++)
        x[i] *= 20;
    rig_run(&rig, "softmax_fwd", RIG_X(3), RIG_X(96), RIG_ARGS(&x, &y, &rows, &width));
    rig_run(&rig, "softmax_bwd", RIG_X(9), RIG_X(32), RIG_ARGS(&y, &dy, &dx, &rows, &width));
    rig_run(&rig, "online_softmax_fast", RIG_X(9), RIG_X(32), RIG_ARGS(&x, &f, &width));
    for (int r = 0; r < rows; r++) {
        double sum = 0, dot = 0, most = -1e30;
        for (int i = 0; i < width; i++)
            most = fmax(most, (double)x[r * width + i]);
        for (int i = 0; i < width; i++)
            sum += exp((double)x[r * width + i] - most);
        for (int i = 0; i < width; i++)
            dot += exp((double)x[r * width + i] - most) / sum * (double)dy[r * width + i];
        for (int i = 0; i < width; i++) {
            const double p = exp((double)x[r * width + i] - most) / sum;
            near(y[r * width + i], p, 5e-6, 1e-30, "softmax", (size_t)i);
            near(f[r * width + i], p, 1e-4, 1e-30, "fast softmax", (size_t)i);
            near(dx[r * width + i], p * ((double)dy[r * width + i] - dot), 1e-4, 1e-7, "dx",
                 (size_t)i);
        }
    }
    rig_close(&rig);
}

/* ---- 05: activations ---------------------------------------------------------- */

static double activation(int kind, double x)
{
    switch (kind) {
    case 0: return x > 0 ? x : 0;
    case 1: return 1 / (1 + exp(-x));
    case 2: return tanh(x);
    case 3: return x / (1 + exp(-x));
    case 4: return log1p(exp(x));
    case 5: return sin(x);
    case 6: return pow(x, 1.5);
    case 7: return sqrt(x);
    case 8: return log(x);
    default: return round(x) + floor(x) + ceil(x);
    }
}

static void test_activations(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 1000;
    open_kernels(&rig, "05_gelu");
    float *x = random_floats(&rig, 1000, 1), *dy = random_floats(&rig, 1000, 2);
    float *y = rig_buffer(&rig, 4000);
    for (int i = 0; i < n; i++)
        x[i] *= 6;
    rig_run(&rig, "gelu_erf", RIG_X(8), RIG_X(128), RIG_ARGS(&x, &y, &n));
    for (int i = 0; i < n; i++)
        near(y[i], 0.5 * (double)x[i] * (1 + erf((double)x[i] * 0.70710678)), 1e-5, 1e-6, "gelu",
             (size_t)i);
    rig_run(&rig, "gelu_tanh", RIG_X(2), RIG_X(128), RIG_ARGS(&x, &y, &n));
    for (int i = 0; i < n; i++) {
        const double v = (double)x[i], t = tanh(0.79788456 * (v + 0.044715 * v * v * v));
        near(y[i], 0.5 * v * (1 + t), 1e-5, 2e-6, "gelu", (size_t)i);
    }
    rig_run(&rig, "gelu_bwd", RIG_X(8), RIG_X(128), RIG_ARGS(&x, &dy, &y, &n));
    for (int i = 0; i < n; i++) {
        const double v = (double)x[i], c = 0.5 * erfc(-v * M_SQRT1_2);
        near(y[i], (double)dy[i] * (c + v * 0.39894228 * exp(-0.5 * v * v)), 1e-5, 1e-6, "gelu_bwd",
             (size_t)i);
    }
    for (int kind = 0; kind < 10; kind++) {
        for (int i = 0; i < n; i++)
            y[i] = kind < 6 || kind == 9 ? x[i] : fabsf(x[i]);
        rig_run(&rig, "acts", RIG_X(8), RIG_X(128), RIG_ARGS(&y, &n, &kind));
        for (int i = 0; i < n; i++)
            near(y[i], activation(kind, kind < 6 || kind == 9 ? (double)x[i] : fabs((double)x[i])),
                 2e-6, 5e-7, "activation", (size_t)(kind * n + i));
    }
    rig_close(&rig);
}

/* ---- 07: embeddings ---------------------------------------------------------- */

static void test_embedding(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 50, d = 20, bins = 40, count = 3000;
    open_kernels(&rig, "07_embedding");
    float *w = random_floats(&rig, 600, 1), *dy = random_floats(&rig, 1000, 2);
    float *out = rig_buffer(&rig, 4000), *dw = rig_buffer(&rig, 2400);
    int64_t *index = rig_buffer(&rig, 400);
    int *values = rig_buffer(&rig, 12000);
    uint32_t *histogram = rig_buffer(&rig, 160), wanted[40] = {0}, seed = 7;
    double sums[600] = {0};
    for (int i = 0; i < n; i++)
        index[i] = (int64_t)(fabsf(unit(&seed)) * 29);
    for (int i = 0; i < count; i++)
        wanted[values[i] = (int)(fabsf(unit(&seed)) * 39)]++;
    rig_run(&rig, "embed_gather", RIG_X(8), RIG_X(128), RIG_ARGS(&w, &index, &out, &n, &d));
    rig_run(&rig, "embed_scatter_add", RIG_X(8), RIG_X(128), RIG_ARGS(&dw, &index, &dy, &n, &d));
    for (int i = 0; i < n * d; i++) {
        assert_true(out[i] == w[index[i / d] * d + i % d]);
        sums[index[i / d] * d + i % d] += (double)dy[i];
    }
    for (int i = 0; i < 600; i++)
        near(dw[i], sums[i], 1e-5, 1e-6, "dw", (size_t)i);
    rig.options.dynamic_shared_bytes = 160;
    rig_run(&rig, "histogram", RIG_X(4), RIG_X(96), RIG_ARGS(&values, &histogram, &count, &bins));
    assert_memory_equal(histogram, wanted, sizeof wanted);
    rig_close(&rig);
}

/* ---- 17: a perceptron -------------------------------------------------------- */

static void test_perceptron_pieces(void **state)
{
    (void)state;
    struct rig rig;
    const int rows = 37, classes = 10, k = 21, n = 300;
    open_kernels(&rig, "17_mlp");
    float *x = random_floats(&rig, (size_t)(rows * classes), 1);
    float *g = rig_buffer(&rig, (size_t)(rows * classes) * 4),
          *loss = rig_buffer(&rig, (size_t)rows * 4);
    int *label = rig_buffer(&rig, (size_t)rows * 4);
    for (int i = 0; i < rows; i++)
        label[i] = i * 3 % classes;
    rig_run(&rig, "cross_entropy", RIG_X(2), RIG_X(32),
            RIG_ARGS(&x, &label, &g, &loss, &rows, &classes));
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int c = 0; c < classes; c++)
            sum += exp((double)x[i * classes + c]);
        near(loss[i], log(sum) - (double)x[i * classes + label[i]], 1e-5, 1e-5, "loss", (size_t)i);
        for (int c = 0; c < classes; c++)
            near(g[i * classes + c],
                 (exp((double)x[i * classes + c]) / sum - (c == label[i])) / rows, 1e-5, 1e-6,
                 "gradient", (size_t)c);
    }
    float *a = random_floats(&rig, (size_t)(rows * k), 2),
          *b = random_floats(&rig, (size_t)(classes * k), 3);
    rig_run(&rig, "matmul_nt", RIG_XY(1, 5), RIG_XY(32, 8),
            RIG_ARGS(&a, &b, &g, &rows, &classes, &k));
    for (int i = 0; i < rows * classes; i++) {
        double sum = 0;
        for (int l = 0; l < k; l++)
            sum += (double)a[i / classes * k + l] * (double)b[i % classes * k + l];
        near(g[i], sum, 1e-5, 1e-5, "C", (size_t)i);
    }
    float *y = random_floats(&rig, 300, 4), *d = random_floats(&rig, 300, 5), before[300];
    memcpy(before, d, sizeof before);
    rig_run(&rig, "relu_backward", RIG_X(3), RIG_X(128), RIG_ARGS(&y, &d, &n));
    for (int i = 0; i < n; i++)
        assert_true(d[i] == (y[i] > 0 ? before[i] : 0));
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    begin_kernels(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_tiled_matrices),
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_perceptron_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
