/* SPDX-License-Identifier: Apache-2.0 */
/* How registers are kept shows in no result: lanes that rise in steps along the sides of a
 * block, bits that are picked from such, elements of arrays that are found in one operation,
 * registers that share a row. */
#include "cuda/soft/simt/compact.h"
#include "cuda/soft/simt/machine.h"
#include "tests/soft/simt/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define REGISTERS                                                                               \
    ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .f32 %f<20>; .reg .b64 %d<30>;\n"
#define LINEAR                                                                                  \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"                           \
    "mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;\n"                                              \
    "mad.lo.s32 %r6, %r3, %r5, %r2; mad.lo.s32 %r6, %r6, %r4, %r1;\n"

/* ---- elements ------------------------------------------------------------------ */

/* in[x sx + y sy + z sz + 3] and the four behind it go to out[8 thread + 1 ..], of threads with a
 * bit of `only`; the others put ones there. Each address is made as tinygrad makes it. */
#define ELEMENT(t, d, from, more, array)                                                        \
    "add.s32 " t ", " from ", " more "; cvt.s64.s32 " d ", " t ";\n"                             \
    "mad.lo.s64 " d ", " d ", 4, " array ";\n"
static const char elements[] =
    HEAD
    ".visible .entry gather(.param .u64 out, .param .u64 in, .param .s32 sx, .param .s32 sy,\n"
    " .param .s32 sz, .param .u32 only)\n{\n" REGISTERS LINEAR
    "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; ld.param.s32 %r7, [sx];\n"
    "ld.param.s32 %r8, [sy]; ld.param.s32 %r9, [sz]; ld.param.u32 %r10, [only];\n"
    "mul.lo.s32 %r11, %r1, %r7; mad.lo.s32 %r11, %r2, %r8, %r11;\n"
    "mad.lo.s32 %r11, %r3, %r9, %r11; mul.lo.s32 %r12, %r6, 8;\n"
    "and.b32 %r13, %r6, %r10; setp.ne.u32 %p1, %r13, 0;\n"
    "mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
    "mov.f32 %f4, %f0;\n"
    ELEMENT("%r20", "%d10", "%r11", "3", "%d1") "@%p1 ld.global.f32 %f0, [%d10];\n"
    ELEMENT("%r21", "%d11", "%r11", "4", "%d1")
    "@%p1 ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d11+0];\n"
    "cvt.s64.s32 %d12, %r12; mad.lo.s64 %d12, %d12, 4, %d0; st.global.f32 [%d12+4], %f0;\n"
    ELEMENT("%r22", "%d13", "%r12", "2", "%d0") "st.global.v2.f32 [%d13], {%f1, %f2};\n"
    ELEMENT("%r23", "%d14", "%r12", "-1", "%d0") "st.global.f32 [%d14+20], %f3;\n"
    "cvt.s64.s32 %d15, %r12; mad.lo.s64 %d15, %d15, 4, %d0; st.global.f32 [%d15+20], %f4;\n"
    "ret;\n}\n";

enum { INPUTS = 4096, MIDDLE = 2048, MAX_THREADS = 512, PARTS = 5, OUTPUTS = 8 };

static const struct shape {
    struct rig_size block;
    int32_t step[3];
} shapes[] = {
    {{32, 1, 1}, {4, 0, 0}},     {{8, 8, 1}, {4, 100, 0}},   {{8, 8, 1}, {0, 4, 0}},
    {{4, 8, 4}, {4, 0, 64}},     {{4, 8, 4}, {0, 12, 4}},    {{2, 8, 8}, {-4, 32, 8}},
    {{16, 3, 2}, {4, -200, 40}}, {{8, 3, 1}, {8, 400, 0}},   {{24, 2, 1}, {-12, 4, 0}},
    {{5, 7, 3}, {20, -4, 128}},  {{16, 16, 1}, {0, 0, 0}},   {{64, 2, 1}, {16, -512, 0}},
    {{1, 32, 2}, {0, -32, 16}},
};

static float expected_part(const float *in, const struct shape *shape, uint32_t thread, int part)
{
    const struct rig_size *block = &shape->block;
    const int32_t x = (int32_t)(thread % block->x), y = (int32_t)(thread / block->x % block->y);
    const int32_t z = (int32_t)(thread / block->x / block->y);
    return in[MIDDLE + x * shape->step[0] + y * shape->step[1] + z * shape->step[2] + 3 + part];
}

