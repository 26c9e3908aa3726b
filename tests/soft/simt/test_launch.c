/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: workers, launches side by side, cooperative ones, time limits, seeds, printing, and
 * kernels that are refused. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

#include <pthread.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS                                                                               \
    ".reg .pred %p<10>; .reg .b32 %r<40>, %i, %b; .reg .b64 %x, %y, %d<20>; .reg .f64 %w<4>;\n"
#define KERNEL(name) ".visible .entry " name "(.param .u64 out)\n{\n" REGISTERS                 \
    "mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; ld.param.u64 %x, [out];\n"

/* ---- shapes ------------------------------------------------------------------- */

static void test_three_dimensions(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD KERNEL(
                 "k") "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, "
                      "%ctaid.x;\n"
                      "mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z; mov.u32 %r7, %ntid.x; mov.u32 "
                      "%r8, %ntid.y;\n"
                      "mov.u32 %r9, %ntid.z; mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;\n"
                      /* the thread's number in the grid */
                      "mad.lo.u32 %r12, %r6, %r11, %r5; mad.lo.u32 %r12, %r12, %r10, %r4;\n"
                      "mad.lo.u32 %r12, %r12, %r9, %r3; mad.lo.u32 %r12, %r12, %r8, %r2;\n"
                      "mad.lo.u32 %r12, %r12, %r7, %r1; mad.wide.u32 %x, %r12, 4, %x;\n"
                      "mov.u32 %r13, %laneid; mov.u32 %r14, %warpid; mov.u32 %r15, %lanemask_lt;\n"
                      "popc.b32 %r15, %r15; sub.u32 %r13, %r13, %r15; mad.lo.u32 %r13, %r13, 7777, "
                      "%r14;\n"
                      "mad.lo.u32 %r13, %r12, 100, %r13; st.global.u32 [%x], %r13; ret;\n}\n",
             3);
    const u32 threads = 5 * 4 * 3, blocks = 3 * 2 * 4;
    u32 *out = rig_buffer(&rig, threads * blocks * 4);
    rig_run(&rig, "k", (struct rig_size){3, 2, 4}, (struct rig_size){5, 4, 3}, RIG_ARGS(&out));
    for (u32 i = 0; i < threads * blocks; i++)
        assert_int_equal(out[i], 100 * i + i % threads / 32);
    const u32 bad[][3] = {{1025, 1, 1}, {0, 1, 1}, {32, 33, 1}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_try(&rig, "k", RIG_X(1),
                                 (struct rig_size){bad[i][0], bad[i][1], bad[i][2]},
                                 RIG_ARGS(&out)),
                         RP_INVALID);
    assert_int_equal(rig_try(&rig, "k", RIG_X(0), RIG_X(1), RIG_ARGS(&out)), RP_INVALID);
    rig_close(&rig);
}

/* ---- workers ------------------------------------------------------------------ */

#define MIXED HEAD KERNEL("k") ".shared .align 4 .b32 cells[64]; mov.u32 %r9, cells;\n"          \
    "mad.lo.u32 %r1, %b, 64, %i; mad.wide.u32 %x, %r1, 4, %x; mul.lo.u32 %r2, %r1, 2654435761;\n" \
    "mad.lo.u32 %r8, %i, 4, %r9; st.shared.u32 [%r8], %r2; mov.u32 %r3, 0; "           \
    "and.b32 %r4, %r2, 63;\n"                                                                   \
    "L: xor.b32 %r5, %r3, %i; and.b32 %r5, %r5, 63; mad.lo.u32 %r5, %r5, 4, %r9; bar.sync 0;\n"  \
    "ld.shared.u32 %r6, [%r5]; bar.sync 0; setp.lt.u32 %p1, %r3, %r4; @%p1 "            \
    "mad.lo.u32 %r2, %r2, 5, %r6;\n"                                                            \
    "st.shared.u32 [%r8], %r2; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 64; @%p2 bra L;\n"     \
    "cvt.rn.f32.u32 %r7, %r2; sin.approx.f32 %r7, %r7; xor.b32 %r2, %r2, %r7;\n"                 \
    "st.global.u32 [%x], %r2; ret;\n}\n"

static void run_mixed(unsigned workers, u64 seed, u32 *result, u32 blocks)
{
    struct rig rig;
    rig_open(&rig, MIXED, workers);
    u32 *out = rig_buffer(&rig, blocks * 256);
    rig.options.schedule_seed = seed;
    rig_run(&rig, "k", RIG_X(blocks), RIG_X(64), RIG_ARGS(&out));
    memcpy(result, out, blocks * 256);
    rig_close(&rig);
}

