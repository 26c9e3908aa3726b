/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's guards and loops, and the shape of its indices, say of the bytes. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- guards ------------------------------------------------------------------- */

static void guards_become_bounds(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove("setp.ge.s32 %p1, %r3, %r1; @%p1 ret;" STORE("%r3"), 4, 64, words,
          CLAIMS(WRITES('A', 0, 400)));
    prove("setp.lt.s32 %p1, %r3, %r1; @!%p1 bra E;" STORE("%r3") "E:", 4, 64, words,
          CLAIMS(WRITES('A', 0, 400)));
    prove("setp.lt.u32 %p1, %r3, %r1; @%p1 bra D; bra E; D:" STORE("%r3") "E:", 4, 64, words,
          CLAIMS(WRITES('A', 0, 400)));
    prove("setp.le.s32 %p1, %r3, %r1; @!%p1 ret;" STORE("%r3"), 4, 64, words,
          CLAIMS(WRITES('A', 0, 404)));
    prove("setp.gt.s32 %p1, %r1, %r3; @!%p1 ret;" STORE("%r3"), 4, 64, words,
          CLAIMS(WRITES('A', 0, 400)));
    /* both ends, as two tests and as one unsigned one */
    prove("setp.lt.s32 %p1, %r3, %r2; setp.ge.or.s32 %p2, %r3, %r1, %p1; @%p2 ret;" STORE("%r3"),
          4, 64, words, CLAIMS(WRITES('A', 28, 400)));
    prove("sub.s32 %r9, %r3, %r2; setp.lt.u32 %p1, %r9, %r1; @!%p1 ret;" STORE("%r3"), 4, 64, words,
          CLAIMS(WRITES('A', 28, 428)));
    /* the instruction's own guard, either sense */
    prove("setp.lt.s32 %p1, %r3, %r1; mul.wide.s32 %rd9, %r3, 4; add.s64 %rd10, %rd1, %rd9;"
          "@%p1 st.global.u32 [%rd10], 0;", 4, 64, words, CLAIMS(WRITES('A', 0, 400)));
    prove("setp.ge.s32 %p1, %r3, %r1; mul.wide.s32 %rd9, %r3, 4; add.s64 %rd10, %rd1, %rd9;"
          "@!%p1 st.global.u32 [%rd10], 0;", 4, 64, words, CLAIMS(WRITES('A', 0, 400)));
    /* a truth value in a register */
    prove("setp.lt.s32 %p1, %r3, %r1; selp.u32 %r9, 1, 0, %p1; setp.eq.s32 %p2, %r9, 0; @%p2 ret;"
          STORE("%r3"), 4, 64, words, CLAIMS(WRITES('A', 0, 400)));
    prove("setp.lt.s32 %p1, %r3, %r1; selp.u32 %r9, 0, 7, %p1; setp.ne.s32 %p2, %r9, 7; @!%p2 ret;"
          STORE("%r3"), 4, 64, words, CLAIMS(WRITES('A', 0, 400)));
    /* one thread of all, one of each block */
    prove("setp.ne.s32 %p1, %r3, 0; @%p1 ret; st.global.u64 [%rd1+16], %rd2;", 4, 64, words,
          CLAIMS(WRITES('A', 16, 24)));
    prove("setp.eq.s32 %p1, %r4, 0; @!%p1 ret;" STORE("%r5"), 4, 64, words,
          CLAIMS(WRITES('A', 0, 16)));
    prove("setp.ne.s32 %p1, %r4, 63; @%p1 ret;" STORE("%r5"), 4, 64, words,
          CLAIMS(WRITES('A', 0, 16)));
}

