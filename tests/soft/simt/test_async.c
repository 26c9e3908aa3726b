/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier objects, copies of part of their size, vectors of atomics, and predicates in pairs. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

#define HEAD                                                                                    \
    ".version 8.4\n.target sm_90\n.address_size 64\n"                                           \
    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"                                   \
    ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<20>, %i; .reg .b64 %x, %y, %d<20>;\n"    \
    ".shared .align 16 .b8 arena[2048]; .shared .align 8 .b64 bar;\n"                           \
    "ld.param.u64 %x, [out]; ld.param.u64 %y, [in]; mov.u32 %i, %tid.x;\n"
#define TAIL "ret;\n}\n"

/* Warp 0 writes, arrives and goes on; the others wait for the phase, again and again. */
static void test_phases(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD
        "setp.eq.u32 %p0, %i, 0; @%p0 mbarrier.init.shared.b64 [bar], 96; bar.sync 0;\n"
        "mov.u32 %r0, 0; shl.b32 %r1, %i, 2; mov.u32 %r2, arena; add.u32 %r1, %r1, %r2;\n"
        "xor.b32 %r3, %i, 64; rem.u32 %r3, %r3, 96; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r2;\n"
        "mov.u32 %r4, 0; st.shared.u32 [%r1], %i;\n"
        "again: mbarrier.arrive.release.cta.shared::cta.b64 %d0, [bar];\n"
        "wait: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p1, [bar], %d0;\n"
        "@!%p1 bra wait;\n"
        "ld.shared.u32 %r5, [%r3]; add.u32 %r4, %r4, %r5;\n"
        "mbarrier.arrive.shared.b64 _, [bar];\n"
        "and.b32 %r6, %r0, 0; add.u32 %r6, %r6, 1;\n"
        "other: mbarrier.test_wait.parity.shared.b64 %p1, [bar], %r6; @!%p1 bra other;\n"
        "add.u32 %r5, %r4, %i; st.shared.u32 [%r1], %r5;\n"
        "add.u32 %r0, %r0, 1; setp.lt.u32 %p2, %r0, 3; @%p2 bra again;\n"
        "mad.wide.u32 %x, %i, 4, %x; st.global.u32 [%x], %r4;\n" TAIL,
        1);
    u32 *out = rig_buffer(&rig, 96 * 4);
    rig_run(&rig, "k", RIG_X(1), RIG_X(96), RIG_ARGS(&out, &out));
    u32 cell[96], sum[96] = {0}, next[96];
    for (u32 i = 0; i < 96; i++)
        cell[i] = i;
    for (int round = 0; round < 3; round++) {
        for (u32 i = 0; i < 96; i++) {
            sum[i] += cell[(i ^ 64) % 96];
            next[i] = sum[i] + i;
        }
        memcpy(cell, next, sizeof cell);
    }
    assert_memory_equal(out, sum, sizeof sum);
    rig_close(&rig);
}

/* One thread goes through what an object says of itself. */
static void test_counts(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             "mbarrier.init.shared.b64 [bar], 3;\n"
             "mbarrier.arrive.noComplete.shared.b64 %d0, [bar], 2; mbarrier.pending_count.b64 %r0, "
             "%d0;\n"
             "mbarrier.test_wait.shared.b64 %p0, [bar], %d0; selp.u32 %r1, 1, 0, %p0;\n"
             "mbarrier.arrive_drop.shared.b64 %d1, [bar]; mbarrier.pending_count.b64 %r2, %d1;\n"
             "mbarrier.test_wait.shared.b64 %p0, [bar], %d0; selp.u32 %r3, 1, 0, %p0;\n"
             "mbarrier.arrive.shared.b64 %d2, [bar]; mbarrier.pending_count.b64 %r4, %d2;\n"
             "cp.async.mbarrier.arrive.shared.b64 [bar];\n"
             "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 1; selp.u32 %r5, 1, 0, %p0;\n"
             "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
             "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 1; selp.u32 %r6, 1, 0, %p0;\n"
             "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d3, [bar], 16;\n"
             "mbarrier.arrive.shared.b64 %d3, [bar];\n"
             "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0; selp.u32 %r7, 1, 0, %p0;\n"
             "mbarrier.inval.shared.b64 [bar];\n"
             "st.global.v4.u32 [%x], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%x+16], {%r4, %r5, "
             "%r6, %r7};\n" TAIL,
             1);
    u32 *out = rig_buffer(&rig, 32);
    rig_run(&rig, "k", RIG_X(1), RIG_X(1), RIG_ARGS(&out, &out));
    /* 3 pending, phase not over; 1 pending, now over; 2 expected; 1 more does not end it but
     * the next does; bytes that are still to come keep it open */
    assert_memory_equal(out, ((u32[]){3, 0, 1, 1, 2, 0, 1, 0}), 32);
    rig_close(&rig);
}

