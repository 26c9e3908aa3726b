/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, and what an oracle is told of what is not. */
#include "tests/soft/simt/entry.h"
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- faults ------------------------------------------------------------------- */

/* `body` must fault with this kind in thread `lane` of block 1, at this offset from `out`. */
static void expect_fault(const char *body, enum simt_fault_kind kind, u32 lane, bool is_write)
{
    struct rig rig;
    char ptx[4096];
    snprintf(
        ptx, sizeof ptx, "%s%s\n%s\nret;\n}\n", HEAD KERNEL("k"),
        "mov.u32 %r0, %ctaid.x; setp.ne.u32 %p9, %r0, 1; @%p9 exit; .local .align 8 .b8 depot[16];"
        " .shared .align 8 .b8 pool[16]; mad.wide.u32 %d0, %i, 4, %x;",
        body);
    rig_open(&rig, ptx, 1);
    u32 *out = rig_buffer(&rig, 64 * 4);
    assert_int_equal(rig_try(&rig, "k", RIG_X(3), RIG_X(64), RIG_ARGS(&out, &out)), RP_OK);
    if (rig.fault.kind != kind || rig.fault.thread[0] != lane || rig.fault.block[0] != 1 ||
        rig.fault.is_write != is_write || rig.fault.line != 9)
        fail_msg("%s: fault %d of thread %u in block %u at line %u, address %#llx, write %d", body,
                 (int)rig.fault.kind, rig.fault.thread[0], rig.fault.block[0], rig.fault.line,
                 (unsigned long long)rig.fault.address, rig.fault.is_write);
    rig_close(&rig);
}

static void test_faults(void **state)
{
    (void)state;
    const enum simt_fault_kind bounds = SIMT_FAULT_ADDRESS, odd = SIMT_FAULT_MISALIGNED;
    expect_fault("ld.global.u32 %r1, [0];", bounds, 0, false);
    expect_fault("st.global.u32 [%d0+4], %r1;", bounds, 63, true);
    expect_fault("ld.global.u32 %r1, [%d0-4];", bounds, 0, false);
    expect_fault("ld.global.u32 %r1, [%d0+128];", bounds, 32, false);
    expect_fault("st.global.v4.u32 [%x+256], {%r1, %r1, %r1, %r1};", bounds, 0, true);
    expect_fault("ld.global.u32 %r1, [%x+2];", odd, 0, false);
    expect_fault("st.global.u64 [%x+4], %d1;", odd, 0, true);
    expect_fault("st.global.u32 [%d0+254], %r1;", odd, 0, true); /* and outside */
    expect_fault("ld.u16 %r1, [7];", odd, 0, false);
    expect_fault("ld.u32 %r1, [-4];", bounds, 0, false);
    expect_fault("ld.u8 %r1, [-1];", bounds, 0, false);
    expect_fault("ld.global.u64 %d1, [0x7fffffffffffff8];", bounds, 0, false);
    expect_fault("atom.global.add.u32 %r1, [%d0+128], 1;", bounds, 32, true);
    expect_fault("red.global.add.u64 [%d0], 1;", odd, 1, true);
    expect_fault("ld.shared.u32 %r1, [pool+16];", bounds, 0, false);
    expect_fault("st.shared.u8 [pool-1], %r1;", bounds, 0, true);
    expect_fault("st.shared.u64 [pool+4], %d1;", odd, 0, true);
    expect_fault("st.local.u32 [depot+1000000], %r1;", bounds, 0, true);
    /* Global memory is nowhere in shared and local memory, whatever the address. */
    expect_fault("ld.local.u32 %r1, [%d0];", bounds, 0, false);
    expect_fault("st.local.u32 [%x], %r1;", bounds, 0, true);
    expect_fault("ld.shared.u32 %r1, [%d0];", bounds, 0, false);
    expect_fault("st.shared.v2.u32 [%x], {%r1, %r1};", bounds, 0, true);
    expect_fault("atom.shared.add.u32 %r1, [%d0], 1;", bounds, 0, true);
    expect_fault("cp.async.ca.shared.global [%x], [%x], 4;", bounds, 0, true);
    expect_fault("setp.eq.u32 %p1, %i, 37; @%p1 ld.global.u32 %r1, [16];", bounds, 37, false);
    expect_fault("setp.eq.u32 %p1, %i, 37; @%p1 trap;", SIMT_FAULT_TRAP, 37, false);
    expect_fault("mov.u64 %d1, 5; call %d1, (); ", bounds, 0, false);
    expect_fault("bar.sync 16;", SIMT_FAULT_BARRIER, 0, false);
    expect_fault("bar.sync 1, 33;", SIMT_FAULT_BARRIER, 0, false);
    expect_fault("cp.async.ca.shared.global [pool], [%x+256], 4;", bounds, 0, false);
    expect_fault("cp.async.ca.shared.global [pool+16], [%x], 4;", bounds, 0, true);
}

