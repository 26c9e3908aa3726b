/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel for each thing that the analysis must know, or must not believe. */
#include "tests/access/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every kernel has the parameters a, b, c (pointers), n, m (32 bits), l (64 bits) and s, a
 * struct of {u32, pointer, u64}; %rd1-3 hold the pointers, %r1 and %r2 hold n and m, %r3 is
 * ctaid.x * ntid.x + tid.x, %r4 tid.x and %r5 ctaid.x. */
#define HEAD                                                                                    \
    ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 table_G[256];\n"       \
    ".extern .func (.param .b32 r) unknown (.param .b64 p);\n"
#define PARAMS                                                                                  \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n,\n"           \
    ".param .u32 m, .param .u64 l, .param .align 8 .b8 s[24])\n{\n.reg .b32 %r<99>;\n"          \
    ".reg .b64 %rd<99>; .reg .pred %p<99>; .reg .f32 %f<9>; .reg .b16 %rs<9>;\n"                \
    ".shared .align 4 .b8 sh[256];\n"                                                           \
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n"                 \
    "ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x;" \
    "mov.u32 %r6, %ntid.x; mad.lo.s32 %r3, %r5, %r6, %r4;\n"
#define ONE_TO_ONE(n) {1, 1, 1}, {n, 1, 1}

static void prove_in(const char *before, const char *body, struct claim_size grid,
                     struct claim_size block, const char *words, const struct claim *expected)
{
    char text[16384], message[160];
    struct rp_ptx_module *module;
    snprintf(text, sizeof(text), "%s%s%s%s\nret;\n}\n", HEAD, before, PARAMS, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("%s\n%s", message, text);
    claim_check(module, "k", grid, block, words, expected);
    rp_ptx_destroy(module);
}

static void prove(const char *body, unsigned blocks, unsigned threads, const char *words,
                  const struct claim *expected)
{
    prove_in("", body, (struct claim_size){blocks, 1, 1}, (struct claim_size){threads, 1, 1},
             words, expected);
}

#define CLAIMS(...) ((const struct claim[]){__VA_ARGS__, {0}})
#define NOTHING ((const struct claim[]){{0}})

/* Stores 4 bytes at %rd1 + 4 * r. */
#define STORE(r) "mul.wide.s32 %rd90, " r ", 4; add.s64 %rd91, %rd1, %rd90;" \
    "st.global.u32 [%rd91], 0;\n"

/* Threads: more than are looked at one by one. */
enum { MANY = 1 << 20 };

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

static void loops_that_are_not_counted(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
    /* a way out that depends on data: bounds */
    prove("mov.u32 %r9, 0; L:" STORE("%r9") "ld.global.u32 %r10, [%rd2];"
          "setp.eq.s32 %p1, %r10, 0; @%p1 bra E;"
          "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, %r1; @%p2 bra L; E:", 1, 1, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 400)));
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
          "setp.eq.s32 %p2, %r10, 0; @%p2 bra S; setp.eq.s32 %p3, %r10, 1; @%p3 ret; S:" STORE("%r9")
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
          "setp.eq.s32 %p3, %r1, 100; @!%p3 bra S; @%p2 bra B; S: add.s32 %r10, %r10, 1; bra L; B: xor.b32 %r12, %r9, 5;"
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
          CLAIMS(READS_ANY, WRITES_ANY));
    /* nor round one without a way out */
    prove("xor.b32 %r9, %r4, 5; L: ld.global.u32 %r10, [%rd2];" STORE("%r9") "bra L;", 1, 4, words,
          CLAIMS(MAY_READ('B', 0, 4), MAY_WRITE('A', 0, 32)));
}

