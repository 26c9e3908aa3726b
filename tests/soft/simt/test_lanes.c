/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that look at each other, and barriers. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

/* %i is the thread's number, %x the address of its result, %v its value. */
#define KERNEL                                                                                  \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                           \
    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"                                   \
    ".reg .pred %p<10>; .reg .b32 %r<40>, %i, %v; .reg .b64 %x, %y, %d<10>;\n"                  \
    "mov.u32 %i, %tid.x; ld.param.u64 %x, [out]; mad.wide.u32 %x, %i, 4, %x;\n"                 \
    "ld.param.u64 %y, [in]; mad.wide.u32 %y, %i, 4, %y; ld.global.u32 %v, [%y];\n"

enum { MAX_THREADS = 256 };

static u32 in[MAX_THREADS], out[MAX_THREADS];

/* Runs a kernel with this body over `in`, in one block. */
static void run(const char *body, uint32_t threads)
{
    struct rig rig;
    char ptx[4096];
    snprintf(ptx, sizeof ptx, "%s%s}\n", KERNEL, body);
    rig_open(&rig, ptx, 1);
    u32 *from = rig_buffer(&rig, sizeof in), *to = rig_buffer(&rig, sizeof out);
    memcpy(from, in, sizeof in);
    rig_run(&rig, "k", RIG_X(1), RIG_X(threads), RIG_ARGS(&to, &from));
    memcpy(out, to, sizeof out);
    rig_close(&rig);
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < MAX_THREADS; i++)
        in[i] = (u32)random64();
    memset(out, 0, sizeof out);
    return 0;
}

/* ---- shuffles ----------------------------------------------------------------- */

/* The PTX ISA's pseudocode. */
static u32 shuffled(const char *mode, u32 lane, u32 b, u32 c, bool *valid)
{
    const u32 segment = c >> 8 & 31, bound = c & 31;
    const int high = (int)((lane & segment) | (bound & ~segment)), low = (int)(lane & segment);
    int from = 0;
    b &= 31;
    if (!strcmp(mode, "up")) {
        from = (int)lane - (int)b;
        *valid = from >= high;
    } else if (!strcmp(mode, "down")) {
        from = (int)(lane + b);
        *valid = from <= high;
    } else if (!strcmp(mode, "bfly")) {
        from = (int)(lane ^ b);
        *valid = from <= high;
    } else {
        from = low | (int)(b & ~segment);
        *valid = from <= high;
    }
    return *valid ? (u32)from : lane;
}

/* Every mode, with the width as CUDA packs it, constant and lane-dependent offsets. */
static void test_shuffles(void **state)
{
    (void)state;
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    for (int n = 0; n < 4 * 6 * 8; n++) {
        const char *mode = modes[n % 4];
        const u32 width = 1u << n / 4 % 6, offset = (u32)n / 24 * 5 % 37;
        const u32 c = (32 - width) << 8 | (strcmp(mode, "up") ? 31 : 0);
        const bool by_lane = n / 24 & 1;
        char body[512], by[16];
        snprintf(by, sizeof by, "%u", offset);
        snprintf(body, sizeof body,
                 "add.u32 %%r1, %%i, %u; shfl.sync.%s.b32 %%r2|%%p1, %%v, %s, %u, -1;\n"
                 "selp.b32 %%r3, 1, 0, %%p1; xor.b32 %%r2, %%r2, %%r3; st.global.u32 [%%x], %%r2; "
                 "ret;\n",
                 offset, mode, by_lane ? "%r1" : by, c);
        run(body, 64);
        for (u32 i = 0; i < 64; i++) {
            bool valid;
            const u32 from = shuffled(mode, i & 31, by_lane ? i + offset : offset, c, &valid);
            assert_int_equal(out[i], in[(i & ~31u) + from] ^ valid);
        }
    }
}

/* Lanes arrive at one shuffle from two sides: those that come first wait. */
static void test_shuffle_waits(void **state)
{
    (void)state;
    run("setp.lt.u32 %p1, %i, 11; mov.u32 %r1, %v; @%p1 bra LOW;\n"
        "add.u32 %r1, %r1, 1; bra SHUFFLE;\n"
        "MIDDLE: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; st.global.u32 [%x], %r2; ret;\n"
        "LOW: add.u32 %r1, %r1, 2; bra MIDDLE;\nSHUFFLE: bra MIDDLE;\n", 32);
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(out[i], in[i ^ 16] + ((i ^ 16) < 11 ? 2 : 1));
}