/* The bytes don't depend on workers or on the order of blocks and warps. */
static void test_results_do_not_depend_on_schedule(void **state)
{
    (void)state;
    static u32 first[50 * 64], other[50 * 64];
    run_mixed(1, 0, first, 50);
    for (u32 i = 0; i < 16; i++) {
        run_mixed(1 + i % 5, i / 2, other, 50);
        assert_memory_equal(first, other, sizeof first);
    }
}

/* A seed is an order of blocks: the same each time, complete, and different from others. */
static void test_seeded_order(void **state)
{
    (void)state;
    struct rig rig;
    enum { BLOCKS = 37 };
    rig_open(
        &rig,
        HEAD KERNEL("k") "setp.ne.u32 %p1, %i, 0; @%p1 exit; atom.global.add.u32 %r1, [%x], 1;\n"
                         "mad.wide.u32 %x, %b, 4, %x; st.global.u32 [%x+4], %r1; ret;\n}\n",
        1);
    u32 *out = rig_buffer(&rig, 4 * (BLOCKS + 1)), orders[4][BLOCKS];
    const u64 seeds[4] = {0, 1, 1, 2};
    for (int n = 0; n < 4; n++) {
        memset(out, 0, 4 * (BLOCKS + 1));
        rig.options.schedule_seed = seeds[n];
        rig_run(&rig, "k", RIG_X(BLOCKS), RIG_X(64), RIG_ARGS(&out));
        memcpy(orders[n], out + 1, sizeof orders[n]);
        bool seen[BLOCKS] = {false};
        for (u32 b = 0; b < BLOCKS; b++) {
            assert_true(orders[n][b] < BLOCKS && !seen[orders[n][b]]);
            seen[orders[n][b]] = true;
        }
    }
    for (u32 b = 0; b < BLOCKS; b++)
        assert_int_equal(orders[0][b], b);
    assert_memory_equal(orders[1], orders[2], sizeof orders[1]);
    assert_memory_not_equal(orders[0], orders[1], sizeof orders[1]);
    assert_memory_not_equal(orders[1], orders[3], sizeof orders[1]);
    rig_close(&rig);
}

struct side { struct rig *rig; u32 *out; u32 start; };

static void *launch_often(void *argument)
{
    struct side *side = argument;
    const struct simt_kernel *kernel = simt_module_kernel(side->rig->module, "k");
    for (int i = 0; i < 20; i++) {
        struct simt_launch launch = side->rig->options;
        struct simt_fault fault;
        launch.kernel = kernel;
        launch.grid[0] = 9, launch.grid[1] = launch.grid[2] = 1;
        launch.block[0] = 40, launch.block[1] = launch.block[2] = 1;
        unsigned char params[12];
        memcpy(params, &side->out, 8);
        memcpy(params + 8, &side->start, 4);
        launch.params = params;
        if (simt_run(side->rig->pool, &launch, &fault) != RP_OK || fault.kind != SIMT_FAULT_NONE)
            return argument;
    }
    return NULL;
}

/* Several threads launch on one pool at the same time. */
static void test_launches_side_by_side(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             ".visible .entry k(.param .u64 out, .param .u32 start)\n{\n" REGISTERS
             "mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; ld.param.u64 %x, [out]; ld.param.u32 %r1, "
             "[start];\n"
             "mad.lo.u32 %r2, %b, 40, %i; mad.wide.u32 %x, %r2, 4, %x; add.u32 %r2, %r2, %r1;\n"
             "ld.global.u32 %r3, [%x]; add.u32 %r3, %r3, %r2; st.global.u32 [%x], %r3; ret;\n}\n",
             3);
    struct side sides[4];
    pthread_t threads[4];
    for (u32 t = 0; t < 4; t++)
        sides[t] = (struct side){&rig, rig_buffer(&rig, 360 * 4), 1000 * t};
    for (u32 t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, launch_often, &sides[t]), 0);
    for (u32 t = 0; t < 4; t++) {
        void *failed;
        pthread_join(threads[t], &failed);
        assert_null(failed);
        for (u32 i = 0; i < 360; i++)
            assert_int_equal(sides[t].out[i], 20 * (i + 1000 * t));
    }
    rig_close(&rig);
}

