/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel for each thing that the analysis must know, or must not believe. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    /* by data: either */
    prove("ld.global.u32 %r9, [%rd3]; setp.eq.s32 %p1, %r9, 20; selp.b64 %rd9, %rd1, %rd2, %p1;"
          "st.global.u32 [%rd9], 0;", 1, 32, words,
          CLAIMS(READS('C', 0, 4), MAY_WRITE('A', 0, 4), MAY_WRITE('B', 0, 4)));
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

/* What a number of the launch's is, only its size tells: one that was put together of halves or
 * pages is a pointer as good as the 64-bit parameter that is added to it. */
static void a_sum_with_a_pointer_of_parts_names_no_root(void **state)
{
    (void)state;
    const char *words = "A B C 1 7 65536 0 D 0";
    static const char *const parts[] = {
        "mov.b64 {%r10, %r11}, %rd1; cvt.u64.u32 %rd10, %r10; cvt.u64.u32 %rd11, %r11;"
        "shl.b64 %rd11, %rd11, 32; add.s64 %rd10, %rd10, %rd11;",
        "ld.param.u32 %r10, [a]; ld.param.u32 %r11, [a+4]; and.b32 %r10, %r10, -32;"
        "cvt.u64.u32 %rd10, %r10; cvt.u64.u32 %rd11, %r11; shl.b64 %rd11, %rd11, 32;"
        "or.b64 %rd10, %rd10, %rd11;",
        "shr.u64 %rd10, %rd1, 32; cvt.u32.u64 %r11, %rd10; cvt.u64.u32 %rd11, %r11;"
        "mul.lo.s64 %rd10, %rd11, 0x100000000;",
        /* in two steps */
        "ld.param.u32 %r11, [a+4]; cvt.u64.u32 %rd10, %r11; shl.b64 %rd10, %rd10, 31;"
        "shl.b64 %rd10, %rd10, 1;",
        "ld.param.u32 %r11, [a+4]; cvt.u64.u32 %rd10, %r11; mul.lo.s64 %rd10, %rd10, 65536;"
        "shl.b64 %rd10, %rd10, 16;",
        "ld.global.u32 %r11, [%rd3]; cvt.u64.u32 %rd10, %r11; shl.b64 %rd10, %rd10, 16;"
        "shl.b64 %rd10, %rd10, 16;",
        "ld.global.u64 %rd10, [%rd3]; shl.b64 %rd10, %rd10, 16; shl.b64 %rd10, %rd10, 16;",
        "ld.global.u32 %r11, [%rd3]; mul.wide.u32 %rd10, %r11, 65536; shl.b64 %rd10, %rd10, 16;",
        "ld.global.u32 %r11, [%rd3]; and.b32 %r10, %r11, 65535; cvt.u64.u32 %rd11, %r10;"
        "shr.u32 %r11, %r11, 16; cvt.u64.u32 %rd10, %r11; shl.b64 %rd10, %rd10, 16;"
        "add.s64 %rd10, %rd10, %rd11; shl.b64 %rd10, %rd10, 16; add.s64 %rd10, %rd10, %rd11;",
        /* of pages, and under a mask */
        "shr.u64 %rd10, %rd1, 26; cvt.u32.u64 %r11, %rd10; cvt.u64.u32 %rd10, %r11;"
        "shl.b64 %rd10, %rd10, 26;",
        "ld.param.u32 %r11, [a+4]; cvt.u64.u32 %rd10, %r11; shl.b64 %rd10, %rd10, 32;"
        "and.b64 %rd10, %rd10, -65536;",
        /* times 1, which is n */
        "cvt.u64.u32 %rd10, %r1; mul.lo.s64 %rd10, %rd10, %rd1;",
        "cvt.u64.u32 %rd10, %r1; mul.lo.s64 %rd10, %rd1, %rd10;",
        /* cut at the top, and counted in other units for a while */
        "ld.global.u64 %rd10, [%rd3]; shl.b64 %rd10, %rd10, 16; shr.u64 %rd10, %rd10, 16;",
        "ld.global.u64 %rd10, [%rd3]; shl.b64 %rd10, %rd10, 3; div.u64 %rd10, %rd10, 8;",
        "ld.global.u64 %rd10, [%rd3]; shr.u64 %rd10, %rd10, 3;"
        "and.b64 %rd10, %rd10, 0x1fffffffffff; shl.b64 %rd10, %rd10, 3;",
        "ld.global.u64 %rd10, [%rd3]; shr.u64 %rd10, %rd10, 3; selp.b64 %rd10, %rd10, 0, %p2;"
        "shl.b64 %rd10, %rd10, 3;",
        "ld.global.u64 %rd10, [%rd3]; shr.u64 %rd10, %rd10, 3; min.u64 %rd10, %rd10,"
        "0x1fffffffffff; shl.b64 %rd10, %rd10, 3;",
        /* without its sign */
        "neg.s64 %rd10, %rd1; neg.s64 %rd11, %rd10; selp.b64 %rd10, %rd10, %rd11, %p2;"
        "abs.s64 %rd10, %rd10;",
    };
    static const char *const ends[] = {
        "mul.wide.s32 %rd12, %r9, 4; sub.s64 %rd13, %rd10, %rd12; ld.param.u64 %rd14, [l];"
        "add.s64 %rd15, %rd13, %rd14; st.global.u32 [%rd15], 0;",
        "mul.wide.s32 %rd12, %r9, 4; ld.param.u64 %rd14, [l]; add.s64 %rd15, %rd14, %rd10;"
        "add.s64 %rd15, %rd12, %rd15; st.global.u32 [%rd15], 0;",
        "neg.s64 %rd10, %rd10; ld.param.u64 %rd14, [l]; sub.s64 %rd15, %rd14, %rd10;"
        "mul.wide.s32 %rd12, %r9, 4; add.s64 %rd15, %rd12, %rd15; st.global.u32 [%rd15], 0;",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < sizeof ends / sizeof *ends; j++) {
            char body[1024];
            snprintf(body, sizeof body,
                     "ld.global.u32 %%r9, [%%rd2]; ld.global.u32 %%r12, [%%rd2];"
                     "setp.eq.s32 %%p2, %%r12, 0; %s%s", parts[i], ends[j]);
            bool from_memory = strstr(parts[i], "[%rd3]"), wide = strstr(parts[i], "global.u64");
            if (from_memory)
                prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), READS('C', 0, wide ? 8 : 4),
                                                WRITES_ANY));
            else
                prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_ANY));
        }
    /* what is scaled by less is an index still */
    prove("ld.global.u32 %r9, [%rd2]; mul.wide.u32 %rd9, %r1, 4096; shl.b64 %rd9, %rd9, 2;"
          "add.s64 %rd10, %rd1, %rd9; mul.wide.s32 %rd11, %r9, 4; add.s64 %rd10, %rd10, %rd11;"
          "st.global.u32 [%rd10], 0;", 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
}