/* Two shuffles in different places of the code, of one kind and mask, are one. */
static void test_shuffles_meet_from_two_places(void **state)
{
    (void)state;
    run("setp.lt.u32 %p1, %i, 16; @%p1 bra LOW;\n"
        "mov.u32 %r5, %v; shfl.sync.bfly.b32 %r5, %r5, 16, 31, -1; st.global.u32 [%x], %r5; ret;\n"
        "LOW: not.b32 %r6, %v; shfl.sync.bfly.b32 %r7, %r6, 16, 31, -1; st.global.u32 [%x], %r7;\n"
        "ret;\n", 32);
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(out[i], i < 16 ? in[i + 16] : ~in[i - 16]);
}

/* Groups that name themselves only need each other; lanes that have exited are not awaited. */
static void test_shuffle_groups(void **state)
{
    (void)state;
    run("and.b32 %r1, %i, 3; setp.eq.u32 %p1, %r1, 3; @%p1 exit;\n"
        "setp.lt.u32 %p2, %i, 16; mov.u32 %r2, 0xffff; @%p2 bra GO; mov.u32 %r2, 0xffff0000;\n"
        "GO: shfl.sync.bfly.b32 %r3, %v, 2, 31, %r2; st.global.u32 [%x], %r3; ret;\n", 32);
    for (u32 i = 0; i < 32; i++) {
        if (i % 4 == 1) /* its partner has exited: its own value */
            assert_int_equal(out[i], in[i]);
        else if (i % 4 != 3)
            assert_int_equal(out[i], in[i ^ 2]);
    }
}

/* ---- votes, matches, reductions ----------------------------------------------- */

static void test_votes(void **state)
{
    (void)state;
    for (u32 i = 0; i < 64; i++)
        in[i] &= 1;
    in[40] = 0;
    run("setp.eq.u32 %p1, %v, 1; setp.lt.u32 %p2, %i, 32; setp.lt.u32 %p9, %i, 64;\n"
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred %p3, %p2, -1;\n"
        "vote.sync.any.pred %p4, !%p9, -1; vote.sync.uni.pred %p5, %p2, -1;\n"
        "vote.sync.uni.pred %p6, %p1, -1;\n"
        "selp.b32 %r2, 1, 0, %p3; selp.b32 %r3, 2, 0, %p4; selp.b32 %r4, 4, 0, %p5;\n"
        "selp.b32 %r5, 8, 0, %p6; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4; or.b32 %r2, %r2, "
        "%r5;\n"
        "and.b32 %r6, %i, 1; setp.eq.u32 %p7, %r6, 1; selp.b32 %r1, %r1, %r2, %p7;\n"
        "st.global.u32 [%x], %r1; ret;\n",
        64);
    for (u32 w = 0; w < 64; w += 32) {
        u32 ballot = 0;
        for (u32 i = 0; i < 32; i++)
            ballot |= in[w + i] << i;
        for (u32 i = 0; i < 32; i++)
            assert_int_equal(out[w + i], i & 1 ? ballot : (w == 0 ? 1u : 0) | 4);
    }
}

static void test_matches(void **state)
{
    (void)state;
    for (u32 i = 0; i < 64; i++)
        in[i] = i < 32 ? in[i] % 3 : 17;
    run("match.any.sync.b32 %r1, %v, -1; cvt.u64.u32 %d1, %v; shl.b64 %d1, %d1, 33;\n"
        "match.any.sync.b64 %r2, %d1, -1; setp.ne.u32 %p1, %r1, %r2; @%p1 mov.u32 %r1, 0;\n"
        "match.all.sync.b32 %r3|%p2, %v, -1; selp.b32 %r4, 1, 0, %p2; xor.b32 %r3, %r3, %r4;\n"
        "xor.b32 %r1, %r1, %r3; st.global.u32 [%x], %r1; ret;\n", 64);
    for (u32 i = 0; i < 64; i++) {
        u32 same = 0;
        for (u32 j = 0; j < 32; j++)
            same |= (u32)(in[(i & 32) + j] == in[i]) << j;
        assert_int_equal(out[i], same ^ (i < 32 ? 0 : 0xffffffffu ^ 1));
    }
}