static void choices_are_bounded(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("min.s32 %r9, %r4, 9;" STORE("%r9"), 1, MANY, words, CLAIMS(MAY_WRITE('A', 0, 40)));
    prove("max.s32 %r9, %r4, 9;" STORE("%r9"), 1, MANY, words, CLAIMS(MAY_WRITE('A', 36, MANY * 4)));
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

/* ---- roots -------------------------------------------------------------------- */

static void pointers_are_followed(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("ld.param.u64 %rd9, [s+8]; st.global.u32 [%rd9+4], 0;", 1, 1, words,
          CLAIMS(WRITES('D', 4, 8)));
    prove("ld.param.v2.u64 {%rd9, %rd10}, [a]; st.u32 [%rd9], 0;", 1, 1, words,
          CLAIMS(WRITES('A', 0, 4)));
    prove("mov.u64 %rd9, table_G; cvta.global.u64 %rd10, %rd9; st.u32 [%rd10+8], 0;"
          "ld.global.u8 %r9, "
          "[table_G+1];", 1, 1, words, CLAIMS(WRITES('G', 8, 12), READS('G', 1, 2)));
    /* one of two, by a parameter and by a thread */
    prove("setp.eq.s32 %p1, %r1, 20; selp.b64 %rd9, %rd1, %rd2, %p1; st.global.u32 [%rd9], 0;",
          1, 32, words, CLAIMS(WRITES('A', 0, 4)));
    prove("setp.eq.s32 %p1, %r4, 20; selp.b64 %rd9, %rd1, %rd2, %p1; st.global.u32 [%rd9], 0;",
          1, 32, words, CLAIMS(WRITES('A', 0, 4), WRITES('B', 0, 4)));
    prove("setp.lt.s32 %p1, %r4, 20; selp.b64 %rd9, %rd1, %rd2, %p1; mul.wide.s32 %rd10, %r4, 4;"
          "add.s64 %rd9, %rd9, %rd10; st.global.u32 [%rd9], 0;", 1, 32, words,
          CLAIMS(WRITES('A', 0, 80), WRITES('B', 80, 128)));
    /* by data */
    prove("ld.global.u32 %r9, [%rd3]; setp.eq.s32 %p1, %r9, 20; selp.b64 %rd9, %rd1, %rd2, %p1;"
          "st.global.u32 [%rd9], 0;", 1, 32, words, CLAIMS(READS('C', 0, 4), WRITES_ANY));
    /* data-dependent, in a known allocation */
    prove("ld.global.u32 %r9, [%rd2];" STORE("%r9"), 1, 1, words,
          CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
    prove("ld.global.u64 %rd9, [%rd2]; shl.b64 %rd9, %rd9, 2; add.s64 %rd10, %rd1, %rd9;"
          "st.global.u32 [%rd10], 0;", 1, 1, words, CLAIMS(READS('B', 0, 8), WRITES_IN('A')));
    prove("ld.global.u32 %r9, [%rd2]; mul.wide.s32 %rd9, %r9, 4; add.s64 %rd10, %rd1, %rd9;"
          "red.global.add.u32 [%rd10], 1;", 1, 1, words, CLAIMS(READS('B', 0, 4), ADDS_IN('A')));
}

/* Half of a pointer is a number: what is made of it has no root. */
static void halves_of_a_pointer_are_numbers(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    const int64_t a = (int64_t)claim_address('A');
    prove("mov.b64 {%r9, %r10}, %rd1; add.u32 %r9, %r9, 64; mov.b64 %rd9, {%r9, %r10};"
          "st.global.u32 [%rd9], 0;", 1, 1, words, CLAIMS(WRITES('?', a + 64, a + 68)));
    prove("mov.b64 {%r9, %r10}, %rd1; mov.u32 %r11, 0;\nL: mov.b64 %rd9, {%r9, %r10};"
          "st.global.u32 [%rd9], 0; add.u32 %r9, %r9, 4; add.u32 %r11, %r11, 1;"
          "setp.lt.u32 %p1, %r11, 20; @%p1 bra L;", 1, 1, words, CLAIMS(WRITES('?', a, a + 80)));
    prove("mov.b64 {%r9, %r10}, %rd1; selp.b32 %r11, %r9, %r10, %p1; cvt.u64.u32 %rd9, %r9;"
          "add.s64 %rd10, %rd2, %rd9; st.global.u32 [%rd10+8], 0;", 1, 1, words,
          CLAIMS(WRITES('B', 8, 12)));
}

static void pointers_of_unknown_origin(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 64 0 D 0";
    /* from memory */
    prove("ld.global.u64 %rd9, [%rd2]; st.global.u32 [%rd9], 0;", 1, 1, words,
          CLAIMS(READS('B', 0, 8), WRITES_ANY));
    prove("ld.local.u64 %rd9, [%rd2]; st.global.u32 [%rd9], 0;", 1, 1, words, CLAIMS(WRITES_ANY));
    /* from memory, plus what looks like a pointer parameter but may be an offset */
    prove("ld.global.u64 %rd9, [%rd2]; ld.param.u64 %rd10, [l]; add.s64 %rd11, %rd9, %rd10;"
          "st.global.u32 [%rd11], 0;", 1, 1, words, CLAIMS(READS('B', 0, 8), WRITES_ANY));
    /* the same, cut into an index of a pointer to the right and back */
    prove("ld.global.u64 %rd9, [%rd2]; shr.u64 %rd9, %rd9, 4; shl.b64 %rd9, %rd9, 4;"
          "ld.param.u64 %rd10, [l]; add.s64 %rd11, %rd9, %rd10; st.global.u32 [%rd11], 0;", 1, 1,
          words, CLAIMS(READS('B', 0, 8), WRITES_ANY));
    /* a sum of two parameters is a number, but has no owner */
    prove("ld.param.u64 %rd10, [l]; add.s64 %rd11, %rd1, %rd10; ld.global.u32 %r9, [%rd2];"
          "mul.wide.s32 %rd12, %r9, 4; add.s64 %rd11, %rd11, %rd12; st.global.u32 [%rd11], 0;",
          1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_ANY));
    /* a pointer from two halves of memory */
    prove("ld.global.v2.u32 {%r9, %r10}, [%rd2]; mov.b64 %rd9, {%r9, %r10};"
          "st.global.u32 [%rd9], 0;", 1,
          1, words, CLAIMS(READS('B', 0, 8), WRITES_ANY));
    prove("shfl.sync.idx.b32 %r9|%p1, %r4, 0, 31, -1; cvt.u64.u32 %rd9, %r9;"
          "st.global.u32 [%rd9], 0;",
          1, 1, words, CLAIMS(WRITES_ANY));
    /* a distance between two pointers, cut into elements and back: from one buffer to the other */
    prove("sub.s64 %rd9, %rd1, %rd2; div.s64 %rd9, %rd9, 4; shl.b64 %rd9, %rd9, 2;"
          "add.s64 %rd10, %rd2, %rd9; ld.global.u32 %r9, [%rd3]; mul.wide.s32 %rd11, %r9, 4;"
          "add.s64 %rd10, %rd10, %rd11; st.global.u32 [%rd10], 0;", 1, 1, words,
          CLAIMS(READS('C', 0, 4), WRITES_ANY));
    /* a remainder of a pointer that is the pointer */
    prove("rem.u64 %rd9, %rd2, 0x1000000000000; ld.param.u64 %rd10, [l];"
          "ld.global.u32 %r9, [%rd3]; mul.wide.s32 %rd11, %r9, 4; add.s64 %rd9, %rd9, %rd11;"
          "add.s64 %rd9, %rd9, %rd10; st.global.u32 [%rd9], 0;", 1, 1, words,
          CLAIMS(READS('C', 0, 4), WRITES_ANY));
    /* a pointer times 0 or 1, plus an offset that looks like one */
    prove("ld.global.u32 %r9, [%rd3]; and.b32 %r9, %r9, 1; cvt.u64.u32 %rd9, %r9;"
          "mul.lo.s64 %rd9, %rd9, %rd1; ld.param.u64 %rd10, [l]; add.s64 %rd9, %rd9, %rd10;"
          "st.global.u32 [%rd9], 0;", 1, 1, words, CLAIMS(READS('C', 0, 4), WRITES_ANY));
    /* a pointer from two halves of memory, put together by arithmetic */
    prove("ld.global.u32 %r9, [%rd3]; ld.global.u32 %r10, [%rd3+4]; cvt.u64.u32 %rd9, %r9;"
          "cvt.u64.u32 %rd10, %r10; mul.lo.s64 %rd10, %rd10, 0x100000000;"
          "add.s64 %rd9, %rd9, %rd10; ld.param.u64 %rd10, [l]; add.s64 %rd9, %rd9, %rd10;"
          "st.global.u32 [%rd9], 0;", 1, 1, words, CLAIMS(READS('C', 0, 8), WRITES_ANY));
    /* a global that the caller does not know */
    prove_in(".global .align 4 .b8 lost[4];\n", "st.global.u32 [lost], 0;",
          (struct claim_size){1, 1, 1},
             (struct claim_size){1, 1, 1}, words, CLAIMS(WRITES_ANY));
}

static void shared_and_local_memory_do_not_count(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("st.shared.u32 [sh+4], 0; mov.u32 %r9, sh; add.s32 %r9, %r9, %r4; st.shared.u8 [%r9], 0;"
          "atom.shared.add.u32 %r10, [sh], 1; ld.local.u32 %r11, [%rd9];", 1, 32, words, NOTHING);
    prove("mov.u64 %rd9, sh; cvta.shared.u64 %rd10, %rd9; mul.wide.u32 %rd11, %r4, 4;"
          "add.s64 %rd12, %rd10, %rd11; st.u32 [%rd12], 0; ld.u32 %r9, [%rd12+4];", 1, 32, words,
          NOTHING);
    prove("cvt.u64.u32 %rd9, %r4; cvta.shared.u64 %rd10, %rd9; st.u32 [%rd10], 0;", 1, 32, words,
          NOTHING);
    prove("mov.u64 %rd9, a; cvta.param.u64 %rd10, %rd9; ld.u64 %rd11, [%rd10]; st.u32 [%rd11], 0;"
          , 1, 32, words, CLAIMS(WRITES('A', 0, 4)));
    /* but a store that says global means it */
    prove("mov.u64 %rd9, sh; st.global.u32 [%rd9], 0;", 1, 32, words, CLAIMS(WRITES_ANY));
    /* a shared address less another, plus a pointer, is nothing that we know */
    prove("mov.u64 %rd9, sh; sub.s64 %rd10, %rd1, %rd9; add.s64 %rd11, %rd10, %rd9;"
          "st.u32 [%rd11], 0;", 1,
          32, words, CLAIMS(WRITES_ANY));
}

/* ---- instructions ------------------------------------------------------------- */

static void instructions_that_write(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("atom.global.add.u32 %r9, [%rd1+8], 1;", 1, 32, words, CLAIMS(ADDS('A', 8, 12)));
    prove("red.global.add.f32 [%rd1], %f1;", 1, 32, words, CLAIMS(ADDS('A', 0, 4)));
    prove("atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4};", 1, 32,
          words, CLAIMS(ADDS('A', 0, 16)));
    struct claim cas[] = {{RP_READ, 'A', RP_VERDICT_EXACT, 0, 4, true},
                          {RP_WRITE, 'A', RP_VERDICT_BOUNDED, 0, 4, true}, {0}};
    prove("atom.global.cas.b32 %r9, [%rd1], 0, 1;", 1, 32, words, cas);
    prove("cp.async.cg.shared.global [sh], [%rd1], 16; cp.async.commit_group; cp.async.wait_all;"
          , 1, 1, words, CLAIMS(READS('A', 0, 16)));
    prove("cp.async.ca.shared.global [sh], [%rd1], 8, %r9;", 1, 1, words, CLAIMS(MAY_READ('A', 0,
          8)));
    prove("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sh], 64;", 1, 1, words,
          CLAIMS(WRITES('A', 0, 64)));
    prove("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sh], %r9;", 1, 1, words,
          CLAIMS(WRITES_IN('A')));
    prove("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [sh], 64, %rs1;", 1, 1,
          words, CLAIMS(MAY_WRITE('A', 0, 64)));
    prove("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask"
          " [%rd1], [sh], 64, %rd9, %rs1;", 1, 1, words, CLAIMS(MAY_WRITE('A', 0, 64)));
    prove("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [sh], 64;", 1, 1,
          words, CLAIMS(ADDS('A', 0, 64)));
    prove("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [sh];", 1,
          1, words, CLAIMS(READS_ANY, WRITES_ALL));
    prove("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1],"
          "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, 16;", 1, 32,
          words, CLAIMS(WRITES('A', 0, 1024)));
    prove("wmma.store.d.sync.aligned.col.m32n8k16.global.f32 [%rd1+64],"
          "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};", 1, 32,
          words, CLAIMS(WRITES('A', 64, 64 + 1024)));
    prove("wmma.store.d.sync.aligned.row.m8n32k16.global.f32 [%rd1],"
          "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %r1;", 1, 32,
          "A B C 32 7 0 0 D 0", CLAIMS(WRITES('A', 0, 1024)));
    prove("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r9, %r10, %r11, %r12, "
          "%r13, %r14, %r15, %r16}, [%rd1], 16;", 1, 32, words, CLAIMS(READS('A', 0, 512)));
    prove("discard.global.L2 [%rd1], 128;", 1, 1, words, CLAIMS(READS_ALL, WRITES_ALL));
    prove("sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};", 1, 1, words, CLAIMS(READS_ALL, WRITES_ALL));
    prove("multimem.red.release.sys.global.add.u32 [%rd1], %r1;", 1, 1, words,
          CLAIMS(READS_ALL, WRITES_ALL));
    prove("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];", 1, 1, words, CLAIMS(READS_ANY));
    prove("st.global.v4.u32 [%rd1+4], {%r1, %r1, %r1, %r1};", 1, 1, words, CLAIMS(WRITES('A', 4,
          20)));
    prove("st.volatile.global.v2.u64 [%rd1], {%rd1, %rd2};", 1, 1, words, CLAIMS(WRITES('A', 0,
          16)));
    prove("st.release.gpu.global.u32 [%rd1], %r1;", 1, 1, words, CLAIMS(WRITES('A', 0, 4)));
    prove("sured.b.add.1d.u32.trap [%rd1, {%r1}], %r2;", 1, 1, words, CLAIMS(READS_ALL,
          WRITES_ALL));
    prove("multimem.st.global.u32 [%rd1], %r1;", 1, 1, words, CLAIMS(READS_ALL, WRITES_ALL));
    prove("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd1, {%r1}], [sh];"
          , 1, 1, words, CLAIMS(READS_ANY, WRITES_ALL));
    prove("tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;", 1, 1, words,
          CLAIMS(READS_ALL, WRITES_ALL));
    prove("tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};", 1, 1, words,
          CLAIMS(READS_ALL, WRITES_ALL));
    /* those that look as if they did */
    prove("prefetch.global.L2 [%rd1]; membar.gl; fence.acq_rel.gpu; bar.sync 0; nanosleep.u32 20;"
          "shfl.sync.down.b32 %r9|%p1, %r4, 1, 31, -1; vote.sync.ballot.b32 %r10, %p1, -1;", 1,
          32, words, NOTHING);
    prove("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r9, %r10}, [sh];"
          "stmatrix.sync.aligned.m8n8.x1.shared.b16 [sh], {%r9};"
          "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r10;"
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r9, %r10}, "
          "{%r11},"
          " {%f1, %f2, %f3, %f4};", 1, 32, words, NOTHING);
    prove("cp.async.bulk.prefetch.L2.global [%rd1], 64;"
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
          "[sh], [sh+64], 64, [sh+128];"
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [sh], %r1, [sh+128];"
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
          "[sh], %r1, [sh+128];",
          1, 1, words, NOTHING);
}

