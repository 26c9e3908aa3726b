/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that are no sums: what wraps, what is cut up fine or walked, and what is left to
 * bounds. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- integers ----------------------------------------------------------------- */

static void sums_that_wrap_are_not_believed(void **state)
{
    (void)state;
    /* i + n beyond 2^31 is negative, and the address lies before the pointer */
    prove("add.s32 %r9, %r4, %r1;" STORE("%r9"), 1, MANY, "A B C 2147483640 7 0 0 D 0",
          CLAIMS(WRITES_IN('A')));
    prove("add.s32 %r9, %r4, %r1; mul.wide.u32 %rd9, %r9, 4; add.s64 %rd10, %rd1, %rd9;"
          "st.global.u32 [%rd10], 0;", 1, 64, "A B C 2147483640 7 0 0 D 0",
          CLAIMS(WRITES('A', 2147483640LL * 4, 2147483704LL * 4)));
    /* all of them wrap alike: the sum is a number again */
    prove("add.s32 %r9, %r4, %r1; add.s32 %r9, %r9, %r1;" STORE("%r9"), 1, 64,
          "A B C -2147483648 7 0 0 D 0", CLAIMS(WRITES('A', 0, 256)));
    /* intermediate overflow does not matter */
    prove("add.s32 %r9, %r4, %r1; sub.s32 %r9, %r9, %r1;" STORE("%r9"), 1, 64,
          "A B C 2147483640 7 0 0 D 0", CLAIMS(WRITES('A', 0, 256)));
    prove("mul.lo.s32 %r9, %r4, %r1;" STORE("%r9"), 1, MANY, "A B C 1073741824 7 0 0 D 0",
          CLAIMS(WRITES_IN('A')));
    /* the guard compares another number than the address uses */
    prove("setp.ge.u32 %p1, %r4, %r1; @%p1 ret; add.s32 %r9, %r4, -8; cvt.u64.u32 %rd9, %r9;"
          "add.s64 %rd10, %rd1, %rd9; st.global.u8 [%rd10], 0;", 1, MANY, "A B C 32 7 0 0 D 0",
          CLAIMS(WRITES_IN('A')));
    prove("setp.ge.u32 %p1, %r4, %r1; @%p1 ret; add.s32 %r9, %r4, -8; cvt.s64.s32 %rd9, %r9;"
          "add.s64 %rd10, %rd1, %rd9; st.global.u8 [%rd10], 0;", 1, 64, "A B C 32 7 0 0 D 0",
          CLAIMS(WRITES('A', -8, 24)));
    /* 8 and 16 bits */
    prove("cvt.u16.u32 %rs1, %r4; add.s16 %rs2, %rs1, 200; cvt.u32.u8 %r9, %rs2;" STORE("%r9"),
          1, MANY, "A B C 32 7 0 0 D 0", CLAIMS(MAY_WRITE('A', 0, 1024)));
    prove("cvt.s32.s8 %r9, %r4;" STORE("%r9"), 1, 64, "A B C 32 7 0 0 D 0", CLAIMS(WRITES('A', 0,
          256)));
}