/* As code for debuggers has them. */
static void a_predicate_may_be_written_down(void **state)
{
    (void)state;
    static const char *const truths[] = {"-1", "1", "7"};
    const char *words = "A B C 100 7 0 0 D 0";
    char body[256];
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        snprintf(body, sizeof body, "mov.pred %%p1, %s; @%%p1 bra X; bra Y; X:%sY:", truths[i],
                 STORE("%r3"));
        prove(body, 4, 64, words, CLAIMS(WRITES('A', 0, 1024)));
        snprintf(body, sizeof body, "mov.pred %%p1, %s; @%%p1 st.global.u32 [%%rd1], 0;"
                 "@!%%p1 st.global.u32 [%%rd2], 0;", truths[i]);
        prove(body, 4, 64, words, CLAIMS(WRITES('A', 0, 4)));
        snprintf(body, sizeof body, "setp.lt.and.s32 %%p1, %%r3, %%r1, %s; @%%p1 st.global.u32 "
                 "[%%rd1], 0;", truths[i]);
        prove(body, 4, 64, words, CLAIMS(WRITES('A', 0, 4)));
    }
    prove("mov.pred %p1, 0; @!%p1 bra X; bra Y; X:" STORE("%r3") "Y:", 4, 64, words,
          CLAIMS(WRITES('A', 0, 1024)));
    prove("mov.pred %p1, 0; @%p1 bra X; bra Y; X:" STORE("%r3") "Y:", 4, 64, words, NOTHING);
}

static void nobody_gets_there(void **state)
{
    (void)state;
    prove("setp.ge.s32 %p1, %r3, %r1; @%p1 ret;" STORE("%r3"), 4, 64, "A B C 0 7 0 0 D 0", NOTHING);
    prove("setp.ge.s32 %p1, %r3, %r1; @%p1 ret;" STORE("%r3"), 4, 64, "A B C -5 7 0 0 D 0",
          NOTHING);
    prove("setp.eq.s32 %p1, %r4, 64; @!%p1 ret;" STORE("%r5"), 4, 64, "A B C 0 7 0 0 D 0", NOTHING);
    prove("setp.ne.s32 %p1, %r2, 7; @!%p1 ret;" STORE("%r5"), 4, 64, "A B C 0 7 0 0 D 0", NOTHING);
    prove_in("", STORE("%r3"), (struct claim_size){0, 1, 1}, (struct claim_size){64, 1, 1},
             "A B C 0 7 0 0 D 0", NOTHING);
}

/* Whatever a value is, it equals itself; what is read twice may be two. */
static void a_value_equals_itself(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    const char *load = "ld.global.u32 %r9, [%rd2]; mov.u32 %r10, %r9;";
    const char *end = "%p1, %r9, %r10; @!%p1 ret;" STORE("%r4");
    static const char *const yes[] = {"eq.s32", "le.u32", "ge.s32"};
    static const char *const no[] = {"ne.s32", "lt.u32", "gt.s32"};
    char body[512];
    for (size_t i = 0; i < 3; i++) {
        snprintf(body, sizeof body, "%s setp.%s %s", load, yes[i], end);
        prove(body, 1, 64, words, CLAIMS(READS('B', 0, 4), WRITES('A', 0, 256)));
        snprintf(body, sizeof body, "%s setp.%s %s", load, no[i], end);
        prove(body, 1, 64, words, CLAIMS(READS('B', 0, 4)));
    }
    /* loaded twice, changed in between, of another turn of a loop, and a clock */
    prove("ld.global.u32 %r9, [%rd2]; ld.global.u32 %r10, [%rd2]; setp.eq.s32 %p1, %r9, %r10;"
          "@!%p1 ret;" STORE("%r4"), 1, 64, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 256)));
    prove("ld.global.u32 %r9, [%rd2]; mov.u32 %r10, %r9; ld.global.u32 %r9, [%rd2+4];"
          "setp.eq.s32 %p1, %r9, %r10; @!%p1 ret;" STORE("%r4"), 1, 64, words,
          CLAIMS(READS('B', 0, 8), MAY_WRITE('A', 0, 256)));
    prove("mov.u32 %r10, 0; mov.u32 %r11, 0; L: ld.global.u32 %r9, [%rd2];"
          "setp.eq.s32 %p1, %r9, %r10; @%p1 st.global.u32 [%rd1], 0; mov.u32 %r10, %r9;"
          "add.s32 %r11, %r11, 1; setp.lt.s32 %p2, %r11, 4; @%p2 bra L;", 1, 1, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 4)));
    prove("mov.u32 %r9, %clock; mov.u32 %r10, %clock; setp.eq.s32 %p1, %r9, %r10; @!%p1 ret;"
          STORE("%r4"), 1, 64, words, CLAIMS(MAY_WRITE('A', 0, 256)));
    prove("mov.u32 %r9, %clock; mov.u32 %r10, %clock; setp.ne.s32 %p1, %r9, %r10; @!%p1 ret;"
          STORE("%r4"), 1, 64, words, CLAIMS(MAY_WRITE('A', 0, 256)));
}