static void what_is_not_known_may_do_anything(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    prove("frobnicate.global.u32 %r9, [%rd1];", 1, 1, words, CLAIMS(READS_ALL, WRITES_ALL));
    prove("{ .param .b32 v; .param .b64 q; st.param.b64 [q], %rd1; call (v), unknown, (q); }", 1,
          1, words, CLAIMS(READS_ALL, WRITES_ALL));
    prove("{ .param .b64 q; call %rd1, (q), t; t: .callprototype _ (.param .b64 _); }", 1, 1, words,
          CLAIMS(READS_ALL, WRITES_ALL));
    prove_in(".func again (.param .b32 x) { .param .b32 y; call again, (y); ret; }\n",
             "{ .param .b32 y; call again, (y); }", (struct claim_size){1, 1, 1},
             (struct claim_size){1, 1, 1}, words, CLAIMS(READS_ALL, WRITES_ALL));
    /* even where nobody gets there: the text cannot be read further */
    prove("ret; frobnicate.u32 %r9, %r9;", 1, 1, words, NOTHING);
}

/* Where cooperative groups meet is the driver's memory; what is not surely that is anything. */
static void the_grids_barrier_is_nobodys_memory(void **state)
{
    (void)state;
    const char *words = "A B C 100 7 0 0 D 0";
#define HALVES "mov.u32 %r20, %envreg1; mov.u32 %r21, %envreg2; cvt.u64.u32 %rd20, %r20;"       \
               "cvt.u64.u32 %rd21, %r21;"
#define MEET(p) "atom.add.release.gpu.u32 %r22, [" p "+4], 1;"                                  \
                "W: ld.acquire.gpu.u32 %r23, [" p "+4]; xor.b32 %r24, %r23, %r22;"              \
                "setp.gt.s32 %p5, %r24, -1; @%p5 bra W;"
/* As nvcc 13.0 compiles grid.sync(). */
#define SYNC(p) "setp.ne.s64 %p2, " p ", 0; @%p2 bra T; trap; T: barrier.sync 0;"               \
                "mov.u32 %r9, %tid.y; add.s32 %r10, %r4, %r9; mov.u32 %r11, %tid.z;"            \
                "neg.s32 %r12, %r11; setp.ne.s32 %p3, %r10, %r12; @%p3 bra S;"                  \
                "add.s64 %rd30, " p ", 4; mov.u32 %r15, %nctaid.x; mov.u32 %r24, -2147483647;"  \
                "sub.s32 %r25, %r24, %r15; setp.eq.s32 %p4, %r5, 0; selp.b32 %r14, %r25, 1, %p4;" \
                "atom.add.release.gpu.u32 %r13, [%rd30], %r14;"                                 \
                "W: ld.acquire.gpu.u32 %r26, [%rd30]; xor.b32 %r27, %r26, %r13;"                \
                "setp.gt.s32 %p5, %r27, -1; @%p5 bra W; S: barrier.sync 0;"
#define BETWEEN(p) STORE("%r3") SYNC(p) "mul.wide.s32 %rd9, %r3, 4; add.s64 %rd10, %rd2, %rd9;" \
                   "st.global.u32 [%rd10], 0;"
    /* Behind the barrier: no more than this, for it may trap where there is no workspace. */
    const struct claim *both = CLAIMS(WRITES('A', 0, 1024), MAY_WRITE('B', 0, 1024));
    prove(HALVES "bfi.b64 %rd22, %rd20, %rd21, 32, 32;" BETWEEN("%rd22"), 4, 64, words, both);
    prove(HALVES "shl.b64 %rd22, %rd20, 32; or.b64 %rd23, %rd22, %rd21;" BETWEEN("%rd23"), 4, 64,
          words, both);
    prove(HALVES "mov.b64 %rd22, {%r21, %r20};" BETWEEN("%rd22"), 4, 64, words, both);
    /* a number that the job has given is in it */
    prove(HALVES "cvt.u64.u32 %rd21, %r1; bfi.b64 %rd22, %rd20, %rd21, 32, 32;" MEET("%rd22"), 1, 64,
          words, CLAIMS(READS_ANY, WRITES_ANY));
    prove(HALVES "bfi.b64 %rd22, %rd20, %rd21, 16, 32;" MEET("%rd22"), 1, 64, words,
          CLAIMS(READS_ANY, WRITES_ANY));
    prove(HALVES "shl.b64 %rd22, %rd20, 32; or.b64 %rd23, %rd22, %rd1;" MEET("%rd23"), 1, 64, words,
          CLAIMS(READS_ANY, WRITES_ANY));
#undef HALVES
#undef SYNC
#undef MEET
#undef BETWEEN
}