/* In a launch that is small, where it counts, threads are looked at in groups or one by one. */
static void what_is_not_affine_is_cut_up_fine(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove("rem.s32 %r9, %r4, %r2;" STORE("%r9"), 1, 64, words, CLAIMS(WRITES('A', 0, 28)));
    prove("mul.lo.s32 %r9, %r4, %r4; rem.u32 %r9, %r9, 5; add.s32 %r9, %r9, %r5;" STORE("%r9"), 1,
          64, words, CLAIMS(WRITES('A', 0, 8), WRITES('A', 16, 20)));
    prove("xor.b32 %r9, %r4, 5;" STORE("%r9"), 1, 64, words, CLAIMS(WRITES('A', 0, 256)));
    prove("and.b32 %r9, %r4, 0x55; add.s32 %r9, %r9, %r1;" STORE("%r9"), 1, 4, words,
          CLAIMS(WRITES('A', 400, 408)));
    prove("min.s32 %r9, %r4, 9;" STORE("%r9"), 1, 64, words, CLAIMS(WRITES('A', 0, 40)));
    prove("setp.ne.s32 %p1, %r4, 5; @!%p1 ret;" STORE("%r4"), 1, 64, words,
          CLAIMS(WRITES('A', 0, 20), WRITES('A', 24, 256)));
    prove("setp.lt.s32 %p1, %r4, 9; selp.b32 %r9, %r4, 50, %p1;" STORE("%r9"), 1, 64, words,
          CLAIMS(WRITES('A', 0, 36), WRITES('A', 200, 204)));
    /* a sum that wraps for some of them */
    prove("add.s32 %r9, %r4, %r1;" STORE("%r9"), 1, 64, "A B C 2147483640 7 0 0 D 0",
          CLAIMS(WRITES('A', 2147483640LL * 4, 2147483648LL * 4),
                 WRITES('A', -2147483648LL * 4, (-2147483648LL + 56) * 4)));
    prove("add.s32 %r9, %r4, %r1; mul.wide.s32 %rd9, %r9, 4; add.s64 %rd10, %rd1, %rd9;"
          "ld.global.u32 %r10, [%rd10];", 1, 64, "A B C 2147483640 7 0 0 D 0",
          CLAIMS(READS('A', 2147483640LL * 4, 2147483648LL * 4),
                 READS('A', -2147483648LL * 4, (-2147483648LL + 56) * 4)));
    /* one of two pointers */
    prove("and.b32 %r9, %r4, 1; setp.eq.s32 %p1, %r9, 0; selp.b64 %rd9, %rd1, %rd2, %p1;"
          "st.global.u32 [%rd9], 0;", 1, 8, words, CLAIMS(WRITES('A', 0, 4), WRITES('B', 0, 4)));
    /* many blocks, but all the same: they need no cutting */
    prove("rem.s32 %r9, %r4, %r2;" STORE("%r9"), 1 << 20, 64, words, CLAIMS(WRITES('A', 0, 28)));
    /* and large where it counts, or dependent on data: the bounds stay */
    prove("mul.lo.s32 %r9, %r3, %r3; rem.u32 %r9, %r9, %r2;" STORE("%r9"), MANY / 64, 64, words,
          CLAIMS(MAY_WRITE('A', 0, 28)));
    prove("ld.global.u32 %r10, [%rd2]; and.b32 %r10, %r10, 1; rem.s32 %r9, %r4, %r2;"
          "add.s32 %r9, %r9, %r10;" STORE("%r9"), 1, 64, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 32)));
}

/* ... and where no linear fact says who gets there, or how often, each on its own way. */
static void what_arguments_decide_is_walked(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* ways that meet, and others that leave before */
    prove("setp.lt.s32 %p1, %r4, 9; @%p1 bra X; setp.gt.s32 %p2, %r4, 20; @%p2 bra X; bra E; X:"
          STORE("%r4") "E:", 1, 64, words, CLAIMS(WRITES('A', 0, 36), WRITES('A', 84, 256)));
    /* what a loop carries is no sum */
    prove("mov.u32 %r9, 1; L:" STORE("%r9") "shl.b32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, %r1;"
          "@%p1 bra L;", 1, 1, words,
          CLAIMS(WRITES('A', 4, 12), WRITES('A', 16, 20), WRITES('A', 32, 36), WRITES('A', 64, 68),
                 WRITES('A', 128, 132), WRITES('A', 256, 260)));
    /* two values that change places each time */
    prove("mov.u32 %r9, 3; mov.u32 %r10, 8; mov.u32 %r11, 0; L:" STORE("%r9") "mov.u32 %r12, %r9;"
          "mov.u32 %r9, %r10; mov.u32 %r10, %r12; add.s32 %r11, %r11, 1; setp.lt.s32 %p1, %r11, 5;"
          "@%p1 bra L;" STORE("%r11"), 1, 1, words,
          CLAIMS(WRITES('A', 12, 16), WRITES('A', 20, 24), WRITES('A', 32, 36)));
    /* an index from memory, but not with these arguments */
    prove("setp.eq.s32 %p1, %r2, 6; mov.u32 %r9, 5; @%p1 ld.global.u32 %r9, [%rd2];" STORE("%r9"),
          1, 1, words, CLAIMS(WRITES('A', 20, 24)));
}

/* Where data decide, both ways are walked; what is written there may be. */
static void both_ways_are_walked_where_data_decide(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove("ld.global.u32 %r9, [%rd2]; setp.eq.s32 %p1, %r9, 0; rem.s32 %r10, %r4, %r2; @%p1 bra X;"
          STORE("%r10") "bra E; X: add.s32 %r10, %r10, 20;" STORE("%r10") "E:" STORE("50"), 1, 64,
          words, CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 28), MAY_WRITE('A', 80, 108),
                        WRITES('A', 200, 204)));
    /* which way it came is not known behind: there any of the two may be the index */
    prove("ld.global.u32 %r9, [%rd2]; setp.eq.s32 %p1, %r9, 0; mov.u32 %r10, 3; @%p1 bra X;"
          "mov.u32 %r10, 9; X:" STORE("%r10"), 1, 1, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 12, 40)));
    /* not in a loop that data end: there nothing is walked */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "ld.global.u32 %r10, [%rd2]; add.s32 %r9, %r9, 2;"
          "setp.ne.s32 %p1, %r10, 0; @%p1 bra L;" STORE("7"), 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), WRITES('A', 28, 32), WRITES_IN('A')));
    /* nor in one that is counted: the bounds stay */
    prove("mov.u32 %r9, 0; L: setp.ge.s32 %p1, %r9, %r1; @%p1 bra E; ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p2, %r10, 0; @%p2 bra S; setp.eq.s32 %p3, %r10, 1; @%p3 ret; S:"
          STORE("%r9")
          "add.s32 %r9, %r9, 1; bra L; E:", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 400)));
}