/* -43 and %nctaid.z have one key where constants and special registers are kept. */
static void a_special_register_is_no_constant(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    const char *end = "setp.lt.s32 %p1, %r10, 0; @%p1 ret; mul.wide.s32 %rd9, %r10, 4;"
                      "add.s64 %rd9, %rd9, %rd1; st.global.u32 [%rd9], 0;";
    static const char *const starts[] = {
        "mov.u32 %r9, -43; mov.u32 %r10, %nctaid.z;",
        "mov.u32 %r10, %nctaid.z; mov.u32 %r9, -43; mov.u32 %r10, %nctaid.z;",
    };
    char body[512];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        snprintf(body, sizeof body, "%s %s", starts[i], end);
        prove(body, 1, 1, words, CLAIMS(WRITES('A', 4, 8)));
    }
}

/* Where who gets there is not known, the bounds stay and exactness goes. */
static void doubtful_guards_are_not_exact(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    struct claim bounded[] = {MAY_WRITE('A', 0, MANY * 4), {0}};
    prove("ld.global.u32 %r9, [%rd2]; setp.eq.s32 %p1, %r9, 0; @%p1 ret;" STORE("%r4"), 1, 64,
          words, CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 256)));
    prove("setp.lt.s32 %p1, %r4, 3; setp.gt.or.s32 %p2, %r4, 9, %p1; @!%p2 ret;" STORE("%r4"), 1,
          MANY, words, bounded);
    prove("setp.ne.s32 %p1, %r4, 5; @!%p1 ret;" STORE("%r4"), 1, MANY, words, bounded);
    /* a join that not all paths reach */
    prove("setp.lt.s32 %p1, %r4, 9; @%p1 bra X; setp.gt.s32 %p2, %r4, 20; @%p2 bra X; bra E; X:"
          STORE("%r4") "E:", 1, MANY, words, bounded);
    /* a barrier's verdict */
    prove("setp.lt.s32 %p1, %r4, 9; bar.red.popc.u32 %r9, 0, %p1; setp.eq.s32 %p2, %r9, 0;"
          "@%p2 ret;"
          STORE("%r4"), 1, MANY, words, bounded);
}

/* ---- shapes ------------------------------------------------------------------- */

static void gaps_are_not_claimed(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* every other word: few ranges are listed, many become one that is not exact */
    prove("shl.b32 %r9, %r4, 1;" STORE("%r9"), 1, 3, words,
          CLAIMS(WRITES('A', 0, 4), WRITES('A', 8, 12), WRITES('A', 16, 20)));
    prove("shl.b32 %r9, %r4, 1;" STORE("%r9"), 1, MANY, words,
          CLAIMS(MAY_WRITE('A', 0, MANY * 8 - 4)));
    /* both halves of each pair, by two instructions */
    prove("shl.b32 %r9, %r4, 1;" STORE("%r9") "or.b32 %r10, %r9, 1;" STORE("%r10"), 1, 100, words,
          CLAIMS(WRITES('A', 0, 800)));
    prove("mul.wide.s32 %rd9, %r4, 16; add.s64 %rd10, %rd1, %rd9; st.global.v4.f32 [%rd10], "
          "{%f1, %f1, %f1, %f1};", 1, 32, words, CLAIMS(WRITES('A', 0, 512)));
    /* a stride below the width overlaps, and backwards is as good as forwards */
    prove("mul.wide.s32 %rd9, %r4, 2; add.s64 %rd10, %rd1, %rd9; st.global.u32 [%rd10], 0;", 1, 32,
          words, CLAIMS(WRITES('A', 0, 66)));
    prove("not.b32 %r9, %r4; add.s32 %r9, %r9, %r1;" STORE("%r9"), 1, 100, words,
          CLAIMS(WRITES('A', 0, 400)));
    /* rows of 7 words in a pitch of 7, and of 8 */
    prove("mad.lo.s32 %r9, %r5, 7, %r4;" STORE("%r9"), 5, 7, words, CLAIMS(WRITES('A', 0, 140)));
    prove("mad.lo.s32 %r9, %r5, 8, %r4;" STORE("%r9"), 2, 7, words,
          CLAIMS(WRITES('A', 0, 28), WRITES('A', 32, 60)));
}