static void test_too_many_arrivals(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD "mbarrier.init.shared.b64 [bar], 3;\n"
                        "mbarrier.arrive.shared.b64 %d0, [bar], 4;\n" TAIL, 1);
    u32 *out = rig_buffer(&rig, 32);
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(1), RIG_ARGS(&out, &out)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_TRAP);
    rig_close(&rig);
}

/* Every size from 0 to 16, read from the very end of a buffer; the rest becomes zero. */
static void test_partial_copies(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD "mov.u32 %r0, arena; shl.b32 %r1, %i, 4; add.u32 %r0, %r0, %r1;\n"
                  "mov.u32 %r4, -1; st.shared.v4.u32 [%r0], {%r4, %r4, %r4, %r4};\n"
                  "cp.async.cg.shared.global [%r0], [%y], 16, %i; cp.async.wait_all;\n"
                  "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r0];\n"
                  "mul.wide.u32 %d0, %i, 16; add.u64 %x, %x, %d0;\n"
                  "st.global.v4.u32 [%x], {%r4, %r5, %r6, %r7};\n"
                  "setp.lt.u32 %p0, %i, 8; cp.async.ca.shared.global [%r0], [%y], 8, %p0;\n"
                  "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r0]; st.global.v4.u32 [%x+512], {%r4, "
                  "%r5, %r6, %r7};\n" TAIL,
             1);
    unsigned char *out = rig_buffer(&rig, 1024), *in = rig_buffer(&rig, 16);
    for (int i = 0; i < 16; i++)
        in[i] = (unsigned char)(100 + i);
    rig_run(&rig, "k", RIG_X(1), RIG_X(17), RIG_ARGS(&out, &in));
    for (int i = 0; i < 17; i++) {
        for (int k = 0; k < 16; k++) {
            assert_int_equal(out[16 * i + k], k < i ? 100 + k : 0);
            const int again = k < 8 ? (i < 8 ? 0 : 100 + k) : k < i ? 100 + k : 0;
            assert_int_equal(out[512 + 16 * i + k], again);
        }
    }
    rig_close(&rig);
}

/* A source of three bytes is as far as it goes, and must be as aligned as the copy is. */
static void test_partial_copies_at_the_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD "mov.u32 %r0, 3; cvt.u64.u32 %d0, %i; add.u64 %y, %y, %d0;\n"
                        "cp.async.ca.shared.global [arena], [%y], 4, %r0;\n" TAIL, 1);
    u32 *out = rig_buffer(&rig, 4), *in = rig_buffer(&rig, 3), *less = rig_buffer(&rig, 2);
    rig_run(&rig, "k", RIG_X(1), RIG_X(1), RIG_ARGS(&out, &in));
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(1), RIG_ARGS(&out, &less)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_ADDRESS);
    u32 *wide = rig_buffer(&rig, 64);
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(2), RIG_ARGS(&out, &wide)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_MISALIGNED);
    rig_close(&rig);
}