/* ---- calls -------------------------------------------------------------------- */

static void functions_are_followed(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    const char *put = ".func (.param .b32 out) put(.param .b64 where, .param .b32 index)\n"
                      "{ .reg .b64 "
                      "%rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>; ld.param.u64 %rd1, [where];"
                      "ld.param.u32 %r1, [index]; setp.gt.s32 %p1, %r1, 9; @%p1 bra Q;"
                      "mul.wide.s32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.u32 [%rd3], 0;"
                      "Q: add.s32 %r2, %r1, 1; st.param.b32 [out], %r2; ret; }\n";
    const char *body = "{ .param .b64 p; .param .b32 i; .param .b32 v; st.param.b64 [p], %rd1;"
                       "st.param.b32 [i], %r4; call.uni (v), put, (p, i); ld.param.b32 %r9, [v];"
                       "mul.wide.s32 %rd9, %r9, 8; add.s64 %rd10, %rd2, %rd9;"
                       "st.global.u64 [%rd10], 0; }";
    prove_in(put, body, (struct claim_size){1, 1, 1}, (struct claim_size){64, 1, 1}, words,
             CLAIMS(WRITES('A', 0, 40), WRITES('B', 8, 520)));
    const char *half = ".func (.reg .u32 %o) half(.reg .u32 %i) { shr.u32 %o, %i, 1; ret; }\n";
    prove_in(half, "call (%r9), half, (%r4);" STORE("%r9"), (struct claim_size){1, 1, 1},
             (struct claim_size){64, 1, 1}, words, CLAIMS(WRITES('A', 0, 128)));
    prove_in(half, "setp.lt.s32 %p1, %r4, 8; mov.u32 %r9, 3; @%p1 call (%r9), half, (%r4);"
          STORE("%r9"), (struct claim_size){1, 1, 1}, (struct claim_size){64, 1, 1}, words,
             CLAIMS(WRITES('A', 0, 16)));
}