#define IF_DATA "ld.global.u32 %r8, [%rd2]; setp.eq.s32 %p9, %r8, 0; @%p9 ret;"

/* Where who gets there is not known, nobody is in the gaps either. */
static void gaps_of_what_is_not_exact_are_no_more(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove(IF_DATA "shl.b32 %r9, %r4, 1;" STORE("%r9"), 1, 3, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 4), MAY_WRITE('A', 8, 12),
                 MAY_WRITE('A', 16, 20)));
    prove(IF_DATA "shl.b32 %r9, %r4, 1;" STORE("%r9"), 1, MANY, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, MANY * 8 - 4)));
    /* an index of data in each row of 8 words: in half of it, and in all */
    prove("ld.global.u32 %r9, [%rd2]; and.b32 %r9, %r9, 3; mad.lo.s32 %r10, %r5, 8, %r9;"
          STORE("%r10"), 2, 1, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 16), MAY_WRITE('A', 32, 48)));
    prove("ld.global.u32 %r9, [%rd2]; and.b32 %r9, %r9, 7; mad.lo.s32 %r10, %r5, 8, %r9;"
          STORE("%r10"), 2, 1, words, CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 64)));
    /* rows, of too many threads to walk */
    prove(IF_DATA "mad.lo.s32 %r9, %r5, 2097152, %r4;" STORE("%r9"), 3, MANY, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, MANY * 4),
                 MAY_WRITE('A', MANY * 8, MANY * 12), MAY_WRITE('A', MANY * 16, MANY * 20)));
    /* what another access fills is no gap */
    prove(IF_DATA "shl.b32 %r9, %r4, 1;" STORE("%r9") "add.s32 %r9, %r9, 1;" STORE("%r9"), 1, 50,
          words, CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 400)));
    prove(IF_DATA "mad.lo.s32 %r9, %r5, 2097152, %r4;" STORE("%r9")
          "add.s32 %r9, %r9, 1048576;" STORE("%r9"), 3, MANY, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, MANY * 24)));
}

static void lanes_and_warps_are_parts_of_the_thread(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    const char *warp_row = "shr.u32 %r9, %r4, 5; and.b32 %r10, %r4, 31; shl.b32 %r11, %r6, 0;"
                           "shr.u32 %r11, %r6, 5; mad.lo.s32 %r12, %r5, %r11, %r9;"
                           "setp.ge.s32 %p1, %r12, %r1; @%p1 ret; mad.lo.s32 %r13, %r12, 32, %r10;";
    char body[1024];
    snprintf(body, sizeof(body), "%s%s", warp_row, STORE("%r13"));
    prove(body, 30, 128, words, CLAIMS(WRITES('A', 0, 100 * 128)));
    prove(body, 30, 96, words, CLAIMS(WRITES('A', 0, 90 * 128)));
    snprintf(body, sizeof(body), "%s%s", warp_row, "setp.ne.s32 %p2, %r10, 0; @%p2 ret;"
          STORE("%r12"));
    prove(body, 30, 128, words, CLAIMS(WRITES('A', 0, 400)));
    prove("mov.u32 %r9, %laneid; setp.eq.s32 %p1, %r9, 0; @!%p1 ret; shr.u32 %r10, %r4, 5;"
          STORE("%r10"),
          1, 256, words, CLAIMS(WRITES('A', 0, 32)));
    /* a division by something that does not divide the block */
    prove("div.u32 %r9, %r4, 10; rem.u32 %r10, %r4, 10; mad.lo.s32 %r11, %r9, 10, %r10;"
          STORE("%r11"), 1,
          64, words, CLAIMS(WRITES('A', 0, 256)));
    prove("rem.u32 %r9, %r4, 10;" STORE("%r9"), 1, 64, words, CLAIMS(WRITES('A', 0, 40)));
    prove("div.u32 %r9, %r3, %r2; rem.u32 %r10, %r3, %r2; mad.lo.s32 %r11, %r10, 9, %r9;"
          STORE("%r11"), 9,
          7, words, CLAIMS(WRITES('A', 0, 63 * 4)));
    prove("bfe.u32 %r9, %r4, 2, 3;" STORE("%r9"), 1, 64, words, CLAIMS(WRITES('A', 0, 32)));
}