/* match, then a reduction of each group at once with the masks that match gave. */
static void test_reductions_by_group(void **state)
{
    (void)state;
    static const struct { const char *name; int kind; } operations[] = {
        {"add.s32", 0}, {"and.b32", 1}, {"or.b32", 2}, {"xor.b32", 3}, {"min.u32", 4},
        {"max.u32", 5}, {"min.s32", 6}, {"max.s32", 7}};
    for (int n = 0; n < 8; n++) {
        char body[512];
        snprintf(body, sizeof body, "and.b32 %%r1, %%v, 3; match.any.sync.b32 %%r2, %%r1, -1;\n"
                 "redux.sync.%s %%r3, %%v, %%r2; st.global.u32 [%%x], %%r3; ret;\n",
                 operations[n].name);
        run(body, 32);
        for (u32 i = 0; i < 32; i++) {
            u32 r = in[i];
            for (u32 j = 0; j < 32; j++) {
                const u32 x = in[j];
                if (j == i || (x & 3) != (in[i] & 3))
                    continue;
                switch (operations[n].kind) {
                case 0: r += x; break;
                case 1: r &= x; break;
                case 2: r |= x; break;
                case 3: r ^= x; break;
                case 4: r = x < r ? x : r; break;
                case 5: r = x > r ? x : r; break;
                case 6: r = (s32)x < (s32)r ? x : r; break;
                default: r = (s32)x > (s32)r ? x : r; break;
                }
            }
            assert_int_equal(out[i], r);
        }
    }
}

static void test_elect(void **state)
{
    (void)state;
    run("setp.lt.u32 %p1, %i, 5; mov.u32 %r1, 0x1f; @%p1 bra GO; mov.u32 %r1, 0xffffffe0;\n"
        "GO: elect.sync %r2|%p2, %r1; selp.b32 %r3, 100, 0, %p2; add.u32 %r2, %r2, %r3;\n"
        "st.global.u32 [%x], %r2; ret;\n", 32);
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(out[i], (i < 5 ? 0 : 5) + (i == 0 || i == 5 ? 100 : 0));
}

/* bar.warp.sync orders memory between lanes that have parted. */
static void test_warp_sync(void **state)
{
    (void)state;
    run(".shared .align 4 .b32 cells[32]; mov.u32 %r9, cells; mad.lo.u32 %r1, %i, 4, %r9;\n"
        "and.b32 %r2, %i, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;\n"
        "st.shared.u32 [%r1], %v; bar.warp.sync -1; bra END;\n"
        "EVEN: bar.warp.sync -1; ld.shared.u32 %r3, [%r1+4]; st.global.u32 [%x], %r3;\n"
        "END: ret;\n", 32);
    for (u32 i = 0; i < 32; i += 2)
        assert_int_equal(out[i], in[i + 1]);
}

/* ---- barriers ----------------------------------------------------------------- */

/* Sums over the block in steps with a barrier each; the last warp is not full. */
static void test_block_barrier(void **state)
{
    (void)state;
    run(".shared .align 4 .b32 cells[256]; mov.u32 %r9, cells; mad.lo.u32 %r1, %i, 4, %r9;\n"
        "st.shared.u32 [%r1], %v; mov.u32 %r2, 1;\n"
        "LOOP: bar.sync 0; add.u32 %r3, %i, %r2; setp.lt.u32 %p1, %r3, 150; mov.u32 %r4, 0;\n"
        "mad.lo.u32 %r5, %r3, 4, %r9; @%p1 ld.shared.u32 %r4, [%r5]; barrier.sync 0;\n"
        "ld.shared.u32 %r6, [%r1]; add.u32 %r6, %r6, %r4; st.shared.u32 [%r1], %r6;\n"
        "shl.b32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 256; @%p2 bra LOOP;\n"
        "st.global.u32 [%x], %r6; ret;\n", 150);
    for (u32 i = 0; i < 150; i++) {
        u32 sum = 0;
        for (u32 j = i; j < 150; j++)
            sum += in[j];
        assert_int_equal(out[i], sum);
    }
}