static void test_vectors_of_atomics(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD
             "cvt.rn.f32.u32 %r0, %i; mov.b32 %r1, 0f3F800000; mov.b32 %r2, 0f40000000;\n"
             "red.global.add.v4.f32 [%x], {%r0, %r1, %r2, %r0};\n"
             "setp.eq.u32 %p0, %i, 3; mov.b32 %r8, 0; mov.b32 %r9, 0;\n"
             "mov.b32 %r4, 0x3c004000; mov.b32 %r5, 0x4000bc00;\n"
             "red.global.max.noftz.v2.f16x2 [%x+16], {%r4, %r5};\n"
             /* a destination that is the other's source */
             "@%p0 atom.global.v2.f32.add {%r8, %r9}, [%x+32], {%r1, %r2};\n"
             "@%p0 atom.global.add.v2.f32 {%r1, %r2}, [%x+32], {%r2, %r1};\n"
             "@%p0 st.global.v4.u32 [%x+48], {%r8, %r9, %r1, %r2};\n" TAIL, 1);
    u32 *out = rig_buffer(&rig, 64);
    rig_run(&rig, "k", RIG_X(2), RIG_X(32), RIG_ARGS(&out, &out));
    f32 sums[4];
    memcpy(sums, out, 16);
    assert_true(sums[0] == 992 && sums[1] == 64 && sums[2] == 128 && sums[3] == 992);
    assert_int_equal(out[4], 0x3c004000);
    assert_int_equal(out[5], 0x40000000); /* 0 beats -1 */
    f32 pair[6];
    memcpy(pair, out + 8, 8);
    memcpy(pair + 2, out + 12, 16);
    assert_true(pair[0] == 6 && pair[1] == 6);
    assert_true(pair[2] == 3 && pair[3] == 3 && pair[4] == 4 && pair[5] == 5);
    rig_close(&rig);
}

static void test_predicates_in_pairs(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD
             "mul.wide.u32 %d0, %i, 8; add.u64 %y, %y, %d0; ld.global.v2.u32 {%r0, %r1}, [%y];\n"
             "and.b32 %r2, %i, 1; setp.eq.u32 %p5, %r2, 0;\n"
             "setp.lt.f16x2 %p0|%p1, %r0, %r1; setp.neu.or.bf16x2 %p2|%p3, %r0, %r1, %p5;\n"
             "selp.u32 %r3, 1, 0, %p0; selp.u32 %r4, 2, 0, %p1; selp.u32 %r5, 4, 0, %p2;\n"
             "selp.u32 %r6, 8, 0, %p3; add.u32 %r3, %r3, %r4; add.u32 %r5, %r5, %r6;\n"
             "add.u32 %r3, %r3, %r5; mul.wide.u32 %d0, %i, 4; add.u64 %x, %x, %d0;\n"
             "st.global.u32 [%x], %r3;\n" TAIL, 1);
    u32 *out = rig_buffer(&rig, 256 * 4), *in = rig_buffer(&rig, 256 * 8);
    for (int i = 0; i < 512; i++)
        in[i] = (u32)(value_of_kind(K_f16) | value_of_kind(K_f16) << 16);
    rig_run(&rig, "k", RIG_X(1), RIG_X(256), RIG_ARGS(&out, &in));
    for (int i = 0; i < 256; i++) {
        const u32 a = in[2 * i], b = in[2 * i + 1];
        const u32 even = i % 2 == 0;
        const u32 wanted = (from_f16(a & 0xffff) < from_f16(b & 0xffff)) |
                           (u32)(from_f16(a >> 16) < from_f16(b >> 16)) << 1 |
                           (even | !(from_bf16(a & 0xffff) == from_bf16(b & 0xffff))) << 2 |
                           (even | !(from_bf16(a >> 16) == from_bf16(b >> 16))) << 3;
        assert_int_equal(out[i], wanted);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_too_many_arrivals),
        cmocka_unit_test(test_partial_copies),
        cmocka_unit_test(test_partial_copies_at_the_end),
        cmocka_unit_test(test_vectors_of_atomics),
        cmocka_unit_test(test_predicates_in_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