/* ---- loops -------------------------------------------------------------------- */

static void loops_are_counted(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove("mov.u32 %r9, 0; L: setp.ge.s32 %p1, %r9, %r1; @%p1 bra E;" STORE("%r9")
          "add.s32 %r9, %r9, 1; bra L; E:", 1, 1, words, CLAIMS(WRITES('A', 0, 400)));
    prove("mov.u32 %r9, %r3; mov.u32 %r10, %nctaid.x; mul.lo.s32 %r10, %r10, %r6;"
          "L: setp.ge.s32 %p1, %r9, %r1; @%p1 bra E;" STORE("%r9")
          "add.s32 %r9, %r9, %r10; bra L; E:", 3, 8, words, CLAIMS(WRITES('A', 0, 400)));
    prove("mov.u32 %r9, %r1; L:" STORE("%r9") "add.s32 %r9, %r9, -1; setp.ne.s32 %p1, %r9, 0;"
          "@%p1 bra L;",
          1, 1, words, CLAIMS(WRITES('A', 4, 404)));
    prove("mov.u32 %r9, 0; mov.u64 %rd9, %rd1; L: st.global.u64 [%rd9], %rd2;"
          "add.s64 %rd9, %rd9, 8;"
          "add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, %r2; @%p1 bra L;"
          "st.global.u16 [%rd9], %rs1;", 1, 1,
          words, CLAIMS(WRITES('A', 0, 58)));
    /* a jump to the test at the end, as some compilers enter a loop */
    prove("mov.u32 %r9, %r4; bra T; L:" STORE("%r9") "add.s32 %r9, %r9, %r6;"
          "T: setp.lt.s32 %p1, %r9, %r1;"
          "@%p1 bra L;", 1, 32, words, CLAIMS(WRITES('A', 0, 400)));
    /* nested, the inner one as long as the outer counter */
    prove("mov.u32 %r9, 0; L: mov.u32 %r10, 0; M: mad.lo.s32 %r11, %r9, %r2, %r10;" STORE("%r11")
          "add.s32 %r10, %r10, 1; setp.lt.s32 %p1, %r10, %r2; @%p1 bra M; add.s32 %r9, %r9, 1;"
          "setp.lt.s32 %p2, %r9, 5; @%p2 bra L;", 1, 1, words, CLAIMS(WRITES('A', 0, 140)));
    prove("mov.u32 %r9, 0; L: setp.ge.s32 %p1, %r9, 5; @%p1 bra E; mov.u32 %r10, 0;"
          "M: setp.ge.s32 %p2, "
          "%r10, %r9; @%p2 bra N; mad.lo.s32 %r11, %r9, 5, %r10;" STORE("%r11")
          "add.s32 %r10, %r10, 1; bra M; N: add.s32 %r9, %r9, 1; bra L; E:", 1, 1, words,
          CLAIMS(WRITES('A', 20, 24), WRITES('A', 40, 48), WRITES('A', 60, 72),
                 WRITES('A', 80, 96)));
}

