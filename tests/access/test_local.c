/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that a thread keeps in memory of its own, and all that may happen to them there. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS "A B C 20 7 65536 0 D 0"
#define VARIABLES ".local .align 16 .b8 x[32]; .local .align 8 .b8 y[16];\n"
#define BY(r) "st.global.u32 [" r "], 0;"

#define FUNCTIONS                                                                               \
    ".func move_on(.param .b64 p, .param .b64 by)\n{\n.reg .b64 %rd<9>;\n"                      \
    "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [by]; ld.u64 %rd3, [%rd1];\n"                   \
    "add.s64 %rd3, %rd3, %rd2; st.u64 [%rd1], %rd3;\nret;\n}\n"                                 \
    ".func spoil(.param .b64 p)\n{\n.reg .b64 %rd<9>;\n.local .align 8 .b8 x[32];\n"            \
    "ld.param.u64 %rd1, [p]; st.local.u64 [x], %rd1; ld.global.u64 %rd2, [table_G];\n"          \
    "ld.local.u64 %rd3, [x]; st.u64 [%rd3], %rd2;\nret;\n}\n"                                   \
    ".func other(.param .b64 p)\n{\n.reg .b64 %rd<9>;\n.local .align 8 .b8 x[32];\n"            \
    "ld.param.u64 %rd1, [p]; st.local.u64 [x], %rd1; ld.local.u64 %rd2, [x];\n"                 \
    "st.global.u32 [%rd2+64], 0;\nret;\n}\n"                                                    \
    ".func first_only(.param .b64 p, .param .b32 n)\n{\n.reg .b64 %rd<9>; .reg .b32 %r<9>;\n"   \
    ".reg .pred %p<9>; .local .align 8 .b8 x[8];\n"                                             \
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; setp.eq.s32 %p1, %r1, 0;\n"                \
    "@%p1 st.local.u64 [x], %rd1; ld.local.u64 %rd2, [x]; st.global.u32 [%rd2], 0;\nret;\n}\n"  \
    ".func first_by_register(.param .b64 p, .param .b32 n)\n{\n.reg .b64 %rd<9>;\n"             \
    ".reg .b32 %r<9>; .reg .pred %p<9>;\n"                                                     \
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; setp.eq.s32 %p1, %r1, 0;\n"                \
    "@%p1 mov.u64 %rd2, %rd1; st.global.u32 [%rd2], 0;\nret;\n}\n"                             \
    ".func (.param .b64 r) first_result(.param .b64 p, .param .b32 n)\n{\n.reg .b64 %rd<9>;\n" \
    ".reg .b32 %r<9>; .reg .pred %p<9>;\n"                                                     \
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; setp.eq.s32 %p1, %r1, 0;\n"                \
    "@%p1 st.param.b64 [r], %rd1;\nret;\n}\n"                                                 \
    ".func by_first(.param .align 8 .b8 p[16])\n{\n.reg .b64 %rd<9>;\n"                        \
    "ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], 0;\nret;\n}\n"
#define CALL(name) "{ .param .b64 q; st.param.b64 [q], %rd10; call.uni " name ", (q); }\n"
#define CALL_MOVE(by) \
    "{ .param .b64 q; st.param.b64 [q], %rd10; .param .b64 z; st.param.b64 [z], " by ";\n" \
    "call.uni move_on, (q, z); }\n"
#define LOOP(body) \
    "mov.u32 %r9, 0;\nB: " body "add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 5; @%p1 bra B;"
#define CALL_IN_LOOP(name) \
    LOOP("{ .param .b64 q; st.param.b64 [q], %rd1; .param .b32 z;" \
         "st.param.b32 [z], %r9; call.uni " name ", (q, z); }\n")
#define RESULT_IN_LOOP(guard, n) \
    LOOP("{ .param .b64 q; st.param.b64 [q], %rd1; .param .b32 z; st.param.b32 [z], " n ";" \
         ".param .b64 r; " guard " call.uni (r), first_result, (q, z);" \
         "ld.param.b64 %rd9, [r]; }" BY("%rd9"))
#define GIVEN_IN_LOOP(guard) \
    LOOP("{ .param .align 8 .b8 q[16]; " guard " st.param.b64 [q], %rd1;" \
         "st.param.b64 [q+8], %rd2; call.uni by_first, (q); }\n")

