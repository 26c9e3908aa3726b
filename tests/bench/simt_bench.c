/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the interpreter runs: lane-operations a second on one core for typical mixes, and
 * a matrix product against the same loops in C. Medians of several runs. */
#include "cuda/soft/simt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7, BLOCKS = 8, THREADS = 128, ROUNDS = 4000 };

void native_matmul(const float *a, const float *b, float *c, int m, int n, int k);

/* Of processor time: one thread works, and others may be busy on the machine. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, RUNS, sizeof *values, by_value);
    return values[RUNS / 2];
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
#define MIX(name, setup, body)                                                                  \
    {name, ".version 8.0\n.target sm_80\n.address_size 64\n"                                    \
           ".visible .entry k(.param .u64 data, .param .u32 rounds)\n{\n"                       \
           ".reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %d<20>;\n"          \
           "ld.param.u64 %d0, [data]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;\n"    \
           "ld.param.u32 %r1, [rounds]; cvt.rn.f32.u32 %f0, %r0; mov.f32 %f1, 0f3F000000;\n"    \
           "mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.f32 %f4, %f0; mov.f32 %f5, %f0;\n"          \
           "mov.u32 %r2, %r0; mov.u32 %r3, 5; mov.u32 %r4, %r0;\n" setup                        \
           "\nL:\n" body "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;\n"          \
           "add.f32 %f2, %f2, %f3; add.f32 %f4, %f4, %f5; add.f32 %f2, %f2, %f4;\n"             \
           "st.global.f32 [%d1], %f2; st.global.u32 [%d1+2048], %r2; ret;\n}\n"}

static const struct { const char *name, *ptx;
} mixes[] = {
    MIX("fma.f32", "",
        FOUR("fma.rn.f32 %f2, %f2, %f1, %f0; fma.rn.f32 %f3, %f3, %f1, %f0;\n"
             "fma.rn.f32 %f4, %f4, %f1, %f0; fma.rn.f32 %f5, %f5, %f1, %f0;\n")),
    MIX("add sub xor s32", "",
        FOUR("add.s32 %r2, %r2, %r0; xor.b32 %r4, %r2, %r3; sub.s32 %r2, %r2, %r4; add.s32 %r4, "
             "%r4, 7;\n")),
    MIX("coalesced ld st add", "",
        FOUR("ld.global.f32 %f6, [%d1]; add.f32 %f2, %f2, %f6; ld.global.f32 %f7, [%d1+512];\n"
             "add.f32 %f3, %f3, %f7; st.global.f32 [%d1+1024], %f3;\n")),
    MIX("shared ld st add",
        ".shared .align 16 .b8 s[4096]; mov.u32 %r9, s; mad.lo.u32 %r9, %r0, 4, %r9;",
        FOUR("ld.shared.f32 %f6, [%r9]; add.f32 %f2, %f2, %f6; ld.shared.f32 %f7, [%r9+512];\n"
             "add.f32 %f3, %f3, %f7; st.shared.f32 [%r9+1024], %f3;\n")),
    MIX("random gather add",
        "mul.lo.u32 %r5, %r0, 37; and.b32 %r5, %r5, 127; mad.wide.u32 %d3, %r5, 4, %d0;",
        FOUR("ld.global.f32 %f6, [%d3]; add.f32 %f2, %f2, %f6; add.f32 %f3, %f3, %f6;\n")),
    MIX("setp selp cvt", "",
        FOUR("setp.lt.s32 %p2, %r2, %r3; selp.b32 %r4, %r0, %r3, %p2; cvt.rn.f32.s32 %f6, %r4;\n"
             "cvt.rzi.s32.f32 %r2, %f6;\n")),
    MIX("exp and log", "",
        "ex2.approx.f32 %f6, %f1; lg2.approx.f32 %f7, %f0; add.f32 %f2, %f6, %f7;\n"),
    MIX("divergent loops", "and.b32 %r6, %r0, 31;",
        "mov.u32 %r7, 0;\nM: add.u32 %r7, %r7, 1; xor.b32 %r4, %r4, %r7; add.u32 %r2, %r2, %r4;\n"
        "setp.le.u32 %p3, %r7, %r6; @%p3 bra M;\n"),
};

static void run_mix(struct simt_pool *pool, const char *name, const char *ptx)
{
    struct simt_module *module = load(ptx);
    struct { void *data; uint32_t rounds; } params = {calloc(1, 1 << 16), ROUNDS};
    double rates[RUNS];
    for (int run = 0; run < RUNS; run++) {
        const uint64_t before = simt_pool_operations(pool);
        const double start = seconds();
        launch(pool, module, "k", (uint32_t[]){BLOCKS, 1}, (uint32_t[]){THREADS, 1}, &params);
        rates[run] = (double)(simt_pool_operations(pool) - before) / (seconds() - start);
    }
    printf("%-24s %6.2f e9 lane-operations/s\n", name, median(rates) * 1e-9);
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
        const double start = seconds();
        native_matmul(a, b, c, side, side, side);
        times[run] = seconds() - start;
    }
    return median(times);
}

static void run_matmul(struct simt_pool *pool, const struct simt_module *module, const char *kernel,
                       int side, uint32_t width, uint32_t height, const uint32_t *grid)
{
    const size_t bytes = (size_t)side * (size_t)side * sizeof(float);
    float *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes),
          *c = aligned_alloc(64, bytes);
    for (int i = 0; i < side * side; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    struct { const void *a, *b, *c; int m, n, k; float alpha, beta; } params = {
        a, b, c, side, side, side, 1.0f, 0.0f};
    double times[RUNS];
    uint64_t operations = 0;
    for (int run = 0; run < RUNS; run++) {
        const uint64_t before = simt_pool_operations(pool);
        const double start = seconds();
        launch(pool, module, kernel, grid, (uint32_t[]){width, height}, &params);
        times[run] = seconds() - start;
        operations = simt_pool_operations(pool) - before;
    }
    const double time = median(times), native = native_time(side, a, b, c);
    printf("%-12s %d^3, %2ux%-3u %6.2f e9 lane-operations/s, %7.3f ms, native -O2 %7.3f ms: %.2f\n",
           kernel, side, width, height, (double)operations / time * 1e-9, time * 1e3, native * 1e3,
           time / native);
    free(a), free(b), free(c);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "tests/kernels";
    struct simt_pool *pool;
    if (simt_pool_create(1, &pool) != RP_OK)
        return 1;
    printf("instruction set: %s, one core\n", simt_isa_name());
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++)
        run_mix(pool, mixes[i].name, mixes[i].ptx);
    char *naive_text = read_file(folder, "02_matmul_naive.ptx");
    char *tiled_text = read_file(folder, "01_sgemm_tiled.ptx");
    const struct simt_module *naive = load(naive_text), *tiled = load(tiled_text);
    run_matmul(pool, naive, "matmul_naive", 128, 32, 8, (uint32_t[]){4, 16});
    run_matmul(pool, naive, "matmul_naive", 128, 16, 16, (uint32_t[]){8, 8});
    run_matmul(pool, tiled, "sgemm_tiled", 256, 16, 16, (uint32_t[]){16, 16});
    run_matmul(pool, tiled, "sgemm_64x64", 256, 256, 1, (uint32_t[]){4, 4});
    free(naive_text);
    free(tiled_text);
    simt_pool_destroy(pool);
    return 0;
}