/* Lanes of one warp reach the barrier at different times; some threads have exited. */
static void test_diverged_barrier(void **state)
{
    (void)state;
    run(".shared .align 4 .b32 cells[128]; mov.u32 %r9, cells; mad.lo.u32 %r1, %i, 4, %r9;\n"
        "setp.ge.u32 %p1, %i, 70; @%p1 exit; and.b32 %r2, %i, 1; setp.eq.u32 %p2, %r2, 1;\n"
        "st.shared.u32 [%r1], %v; @%p2 bra ODD;\nbarrier.sync 1; bra AFTER;\n"
        "ODD: add.u32 %r3, %v, 1; st.shared.u32 [%r1], %r3; barrier.sync 1;\n"
        "AFTER: sub.u32 %r4, 69, %i; mad.lo.u32 %r5, %r4, 4, %r9; ld.shared.u32 %r6, [%r5];\n"
        "st.global.u32 [%x], %r6; ret;\n", 128);
    for (u32 i = 0; i < 70; i++)
        assert_int_equal(out[i], in[69 - i] + ((69 - i) & 1));
}

static void test_barrier_reductions(void **state)
{
    (void)state;
    run("and.b32 %r1, %v, 1; setp.eq.u32 %p1, %r1, 1; setp.lt.u32 %p2, %i, 100;\n"
        "bar.red.popc.u32 %r2, 0, %p1; bar.red.and.pred %p3, 0, %p2; bar.red.or.pred %p4, 0, "
        "!%p2;\n"
        "bar.red.popc.u32 %r3, 3, 96, !%p1;\n"
        "selp.b32 %r4, 1000, 0, %p3; selp.b32 %r5, 2000, 0, %p4; add.u32 %r2, %r2, %r4;\n"
        "add.u32 %r2, %r2, %r5; mad.lo.u32 %r2, %r3, 10000, %r2; st.global.u32 [%x], %r2; ret;\n",
        96);
    u32 count = 0;
    for (u32 i = 0; i < 96; i++)
        count += in[i] & 1;
    for (u32 i = 0; i < 96; i++)
        assert_int_equal(out[i], count + 1000 + 10000 * (96 - count));
}

/* Producers arrive and go on, consumers wait: two warps on a barrier of 64 threads. */
static void test_arrive(void **state)
{
    (void)state;
    run(".shared .align 4 .b32 cells[32]; mov.u32 %r9, cells; and.b32 %r1, %i, 31;\n"
        "mad.lo.u32 %r1, %r1, 4, %r9; setp.lt.u32 %p1, %i, 32; @%p1 bra CONSUMER;\n"
        "st.shared.u32 [%r1], %v; bar.arrive 5, 64; st.global.u32 [%x], 1; ret;\n"
        "CONSUMER: bar.sync 5, 64; ld.shared.u32 %r2, [%r1]; st.global.u32 [%x], %r2; ret;\n", 64);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(out[i], i < 32 ? in[i + 32] : 1);
}

/* Threads that exit are not awaited any longer, even by those who wait already. */
static void test_exit_opens_barrier(void **state)
{
    (void)state;
    run("setp.lt.u32 %p1, %i, 32; @%p1 bra WAIT; exit;\n"
        "WAIT: bar.sync 0; st.global.u32 [%x], 3; ret;\n", 128);
    for (u32 i = 0; i < 128; i++)
        assert_int_equal(out[i], i < 32 ? 3 : 0);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shuffles, set_up),
        cmocka_unit_test_setup(test_shuffle_waits, set_up),
        cmocka_unit_test_setup(test_shuffles_meet_from_two_places, set_up),
        cmocka_unit_test_setup(test_shuffle_groups, set_up),
        cmocka_unit_test_setup(test_votes, set_up),
        cmocka_unit_test_setup(test_matches, set_up),
        cmocka_unit_test_setup(test_reductions_by_group, set_up),
        cmocka_unit_test_setup(test_elect, set_up),
        cmocka_unit_test_setup(test_warp_sync, set_up),
        cmocka_unit_test_setup(test_block_barrier, set_up),
        cmocka_unit_test_setup(test_diverged_barrier, set_up),
        cmocka_unit_test_setup(test_barrier_reductions, set_up),
        cmocka_unit_test_setup(test_arrive, set_up),
        cmocka_unit_test_setup(test_exit_opens_barrier, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