static void proves(const char *body, unsigned threads, const struct claim *claims)
{
    char text[4096];
    snprintf(text, sizeof text, VARIABLES "%s", body);
    prove_in(FUNCTIONS, text, (struct claim_size){1, 1, 1}, (struct claim_size){threads, 1, 1},
             WORDS, claims);
}

/* That it writes by what x holds at its start, where %rd1 was stored. */
static void is_nowhere(const char *between, const struct claim *claims)
{
    char body[2048];
    snprintf(body, sizeof body, "ld.global.u64 %%rd20, [%%rd2]; ld.global.u32 %%r20, [%%rd2];"
             "setp.eq.s32 %%p2, %%r20, 7; st.local.u64 [x], %%rd1; mov.u64 %%rd10, x;"
             "cvta.local.u64 %%rd10, %%rd10;\n%s\nld.local.u64 %%rd9, [x];" BY("%%rd9"), between);
    proves(body, 1, claims);
}

#define DATA READS('B', 0, 8)

static void what_was_stored_is_there(void **state)
{
    (void)state;
    const struct claim *to_a = CLAIMS(WRITES('A', 0, 4));
    static const char *const ways[] = {
        "st.local.u64 [x+8], %rd1; st.local.u64 [x], %rd2; ld.local.u64 %rd9, [x+8];",
        "mov.u64 %rd10, x; add.u64 %rd11, %rd10, 8; st.local.u64 [%rd11+8], %rd1;"
        "ld.local.u64 %rd9, [x+16];",
        /* by generic addresses, as a debugger's code does */
        "mov.u64 %rd10, x; cvta.local.u64 %rd11, %rd10; st.u64 [%rd11+8], %rd1; st.u64 [%rd11], 7;"
        "ld.u64 %rd9, [%rd11+8];",
        /* in halves */
        "mov.b64 {%r9, %r10}, %rd1; st.local.v2.u32 [x], {%r9, %r10}; ld.local.u64 %rd9, [x];",
        "mov.b64 {%r9, %r10}, %rd1; st.local.u32 [x+4], %r10; st.local.u32 [x], %r9;"
        "ld.local.u64 %rd9, [x];",
        "st.local.v2.u64 [x], {%rd2, %rd1}; ld.local.v2.u64 {%rd8, %rd9}, [x];",
        "ld.param.v2.u32 {%r9, %r10}, [a]; st.local.v2.u32 [x+8], {%r9, %r10};"
        "ld.local.u64 %rd9, [x+8];",
        /* over something else, and beside it */
        "st.local.u64 [x], %rd20; st.local.u64 [x], %rd1; st.local.u64 [x+8], %rd20;"
        "st.local.u8 [y], %rs1; st.local.u16 [x+16], %rs1; ld.local.u64 %rd9, [x];",
        "st.local.u64 [x], %rd1; setp.gt.u32 %p1, %r1, 30; @%p1 st.local.u64 [x], %rd2;"
        "ld.local.u64 %rd9, [x];",
        /* where it stands, the ways have met again */
        "mov.u64 %rd10, x; cvta.local.u64 %rd10, %rd10; st.u64 [%rd10], %rd1;"
        "setp.gt.u32 %p1, %r4, 3; @%p1 bra L; st.u64 [%rd10+8], 0; L: ld.u64 %rd9, [%rd10];",
        /* a pointer to a pointer */
        "mov.u64 %rd10, x; st.local.u64 [x], %rd1; st.local.u64 [y], %rd10;"
        "ld.local.u64 %rd11, [y]; ld.local.u64 %rd9, [%rd11];",
        /* what is stored elsewhere goes by no address in local memory */
        "mov.u64 %rd10, x; cvta.local.u64 %rd10, %rd10; st.u64 [%rd10], %rd1; st.u32 [%rd1], 0;"
        "ld.u64 %rd9, [%rd10];",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char body[1024];
        snprintf(body, sizeof body, "%s" BY("%%rd9"), ways[i]);
        proves(body, 1, to_a);
    }
}