/* The driver's own functions are known by name: but not where the module has one of that name. */
static void a_function_that_is_here_is_followed_whatever_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {"vprintf", "__assertfail"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char put[512], body[512];
        snprintf(put, sizeof put,
                 ".func (.param .b32 out) %s(.param .b64 where) { .reg .b64 %%rd<9>;"
                 "ld.param.u64 %%rd1, [where]; st.u32 [%%rd1], 7; st.param.b32 [out], 0; ret; }\n",
                 names[i]);
        snprintf(body, sizeof body,
                 "{ .param .b64 p; .param .b32 v; st.param.b64 [p], %%rd1;"
                 "call.uni (v), %s, (p); } st.global.u32 [%%rd2], 1;", names[i]);
        prove_in(put, body, (struct claim_size){1, 1, 1}, (struct claim_size){64, 1, 1},
                 "A B C 20 7 0 0 D 0", CLAIMS(WRITES('A', 0, 4), WRITES('B', 0, 4)));
    }
}

/* ---- updates ------------------------------------------------------------------ */

/* Whether all that the body writes, it is said to have read before. */
static bool updates(const char *body)
{
    char text[16384], message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    snprintf(text, sizeof(text), "%s%s%s\nret;\n}\n", HEAD, PARAMS, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("%s\n%s", message, text);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    struct rp_access_set set = {0};
    uint64_t params[16] = {0x10000000, 0x20000000, 0x30000000, 100};
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1},
                               .params = (const unsigned char *)params,
                               .param_bytes = sizeof(params)};
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    bool all = true, any = false;
    for (size_t i = 0; i < set.count; i++) {
        assert_false(set.items[i].effect == RP_READ && set.items[i].updates);
        any |= set.items[i].effect == RP_WRITE;
        all &= set.items[i].effect == RP_READ || set.items[i].updates;
    }
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
    return any && all;
}