static void lanes_rise_along_the_sides_of_any_block(void **state)
{
    (void)state;
    static const uint32_t masks[] = {~0u, 5, 0};
    struct rig rig;
    rig_open(&rig, elements, 1);
    float *in = rig_buffer(&rig, INPUTS * 4), *out = rig_buffer(&rig, MAX_THREADS * OUTPUTS * 4);
    for (int i = 0; i < INPUTS; i++)
        in[i] = (float)i + 0.5f;
    const float *middle = in + MIDDLE;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0] * 3; k++) {
        const struct shape *shape = &shapes[k / 3];
        const uint32_t only = masks[k % 3];
        memset(out, 0, MAX_THREADS * OUTPUTS * 4);
        rig_run(&rig, "gather", RIG_X(1), shape->block,
                RIG_ARGS(&out, &middle, &shape->step[0], &shape->step[1], &shape->step[2],
                         &only));
        const uint32_t threads = shape->block.x * shape->block.y * shape->block.z;
        for (uint32_t i = 0; i < threads * PARTS; i++) {
            const uint32_t thread = i / PARTS, part = i % PARTS;
            const float got = out[thread * OUTPUTS + 1 + part];
            const float wanted =
                thread & only ? expected_part(in, shape, thread, (int)part) : 1.0f;
            if (got != wanted)
                fail_msg("shape %zu, mask %x, thread %u, part %u: %g, not %g", k / 3, only, thread,
                         part, (double)got, (double)wanted);
        }
    }
    rig_close(&rig);
}

/* The index wraps in 32 bits before it is widened. */
static const char wrapping[] =
    HEAD ".visible .entry wrap(.param .u64 out, .param .u64 array, .param .s32 first)\n{\n"
    REGISTERS LINEAR
    "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [array]; ld.param.s32 %r7, [first];\n"
    "add.s32 %r8, %r7, %r1;\n"
    ELEMENT("%r20", "%d10", "%r8", "16", "%d1") "ld.global.f32 %f0, [%d10];\n"
    "cvt.s64.s32 %d11, %r1; mad.lo.s64 %d11, %d11, 4, %d0; st.global.f32 [%d11], %f0;\n"
    "ret;\n}\n";

static void an_index_wraps_before_it_is_widened(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, wrapping, 1);
    float *in = rig_buffer(&rig, 64 * 4), *out = rig_buffer(&rig, 32 * 4);
    for (int i = 0; i < 64; i++)
        in[i] = (float)i;
    const int32_t first = INT32_MAX - 15; /* with 16 added: the lowest number */
    const uint64_t array = (uint64_t)(uintptr_t)in + (UINT64_C(4) << 31);
    const uint64_t before = simt_pool_operations(rig.pool);
    rig_run(&rig, "wrap", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &array, &first));
    /* Of 19 instructions: two for the linear thread, one for the index, two elements, the end. */
    assert_int_equal(simt_pool_operations(rig.pool) - before, 32 * 6);
    for (int i = 0; i < 32; i++)
        assert_true(out[i] == (float)i);
    rig_close(&rig);
}

static void an_element_outside_is_a_fault(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, elements, 1);
    float *in = rig_buffer(&rig, 40 * 4), *out = rig_buffer(&rig, 32 * OUTPUTS * 4);
    const int32_t one = 1, none = 0;
    const uint32_t all = ~0u;
    assert_int_equal(rig_try(&rig, "gather", RIG_X(1), (struct rig_size){8, 4, 1},
                             RIG_ARGS(&out, &in, &one, &one, &none, &all)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_MISALIGNED); /* of a vector, by one lane */
    const int32_t four = 4, twelve = 12;
    (void)rig_try(&rig, "gather", RIG_X(1), (struct rig_size){4, 8, 1},
                  RIG_ARGS(&out, &in, &four, &twelve, &none, &all));
    assert_int_equal(rig.fault.kind, SIMT_FAULT_ADDRESS);
    assert_false(rig.fault.is_write);
    assert_true(rig.fault.address >= (uintptr_t)(in + 40));
    rig_close(&rig);
}

/* ---- registers that share a row ------------------------------------------------ */