static void one_of_several_by_an_index(void **state)
{
    (void)state;
    static const char start[] = "st.local.u64 [x], %rd1; st.local.u64 [x+8], %rd2;"
                                "mov.u64 %rd10, x; mul.wide.u32 %rd12, %r4, 4;";
    char body[1024];
    snprintf(body, sizeof body, "%s%s", start, "and.b32 %r9, %r1, 1; mul.wide.u32 %rd11, %r9, 8;"
             "add.s64 %rd11, %rd10, %rd11; ld.local.u64 %rd9, [%rd11];" BY("%rd9"));
    proves(body, 32, CLAIMS(WRITES('A', 0, 4)));
    snprintf(body, sizeof body, "%s%s", start, "and.b32 %r9, %r4, 1; mul.wide.u32 %rd11, %r9, 8;"
             "add.s64 %rd11, %rd10, %rd11; ld.local.u64 %rd9, [%rd11]; add.s64 %rd9, %rd9, %rd12;"
             "shr.u32 %r10, %r4, 1; mul.wide.u32 %rd12, %r10, 4; ld.local.u64 %rd9, [%rd11];"
             "add.s64 %rd9, %rd9, %rd12;" BY("%rd9"));
    proves(body, 32, CLAIMS(WRITES('A', 0, 64), WRITES('B', 0, 64)));
    snprintf(body, sizeof body, "%s%s", start, "setp.gt.u32 %p1, %r4, 15; selp.u32 %r9, 8, 0, %p1;"
             "cvt.u64.u32 %rd11, %r9; add.s64 %rd11, %rd11, %rd10; add.s64 %rd11, %rd11, 8;"
             "ld.local.u64 %rd9, [%rd11+-8]; add.s64 %rd9, %rd9, %rd12;" BY("%rd9"));
    proves(body, 32, CLAIMS(WRITES('A', 0, 64), WRITES('B', 64, 128)));
    /* data say which: either */
    snprintf(body, sizeof body, "%s%s", start, "ld.global.u32 %r9, [%rd3]; and.b32 %r9, %r9, 1;"
             "mul.wide.u32 %rd11, %r9, 8; add.s64 %rd11, %rd10, %rd11; ld.local.u64 %rd9, [%rd11];"
             BY("%rd9"));
    proves(body, 1, CLAIMS(READS('C', 0, 4), MAY_WRITE('A', 0, 4), MAY_WRITE('B', 0, 4)));
    /* but none of them where it may lie behind them all, or before */
    snprintf(body, sizeof body, "%s%s", start, "mul.wide.u32 %rd11, %r1, 8;"
             "add.s64 %rd11, %rd10, %rd11; ld.local.u64 %rd9, [%rd11];" BY("%rd9"));
    proves(body, 1, CLAIMS(WRITES_ANY));
    snprintf(body, sizeof body, "%s%s", start, "neg.s32 %r9, %r2; mul.wide.s32 %rd11, %r9, 8;"
             "add.s64 %rd11, %rd10, %rd11; ld.local.u64 %rd9, [%rd11];" BY("%rd9"));
    proves(body, 1, CLAIMS(WRITES_ANY));
}

static void functions_move_pointers_of_their_callers(void **state)
{
    (void)state;
    is_nowhere(CALL_MOVE("8"), CLAIMS(DATA, WRITES('A', 8, 12)));
    is_nowhere(CALL_MOVE("8") CALL_MOVE("8"), CLAIMS(DATA, WRITES('A', 16, 20)));
    is_nowhere("cvt.u64.u32 %rd11, %r20;" CALL_MOVE("%rd11"), CLAIMS(DATA, WRITES_IN('A')));
    is_nowhere(CALL_MOVE("%rd20"), CLAIMS(DATA, WRITES_ANY));
    is_nowhere(CALL("spoil"), CLAIMS(DATA, READS('G', 0, 8), WRITES_ANY));
    /* which has a variable of the same name */
    is_nowhere("mov.u64 %rd10, %rd3;" CALL("other"),
               CLAIMS(DATA, WRITES('C', 64, 68), WRITES('A', 0, 4)));
}

/* What one call has stored another one need not find, for in between the stack is others'. */
static void calls_find_nothing_of_earlier_ones(void **state)
{
    (void)state;
    const struct claim *claims = CLAIMS(WRITES('A', 0, 4), WRITES_ANY);
    proves(CALL_IN_LOOP("first_only"), 1, claims);
    proves(CALL_IN_LOOP("first_by_register"), 1, claims);
}