/* Down to 0, or up to it, from another number for each thread. */
static void loops_that_count_to_equality(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* tid + 1 words each, at 16 words from each other: too many threads to walk */
    prove("add.s32 %r9, %r4, 1; mul.wide.s32 %rd9, %r4, 64; add.s64 %rd9, %rd9, %rd1; L:"
          "st.global.u32 [%rd9], 0; add.s64 %rd9, %rd9, 4; add.s32 %r9, %r9, -1;"
          "setp.ne.s32 %p1, %r9, 0; @%p1 bra L;", 1, MANY, words,
          CLAIMS(MAY_WRITE('A', 0, (int64_t)MANY * 68 - 64)));
    prove("and.b32 %r9, %r4, 7; add.s32 %r9, %r9, 1; mov.u64 %rd9, %rd1; L:"
          "st.global.u32 [%rd9], 0; add.s64 %rd9, %rd9, 4; add.s32 %r9, %r9, -1;"
          "setp.ne.s32 %p1, %r9, 0; @%p1 bra L;", 1, MANY, words,
          CLAIMS(WRITES('A', 0, 32)));
    prove("ld.global.u32 %r9, [%rd2]; and.b32 %r9, %r9, 7; not.b32 %r9, %r9; mov.u64 %rd9, %rd1;"
          "L: st.global.u32 [%rd9], 0; add.s64 %rd9, %rd9, 4; add.s32 %r9, %r9, 1;"
          "setp.ne.s32 %p1, %r9, 0; @%p1 bra L;", 1, 1, words,
          CLAIMS(READS('B', 0, 4), MAY_WRITE('A', 0, 32)));
    /* away from 0, by 2, and from below it as well as from above */
    static const char *const endless[] = {
        "and.b32 %r9, %r9, 7; add.s32 %r9, %r9, 1; mov.u32 %r10, 1;",
        "and.b32 %r9, %r9, 7; add.s32 %r9, %r9, 1; mov.u32 %r10, -2;",
        "and.b32 %r9, %r9, 7; sub.s32 %r9, %r9, 3; mov.u32 %r10, -1;",
        "mov.u32 %r10, -1;",
    };
    char body[512];
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        snprintf(body, sizeof body, "ld.global.u32 %%r9, [%%rd2]; %s mov.u64 %%rd9, %%rd1; L:"
                 "st.global.u32 [%%rd9], 0; add.s64 %%rd9, %%rd9, 4; add.s32 %%r9, %%r9, %%r10;"
                 "setp.ne.s32 %%p1, %%r9, 0; @%%p1 bra L;", endless[i]);
        prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
    }
    /* to another number in each turn, which may be leapt over */
    prove("mov.u32 %r9, 100; mov.u64 %rd9, %rd1; L: st.global.u32 [%rd9], 0;"
          "add.s64 %rd9, %rd9, 4; add.s32 %r9, %r9, -1; ld.global.u32 %r10, [%rd2];"
          "and.b32 %r10, %r10, 7; setp.ne.s32 %p1, %r9, %r10; @%p1 bra L;", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), WRITES_IN('A')));
    prove("ld.global.u32 %r11, [%rd2]; and.b32 %r11, %r11, 3; mov.u32 %r9, 100; mov.u32 %r10, 0;"
          "mov.u64 %rd9, %rd1; L: st.global.u32 [%rd9], 0; add.s64 %rd9, %rd9, 4;"
          "add.s32 %r9, %r9, -1; add.s32 %r10, %r10, %r11; setp.ne.s32 %p1, %r9, %r10; @%p1 bra L;",
          1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
}

/* How far the first loop has counted is a value like any other to the second. */
static void loops_that_are_bounded_by_others(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    prove("mov.u32 %r9, 0; L: add.s32 %r9, %r9, 2; setp.lt.s32 %p1, %r9, %r1; @%p1 bra L;"
          "mov.u32 %r10, 0; M:" STORE("%r10") "add.s32 %r10, %r10, 1;"
          "setp.lt.s32 %p2, %r10, %r9; @%p2 bra M;", 1, 1, words, CLAIMS(WRITES('A', 0, 400)));
    prove("mov.u32 %r9, 0; L: add.s32 %r9, %r9, 3; setp.lt.s32 %p1, %r9, %r1; @%p1 bra L;"
          "mov.u32 %r10, 0; M: setp.ge.u32 %p2, %r10, %r9; @%p2 bra E;" STORE("%r10")
          "add.s32 %r10, %r10, 1; bra M; E:", 1, 1, words, CLAIMS(WRITES('A', 0, 408)));
    /* in each turn of one around them, and where it ends by data */
    prove("mov.u32 %r8, 0; K: mov.u32 %r9, 0; L: add.s32 %r9, %r9, 5;"
          "setp.lt.s32 %p1, %r9, 20; @%p1 bra L; mov.u32 %r10, 0;"
          "M: mad.lo.s32 %r11, %r8, 20, %r10;" STORE("%r11")
          "add.s32 %r10, %r10, 1; setp.lt.s32 %p2, %r10, %r9; @%p2 bra M;"
          "add.s32 %r8, %r8, 1; setp.lt.s32 %p3, %r8, 3; @%p3 bra K;", 1, 1, words,
          CLAIMS(WRITES('A', 0, 240)));
    prove("mov.u32 %r9, 0; L: ld.global.u32 %r8, [%rd2]; setp.eq.s32 %p3, %r8, 0; @%p3 bra N;"
          "add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 10; @%p1 bra L; N:"
          "mov.u32 %r10, 0; M:" STORE("%r10") "add.s32 %r10, %r10, 1;"
          "setp.lt.s32 %p2, %r10, %r9; @%p2 bra M;", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 40)));
}