/* ... and no turn of a loop is forgotten on the way there. */
static void no_way_is_forgotten(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* the first turn of the loop outside comes to its end in the second of the one inside only */
    prove("mov.u32 %r9, 1; O: mov.u32 %r10, 0; L: ld.global.u32 %r11, [%rd2];"
          "setp.eq.s32 %p1, %r11, 0; @%p1 bra X; setp.ge.s32 %p2, %r10, 1;"
          "setp.eq.s32 %p3, %r1, 100; @!%p3 bra S; @%p2 bra B;"
          "S: add.s32 %r10, %r10, 1; bra L; B: xor.b32 %r12, %r9, 5;"
          STORE("%r12") "shl.b32 %r9, %r9, 1; ld.global.u32 %r13, [%rd3]; setp.eq.s32 %p4, %r13, 0;"
          "@%p4 bra X; bra O; X:", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_READ('C', 0, 4), WRITES_IN('A')));
    /* a counted loop, come round on the way to where the other way is already: tried again and
     * again until data let it through */
    prove("P: mov.u32 %r9, 0; H: setp.ge.s32 %p1, %r9, 3; @%p1 bra P; ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p2, %r10, 0; @%p2 bra N; xor.b32 %r11, %r9, 5;" STORE("%r11")
          "setp.eq.s32 %p3, %r1, 100; @%p3 ret; N: add.s32 %r9, %r9, 1; bra H;", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 32)));
    /* likewise, and the last turn needs no data */
    prove("P: mov.u32 %r9, 0; H: setp.ge.s32 %p1, %r9, 3; @%p1 bra P; ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p2, %r10, 0; setp.eq.or.s32 %p2, %r9, 2, %p2; @%p2 bra M;"
          "N: add.s32 %r9, %r9, 1; bra H; M: xor.b32 %r11, %r9, 5;" STORE("%r11")
          "setp.eq.s32 %p3, %r1, 100; @!%p3 bra N;", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 32)));
    /* more ways than two: none of them is followed */
    prove("ld.global.u32 %r10, [%rd2]; ts: .branchtargets P, Q, R; brx.idx %r10, ts;"
          "P: mov.u32 %r9, 3; bra J; Q: mov.u32 %r9, 9; bra J; R: mov.u32 %r9, 21;"
          "J: xor.b32 %r11, %r9, 5;" STORE("%r11"), 1, 1, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 128)));
    /* a loop with two ways in: no values are followed round it */
    prove("mov.u32 %r9, 1; setp.eq.s32 %p1, %r1, 3; @%p1 bra U; T: shl.b32 %r9, %r9, 1; U:"
          "setp.ge.s32 %p2, %r9, 16; @%p2 bra E; ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p3, %r10, 0; @%p3 bra T;" STORE("%r9") "E:", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), WRITES_IN('A')));
    /* nor round one without a way out */
    prove("xor.b32 %r9, %r4, 5; L: ld.global.u32 %r10, [%rd2];" STORE("%r9") "bra L;", 1, 4, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 32)));
}

#define STORE_C(r) "mul.wide.s32 %rd92, " r ", 4; add.s64 %rd93, %rd3, %rd92;" \
    "st.global.u32 [%rd93], 0;\n"
#define TURN "mov.u32 %r9, 0; L: ld.global.u32 %r10, [%rd2]; setp.eq.s32 %p1, %r10, 0;" \
    "xor.b32 %r11, %r9, 5;\n" /* 0 to 15, and 20 to 23, in twenty turns */
#define NEXT "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, 20; @%p2 bra L;\n"
#define READ READS('B', 0, 4)
#define MAY_BE_READ MAY_READ('B', 0, 4)