/* Nor does who has called it, where it leaves no result, or what it was given stood before. */
static void results_and_arguments_are_of_one_call(void **state)
{
    (void)state;
    const struct claim *claims = CLAIMS(WRITES('A', 0, 4), WRITES_ANY);
    proves(RESULT_IN_LOOP("", "0"), 1, CLAIMS(WRITES('A', 0, 4)));
    proves(RESULT_IN_LOOP("", "%r9"), 1, claims);
    proves("setp.ne.s32 %p2, %r2, 0;" RESULT_IN_LOOP("@%p2", "0"), 1, CLAIMS(WRITES('A', 0, 4)));
    proves(RESULT_IN_LOOP("setp.eq.s32 %p2, %r9, 0; @%p2", "0"), 1, claims);
    proves(GIVEN_IN_LOOP(""), 1, CLAIMS(WRITES('A', 0, 4)));
    proves(GIVEN_IN_LOOP("setp.eq.s32 %p2, %r9, 0; @%p2"), 1, claims);
}

/* As a generic address it is not what it is in its own space. */
static void addresses_are_other_numbers_elsewhere(void **state)
{
    (void)state;
    static const char compare[] = "setp.ne.s64 %p1, %rd10, %rd11; @%p1 st.global.u32 [%rd1], 0;";
    char body[256];
    snprintf(body, sizeof body, "mov.u64 %%rd10, x; cvta.local.u64 %%rd11, %%rd10; %s", compare);
    proves(body, 1, CLAIMS(MAY_WRITE('A', 0, 4)));
    snprintf(body, sizeof body, "mov.u64 %%rd10, s; cvta.param.u64 %%rd11, %%rd10; %s", compare);
    proves(body, 1, CLAIMS(MAY_WRITE('A', 0, 4)));
}

/* The loop's counter, its bound and its pointer stand in memory, as in code for debuggers. */
static void loops_whose_counter_is_in_memory(void **state)
{
    (void)state;
    proves("mov.u64 %rd10, x; cvta.local.u64 %rd10, %rd10; st.u64 [%rd10], %rd1;"
           "st.u32 [%rd10+8], 0; st.u32 [%rd10+12], %r1; bra C;\n"
           "B: ld.u64 %rd11, [%rd10]; ld.u32 %r9, [%rd10+8]; mul.wide.s32 %rd12, %r9, 4;"
           "add.s64 %rd11, %rd11, %rd12; st.u32 [%rd11], 0; ld.u32 %r9, [%rd10+8];"
           "add.s32 %r9, %r9, 1; st.u32 [%rd10+8], %r9;\n"
           "C: ld.u32 %r9, [%rd10+8]; ld.u32 %r10, [%rd10+12]; setp.lt.s32 %p1, %r9, %r10;"
           "@%p1 bra B;", 1, CLAIMS(WRITES('A', 0, 80)));
    /* by the one first, then by the other */
    proves("st.local.u64 [x], %rd1; mov.u32 %r9, 0;\nB: ld.local.u64 %rd9, [x];" BY("%rd9")
           "st.local.u64 [x], %rd2; add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 5; @%p1 bra B;", 1,
           CLAIMS(WRITES('A', 0, 4), WRITES('B', 0, 4)));
    proves("st.local.u64 [x], %rd1; mov.u32 %r9, 0;\nB: ld.local.u64 %rd9, [x];" BY("%rd9")
           "ld.global.u64 %rd11, [%rd2]; st.local.u64 [x], %rd11; add.s32 %r9, %r9, 1;"
           "setp.lt.s32 %p1, %r9, 5; @%p1 bra B;", 1,
           CLAIMS(READS('B', 0, 8), WRITES('A', 0, 4), WRITES_ANY));
}

/* ---- what must not be believed ------------------------------------------------------ */

/* What a launch of the body is said to touch, to be released. */
static struct rp_access_set set_of(const char *body, unsigned threads)
{
    char text[4096];
    unsigned char params[CLAIM_PARAM_BYTES];
    uint64_t roots[26];
    for (int i = 0; i < 26; i++)
        roots[i] = claim_address((char)('A' + i));
    snprintf(text, sizeof text, VARIABLES "%s", body);
    struct rp_ptx_module *module = body_module("", text);
    const struct rp_ptx_function *entry = rp_ptx_find(module, "k");
    claim_params(entry, WORDS, roots, params);
    const struct rp_launch launch = {.grid = {1, 1, 1}, .block = {threads, 1, 1},
                                     .params = params, .param_bytes = entry->param_bytes};
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    assert_int_equal(rp_proof_build(module, entry, &proof), RP_OK);
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
    return set;
}

