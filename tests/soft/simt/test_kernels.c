/* SPDX-License-Identifier: Apache-2.0 */
/* The training kernels of tests/kernels against plain C. */
#include "tests/soft/simt/rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned workers = 2;

static float unit(uint32_t *state) /* [-1, 1) */
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)*state * 0x1p-31f;
}

static float *random_floats(struct rig *rig, size_t count, uint32_t seed)
{
    float *at = rig_buffer(rig, count * sizeof *at);
    for (size_t i = 0; i < count; i++)
        at[i] = unit(&seed);
    return at;
}

static void near(float is, double wanted, double relative, double absolute, const char *what,
                 size_t at)
{
    const double error = fabs((double)is - wanted);
    if (!(error <= absolute + relative * fabs(wanted)))
        fail_msg("%s[%zu] is %.9g, not %.9g", what, at, (double)is, wanted);
}

static void open_kernels(struct rig *rig, const char *name)
{
    char path[512];
    const char *folder = getenv("KERNELS");
    snprintf(path, sizeof path, "%s/%s.ptx", folder ? folder : "tests/kernels", name);
    rig_open_file(rig, path, workers);
}

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

/* ---- 06: generators ----------------------------------------------------------- */

static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int r = 0; r < 10; r++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                                  (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof next);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void test_dropout(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 1001;
    const float p = 0.3f, scale = 1.0f / (1.0f - p), std = 0.5f;
    const uint64_t seed = 0x123456789abcdefu, offset = 0x1122334455u;
    open_kernels(&rig, "06_dropout_philox");
    float *x = random_floats(&rig, 1004, 1), *y = rig_buffer(&rig, 4100);
    unsigned char *mask = rig_buffer(&rig, 1004);
    rig_run(&rig, "dropout", RIG_X(4), RIG_X(64), RIG_ARGS(&x, &y, &mask, &n, &p, &seed, &offset));
    for (int i = 0; i < n; i++) {
        uint32_t c[4] = {(uint32_t)i >> 2, 0, (uint32_t)offset, (uint32_t)(offset >> 32)};
        philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
        const bool keep = (float)c[i & 3] * 2.3283064e-10f >= p;
        assert_int_equal(mask[i], keep);
        assert_true(y[i] == (keep ? x[i] * scale : 0.0f));
    }
    rig_run(&rig, "normal_init", RIG_X(4), RIG_X(64), RIG_ARGS(&y, &n, &std, &seed));
    for (int i = 0; i * 4 < n; i++) {
        uint32_t c[4] = {(uint32_t)i, 0, 0, 0};
        philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
        const float u1 = ((float)c[0] + 1.0f) * 2.3283064e-10f;
        const float u2 = (float)c[1] * 2.3283064e-10f * 6.2831853f;
        const double m = sqrt(-2 * log((double)u1)) * (double)std;
        near(y[i * 4], m * sin((double)u2), 1e-5, 1e-6, "normal", (size_t)i);
        if (i * 4 + 1 < n)
            near(y[i * 4 + 1], m * cos((double)u2), 1e-5, 1e-6, "normal", (size_t)i);
    }
    rig_close(&rig);
}

/* ---- 07, 08: embeddings and optimisers ---------------------------------------- */

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

static void test_optimisers(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 500, t = 3;
    const float lr = 0.01f, b1 = 0.9f, b2 = 0.999f, eps = 1e-8f, wd = 0.1f, mu = 0.9f;
    open_kernels(&rig, "08_adam");
    float *p = random_floats(&rig, 500, 1), *g = random_floats(&rig, 500, 2);
    float *m = random_floats(&rig, 500, 3), *v = random_floats(&rig, 500, 4);
    float old[3][500];
    for (int i = 0; i < n; i++) {
        v[i] = fabsf(v[i]);
        old[0][i] = p[i], old[1][i] = m[i], old[2][i] = v[i];
    }
    rig_run(&rig, "adam", RIG_X(4), RIG_X(128),
            RIG_ARGS(&p, &g, &m, &v, &n, &lr, &b1, &b2, &eps, &wd, &t));
    for (int i = 0; i < n; i++) {
        const double gi = (double)g[i] + (double)wd * (double)old[0][i];
        const double mi = (double)b1 * (double)old[1][i] + (1 - (double)b1) * gi;
        const double vi = (double)b2 * (double)old[2][i] + (1 - (double)b2) * gi * gi;
        const double mh = mi / (1 - pow((double)b1, t)), vh = vi / (1 - pow((double)b2, t));
        near(m[i], mi, 1e-6, 1e-7, "m", (size_t)i);
        near(v[i], vi, 1e-6, 1e-7, "v", (size_t)i);
        near(p[i], (double)old[0][i] - (double)lr * mh / (sqrt(vh) + (double)eps), 1e-4, 1e-6, "p",
             (size_t)i);
        old[0][i] = p[i], old[1][i] = m[i];
    }
    rig_run(&rig, "sgd_momentum", RIG_X(4), RIG_X(128), RIG_ARGS(&p, &g, &m, &n, &lr, &mu));
    for (int i = 0; i < n; i++) {
        const double mi = (double)mu * (double)old[1][i] + (double)g[i];
        near(m[i], mi, 1e-6, 1e-7, "momentum", (size_t)i);
        near(p[i], (double)old[0][i] - (double)lr * mi, 1e-6, 1e-7, "p", (size_t)i);
    }
    double *norm = rig_buffer(&rig, 8), wanted = 0;
    int *flag = rig_buffer(&rig, 4);
    rig_run(&rig, "grad_norm_sq", RIG_X(3), RIG_X(64), RIG_ARGS(&g, &norm, &n));
    for (int i = 0; i < n; i++)
        wanted += (double)g[i] * (double)g[i];
    assert_true(fabs(*norm - wanted) < 1e-12 * wanted);
    rig_run(&rig, "check_nan", RIG_X(4), RIG_X(128), RIG_ARGS(&g, &n, &flag));
    assert_int_equal(*flag, 0);
    g[444] = NAN;
    rig_run(&rig, "check_nan", RIG_X(4), RIG_X(128), RIG_ARGS(&g, &n, &flag));
    assert_int_equal(*flag, 1);
    rig_close(&rig);
}