/* Data decide in a loop: both ways are followed, if they meet before its next turn or after it. */
static void ways_that_part_in_a_loop(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        struct claim claims[6];
    } cases[] = {
        /* a store that some turns skip, beside one that none does */
        {TURN "@%p1 bra N;" STORE("%r11") "N:" STORE_C("%r11") NEXT,
         {READ, MAY_WRITE('A', 0, 64), MAY_WRITE('A', 80, 96), WRITES('C', 0, 64),
          WRITES('C', 80, 96)}},
        /* a way out, and what is stored on it */
        {TURN "@%p1 bra E;" STORE("%r11") NEXT "E:",
         {MAY_BE_READ, MAY_WRITE('A', 0, 64), MAY_WRITE('A', 80, 96)}},
        {TURN "@!%p1 bra N;" STORE_C("%r11") "bra E; N:" NEXT "E:",
         {MAY_BE_READ, MAY_WRITE('C', 0, 128)}},
        {TURN "@%p1 ret;" STORE("%r11") NEXT,
         {MAY_BE_READ, MAY_WRITE('A', 0, 64), MAY_WRITE('A', 80, 96)}},
        {TURN STORE("%r11") "@%p1 bra E;" NEXT "E:",
         {MAY_BE_READ, WRITES('A', 20, 24), MAY_WRITE('A', 0, 20), MAY_WRITE('A', 24, 64),
          MAY_WRITE('A', 80, 96)}},
        /* behind it, everybody stores, and nobody knows by which number */
        {TURN "@%p1 bra E;" NEXT "E: mov.u32 %r12, 3;" STORE("%r12") STORE_C("%r9"),
         {MAY_BE_READ, WRITES('A', 12, 16), MAY_WRITE('C', 0, 84)}},
        /* a number that some turns make lasts until the next that does */
        {"mov.u32 %r12, 1;" TURN "@%p1 bra N; mov.u32 %r12, %r11; N: xor.b32 %r13, %r12, 9;"
         STORE("%r13") NEXT, {READ, WRITES_IN('A')}},
        {"mov.u32 %r12, 1;" TURN "xor.b32 %r13, %r12, 9; @%p1 bra N; mov.u32 %r12, %r11; N:"
         STORE("%r13") NEXT, {READ, WRITES('A', 32, 36), WRITES_IN('A')}},
        /* a turn that is over early, and a loop that another begins again */
        {TURN "@%p1 bra N; setp.gt.u32 %p3, %r9, 9; @%p3 bra N;" STORE("%r11") "N:" NEXT,
         {READ, MAY_WRITE('A', 0, 32), MAY_WRITE('A', 48, 56)}},
        {"mov.u32 %r14, 0; O:" TURN "@%p1 bra P;" STORE("%r11") NEXT
         "P: xor.b32 %r15, %r14, 1;" STORE_C("%r15")
         "add.s32 %r14, %r14, 1; setp.lt.s32 %p4, %r14, 3; @%p4 bra O;",
         {MAY_BE_READ, MAY_WRITE('A', 0, 64), MAY_WRITE('A', 80, 96), WRITES('C', 0, 8),
          WRITES('C', 12, 16)}},
        /* the ways meet in a later turn only: neither is followed */
        {TURN "setp.eq.s32 %p3, %r9, 19; @%p3 bra X; @%p1 bra N; X:" STORE("%r11")
         "@%p3 ret; N: add.s32 %r9, %r9, 1; bra L;", {MAY_BE_READ, WRITES_IN('A')}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        prove(cases[i].body, 1, 1, "A B C 100 7 0 0 D 0", cases[i].claims);
}

static void choices_are_bounded(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("min.s32 %r9, %r4, 9;" STORE("%r9"), 1, MANY, words, CLAIMS(MAY_WRITE('A', 0, 40)));
    prove("max.s32 %r9, %r4, 9;" STORE("%r9"), 1, MANY, words,
          CLAIMS(MAY_WRITE('A', 36, MANY * 4)));
    prove("setp.lt.s32 %p1, %r4, 9; selp.b32 %r9, %r4, 50, %p1;" STORE("%r9"), 1, MANY, words,
          CLAIMS(MAY_WRITE('A', 0, MANY * 4)));
    /* decided by a parameter: no choice at all */
    prove("setp.lt.s32 %p1, %r1, 9; selp.b32 %r9, %r4, 50, %p1;" STORE("%r9"), 1, 64, words,
          CLAIMS(WRITES('A', 200, 204)));
    prove("ld.global.u8 %r9, [%rd2];" STORE("%r9"), 1, 64, words,
          CLAIMS(READS('B', 0, 1), MAY_WRITE('A', 0, 1024)));
    prove("ld.global.u32 %r9, [%rd2]; and.b32 %r9, %r9, 12;" STORE("%r9"), 1, 64, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 52)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_wrap_are_not_believed),
        cmocka_unit_test(what_is_not_affine_is_cut_up_fine),
        cmocka_unit_test(what_arguments_decide_is_walked),
        cmocka_unit_test(both_ways_are_walked_where_data_decide),
        cmocka_unit_test(no_way_is_forgotten),
        cmocka_unit_test(ways_that_part_in_a_loop),
        cmocka_unit_test(choices_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