/* All blocks of a cooperative launch meet, several times, on any number of workers. */
static void test_cooperative(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct rig rig;
        rig_open(
            &rig,
            HEAD KERNEL("k") "mov.u32 %r1, 0; mov.u32 %r9, %nctaid.x; mov.u32 %r7, 0;\n"
                             "LOOP: bar.sync 0; setp.ne.u32 %p1, %i, 0; @%p1 bra MET;\n"
                             "add.u32 %r7, %r7, %r9; membar.gl; atom.global.add.u32 %r2, [%x], 1;\n"
                             "WAIT: ld.acquire.gpu.global.u32 %r3, [%x]; setp.lt.u32 %p2, %r3, "
                             "%r7; @%p2 bra WAIT;\n"
                             "MET: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 5; @%p3 "
                             "bra LOOP;\n"
                             "mad.wide.u32 %d1, %b, 4, %x; st.global.u32 [%d1+4], %r3; ret;\n}\n",
            workers);
        u32 *out = rig_buffer(&rig, 4 * 21);
        rig.options.cooperative = true;
        rig_run(&rig, "k", RIG_X(20), RIG_X(64), RIG_ARGS(&out));
        assert_int_equal(out[0], 100);
        rig_close(&rig);
    }
}

/* The grid barrier of CUDA's cooperative groups, which finds its word by %envreg1 and %envreg2.
 * Whoever is last flips the word's highest bit. */
#define WORKSPACE "mov.u32 %r1, %envreg1; cvt.u64.u32 %d1, %r1; mov.u32 %r2, %envreg2;\n"        \
                  "cvt.u64.u32 %d2, %r2; bfi.b64 %d1, %d1, %d2, 32, 32;\n"
static void test_grid_workspace(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct rig rig;
        rig_open(&rig,
                 HEAD KERNEL("meet") WORKSPACE
                 "atom.global.add.u32 %r9, [%x], 1; mov.u32 %r7, 1; mov.u32 %r3, %nctaid.x;\n"
                 "sub.u32 %r4, 0x80000001, %r3; setp.eq.u32 %p1, %b, 0;\n"
                 "selp.b32 %r7, %r4, %r7, %p1; bar.sync 0; setp.ne.u32 %p2, %i, 0; @%p2 bra MET;\n"
                 "atom.add.release.gpu.u32 %r5, [%d1+4], %r7;\n"
                 "WAIT: ld.acquire.gpu.u32 %r6, [%d1+4]; xor.b32 %r6, %r6, %r5;\n"
                 "setp.ge.s32 %p3, %r6, 0; @%p3 bra WAIT;\n"
                 "MET: bar.sync 0; ld.global.u32 %r8, [%x]; mad.wide.u32 %d3, %b, 4, %x;\n"
                 "st.global.u32 [%d3+4], %r8; ret;\n}\n"
                 KERNEL("which") WORKSPACE "st.global.u64 [%x], %d1; ret;\n}\n",
                 workers);
        u32 *out = rig_buffer(&rig, 4 * 21);
        out[0] = 0;
        rig.options.cooperative = true;
        rig_run(&rig, "meet", RIG_X(20), RIG_X(64), RIG_ARGS(&out));
        for (u32 i = 0; i < 20; i++)
            assert_int_equal(out[1 + i], 20 * 64);
        rig.options.cooperative = false;
        rig_run(&rig, "which", RIG_X(1), RIG_X(1), RIG_ARGS(&out));
        assert_int_equal(out[0] | out[1], 0);
        rig_close(&rig);
    }
}

/* ---- ends --------------------------------------------------------------------- */

static void test_time_limit(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD KERNEL("forever") "L: bra L;\n}\n" KERNEL(
                 "meeting") "L: bar.sync 0; bra L;\n}\n" KERNEL(
                 "waiting") "L: ld.volatile.global.u32 %r1, [%x]; setp.eq.u32 %p1, %r1, 0; @%p1 "
                            "bra L; ret;\n}\n" KERNEL("short") "st.global.u32 [%x], 1; ret;\n}\n",
             2);
    u32 *out = rig_buffer(&rig, 4);
    rig.options.timeout_ns = 20000000;
    (void)rig_try(&rig, "forever", RIG_X(3), RIG_X(64), RIG_ARGS(&out));
    assert_int_equal(rig.fault.kind, SIMT_FAULT_TIMEOUT);
    (void)rig_try(&rig, "meeting", RIG_X(3), RIG_X(64), RIG_ARGS(&out));
    assert_int_equal(rig.fault.kind, SIMT_FAULT_TIMEOUT);
    (void)rig_try(&rig, "waiting", RIG_X(1), RIG_X(1), RIG_ARGS(&out));
    assert_int_equal(rig.fault.kind, SIMT_FAULT_TIMEOUT);
    rig.options.timeout_ns = UINT64_C(3600000000000);
    rig_run(&rig, "short", RIG_X(1), RIG_X(1), RIG_ARGS(&out));
    rig_close(&rig);
}