static bool reads_a(const char *body)
{
    char text[16384], message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    snprintf(text, sizeof(text), "%s%s%s\nret;\n}\n", HEAD, PARAMS, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("%s\n%s", message, text);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    uint64_t params[16] = {0x10000000, 0x20000000, 0x30000000, 100};
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1},
                               .params = (const unsigned char *)params,
                               .param_bytes = sizeof(params)};
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    bool reads = false;
    for (size_t i = 0; i < set.count; i++)
        reads |= set.items[i].effect == RP_READ && set.items[i].root == params[0];
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
    return reads;
}

/* %rd10 is a place in a that is in the data of b. */
#define PLACE "ld.global.u32 %r9, [%rd2]; mul.wide.u32 %rd9, %r9, 4; add.s64 %rd10, %rd1, %rd9;"

#define LOAD "ld.global.u32 %r10, [%rd10];"
#define STORED "st.global.u32 [%rd10], %r4;"

static void a_load_of_what_the_thread_has_stored_is_no_read(void **state)
{
    (void)state;
    assert_true(reads_a(PLACE LOAD));
    assert_false(reads_a(PLACE STORED LOAD));
    assert_false(reads_a(PLACE STORED "setp.eq.s32 %p1, %r9, 0; @%p1 bra E;" LOAD "E:"));
    assert_false(reads_a(PLACE "st.global.v2.u32 [%rd10+4], {%r4, %r4};"
                               "ld.global.u32 %r10, [%rd10+8];"));
    /* Another's, a part of it, or not on every way. */
    assert_true(reads_a(PLACE LOAD STORED));
    assert_true(reads_a(PLACE STORED "ld.global.u32 %r10, [%rd10+4];"));
    assert_true(reads_a(PLACE STORED "ld.global.u64 %rd11, [%rd10];"));
    assert_true(reads_a(PLACE STORED "bar.sync 0; ld.global.u32 %r10, [%rd1];"));
    assert_true(reads_a(PLACE "setp.eq.s32 %p1, %r9, 0; @%p1 " STORED LOAD));
    assert_true(reads_a(PLACE "setp.eq.s32 %p1, %r9, 0; @%p1 bra E;" STORED "E:" LOAD));
    assert_true(reads_a(PLACE "mov.u32 %r11, 0; L: " LOAD STORED
                        "add.s64 %rd10, %rd10, 4; add.s32 %r11, %r11, 1; setp.lt.s32 %p1, %r11, 9;"
                        "@%p1 bra L;"));
    /* The place is another in the next turn, before anything was stored there. */
    assert_true(reads_a(PLACE "mov.u32 %r11, 0; L: setp.ge.s32 %p1, %r11, 9; @%p1 bra E;" STORED
                        "add.s64 %rd10, %rd10, 4; add.s32 %r11, %r11, 1; bra L; E:" LOAD));
}