/* Loops that end in copies, of which some can't be left out: the n-th Fibonacci number, a swap,
 * a value that is copied twice, and one that is read after its copy; threads leave at times of
 * their own. */
static const char copies[] =
    HEAD ".visible .entry fibonacci(.param .u64 out)\n{\n" REGISTERS LINEAR
    "ld.param.u64 %d0, [out]; and.b32 %r7, %r1, 15;\n"
    "mov.u32 %r10, 0; mov.u32 %r11, 1; mov.u32 %r15, 7; mov.u32 %r16, 9; mov.u32 %r18, 0;\n"
    "mov.u32 %r19, 0; mov.u32 %r8, 0;\n"
    "LOOP:\n"
    "add.u32 %r12, %r10, %r11; mov.u32 %r10, %r11; mov.u32 %r11, %r12;\n"
    "xor.b32 %r17, %r15, 0; mov.b32 %r15, %r16; mov.b32 %r16, %r17;\n"
    "xor.b32 %r20, %r18, 3; mov.b32 %r18, %r20; mov.b32 %r19, %r20;\n"
    "cvt.rn.f32.u32 %f1, %r8; mul.f32 %f2, %f1, 0f40000000; mov.f32 %f3, %f2;\n"
    "add.f32 %f4, %f2, %f3; mov.f32 %f5, %f4;\n"
    "add.u32 %r8, %r8, 1; setp.le.u32 %p1, %r8, %r7; @%p1 bra LOOP;\n"
    "cvt.rzi.u32.f32 %r21, %f5; mul.lo.u32 %r22, %r1, 20; cvt.u64.u32 %d1, %r22;\n"
    "add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r10; st.global.u32 [%d1+4], %r15;\n"
    "st.global.u32 [%d1+8], %r16; st.global.u32 [%d1+12], %r19; st.global.u32 [%d1+16], %r21;\n"
    "ret;\n}\n";

static void copies_that_are_left_out_leave_no_trace(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, copies, 1);
    uint32_t *out = rig_buffer(&rig, 64 * 20);
    rig_run(&rig, "fibonacci", RIG_X(1), RIG_X(64), RIG_ARGS(&out));
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t rounds = (i & 15) + 1;
        uint32_t a = 0, b = 1;
        for (uint32_t k = 0; k < rounds; k++) {
            const uint32_t sum = a + b;
            a = b;
            b = sum;
        }
        assert_int_equal(out[5 * i], a);
        assert_int_equal(out[5 * i + 1], rounds & 1 ? 9 : 7);
        assert_int_equal(out[5 * i + 2], rounds & 1 ? 7 : 9);
        assert_int_equal(out[5 * i + 3], rounds & 1 ? 3 : 0);
        assert_int_equal(out[5 * i + 4], 4 * (rounds - 1));
    }
    rig_close(&rig);
}

/* ---- bits ---------------------------------------------------------------------- */

/* What picks or adds bits, of v = x sx + y sy + z sz + base (rising lanes, %r11), of base + block
 * (equal lanes, %r12), and of both in 64 bits (times 3): with u, or shifted by s. Thread t of all
 * puts its results at out[40 t ..]. */
#define BITS_OF(v, at)                                                                          \
    "or.b32 %r20, " v ", %r15; st.global.u32 [%d9+" at "+0], %r20;\n"                           \
    "and.b32 %r21, " v ", %r15; st.global.u32 [%d9+" at "+4], %r21;\n"                          \
    "or.b32 %r22, %r15, " v "; st.global.u32 [%d9+" at "+8], %r22;\n"                           \
    "shr.u32 %r23, " v ", %r16; st.global.u32 [%d9+" at "+12], %r23;\n"                         \
    "shr.s32 %r24, " v ", %r16; st.global.u32 [%d9+" at "+16], %r24;\n"                         \
    "mul.hi.u32 %r25, " v ", %r15; st.global.u32 [%d9+" at "+20], %r25;\n"                      \
    "mul.hi.s32 %r26, " v ", %r15; st.global.u32 [%d9+" at "+24], %r26;\n"                      \
    "mul.wide.s32 %d10, " v ", 3; cvt.s64.s32 %d11, %r15;\n"                                    \
    "or.b64 %d12, %d10, %d11; st.global.u64 [%d9+" at "+32], %d12;\n"                           \
    "and.b64 %d13, %d11, %d10; st.global.u64 [%d9+" at "+40], %d13;\n"                          \
    "mul.hi.u64 %d14, %d10, %d11; st.global.u64 [%d9+" at "+48], %d14;\n"                       \
    "mul.hi.s64 %d15, %d10, %d11; st.global.u64 [%d9+" at "+56], %d15;\n"