static enum rp_verdict writes_of(const char *body, unsigned threads)
{
    struct rp_access_set set = set_of(body, threads);
    enum rp_verdict writes = set.writes;
    rp_access_set_release(&set);
    return writes;
}

/* Whether x is still believed to hold %rd1 behind the store. */
static bool is_believed(const char *store)
{
    char body[2048];
    bool named = false;
    snprintf(body, sizeof body, "ld.global.u64 %%rd20, [%%rd2]; ld.global.u32 %%r20, [%%rd2];"
             "setp.eq.s32 %%p2, %%r20, 7; mov.u64 %%rd10, x; cvta.local.u64 %%rd10, %%rd10;"
             "st.local.u64 [x], %%rd1;\n%s\nld.local.u64 %%rd9, [x];" BY("%%rd9"), store);
    struct rp_access_set set = set_of(body, 1);
    for (size_t i = 0; i < set.count; i++)
        named |= set.items[i].effect == RP_WRITE && set.items[i].root == claim_address('A');
    bool everywhere = set.writes >= RP_VERDICT_REACHABLE;
    rp_access_set_release(&set);
    return named || !everywhere;
}

static void stores_that_may_be_there(void **state)
{
    (void)state;
    static const char *const stores[] = {
        /* at its place, or over a part of it */
        "st.local.u64 [x], %rd20;",
        "st.local.u32 [x], %r20;",
        "st.local.u32 [x+4], %r20;",
        "st.local.u16 [x+2], %rs1;",
        "st.local.u8 [x+7], %rs1;",
        "st.local.u32 [x+2], %r20;",
        "st.local.f64 [x], %rd20;",
        "st.local.v4.u32 [x], {%r1, %r20, %r1, %r1};",
        "st.local.v2.u64 [y+-16], {%rd20, %rd20};",
        "@%p2 st.local.u64 [x], %rd20;",
        /* by an address that was computed */
        "add.s64 %rd11, %rd10, 8; st.u64 [%rd11+-8], %rd20;",
        "mul.wide.u32 %rd11, %r20, 8; mov.u64 %rd12, x; add.s64 %rd12, %rd12, %rd11;"
        "st.local.u64 [%rd12], %rd20;",
        "mul.wide.u32 %rd11, %r20, 8; mov.u64 %rd12, y; add.s64 %rd12, %rd12, %rd11;"
        "st.local.u64 [%rd12], %rd20;",
        "mov.u64 %rd12, y; st.local.u64 [%rd12+16], %rd20;",
        "st.local.u64 [%rd20], %rd20;",
        "cvta.to.local.u64 %rd12, %rd20; st.local.u64 [%rd12], %rd20;",
        "cvta.local.u64 %rd12, %rd20; st.u64 [%rd12], %rd20;",
        "and.b64 %rd12, %rd10, -8; st.u64 [%rd12], %rd20;",
        "mov.b64 {%r9, %r10}, %rd10; mov.b64 %rd12, {%r9, %r10}; st.u64 [%rd12], %rd20;",
        "mov.b64 {%r9, %r10}, %rd10; shfl.sync.idx.b32 %r9, %r9, 0, 31, -1;"
        "mov.b64 %rd12, {%r9, %r10}; st.u64 [%rd12], %rd20;",
        "mov.b64 {%r9, %r10}, %rd10; prmt.b32 %r9, %r9, 0, 0x3210;"
        "mov.b64 %rd12, {%r9, %r10}; st.u64 [%rd12], %rd20;",
        "sub.s64 %rd12, %rd1, %rd10; sub.s64 %rd12, %rd1, %rd12; st.u64 [%rd12], %rd20;",
        "selp.b64 %rd12, %rd10, %rd3, %p2; st.u64 [%rd12], %rd20;",
        "mov.u64 %rd12, %rd3; @%p2 mov.u64 %rd12, %rd10; st.u64 [%rd12], %rd20;",
        "mov.u64 %rd12, %rd3; @%p2 bra L; mov.u64 %rd12, %rd10; L: st.u64 [%rd12], %rd20;",
        "mov.u64 %rd12, y; mov.u32 %r9, 0; L: st.local.u64 [%rd12], %rd20; add.s64 %rd12, %rd12, 8;"
        "add.s32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 4; @%p1 bra L;",
        /* by one that was somewhere else meanwhile */
        "st.global.u64 [%rd3], %rd10; ld.global.u64 %rd12, [%rd3]; st.u64 [%rd12], %rd20;",
        "st.shared.u64 [sh], %rd10; ld.shared.u64 %rd12, [sh]; st.u64 [%rd12], %rd20;",
        "st.local.u64 [y], %rd10; mul.wide.u32 %rd11, %r20, 8; mov.u64 %rd12, y;"
        "add.s64 %rd12, %rd12, %rd11; ld.local.u64 %rd12, [%rd12]; st.u64 [%rd12], %rd20;",
        "atom.global.exch.b64 %rd12, [%rd3], %rd10; ld.global.u64 %rd12, [%rd3];"
        "st.u64 [%rd12], %rd20;",
        "{ .param .align 8 .b8 q[8]; mov.u64 %rd11, q; st.param.b64 [q], %rd10;"
        "ld.param.u64 %rd12, [%rd11]; st.u64 [%rd12], %rd20; }",
        /* what is no store */
        "atom.exch.b64 %rd12, [%rd10], %rd20;",
        "red.add.u64 [%rd10], %rd20;",
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd10], {%f1, %f1, %f1, %f1, %f1, %f1, %f1,"
        "%f1};",
    };
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (is_believed(stores[i]))
            fail_msg("%s: believed not to be there", stores[i]);
    assert_true(is_believed("st.local.u64 [x+8], %rd20;"));
}

