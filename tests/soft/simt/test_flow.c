/* SPDX-License-Identifier: Apache-2.0 */
/* Divergence, calls and exits: lanes that part must each do their own work and meet again. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* %i is the thread's number in the grid, %x the address of out[%i]. */
#define START                                                                                   \
    ".reg .pred %p<10>; .reg .b32 %r<40>, %i; .reg .b64 %x, %d<10>;\n"                          \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %i, %tid.x;\n"                        \
    "mad.lo.u32 %i, %r0, %r1, %i; ld.param.u64 %x, [out]; mad.wide.u32 %x, %i, 4, %x;\n"
#define KERNEL(name) ".visible .entry " name "(.param .u64 out)\n{\n" START

static void run(const char *ptx, const char *name, uint32_t blocks, uint32_t threads, u32 *out)
{
    struct rig rig;
    rig_open(&rig, ptx, 2);
    u32 *memory = rig_buffer(&rig, 4 * blocks * threads);
    rig_run(&rig, name, RIG_X(blocks), RIG_X(threads), RIG_ARGS(&memory));
    memcpy(out, memory, 4 * blocks * threads);
    rig_close(&rig);
}

static u32 collatz(u32 n)
{
    u32 steps = 0;
    for (; n != 1; steps++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

/* A loop that every lane leaves at another time, with a branch inside. */
static void test_loop_with_branches(void **state)
{
    (void)state;
    u32 out[300];
    run(HEAD KERNEL("k") "add.u32 %r2, %i, 1; mov.u32 %r3, 0;\n"
        "LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;\n"
        "and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra EVEN;\n"
        "mad.lo.u32 %r2, %r2, 3, 1; bra NEXT;\n"
        "EVEN: shr.u32 %r2, %r2, 1;\n"
        "NEXT: add.u32 %r3, %r3, 1; bra LOOP;\n"
        "DONE: st.global.u32 [%x], %r3; ret;\n}\n", "k", 3, 100, out);
    for (u32 i = 0; i < 300; i++)
        assert_int_equal(out[i], collatz(i + 1));
}

/* Lanes meet again after an if: activemask sees them all, inside it only those that took it. */
static void test_reconvergence(void **state)
{
    (void)state;
    u32 out[64];
    run(HEAD KERNEL("k") "and.b32 %r2, %i, 3; setp.eq.u32 %p1, %r2, 0; mov.u32 %r4, 0;\n"
        "@!%p1 bra ELSE; activemask.b32 %r4; bra MEET;\n"
        "ELSE: setp.eq.u32 %p2, %r2, 1; @%p2 bra MEET; activemask.b32 %r4;\n"
        "MEET: activemask.b32 %r5; setp.ne.u32 %p3, %r5, -1; @%p3 mov.u32 %r4, 99;\n"
        "st.global.u32 [%x], %r4; ret;\n}\n", "k", 1, 64, out);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(out[i], i % 4 == 0 ? 0x11111111u : i % 4 == 1 ? 0 : 0xccccccccu);
}

/* Exits in the middle leave the rest running, at full speed and in loops. */
static void test_early_exits(void **state)
{
    (void)state;
    u32 out[96] = {0};
    run(HEAD KERNEL("k") "mov.u32 %r2, 0; and.b32 %r5, %i, 31;\n"
        "LOOP: add.u32 %r2, %r2, 1; st.global.u32 [%x], %r2;\n"
        "setp.ge.u32 %p1, %r2, %r5; @%p1 exit; setp.lt.u32 %p2, %r2, 20; @%p2 bra LOOP;\n"
        "st.global.u32 [%x], 1000; ret;\n}\n", "k", 2, 48, out);
    for (u32 i = 0; i < 96; i++) {
        const u32 lane = i & 31;
        assert_int_equal(out[i], lane <= 20 ? (lane ? lane : 1) : 1000);
    }
}

/* brx.idx: a jump for each lane. */
static void test_indexed_branch(void **state)
{
    (void)state;
    u32 out[64];
    run(HEAD KERNEL("k") "rem.u32 %r2, %i, 5; min.u32 %r2, %r2, 3;\n"
        "TABLE: .branchtargets L0, L1, L2, L3;\n"
        "brx.idx %r2, TABLE;\n"
        "L0: mov.u32 %r3, 10; bra END;\nL1: mov.u32 %r3, 11; bra END;\n"
        "L2: mov.u32 %r3, 12; bra END;\nL3: mov.u32 %r3, 13;\n"
        "END: activemask.b32 %r4; setp.ne.u32 %p1, %r4, -1; @%p1 mov.u32 %r3, 0;\n"
        "st.global.u32 [%x], %r3; ret;\n}\n", "k", 1, 64, out);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(out[i], 10 + (i % 5 < 3 ? i % 5 : 3));
}

#define CALL(result, callee, argument)                                                          \
    "{ .param .b32 ret0; .param .b32 arg0; st.param.b32 [arg0], " argument ";\n"                \
    "call (ret0), " callee ", (arg0); ld.param.b32 " result ", [ret0]; }\n"
#define FIB                                                                                     \
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .pred %p<3>; .reg .b32 %a<6>;\n"         \
    "ld.param.b32 %a0, [n]; setp.lt.u32 %p0, %a0, 2; @%p0 bra SMALL;\n"                         \
    "sub.u32 %a1, %a0, 1;\n" CALL("%a2", "fib", "%a1")                                          \
    "sub.u32 %a1, %a0, 2;\n" CALL("%a3", "fib", "%a1")                                          \
    "add.u32 %a2, %a2, %a3; st.param.b32 [r], %a2; ret;\n"                                      \
    "SMALL: st.param.b32 [r], %a0; ret;\n}\n"

static u32 fib(u32 n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Recursion to another depth in each lane, and the lanes together again afterwards. */
static void test_recursion(void **state)
{
    (void)state;
    u32 out[40];
    run(HEAD FIB KERNEL("k") "rem.u32 %r2, %i, 13;\n" CALL("%r3", "fib", "%r2")
        "activemask.b32 %r4; popc.b32 %r4, %r4; mul.lo.u32 %r4, %r4, 1000; add.u32 %r3, %r3, %r4;\n"
        "st.global.u32 [%x], %r3; ret;\n}\n", "k", 1, 40, out);
    for (u32 i = 0; i < 40; i++)
        assert_int_equal(out[i], fib(i % 13) + (i < 32 ? 32000 : 8000));
}

/* Calls through pointers: from a table in memory and from registers, one for each lane. */
static void test_indirect_calls(void **state)
{
    (void)state;
    u32 out[64];
    run(HEAD ".func (.param .b32 r) twice(.param .b32 n)\n{\n.reg .b32 %a; ld.param.b32 %a, [n];\n"
        "add.u32 %a, %a, %a; st.param.b32 [r], %a; ret;\n}\n"
        ".func (.param .b32 r) square(.param .b32 n)\n{\n.reg .b32 %a; ld.param.b32 %a, [n];\n"
        "mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret;\n}\n"
        ".global .align 8 .u64 table[2] = {twice, square};\n"
        KERNEL("k") "and.b32 %r2, %i, 1; mov.u64 %d0, table; mad.wide.u32 %d0, %r2, 8, %d0;\n"
        "ld.global.u64 %d1, [%d0]; setp.lt.u32 %p1, %i, 8; mov.u64 %d2, square;\n"
        "@%p1 mov.u64 %d1, %d2;\n"
        "PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "{ .param .b32 ret0; .param .b32 arg0; st.param.b32 [arg0], %i;\n"
        "call (ret0), %d1, (arg0), PROTO; ld.param.b32 %r3, [ret0]; }\n"
        "st.global.u32 [%x], %r3; ret;\n}\n", "k", 1, 64, out);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(out[i], i < 8 || i & 1 ? i * i : 2 * i);
}

/* Register parameters (the old way), guarded calls, locals by address, exit inside a call. */
static void test_call_forms(void **state)
{
    (void)state;
    u32 out[64];
    run(HEAD ".func (.reg .u32 r, .reg .pred q) half(.reg .u32 n, .reg .u32 m)\n{\n"
        "add.u32 r, n, m; setp.gt.u32 q, n, 40; ret;\n}\n"
        ".func leave(.param .b64 p)\n{\n.reg .b64 %a; .reg .b32 %b; ld.param.u64 %a, [p];\n"
        "ld.local.u32 %b, [%a]; add.u32 %b, %b, 5; st.u32 [%a], %b;\n"
        ".reg .pred %p; setp.eq.u32 %p, %b, 65; @%p exit; ret;\n}\n"
        KERNEL("k") ".local .align 8 .b8 depot[16];\n"
        "setp.gt.u32 %p0, %i, 3; mov.u32 %r3, 7; setp.ne.u32 %p3, %i, %i;\n"
        "@%p0 call (%r3, %p3), half, (%i, 1000);\n"
        "@%p3 add.u32 %r3, %r3, 10000;\n"
        "mov.u64 %d0, depot; st.local.u32 [%d0+4], %i; add.u64 %d1, %d0, 4;\n"
        "st.global.u32 [%x], 77;\n"
        "{ .param .b64 arg0; st.param.b64 [arg0], %d1; call leave, (arg0); }\n"
        "ld.local.u32 %r5, [depot+4]; sub.u32 %r5, %r5, %i; mad.lo.u32 %r3, %r5, 100000, %r3;\n"
        "st.global.u32 [%x], %r3; ret;\n}\n", "k", 1, 64, out);
    for (u32 i = 0; i < 64; i++) {
        const u32 sum = i > 3 ? i + 1000 + (i > 40 ? 10000 : 0) : 7;
        assert_int_equal(out[i], i == 60 ? 77 : sum + 500000);
    }
}

/* A structure through parameters, vectors of it, and results in two pieces. */
static void test_wide_parameters(void **state)
{
    (void)state;
    u32 out[32];
    run(HEAD ".func (.param .align 8 .b8 r[8]) swap(.param .align 16 .b8 s[16], .param .b64 k)\n{\n"
        ".reg .b32 %a<5>; .reg .b64 %l; ld.param.v4.u32 {%a0, %a1, %a2, %a3}, [s];\n"
        "ld.param.u64 %l, [k]; cvt.u32.u64 %a4, %l; add.u32 %a3, %a3, %a4;\n"
        "st.param.v2.b32 [r], {%a3, %a0}; ret;\n}\n"
        KERNEL("k") "cvt.u64.u32 %d0, %i;\n"
        "{ .param .align 16 .b8 s[16]; .param .b64 k; .param .align 8 .b8 r[8];\n"
        "st.param.v2.b32 [s], {%i, 2}; st.param.b64 [s+8], 12884901890; st.param.b64 [k], %d0;\n"
        "call (r), swap, (s, k); ld.param.b32 %r2, [r+0]; ld.param.b32 %r3, [r+4]; }\n"
        "mad.lo.u32 %r2, %r2, 1000, %r3; st.global.u32 [%x], %r2; ret;\n}\n", "k", 1, 32, out);
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(out[i], (3 + i) * 1000 + i);
}

/* A lock taken by all lanes of a warp: the holder stands behind those who spin. */
static void test_lock_within_warp(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             ".visible .entry k(.param .u64 lock, .param .u64 sum)\n{\n"
             ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
             "ld.param.u64 %d0, [lock]; ld.param.u64 %d1, [sum];\n"
             "SPIN: atom.global.cas.b32 %r0, [%d0], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra SPIN;\n"
             "ld.volatile.global.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.volatile.global.u32 "
             "[%d1], %r1;\n"
             "membar.gl; atom.global.exch.b32 %r2, [%d0], 0; ret;\n}\n",
             2);
    u32 *lock = rig_buffer(&rig, 4), *sum = rig_buffer(&rig, 4);
    rig_run(&rig, "k", RIG_X(4), RIG_X(64), RIG_ARGS(&lock, &sum));
    assert_int_equal(*sum, 256);
    rig_close(&rig);
}

/* One warp waits for a word that a later warp of its block writes, without a barrier. */
static void test_waiting_for_another_warp(void **state)
{
    (void)state;
    u32 out[64];
    run(HEAD KERNEL(
            "k") ".shared .align 4 .b32 flag; setp.ge.u32 %p1, %i, 32; @%p1 bra SECOND;\n"
                 "WAIT: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra "
                 "WAIT;\n"
                 "st.global.u32 [%x], %r2; ret;\n"
                 "SECOND: st.volatile.shared.u32 [flag], 5; st.global.u32 [%x], 6; ret;\n}\n",
        "k", 1, 64, out);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(out[i], i < 32 ? 5 : 6);
}

/* The same, when lanes of one warp wait for each other. */
static void test_waiting_within_warp(void **state)
{
    (void)state;
    u32 out[32];
    run(HEAD KERNEL("k") ".shared .align 4 .b32 flag; setp.ge.u32 %p1, %i, 7; @%p1 bra LATE;\n"
        "WAIT: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;\n"
        "bra END;\nLATE: mov.u32 %r2, 5; st.volatile.shared.u32 [flag], %r2;\n"
        "END: st.global.u32 [%x], %r2; ret;\n}\n", "k", 1, 32, out);
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(out[i], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_with_branches),
        cmocka_unit_test(test_reconvergence),
        cmocka_unit_test(test_early_exits),
        cmocka_unit_test(test_indexed_branch),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_indirect_calls),
        cmocka_unit_test(test_call_forms),
        cmocka_unit_test(test_wide_parameters),
        cmocka_unit_test(test_lock_within_warp),
        cmocka_unit_test(test_waiting_for_another_warp),
        cmocka_unit_test(test_waiting_within_warp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