static void a_store_over_what_was_loaded_is_an_update(void **state)
{
    (void)state;
    assert_true(updates(PLACE "ld.global.u32 %r10, [%rd10]; st.global.u32 [%rd10], %r4;"));
    assert_true(updates(PLACE "atom.global.add.u32 %r10, [%rd10], 1;"));
    assert_true(updates(PLACE "ld.global.u32 %r10, [%rd10+4]; setp.eq.s32 %p1, %r10, 0; @%p1 bra E;"
                              "st.global.u32 [%rd10+4], %r4; E:"));
    assert_false(updates(PLACE "st.global.u32 [%rd10], %r4; ld.global.u32 %r10, [%rd10];"));
    assert_false(updates(PLACE "ld.global.u32 %r10, [%rd10]; st.global.u32 [%rd10+4], %r4;"));
    assert_false(updates(PLACE "ld.global.u32 %r10, [%rd10]; st.global.u64 [%rd10], %rd2;"));
    assert_false(updates(PLACE "atom.global.exch.b32 %r10, [%rd10], 1;"));
    /* not on every way to the store */
    assert_false(updates(PLACE "setp.eq.s32 %p1, %r4, 0; @%p1 ld.global.u32 %r10, [%rd10];"
                               "st.global.u32 [%rd10], %r4;"));
    assert_false(updates(PLACE "setp.eq.s32 %p1, %r4, 0; @%p1 bra E; ld.global.u32 %r10, [%rd10]; E:"
                               "st.global.u32 [%rd10], %r4;"));
    /* another one's load in a loop that moves on before the store */
    assert_false(updates(PLACE "mov.u32 %r11, 0; L: ld.global.u32 %r10, [%rd10];"
                               "add.s64 %rd10, %rd10, %rd2; st.global.u32 [%rd10], %r4;"
                               "add.s32 %r11, %r11, 1; setp.lt.s32 %p1, %r11, %r9; @%p1 bra L;"));
    /* one blind store at an unknown place is enough */
    assert_false(updates(PLACE "ld.global.u32 %r10, [%rd10]; st.global.u32 [%rd10], %r4;"
                               "ld.global.u32 %r12, [%rd2+4]; mul.wide.u32 %rd12, %r12, 4;"
                               "add.s64 %rd13, %rd1, %rd12; st.global.u32 [%rd13], 0;"));
}