static const char bits[] =
    HEAD
    ".visible .entry bits(.param .u64 out, .param .s32 sx, .param .s32 sy, .param .s32 sz,\n"
    " .param .s32 base, .param .u32 u, .param .u32 s)\n{\n" REGISTERS LINEAR
    "ld.param.u64 %d0, [out]; ld.param.s32 %r7, [sx]; ld.param.s32 %r8, [sy];\n"
    "ld.param.s32 %r9, [sz]; ld.param.s32 %r10, [base]; ld.param.u32 %r15, [u];\n"
    "ld.param.u32 %r16, [s]; mov.u32 %r17, %ctaid.x; add.s32 %r12, %r10, %r17;\n"
    "mad.lo.s32 %r11, %r1, %r7, %r12; mad.lo.s32 %r11, %r2, %r8, %r11;\n"
    "mad.lo.s32 %r11, %r3, %r9, %r11; mul.lo.s32 %r18, %r4, %r5; mov.u32 %r19, %ntid.z;\n"
    "mul.lo.s32 %r18, %r18, %r19; mad.lo.s32 %r6, %r17, %r18, %r6;\n"
    "mul.wide.s32 %d8, %r6, 160; add.s64 %d9, %d0, %d8;\n"
    BITS_OF("%r11", "0") BITS_OF("%r12", "64") "ret;\n}\n";

enum { BLOCKS = 3, WORDS = 40 };
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

static void expect_bits(const uint32_t *out, uint32_t v, uint32_t u, uint32_t s)
{
    const uint64_t d = (uint64_t)((int64_t)(int32_t)v * 3), w = (uint64_t)(int64_t)(int32_t)u;
    const uint32_t narrow[] = {v | u, v & u, v | u, s > 31 ? 0 : v >> s,
                               (uint32_t)((int32_t)v >> (s > 31 ? 31 : s)),
                               (uint32_t)((uint64_t)v * u >> 32),
                               (uint32_t)((int64_t)(int32_t)v * (int32_t)u >> 32)};
    const uint64_t wide[] = {d | w, d & w, (uint64_t)((u128)d * w >> 64),
                             (uint64_t)((s128)(int64_t)d * (int64_t)w >> 64)};
    assert_memory_equal(out, narrow, sizeof narrow);
    assert_memory_equal(out + 8, wide, sizeof wide);
}

static void run_bits(struct rig *rig, uint32_t *out, const struct shape *shape, int32_t base,
                     uint32_t u, uint32_t s)
{
    const struct rig_size *block = &shape->block;
    const uint32_t threads = block->x * block->y * block->z;
    rig_run(rig, "bits", RIG_X(BLOCKS), *block,
            RIG_ARGS(&out, &shape->step[0], &shape->step[1], &shape->step[2], &base, &u, &s));
    for (uint32_t t = 0; t < BLOCKS * threads; t++) {
        const uint32_t i = t % threads, equal = (uint32_t)base + t / threads;
        const uint32_t rising = equal + i % block->x * (uint32_t)shape->step[0] +
                                i / block->x % block->y * (uint32_t)shape->step[1] +
                                i / block->x / block->y * (uint32_t)shape->step[2];
        expect_bits(out + (size_t)t * WORDS, rising, u, s);
        expect_bits(out + (size_t)t * WORDS + 16, equal, u, s);
    }
}