/* A fault in one lane leaves what the whole instruction would have written alone. */
static void test_faults_write_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD KERNEL("k") "mad.wide.u32 %x, %i, 4, %x; st.global.u32 [%x], 7; ret;\n}\n",
             1);
    u32 *out = rig_buffer(&rig, 31 * 4);
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &out)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_ADDRESS);
    assert_int_equal(rig.fault.address, (uintptr_t)(out + 31));
    for (int i = 0; i < 31; i++)
        assert_int_equal(out[i], 0);
    rig_close(&rig);
}

/* Recursion without end is a fault, not a crash. */
static void test_stack_overflow(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD ".func deep(.param .b32 n)\n{\n.local .align 8 .b8 space[64]; .reg .b32 %a;\n"
                  "ld.param.b32 %a, [n]; { .param .b32 m; st.param.b32 [m], %a; call deep, (m); } "
                  "ret;\n}\n" KERNEL(
                      "k") "{ .param .b32 m; st.param.b32 [m], 1; call deep, (m); } ret;\n}\n",
             1);
    u32 *out = rig_buffer(&rig, 4);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &out)), RP_OK);
        assert_int_equal(rig.fault.kind, SIMT_FAULT_STACK);
    }
    rig_close(&rig);
}

/* ---- the oracle --------------------------------------------------------------- */

struct log { struct simt_touch at[100]; size_t count; };

static void record(void *ctx, const struct simt_touch *touches, size_t count)
{
    struct log *log = ctx;
    assert_true(log->count + count <= 100);
    memcpy(&log->at[log->count], touches, count * sizeof *touches);
    log->count += count;
}

static void expect_log(const struct log *log, size_t n, const void *address, u64 bytes, bool write)
{
    assert_true(n < log->count);
    assert_int_equal(log->at[n].address, (uintptr_t)address);
    assert_int_equal(log->at[n].bytes, bytes);
    assert_int_equal(log->at[n].is_write, write);
}

static void test_oracle(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD KERNEL(
            "k") ".shared .align 4 .b32 s[32]; mad.wide.u32 %d0, %i, 4, %y;\n"
                 "ld.global.u32 %r1, [%d0]; ld.global.u32 %r2, [%y+400]; st.shared.u32 [s], %r1;\n"
                 "shr.u32 %r3, %i, 4; mad.wide.u32 %d1, %r3, 100, %d0; ld.u32 %r4, [%d1];\n"
                 "setp.lt.u32 %p1, %i, 3; @%p1 st.global.v2.u32 [%x+8], {%r1, %r1};\n"
                 "mad.wide.u32 %d2, %i, 8, %x; setp.lt.u32 %p2, %i, 2; @%p2 atom.global.add.u32 "
                 "%r5, [%d2], 1;\n"
                 "ret;\n}\n",
        1);
    char *out = rig_buffer(&rig, 512), *in = rig_buffer(&rig, 512);
    struct log log = {0};
    rig.options.oracle = record;
    rig.options.oracle_ctx = &log;
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
    expect_log(&log, 0, in, 128, false);
    expect_log(&log, 1, in + 400, 4, false);
    expect_log(&log, 2, in, 64, false);
    expect_log(&log, 3, in + 164, 64, false);
    expect_log(&log, 4, out + 8, 8, true);
    expect_log(&log, 5, out, 4, false);
    expect_log(&log, 6, out + 8, 4, false);
    expect_log(&log, 7, out, 4, true);
    expect_log(&log, 8, out + 8, 4, true);
    assert_int_equal(log.count, 9);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_faults_write_nothing),
        cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