static void loops_that_are_not_counted(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* a way out that depends on data: bounds */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p1, %r10, 0; @%p1 bra E;"
          "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, %r1; @%p2 bra L; E:", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), WRITES('A', 0, 4), MAY_WRITE('A', 4, 400)));
    /* where the counter stands after it, then, is not known either */
    prove("mov.u32 %r9, 0; L: ld.global.u32 %r10, [%rd2]; setp.eq.s32 %p1, %r10, 0; @%p1 bra E;"
          "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, 10; @%p2 bra L; E:" STORE("%r9"), 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 44)));
    /* no bound but data */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "add.s32 %r9, %r9, 1; ld.global.u32 %r10, [%rd2];"
          "setp.lt.s32 %p2, %r9, %r10; @%p2 bra L;", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), WRITES_IN('A')));
    /* a test that is never met by equality */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "add.s32 %r9, %r9, 3; setp.ne.s32 %p2, %r9, 10;"
          "@%p2 bra L;", 1,
          1, words, CLAIMS(WRITES_IN('A')));
    /* a counter that would wrap before it reaches its bound */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "add.s32 %r9, %r9, 536870912; setp.lt.s32 %p2, %r9, "
          "2147483647; @%p2 bra L;", 1, 1, words, CLAIMS(WRITES_IN('A')));
}

/* Without a test before it, the first iteration is everybody's, whatever the bound: here the
 * later ones fill the gaps of some threads only. */
static void first_iteration_of_a_loop_tested_at_its_end(void **state)
{
    (void)state;
    const char *loop = "shl.b32 %r9, %r4, 2; L:" STORE("%r9")
                       "add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 10; @%p1 bra L;";
    prove(loop, 1, MANY, "A B C 0 0 0 0 D 0", CLAIMS(MAY_WRITE('A', 0, (MANY - 1) * 16 + 4)));
    prove(loop, 1, 3, "A B C 0 0 0 0 D 0", CLAIMS(WRITES('A', 0, 40)));
}

/* Where a block comes after a way round its loop, it need not run each time. */
static void a_block_that_some_iterations_skip(void **state)
{
    (void)state;
    prove("mov.u32 %r9, 0; L: setp.eq.s32 %p1, %r9, 7; @%p1 bra X; ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p2, %r10, 0; @%p2 bra N; X:" STORE("%r9")
          "setp.ge.s32 %p3, %r9, 7; @%p3 bra E; N: add.s32 %r9, %r9, 1; bra L; E:", 1, 1,
          "A B C 0 0 0 0 D 0", CLAIMS(MAY_READ('B', 0, 4), WRITES_IN('A')));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_become_bounds),
        cmocka_unit_test(a_predicate_may_be_written_down),
        cmocka_unit_test(nobody_gets_there),
        cmocka_unit_test(a_value_equals_itself),
        cmocka_unit_test(a_special_register_is_no_constant),
        cmocka_unit_test(doubtful_guards_are_not_exact),
        cmocka_unit_test(gaps_are_not_claimed),
        cmocka_unit_test(gaps_of_what_is_not_exact_are_no_more),
        cmocka_unit_test(lanes_and_warps_are_parts_of_the_thread),
        cmocka_unit_test(loops_are_counted),
        cmocka_unit_test(loops_that_count_to_equality),
        cmocka_unit_test(loops_that_are_bounded_by_others),
        cmocka_unit_test(loops_that_are_not_counted),
        cmocka_unit_test(first_iteration_of_a_loop_tested_at_its_end),
        cmocka_unit_test(a_block_that_some_iterations_skip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
