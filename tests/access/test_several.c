/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that are one of several, and nobody knows which. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* By the one nobody sees anything. */
static void local_or_global_is_the_global_one(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    const char *start = "mov.u64 %rd9, sh; cvta.shared.u64 %rd9, %rd9; ld.global.u32 %r9, [%rd2];"
                        "setp.eq.s32 %p1, %r9, 0; setp.gt.s32 %p2, %r9, 9;";
    static const char *const in_a[] = {
        "selp.b64 %rd10, %rd9, %rd1, %p1; st.u32 [%rd10+8], 0;",
        "selp.b64 %rd10, %rd1, %rd9, %p1; mul.wide.u32 %rd11, %r9, 4; add.s64 %rd10, %rd10, %rd11;"
        "st.u32 [%rd10], 0;",
        "mov.u64 %rd10, %rd9; @%p1 bra X; mov.u64 %rd10, %rd1; X: st.u32 [%rd10], 0;",
        "selp.b64 %rd10, %rd9, %rd1, %p1; selp.b64 %rd10, %rd9, %rd10, %p2; st.u32 [%rd10], 0;",
        "selp.b64 %rd10, %rd9, %rd1, %p1; selp.b64 %rd10, %rd1, %rd10, %p2; st.u32 [%rd10], 0;",
    };
    static const char *const anywhere[] = {
        /* of one pointer with another, of the distance to it, and of one of memory */
        "selp.b64 %rd10, %rd9, %rd1, %p1; add.s64 %rd10, %rd10, %rd3; st.u32 [%rd10], 0;",
        "selp.b64 %rd10, %rd9, %rd1, %p1; sub.s64 %rd10, %rd10, %rd9; add.s64 %rd10, %rd10, %rd3;"
        "st.u32 [%rd10], 0;",
        "selp.b64 %rd10, %rd9, %rd1, %p1; neg.s64 %rd10, %rd10; neg.s64 %rd10, %rd10;"
        "st.u32 [%rd10], 0;",
        "mov.b64 %rd11, {%r9, %r9}; selp.b64 %rd10, %rd9, %rd11, %p1; st.u32 [%rd10], 0;",
    };
    char body[512];
    for (size_t i = 0; i < sizeof in_a / sizeof *in_a; i++) {
        snprintf(body, sizeof body, "%s%s", start, in_a[i]);
        prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_IN('A')));
    }
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++) {
        snprintf(body, sizeof body, "%s%s", start, anywhere[i]);
        prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_ANY));
    }
    snprintf(body, sizeof body, "%s%s", start, "selp.b64 %rd10, %rd9, %rd1, %p1;"
             "selp.b64 %rd10, %rd3, %rd10, %p2; st.u32 [%rd10], 0;");
    prove(body, 1, 1, words, CLAIMS(READS('B', 0, 4), WRITES_IN('A'), WRITES_IN('C')));
}

/* Data choose among pointers; who goes by one of them goes by each. */
static void one_of_several_is_each_of_them(void **state)
{
    (void)state;
    const char *words = "A B C 20 7 0 0 D 0";
    const char *start = "ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%rd2]; setp.eq.s32 %p1, %r9, 0;"
                        "setp.eq.s32 %p2, %r10, 0; setp.eq.s32 %p3, %r11, 0;"
                        "ld.param.u64 %rd4, [s+8]; selp.b64 %rd9, %rd1, %rd3, %p1;"
                        "mul.wide.u32 %rd20, %r4, 4;";
    static const struct {
        const char *body;
        struct claim claims[5];
    } cases[] = {
        {"add.s64 %rd9, %rd9, %rd20; st.global.u32 [%rd9], 0;",
         {MAY_WRITE('A', 0, 128), MAY_WRITE('C', 0, 128)}},
        {"add.s64 %rd10, %rd3, 8; selp.b64 %rd9, %rd1, %rd10, %p1; st.global.u32 [%rd9], 0;",
         {MAY_WRITE('A', 0, 12), MAY_WRITE('C', 0, 12)}},
        {"selp.b64 %rd9, %rd9, %rd4, %p2; selp.b64 %rd9, %rd3, %rd9, %p3; st.global.u32 [%rd9], 0;",
         {MAY_WRITE('A', 0, 4), MAY_WRITE('C', 0, 4), MAY_WRITE('D', 0, 4)}},
        {"selp.b64 %rd10, %rd4, %rd1, %p2; selp.b64 %rd9, %rd9, %rd10, %p3;"
         "st.global.u32 [%rd9], 0;",
         {MAY_WRITE('A', 0, 4), MAY_WRITE('C', 0, 4), MAY_WRITE('D', 0, 4)}},
        {"@%p1 bra L; mov.u64 %rd9, %rd4; L: st.global.u32 [%rd9], 0;",
         {MAY_WRITE('A', 0, 4), MAY_WRITE('C', 0, 4), MAY_WRITE('D', 0, 4)}},
        {"mul.wide.u32 %rd10, %r12, 4; add.s64 %rd9, %rd9, %rd10; st.global.u32 [%rd9], 0;",
         {WRITES_IN('A'), WRITES_IN('C')}},
        /* two that look alike need not be the same one */
        {"selp.b64 %rd10, %rd1, %rd3, %p2; sub.s64 %rd10, %rd9, %rd10; add.s64 %rd10, %rd10, %rd4;"
         "st.global.u32 [%rd10], 0;", {WRITES_ANY}},
        {"selp.b64 %rd10, %rd1, %rd3, %p2; setp.eq.s64 %p4, %rd10, %rd9;"
         "@%p4 st.global.u32 [%rd4], 0;",
         {MAY_WRITE('D', 0, 4)}},
        {"selp.b64 %rd10, %rd1, %rd3, %p2; setp.ne.s64 %p4, %rd10, %rd9;"
         "@%p4 st.global.u32 [%rd4], 0;",
         {MAY_WRITE('D', 0, 4)}},
        {"selp.b64 %rd10, %rd1, %rd3, %p2; xor.b64 %rd10, %rd10, %rd9; add.s64 %rd10, %rd10, %rd4;"
         "st.global.u32 [%rd10], 0;", {WRITES_ANY}},
        /* nor is one of them a number, or what lies in memory */
        {"add.s64 %rd10, %rd9, %rd4; st.global.u32 [%rd10], 0;", {WRITES_ANY}},
        {"add.s64 %rd10, %rd9, %rd9; st.global.u32 [%rd10], 0;", {WRITES_ANY}},
        {"ld.global.u64 %rd10, [%rd2]; selp.b64 %rd9, %rd9, %rd10, %p2; st.global.u32 [%rd9], 0;",
         {WRITES_ANY}},
        {"mov.b64 {%r13, %r14}, %rd9; mov.b64 %rd10, {%r13, %r14}; st.global.u32 [%rd10], 0;",
         {WRITES_ANY}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        struct claim claims[6];
        memcpy(claims, cases[i].claims, sizeof cases[i].claims);
        claims[5] = (struct claim){0};
        size_t end = 0;
        while (claims[end].effect)
            end++;
        claims[end] = (struct claim)READS('B', 0, 16);
        claims[end + 1] = (struct claim){0};
        snprintf(body, sizeof body, "%s%s", start, cases[i].body);
        prove(body, 1, 32, words, claims);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_or_global_is_the_global_one),
        cmocka_unit_test(one_of_several_is_each_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