/* Nobody has stored there, or not on this way. */
static void what_nobody_stored_may_be_anything(void **state)
{
    (void)state;
    static const char *const loads[] = {
        "ld.local.u64 %rd9, [x];" BY("%rd9"),
        "st.local.u64 [x+8], %rd1; ld.local.u64 %rd9, [x];" BY("%rd9"),
        "st.local.u64 [x], %rd1; ld.local.u64 %rd9, [y];" BY("%rd9"),
        "st.local.u32 [x], %r1; ld.local.u64 %rd9, [x];" BY("%rd9"),
        "st.local.u64 [x], %rd1; ld.local.u64 %rd9, [x+4];" BY("%rd9"),
        "st.local.u64 [x], %rd1; ld.local.u64 %rd9, [x+32];" BY("%rd9"),
        "st.local.u64 [x], %rd1; mov.u64 %rd10, x; ld.local.u64 %rd9, [%rd10+-8];" BY("%rd9"),
        "setp.gt.u32 %p1, %r4, 3; @%p1 st.local.u64 [x], %rd1; ld.local.u64 %rd9, [x];" BY("%rd9"),
        "setp.gt.u32 %p1, %r4, 3; @%p1 bra L; st.local.u64 [x], %rd1; L: ld.local.u64 %rd9, [x];"
        BY("%rd9"),
        "mov.u32 %r9, 0;\nB: setp.eq.u32 %p2, %r9, 0; @%p2 bra C; ld.local.u64 %rd9, [y];"
        BY("%rd9") "\nC: st.local.u64 [x], %rd1; add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 5;"
        "@%p1 bra B;",
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (writes_of(loads[i], 8) < RP_VERDICT_REACHABLE)
            fail_msg("%s: said to write %s", loads[i], rp_verdict_name(writes_of(loads[i], 8)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_stored_is_there),
        cmocka_unit_test(one_of_several_by_an_index),
        cmocka_unit_test(functions_move_pointers_of_their_callers),
        cmocka_unit_test(calls_find_nothing_of_earlier_ones),
        cmocka_unit_test(results_and_arguments_are_of_one_call),
        cmocka_unit_test(addresses_are_other_numbers_elsewhere),
        cmocka_unit_test(loops_whose_counter_is_in_memory),
        cmocka_unit_test(stores_that_may_be_there),
        cmocka_unit_test(what_nobody_stored_may_be_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