/* Threads that wait for those who never come: a fault, not a hang. */
static void test_deadlocks(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD KERNEL("barriers") "setp.lt.u32 %p1, %i, 32; @%p1 bra A; bar.sync 1; ret;\n"
             "A: bar.sync 2; ret;\n}\n"
             KERNEL("shuffle") "setp.lt.u32 %p1, %i, 16; @%p1 bra A; bar.sync 1; ret;\n"
             "A: shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; ret;\n}\n"
             KERNEL("count") "bar.sync 0, 128; ret;\n}\n", 1);
    u32 *out = rig_buffer(&rig, 4);
    static const char *const names[] = {"barriers", "shuffle", "count"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_try(&rig, names[i], RIG_X(1), RIG_X(64), RIG_ARGS(&out)), RP_OK);
        assert_int_equal(rig.fault.kind, SIMT_FAULT_BARRIER);
    }
    rig_close(&rig);
}

/* One count an operation and live lane, give or take the control flow. */
static void test_operations_are_counted(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD KERNEL("k") "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1; xor.b32 %r2, %r2, %r1;\n"
                              "setp.lt.u32 %p1, %r1, 1000; @%p1 bra L; ret;\n}\n",
             2);
    u32 *out = rig_buffer(&rig, 4);
    const u64 before = simt_pool_operations(rig.pool);
    rig_run(&rig, "k", RIG_X(4), RIG_X(48), RIG_ARGS(&out));
    const u64 done = simt_pool_operations(rig.pool) - before;
    assert_true(done >= 4000u * 48 * 4 && done < 4100u * 48 * 4);
    rig_close(&rig);
}

/* ---- printing ----------------------------------------------------------------- */

static size_t printed(struct rig *rig, const char *kernel, u32 blocks, u32 threads, char *text,
                      size_t size, const void *const *args)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int old = dup(1);
    dup2(fileno(file), 1);
    const enum rp_status status = rig_try(rig, kernel, RIG_X(blocks), RIG_X(threads), args);
    fflush(stdout);
    dup2(old, 1);
    close(old);
    rewind(file);
    const size_t length = fread(text, 1, size - 1, file);
    text[length] = 0;
    fclose(file);
    assert_int_equal(status, RP_OK);
    return length;
}

#define PRINTF                                                                                  \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"                    \
    ".global .align 1 .b8 format[40] = {98,108,111,99,107,32,37,100,58,32,37,53,46,50,102,32,"  \
    "37,115,32,37,108,108,120,32,37,45,52,117,124,37,99,37,37,10};\n"                           \
    ".global .align 1 .b8 word[4] = {97,98,99,0};\n"

/* "block %d: %5.2f %s %llx %-4u|%c%%\n", block by block whoever ran them. */
static void test_printf(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        struct rig rig;
        char text[2000], wanted[2000] = "";
        rig_open(
            &rig,
            HEAD PRINTF KERNEL(
                "k") ".local .align 8 .b8 depot[48]; mov.u64 %d0, depot;\n"
                     "cvta.local.u64 %d1, %d0; st.local.u32 [%d0], %b; cvt.rn.f64.u32 %w0, %b;\n"
                     "mul.f64 %w0, %w0, 0d3FF4000000000000; st.local.f64 [%d0+8], %w0;\n"
                     "mov.u64 %d2, word; cvta.global.u64 %d2, %d2; st.local.u64 [%d0+16], %d2;\n"
                     "mov.u64 %d3, 0x123456789a; st.local.u64 [%d0+24], %d3; st.local.u32 "
                     "[%d0+32], %i;\n"
                     "mov.u32 %r1, 33; st.local.u32 [%d0+36], %r1; mov.u64 %d4, format;\n"
                     "cvta.global.u64 %d4, %d4; mov.u32 %r5, 99;\n"
                     "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d4;\n"
                     "st.param.b64 [a], %d1; call (r), vprintf, (f, a); ld.param.b32 %r5, [r]; }\n"
                     "atom.global.add.u32 %r6, [%x], %r5; ret;\n}\n",
            workers);
        u32 *out = rig_buffer(&rig, 4);
        printed(&rig, "k", 7, 2, text, sizeof text, RIG_ARGS(&out));
        for (int b = 0; b < 7; b++) {
            for (unsigned i = 0; i < 2; i++)
                sprintf(wanted + strlen(wanted), "block %d: %5.2f %s %llx %-4u|%c%%\n", b, 1.25 * b,
                        "abc", 0x123456789allu, i, '!');
        }
        assert_string_equal(text, wanted);
        assert_int_equal(*out, 7 * 2 * 6);
        rig_close(&rig);
    }
}

/* ---- refusals ----------------------------------------------------------------- */