/* ---- the rest ----------------------------------------------------------------- */

static void short_parameters_and_many_threads(void **state)
{
    (void)state;
    char message[160], text[4096];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    snprintf(text, sizeof(text), "%s%s%s\nret;\n}\n", HEAD, PARAMS, STORE("%r3"));
    assert_int_equal(rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)), RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    unsigned char params[64] = {0};
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params,
                               .param_bytes = 4};
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    assert_int_equal(set.writes, RP_VERDICT_EVERYTHING);
    launch.param_bytes = sizeof(params);
    /* more threads than an int can number: the index wraps */
    launch.grid[0] = 1u << 28;
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    assert_int_equal(set.writes, RP_VERDICT_ROOT);
    assert_int_equal(rp_proof_writes(proof), RP_VERDICT_EXACT);
    assert_int_equal(rp_proof_reads(proof), RP_VERDICT_NONE);
    assert_string_equal(rp_proof_text(proof),
                        "writes param 0 (a): 4 bytes at (p0 + (((ctaid.x * ntid.x) + tid.x) * 4)) "
                        "(line 14): all of it, as far as the launch makes it linear\n");
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_become_bounds),
        cmocka_unit_test(nobody_gets_there),
        cmocka_unit_test(doubtful_guards_are_not_exact),
        cmocka_unit_test(gaps_are_not_claimed),
        cmocka_unit_test(lanes_and_warps_are_parts_of_the_thread),
        cmocka_unit_test(loops_are_counted),
        cmocka_unit_test(loops_that_are_not_counted),
        cmocka_unit_test(first_iteration_of_a_loop_tested_at_its_end),
        cmocka_unit_test(a_block_that_some_iterations_skip),
        cmocka_unit_test(sums_that_wrap_are_not_believed),
        cmocka_unit_test(what_is_not_affine_is_cut_up_fine),
        cmocka_unit_test(what_arguments_decide_is_walked),
        cmocka_unit_test(both_ways_are_walked_where_data_decide),
        cmocka_unit_test(no_way_is_forgotten),
        cmocka_unit_test(choices_are_bounded),
        cmocka_unit_test(pointers_are_followed),
        cmocka_unit_test(halves_of_a_pointer_are_numbers),
        cmocka_unit_test(pointers_of_unknown_origin),
        cmocka_unit_test(shared_and_local_memory_do_not_count),
        cmocka_unit_test(instructions_that_write),
        cmocka_unit_test(what_is_not_known_may_do_anything),
        cmocka_unit_test(the_grids_barrier_is_nobodys_memory),
        cmocka_unit_test(functions_are_followed),
        cmocka_unit_test(a_function_that_is_here_is_followed_whatever_its_name),
        cmocka_unit_test(a_load_of_what_the_thread_has_stored_is_no_read),
        cmocka_unit_test(a_store_over_what_was_loaded_is_an_update),
        cmocka_unit_test(short_parameters_and_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