/* ---- 12: queues and locks ----------------------------------------------------- */

struct ring { uint64_t head, tail; uint32_t mask, dropped; };
struct record { uint64_t seq; uint32_t tid; float v; };

static void test_ring(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 100;
    const float threshold = 0.25f, step = 1.0f;
    open_kernels(&rig, "12_ring");
    struct ring *ring = rig_buffer(&rig, sizeof *ring);
    struct record *records = rig_buffer(&rig, 128 * sizeof *records);
    float *x = random_floats(&rig, 100, 1), *sum = rig_buffer(&rig, 4);
    int *lock = rig_buffer(&rig, 4);
    ring->mask = 63;
    rig_run(&rig, "ring_enqueue", RIG_X(4), RIG_X(32), RIG_ARGS(&ring, &records, &x, &n));
    assert_int_equal(ring->head, 100);
    assert_int_equal(ring->dropped, 36);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(records[i].seq, i + 1);
        assert_true(records[i].v == x[records[i].tid]);
    }
    *ring = (struct ring){.mask = 127};
    rig_run(&rig, "ring_enqueue_agg", RIG_X(2), RIG_X(64),
            RIG_ARGS(&ring, &records, &x, &n, &threshold));
    unsigned above = 0;
    for (int i = 0; i < n; i++)
        above += x[i] > threshold;
    assert_int_equal(ring->head, above);
    for (unsigned i = 0; i < above; i++)
        assert_true(records[i].v == x[records[i].tid] && records[i].v > threshold);
    rig_run(&rig, "spin_lock", RIG_X(20), RIG_X(32), RIG_ARGS(&lock, &sum, &step));
    assert_true(*sum == 20.0f);
    uint64_t *times = rig_buffer(&rig, 64 * 8);
    rig_run(&rig, "clocks", RIG_X(1), RIG_X(32), RIG_ARGS(&times));
    assert_true(times[0] && times[32]);
    rig_close(&rig);
}

/* ---- 13: reductions ----------------------------------------------------------- */

static void test_reductions(void **state)
{
    (void)state;
    struct rig rig;
    const int n = 5000, rows = 50, columns = 100, scan = 900;
    open_kernels(&rig, "13_reduce");
    float *x = random_floats(&rig, 5000, 1), *out = rig_buffer(&rig, 5000 * 4);
    float *part = rig_buffer(&rig, 64);
    uint32_t *count = rig_buffer(&rig, 4);
    int *in = rig_buffer(&rig, 4096), *sums = rig_buffer(&rig, 4096), running = 0;
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++)
        total += (double)x[i];
    rig.options.dynamic_shared_bytes = 512;
    rig_run(&rig, "reduce_sum", RIG_X(7), RIG_X(128), RIG_ARGS(&x, &out, &n));
    for (int i = 0; i < 7; i++)
        sum += (double)out[i];
    near((float)sum, total, 1e-5, 1e-4, "sum", 0);
    rig_run(&rig, "last_block_reduce", RIG_X(9), RIG_X(256), RIG_ARGS(&x, &part, &out, &count, &n));
    near(out[0], total, 1e-5, 1e-4, "last block", 0);
    assert_int_equal(*count, 0);
    rig_run(&rig, "col_sum", RIG_X(4), RIG_X(32), RIG_ARGS(&x, &out, &rows, &columns));
    for (int c = 0; c < columns; c++) {
        double column = 0;
        for (int r = 0; r < rows; r++)
            column += (double)x[r * columns + c];
        near(out[c], column, 1e-5, 1e-5, "column", (size_t)c);
    }
    for (int i = 0; i < scan; i++)
        in[i] = i * 7 % 31;
    rig_run(&rig, "scan_block", RIG_X(1), RIG_X(1024), RIG_ARGS(&in, &sums, &scan));
    for (int i = 0; i < scan; i++)
        assert_int_equal(sums[i], running += in[i]);
    rig_run(&rig, "transpose", RIG_XY(4, 2), RIG_XY(32, 8), RIG_ARGS(&x, &out, &rows, &columns));
    for (int i = 0; i < rows * columns; i++)
        assert_true(out[i % columns * rows + i / columns] == x[i]);
    rig_close(&rig);
}

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

/* ---- 16, 17: tensor cores, a perceptron --------------------------------------- */

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
    if (argc > 1)
        workers = (unsigned)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),    cmocka_unit_test(test_tiled_matrices),
        cmocka_unit_test(test_layernorm),   cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_activations), cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_embedding),   cmocka_unit_test(test_optimisers),
        cmocka_unit_test(test_ring),        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_halves),      cmocka_unit_test(test_integers),
        cmocka_unit_test(test_tensor_cores), cmocka_unit_test(test_perceptron_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