static void expect_refusal(const char *body, const char *wanted)
{
    struct rig rig;
    char ptx[2048];
    snprintf(ptx, sizeof ptx, "%s%s\n    %s\nret;\n}\n%s", HEAD KERNEL("k"), "", body,
             KERNEL("fine") "st.global.u32 [%x], 42; ret;\n}\n");
    rig_open(&rig, ptx, 1);
    u32 *out = rig_buffer(&rig, 4);
    const char *refusal = simt_kernel_refusal(simt_module_kernel(rig.module, "k"));
    if (!refusal || !strstr(refusal, wanted) || strncmp(refusal, "9:5: ", 5) != 0)
        fail_msg("%s: %s", body, refusal ? refusal : "not refused");
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(1), RIG_ARGS(&out)), RP_UNSUPPORTED);
    rig_run(&rig, "fine", RIG_X(1), RIG_X(1), RIG_ARGS(&out)); /* the others run */
    assert_int_equal(*out, 42);
    rig_close(&rig);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("frobnicate.u32 %r1, %r2;", "frobnicate.u32");
    expect_refusal("add.u32.wrong %r1, %r1, %r2;", "add.u32.wrong");
    expect_refusal("add.u32 %r1, %r1;", "add.u32: this number of operands");
    expect_refusal("add.u32 %r1, %r1, %d1;", "%d1 has the wrong size");
    expect_refusal("add.f32 %r1, %r1, 3;", "an integer literal");
    expect_refusal("ld.global.u32.what %r1, [%x];", "ld.global.u32.what");
    expect_refusal("ld.global.u32 %p1, [%x];", "a predicate where a number goes");
    expect_refusal("cvt.u32.u64 %p1, %d1;", "a predicate where a number goes");
    expect_refusal("ld.global.b128 %d1, [%x];", "ld.global.b128");
    expect_refusal("atom.global.frob.u32 %r1, [%x], 1;", "atom.global.frob.u32");
    expect_refusal("mov.u32 %r1, %clusterid.x;", "%clusterid.x");
    expect_refusal("setp.lt.b32 %p1, %r1, %r2;", "setp.lt.b32");
    expect_refusal("cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group");
    expect_refusal("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%x, {%r1, %r2}];", "tex.2d");
    expect_refusal("discard.global.L2 [%x], 128;", "discard");
}

/* A refused function refuses the kernels that call it, and only those. */
static void test_refusal_reaches_callers(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             ".func bad()\n{\nfrobnicate;\nret;\n}\n.func between()\n{\ncall bad; ret;\n}\n" KERNEL(
                 "k") "call between; ret;\n}\n" KERNEL("fine") "ret;\n}\n",
             1);
    assert_non_null(simt_kernel_refusal(simt_module_kernel(rig.module, "k")));
    assert_null(simt_kernel_refusal(simt_module_kernel(rig.module, "fine")));
    rig_close(&rig);
}

/* What the launch needs is told beforehand. */
static void test_kernel_info(void **state)
{
    (void)state;
    struct rig rig;
    struct simt_kernel_info info;
    rig_open(&rig, HEAD ".shared .align 16 .b8 big[1000];\n.shared .b32 unused[500];\n"
             ".visible .entry k(.param .u64 out, .param .u32 n) .maxntid 64, 4, 1\n{\n" REGISTERS
             ".local .align 8 .b8 depot[24]; .shared .b32 small[3];\n"
             "mov.u32 %r1, big; mov.u32 %r2, small; st.local.u32 [depot], %r1; ret;\n}\n"
             KERNEL("none") "ret;\n}\n", 1);
    simt_kernel_info(simt_module_kernel(rig.module, "k"), &info);
    assert_int_equal(info.static_shared_bytes, 1012);
    assert_int_equal(info.local_bytes, 32);
    assert_int_equal(info.max_threads, 256);
    assert_int_equal(info.ptx->param_bytes, 12);
    simt_kernel_info(simt_module_kernel(rig.module, "none"), &info);
    assert_int_equal(info.static_shared_bytes, 0);
    assert_int_equal(info.max_threads, 1024);
    assert_null(simt_module_kernel(rig.module, "absent"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_dimensions),
        cmocka_unit_test(test_results_do_not_depend_on_schedule),
        cmocka_unit_test(test_seeded_order),
        cmocka_unit_test(test_launches_side_by_side),
        cmocka_unit_test(test_cooperative),
        cmocka_unit_test(test_grid_workspace),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_deadlocks),
        cmocka_unit_test(test_operations_are_counted),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refusal_reaches_callers),
        cmocka_unit_test(test_kernel_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
