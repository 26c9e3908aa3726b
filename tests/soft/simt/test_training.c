/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of tests/kernels that state goes on by, and that sum, against plain C. */
#include "tests/soft/simt/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

/* ---- 08: optimisers ---------------------------------------------------------- */

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

int main(int argc, char **argv)
{
    begin_kernels(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_optimisers),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
