/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the interpreter runs: lane-operations a second on one core and on two for typical
 * mixes, and matrix products against the same loops in C on one core. Medians of several runs.
 *
 * usage: simt_bench [KERNELS [ONLY]]: only what has ONLY in its name */
#include "cuda/soft/simt.h"
#include "tests/bench/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7, BLOCKS = 8, THREADS = 128, ROUNDS = 4000 };
#define PROTOTYPE_OVER_NATIVE 1.4 /* of the first interpreter, on one core */

void native_matmul(const float *a, const float *b, float *c, int m, int n, int k);

/* Of processor time where one thread works, since others may be busy on the machine; two that
 * work side by side are timed by the clock on the wall. */
static double seconds(unsigned cores)
{
    struct timespec now;
    clock_gettime(cores == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quartiles of some runs. */
struct spread {
    double low, middle, high;
};

static struct spread spread_of(double *values)
{
    qsort(values, RUNS, sizeof *values, by_value);
    return (struct spread){values[RUNS / 4], values[RUNS / 2], values[RUNS - 1 - RUNS / 4]};
}

static bool anywhere(void *ctx, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    (void)ctx;
    *lo = 4096;
    *hi = UINT64_C(1) << 47;
    return address >= *lo && address + bytes <= *hi;
}

static uint64_t no_storage(void *ctx, const struct rp_ptx_var *var)
{
    (void)ctx, (void)var;
    return 0;
}

static struct simt_module *load(const char *text)
{
    char message[256];
    struct rp_ptx_module *ptx;
    struct simt_module *module;
    if (rp_ptx_parse(text, strlen(text), &ptx, message, sizeof message) != RP_OK ||
        simt_module_create(ptx, no_storage, NULL, &module, message, sizeof message) != RP_OK) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    return module;
}

static void launch(struct simt_pool *pool, const struct simt_module *module, const char *name,
                   const uint32_t grid[2], const uint32_t block[2], const void *params)
{
    struct simt_launch launch = {.kernel = simt_module_kernel(module, name),
                                 .grid = {grid[0], grid[1], 1},
                                 .block = {block[0], block[1], 1},
                                 .params = params,
                                 .bounds = anywhere};
    struct simt_fault fault;
    if (simt_run(pool, &launch, &fault) != RP_OK || fault.kind != SIMT_FAULT_NONE) {
        fprintf(stderr, "%s: fault %d at line %u\n", name, (int)fault.kind, fault.line);
        exit(1);
    }
}

/* ---- mixes -------------------------------------------------------------------- */

#define FOUR(text) text text text text
#define MIX(name, goal, prototype, setup, body)                                                    \
    {                                                                                              \
        name,                                                                                      \
            ".version 8.0\n.target sm_80\n.address_size 64\n"                                      \
            ".visible .entry k(.param .u64 data, .param .u32 rounds)\n{\n"                         \
            ".reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %d<20>;\n"            \
            "ld.param.u64 %d0, [data]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;\n"      \
            "ld.param.u32 %r1, [rounds]; cvt.rn.f32.u32 %f0, %r0; mov.f32 %f1, 0f3F000000;\n"      \
            "mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.f32 %f4, %f0; mov.f32 %f5, %f0;\n"            \
            "mov.u32 %r2, %r0; mov.u32 %r3, 5; mov.u32 %r4, %r0;\n" setup "\nL:\n" body            \
            "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;\n"                          \
            "add.f32 %f2, %f2, %f3; add.f32 %f4, %f4, %f5; add.f32 %f2, %f2, %f4;\n"               \
            "st.global.f32 [%d1], %f2; st.global.u32 [%d1+2048], %r2; ret;\n}\n",                  \
            goal, prototype                                                                        \
    }

/* What an earlier interpreter of ours did on one core with AVX2, where it was measured: what
 * these rates are held against. */
static const struct mix {
    const char *name, *ptx, *goal;
    double prototype;
} mixes[] = {
    MIX("fma.f32", ">= 10", 7.5, "",
        FOUR("fma.rn.f32 %f2, %f2, %f1, %f0; fma.rn.f32 %f3, %f3, %f1, %f0;\n"
             "fma.rn.f32 %f4, %f4, %f1, %f0; fma.rn.f32 %f5, %f5, %f1, %f0;\n")),
    MIX("add sub xor s32", NULL, 8.3, "",
        FOUR("add.s32 %r2, %r2, %r0; xor.b32 %r4, %r2, %r3; sub.s32 %r2, %r2, %r4; add.s32 %r4, "
             "%r4, 7;\n")),
    MIX("coalesced ld st add", NULL, 6.0, "",
        FOUR("ld.global.f32 %f6, [%d1]; add.f32 %f2, %f2, %f6; ld.global.f32 %f7, [%d1+512];\n"
             "add.f32 %f3, %f3, %f7; st.global.f32 [%d1+1024], %f3;\n")),
    MIX("shared ld st add", NULL, 0,
        ".shared .align 16 .b8 s[4096]; mov.u32 %r9, s; mad.lo.u32 %r9, %r0, 4, %r9;",
        FOUR("ld.shared.f32 %f6, [%r9]; add.f32 %f2, %f2, %f6; ld.shared.f32 %f7, [%r9+512];\n"
             "add.f32 %f3, %f3, %f7; st.shared.f32 [%r9+1024], %f3;\n")),
    MIX("random gather add", NULL, 0,
        "mul.lo.u32 %r5, %r0, 37; and.b32 %r5, %r5, 127; mad.wide.u32 %d3, %r5, 4, %d0;",
        FOUR("ld.global.f32 %f6, [%d3]; add.f32 %f2, %f2, %f6; add.f32 %f3, %f3, %f6;\n")),
    MIX("setp selp cvt", NULL, 0, "",
        FOUR("setp.lt.s32 %p2, %r2, %r3; selp.b32 %r4, %r0, %r3, %p2; cvt.rn.f32.s32 %f6, %r4;\n"
             "cvt.rzi.s32.f32 %r2, %f6;\n")),
    MIX("exp and log", NULL, 0, "",
        "ex2.approx.f32 %f6, %f1; lg2.approx.f32 %f7, %f0; add.f32 %f2, %f6, %f7;\n"),
    MIX("divergent loops", NULL, 2.6, "and.b32 %r6, %r0, 31;",
        "mov.u32 %r7, 0;\nM: add.u32 %r7, %r7, 1; xor.b32 %r4, %r4, %r7; add.u32 %r2, %r2, %r4;\n"
        "setp.le.u32 %p3, %r7, %r6; @%p3 bra M;\n"),
};

/* The pools that are measured, by the number of their threads less one. */
static struct simt_pool *pools[2];

static struct spread rate_of_mix(unsigned cores, const struct simt_module *module,
                                 const void *params)
{
    struct simt_pool *pool = pools[cores - 1];
    double rates[RUNS];
    for (int run = 0; run < RUNS; run++) {
        const uint64_t before = simt_pool_operations(pool);
        const double start = seconds(cores);
        launch(pool, module, "k", (uint32_t[]){BLOCKS, 1}, (uint32_t[]){THREADS, 1}, params);
        rates[run] =
            1e-9 * (double)(simt_pool_operations(pool) - before) / (seconds(cores) - start);
    }
    return spread_of(rates);
}

/* Keeps a rate on one core; `goal` may be NULL and `prototype` (10^9 lane-operations
 * a second) 0. */
static void keep_rate(const char *what, struct spread rate, const char *goal, double prototype)
{
    char name[80];
    snprintf(name, sizeof name, "simt.%s", what);
    figure_write(&(struct figure){.name = name,
                                  .unit = "10^9/s",
                                  .goal = goal,
                                  .value = rate.middle,
                                  .low = rate.low,
                                  .high = rate.high,
                                  .runs = RUNS,
                                  .published = prototype > 0 ? prototype : (double)NAN});
}

static void run_mix(const struct mix *mix)
{
    const struct simt_module *module = load(mix->ptx);
    struct {
        void *data;
        uint32_t rounds;
    } params = {calloc(1, 1 << 16), ROUNDS};
    printf("%-28s", mix->name);
    for (unsigned cores = 1; cores <= 2; cores++) {
        const struct spread rate = rate_of_mix(cores, module, &params);
        printf(" %6.2f", rate.middle);
        if (cores == 1)
            keep_rate(mix->name, rate, mix->goal, mix->prototype);
    }
    printf("\n");
    free(params.data);
}

/* ---- matrices ----------------------------------------------------------------- */

static char *read_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static double native_time(int side, const float *a, const float *b, float *c)
{
    double times[RUNS];
    for (int run = 0; run < RUNS; run++) {
        const double start = seconds(1);
        native_matmul(a, b, c, side, side, side);
        times[run] = seconds(1) - start;
    }
    return spread_of(times).middle;
}

/* A product of two square matrices by a kernel of one of the files. */
struct product {
    const char *name, *file, *kernel;
    int side;
    uint32_t block[2], grid[2];
    const char *goal;      /* of the rate, or NULL */
    const char *time_goal; /* over the same by gcc -O2, or NULL */
};

static const struct product products[] = {
    {"matmul 128^3, 32x8", "02_matmul_naive.ptx", "matmul_naive", 128, {32, 8}, {4, 16}, NULL,
     "<= 1.2"},
    {"matmul 128^3, 16x16", "02_matmul_naive.ptx", "matmul_naive", 128, {16, 16}, {8, 8}, NULL,
     NULL},
    {"sgemm tiled 256^3", "01_sgemm_tiled.ptx", "sgemm_tiled", 256, {16, 16}, {16, 16}, ">= 5",
     NULL},
    {"sgemm 64x64 256^3", "01_sgemm_tiled.ptx", "sgemm_64x64", 256, {256, 1}, {4, 4}, NULL, NULL},
};

/* The time of one launch, and in `operations` what it ran. */
static struct spread time_of_product(unsigned cores, const struct simt_module *module,
                                     const struct product *product, const void *params,
                                     uint64_t *operations)
{
    struct simt_pool *pool = pools[cores - 1];
    double times[RUNS];
    for (int run = 0; run < RUNS; run++) {
        const uint64_t before = simt_pool_operations(pool);
        const double start = seconds(cores);
        launch(pool, module, product->kernel, product->grid, product->block, params);
        times[run] = seconds(cores) - start;
        *operations = simt_pool_operations(pool) - before;
    }
    return spread_of(times);
}

/* Keeps how much longer it takes than compiled code. */
static void keep_ratio(const struct product *product, struct spread time, double native)
{
    char name[80];
    snprintf(name, sizeof name, "simt.%s-over-native", product->name);
    figure_write(&(struct figure){.name = name,
                                  .unit = "ratio",
                                  .goal = product->time_goal,
                                  .value = time.middle / native,
                                  .low = time.low / native,
                                  .high = time.high / native,
                                  .runs = RUNS,
                                  .published = product->time_goal ? PROTOTYPE_OVER_NATIVE
                                                                  : (double)NAN});
}

static void run_product(const char *folder, const struct product *product)
{
    char *text = read_file(folder, product->file);
    const struct simt_module *module = load(text);
    const int side = product->side;
    const size_t bytes = (size_t)side * (size_t)side * sizeof(float);
    float *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes),
          *c = aligned_alloc(64, bytes);
    for (int i = 0; i < side * side; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    const struct {
        const void *a, *b, *c;
        int m, n, k;
        float alpha, beta;
    } params = {a, b, c, side, side, side, 1.0f, 0.0f};
    struct spread times[2];
    printf("%-28s", product->name);
    for (unsigned cores = 1; cores <= 2; cores++) {
        uint64_t operations = 0;
        times[cores - 1] = time_of_product(cores, module, product, &params, &operations);
        const struct spread *time = &times[cores - 1];
        const double work = 1e-9 * (double)operations;
        const struct spread rate = {work / time->high, work / time->middle, work / time->low};
        printf(" %6.2f", rate.middle);
        if (cores == 1)
            keep_rate(product->name, rate, product->goal, product->goal ? 2.4 : 0);
    }
    const double native = native_time(side, a, b, c);
    keep_ratio(product, times[0], native);
    printf("   %7.3f %7.3f ms, native -O2 %7.3f ms: %.2f\n", times[0].middle * 1e3,
           times[1].middle * 1e3, native * 1e3, times[0].middle / native);
    free(a), free(b), free(c), free(text);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "tests/kernels", *only = argc > 2 ? argv[2] : "";
    for (unsigned cores = 1; cores <= 2; cores++) {
        if (simt_pool_create(cores, &pools[cores - 1]) != RP_OK)
            return 1;
    }
    printf("%-28s %6s %6s   10^9 lane-operations a second on one core and on two\n",
           simt_isa_name(), "one", "two");
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        if (strstr(mixes[i].name, only))
            run_mix(&mixes[i]);
    }
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        if (strstr(products[i].name, only))
            run_product(folder, &products[i]);
    }
    simt_pool_destroy(pools[0]);
    simt_pool_destroy(pools[1]);
    return 0;
}