static void pointers_of_unknown_origin(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 65536 0 D 0";
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

/* What lies below all memory is a size, whatever its type, and an offset of the pointer beside it;
 * but of no pointer that is not seen. */
static void a_small_parameter_is_no_pointer(void **state)
{
    (void)state;
    static const char *const small[] = {"A B C 20 7 0 0 D 0", "A B C 20 7 65535 0 D 0"};
    static const char *const large[] = {"A B C 20 7 65536 0 D 0", "A B C 20 7 -1 0 D 0"};
    static const char *const sums[] = {
        "add.s64 %rd11, %rd1, %rd10; add.s64 %rd11, %rd11, %rd12;",
        "add.s64 %rd11, %rd10, %rd1; add.s64 %rd11, %rd12, %rd11;",
        "add.s64 %rd11, %rd10, %rd12; add.s64 %rd11, %rd1, %rd11;",
        "sub.s64 %rd11, %rd1, %rd10; add.s64 %rd11, %rd11, %rd12;",
        "add.s64 %rd11, %rd1, %rd12; sub.s64 %rd11, %rd11, %rd10;",
    };
    char body[512];
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        snprintf(body, sizeof body, "ld.param.u64 %%rd10, [l]; ld.global.u32 %%r9, [%%rd2];"
                 "mul.wide.s32 %%rd12, %%r9, 4; %s st.global.u32 [%%rd11], 0;", sums[i]);
        for (int j = 0; j < 2; j++) {
            prove(body, 1, 1, small[j], CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
            prove(body, 1, 1, large[j], CLAIMS(READS('B', 0, 4), WRITES_ANY));
        }
    }
    /* nothing is where it points: who counts from it by data has a pointer in the data */
    for (int i = 0; i < 3; i++) {
        static const char *const none[] = {"A B C 20 7 1 0 D 0", "A B C 20 7 65535 0 D 0",
                                           "A B C 20 7 0 0 D 0"};
        prove("ld.param.u64 %rd10, [l]; ld.global.u32 %r9, [%rd2]; mul.wide.u32 %rd9, %r9, 8;"
              "add.s64 %rd9, %rd9, %rd10; st.global.u32 [%rd9], 0;", 1, 1, none[i],
              i < 2 ? CLAIMS(READS('B', 0, 4), WRITES_ANY)
                    : CLAIMS(READS('B', 0, 4), {RP_WRITE, '?', RP_VERDICT_ROOT, 0, 0, false}));
    }
    /* nor is a pointer from memory with it */
    prove("ld.param.u64 %rd10, [l]; ld.global.u64 %rd9, [%rd2]; add.s64 %rd9, %rd9, %rd10;"
          "st.global.u32 [%rd9], 0;", 1, 1, small[1], CLAIMS(READS('B', 0, 8), WRITES_ANY));
    prove("ld.param.u64 %rd10, [l]; ld.global.u64 %rd9, [%rd2]; add.s64 %rd9, %rd9, %rd10;"
          "add.s64 %rd9, %rd1, %rd9; st.global.u32 [%rd9], 0;", 1, 1, small[1],
          CLAIMS(READS('B', 0, 8), WRITES_ANY));
    /* two that are small are no pointer together */
    prove("ld.param.u64 %rd10, [l]; ld.param.u64 %rd11, [s+16]; add.s64 %rd10, %rd10, %rd11;"
          "ld.global.u32 %r9, [%rd2]; mul.wide.s32 %rd12, %r9, 4; add.s64 %rd10, %rd10, %rd12;"
          "st.global.u32 [%rd10], 0;", 1, 1, "A B C 20 7 64 0 D 64",
          CLAIMS(READS('B', 0, 4), WRITES_ANY));
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
    prove(HALVES "cvt.u64.u32 %rd21, %r1; bfi.b64 %rd22, %rd20, %rd21, 32, 32;" MEET("%rd22"), 1,
          64, words, CLAIMS(READS_ANY, WRITES_ANY));
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

/* ---- the rest ----------------------------------------------------------------- */

static void short_parameters_and_many_threads(void **state)
{
    (void)state;
    struct rp_ptx_module *module = body_module("", STORE("%r3"));
    struct rp_proof *proof;
    struct rp_access_set set = {0};
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

/* Of memory that the driver gives out on the device: by who asks for it, and by who finds the
 * pointer to it in memory. */
static void a_proof_says_what_it_rests_on(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum rp_verdict best;
        const char *words;
    } cases[] = {
        {"{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n);"
         "ld.param.b64 %rd9, [r]; } st.u32 [%rd9], 0;", RP_VERDICT_EVERYTHING,
         "reads and writes everything: the kernel calls malloc, whose code is not here"},
        {"ld.global.u64 %rd9, [%rd2]; st.u32 [%rd9], 0;", RP_VERDICT_EXACT,
         "where it is known what stands in memory that it goes by; else whatever the arguments "
         "lead to"},
        {"mov.u32 %r9, 1; setp.ne.s32 %p1, %r9, 0; @%p1 st.global.u32 [%rd1], 0;",
         RP_VERDICT_EXACT, "bytes at p0 (line"},
        {"setp.ne.s32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], 0;", RP_VERDICT_EXACT,
         " != 0 (line"},
    };
    const char *before = ".extern .func (.param .b64 r) malloc (.param .b64 n);\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_ptx_module *module = body_module(before, cases[i].body);
        struct rp_proof *proof;
        assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
        assert_int_equal(rp_proof_writes(proof), cases[i].best);
        assert_non_null(strstr(rp_proof_text(proof), cases[i].words));
        rp_proof_destroy(proof);
        rp_ptx_destroy(module);
    }
}

/* There are more than the analysis tells apart, and none that can be walked to. */
static void many_accesses_hide_no_others(void **state)
{
    (void)state;
    enum { COUNT = 520 };
    const char *words = "A B C 20 7 0 0 D 0";
    char reads[COUNT * 24 + 256] = "T: .branchtargets X, Y, Z; brx.idx %r1, T; X:";
    char writes[sizeof reads];
    size_t read = strlen(reads), written = strlen(strcpy(writes, reads));
    for (int i = 0; i < COUNT; i++) {
        read += (size_t)sprintf(reads + read, "ld.u8 %%r9,[%%rd1+%d];", 2 * i);
        written += (size_t)sprintf(writes + written, "st.u8 [%%rd1+%d],0;", 2 * i);
    }
    strcpy(reads + read, "st.global.u32 [%rd2], 0; Y: bar.sync 0; Z:");
    strcpy(writes + written, "ld.global.u32 %r9, [%rd2]; Y: bar.sync 0; Z:");
    prove(reads, 1, 1, words,
          CLAIMS(MAY_READ('A', 0, 2 * COUNT - 1), MAY_WRITE('B', 0, 4)));
    prove(writes, 1, 1, words, CLAIMS(READS_IN('B'), MAY_WRITE('A', 0, 2 * COUNT - 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_are_followed),
        cmocka_unit_test(halves_of_a_pointer_are_numbers),
        cmocka_unit_test(a_sum_with_a_pointer_of_parts_names_no_root),
        cmocka_unit_test(pointers_of_unknown_origin),
        cmocka_unit_test(a_small_parameter_is_no_pointer),
        cmocka_unit_test(shared_and_local_memory_do_not_count),
        cmocka_unit_test(instructions_that_write),
        cmocka_unit_test(what_is_not_known_may_do_anything),
        cmocka_unit_test(the_grids_barrier_is_nobodys_memory),
        cmocka_unit_test(functions_are_followed),
        cmocka_unit_test(a_function_that_is_here_is_followed_whatever_its_name),
        cmocka_unit_test(short_parameters_and_many_threads),
        cmocka_unit_test(many_accesses_hide_no_others),
        cmocka_unit_test(a_proof_says_what_it_rests_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