static void bits_of_rising_lanes_are_those_of_each(void **state)
{
    (void)state;
    static const struct shape of_bits[] = {
        {{32, 1, 1}, {1, 0, 0}},    {{32, 1, 1}, {1 << 26, 0, 0}}, {{8, 8, 1}, {8, 1, 0}},
        {{16, 8, 1}, {2304, 0, 0}}, {{16, 3, 2}, {24, 8, 2}},      {{4, 8, 4}, {64, 4, 4096}},
        {{8, 4, 1}, {-1, 64, 0}},   {{16, 2, 1}, {1, -16, 0}},     {{5, 7, 3}, {2, 16, 256}}};
    static const int32_t bases[] = {0, 1, -1, 0x40000000, INT32_MIN, 96};
    static const uint32_t words[] = {0, 1, 3, 7, 0x80, 0x7fffffff, 0x80000000, ~0u};
    static const uint32_t shifts[] = {0, 1, 3, 5, 31, 32, 63, 64};
    struct rig rig;
    rig_open(&rig, bits, 1);
    uint32_t *out = rig_buffer(&rig, (size_t)BLOCKS * MAX_THREADS * WORDS * 4);
    for (size_t k = 0; k < sizeof of_bits / sizeof of_bits[0]; k++) {
        for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
            for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
                run_bits(&rig, out, &of_bits[k], bases[b], words[w], shifts[w]);
        }
    }
    rig_close(&rig);
}

/* ---- one block after the other -------------------------------------------------- */

/* Sums, some of which may be six numbers. */
static const char sums[] =
    HEAD ".visible .entry sums()\n{\n" REGISTERS
    "add.s32 %r1, %r2, 3; add.s32 %r2, %r1, %r1; add.s64 %d1, %d2, 5; ret;\n}\n";

/* That a register was not worth a look in one block says nothing about the next. It shows in no
 * result and in no count, but in time: so the slots themselves are held against it. */
static void registers_are_looked_at_anew_in_each_block(void **state)
{
    (void)state;
    struct rig rig;
    struct simt_warp warp = {0};
    uint32_t tracked = 0, anew = 0;
    rig_open(&rig, sums, 1);
    const struct simt_function *sums_ = &rig.module->functions[0];
    struct simt_frame frame = {.function = sums_, .rows = rig_buffer(&rig, sums_->frame_bytes)};
    for (uint32_t k = 0; k < sums_->row_count; k++) {
        if (sums_->rows[k].fill != SIMT_FILL_REGISTER)
            continue;
        struct simt_slot *slot = simt_slot_of(frame.rows + sums_->rows[k].offset);
        *slot = (struct simt_slot){.state = SIMT_COMPACT | SIMT_STALE, .looks = 2};
        tracked++;
    }
    simt_frame_fill(&warp, &frame, true);
    for (uint32_t k = 0; k < sums_->row_count; k++) {
        if (sums_->rows[k].fill != SIMT_FILL_REGISTER)
            continue;
        const struct simt_slot *slot = simt_slot_of(frame.rows + sums_->rows[k].offset);
        anew += slot->state == SIMT_MAYBE && slot->looks == 0;
    }
    assert_true(tracked > 0);
    assert_int_equal(anew, tracked);
    rig_close(&rig);
}

/* A register that nobody wrote is 0, also where others have used rows up. */
static const char unwritten[] =
    HEAD ".visible .entry unwritten(.param .u64 out)\n{\n" REGISTERS LINEAR
    "ld.param.u64 %d0, [out]; cvt.rn.f32.u32 %f1, %r1; add.f32 %f2, %f1, %f1;\n"
    "cvt.rzi.s32.f32 %r8, %f2; add.f32 %f3, %f3, 0f3F800000; cvt.rzi.s32.f32 %r9, %f3;\n"
    "add.s32 %r9, %r9, %r8; mad.wide.u32 %d1, %r1, 4, %d0; st.global.u32 [%d1], %r9; ret;\n}\n";

static void a_register_that_nobody_wrote_is_zero(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, unwritten, 1);
    uint32_t *out = rig_buffer(&rig, 32 * 4);
    rig_run(&rig, "unwritten", RIG_X(1), RIG_X(32), RIG_ARGS(&out));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 2 * i + 1);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_rise_along_the_sides_of_any_block),
        cmocka_unit_test(an_index_wraps_before_it_is_widened),
        cmocka_unit_test(an_element_outside_is_a_fault),
        cmocka_unit_test(copies_that_are_left_out_leave_no_trace),
        cmocka_unit_test(bits_of_rising_lanes_are_those_of_each),
        cmocka_unit_test(registers_are_looked_at_anew_in_each_block),
        cmocka_unit_test(a_register_that_nobody_wrote_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
