/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that need not do the same each time that they are given the same; and others, much like
 * them, that do. */
#include "cuda/access/access.h"
#include "cuda/ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                     \
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .b8 format[4];\n"                    \
    ".extern .func (.param .b32 printed) vprintf (.param .b64 f, .param .b64 v);\n"              \
    ".extern .func (.param .b64 made) malloc (.param .b64 bytes);\n"
#define BODY                                                                                     \
    ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"  \
    ".reg .pred %p<9>;\nld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x;\n"
#define PRINT(to)                                                                                \
    "{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %rd1;"                     \
    " st.param.b64 [v], %rd1; call.uni (r), vprintf, (f, v); ld.param.b32 " to ", [r]; }\n"

static const char *why_of(const char *functions, const char *body)
{
    static char text[4096];
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    snprintf(text, sizeof text, "%s%s%s%s\nret;\n}\n", HEAD, functions, BODY, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof message) != RP_OK)
        fail_msg("%s\n%s", message, text);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    const char *why = rp_proof_varies(proof); /* lives as long as the process */
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
    return why;
}

static void steady(const char *body)
{
    const char *why = why_of("", body);
    if (why)
        fail_msg("%s\n%s", why, body);
}

static void varies(const char *body, const char *word)
{
    const char *why = why_of("", body);
    if (!why || !strstr(why, word))
        fail_msg("%s where %s was due\n%s", why, word, body);
}

static void what_the_arguments_and_the_thread_tell(void **state)
{
    (void)state;
    steady("st.global.u32 [%rd1], %r1;");
    varies("mov.u32 %r2, %clock; st.global.u32 [%rd1], %r2;", "clock");
    varies("mov.u32 %r2, %smid; st.global.u32 [%rd1], %r2;", "clock");
}

static void the_order_of_atomic_operations(void **state)
{
    (void)state;
    steady("red.global.add.u32 [%rd1], 1;");
    steady("atom.global.add.u32 %r2, [%rd1], 1;");
    varies("atom.global.add.u32 %r2, [%rd1], 1; st.global.u32 [%rd1+4], %r2;", "order");
    varies("red.global.add.f32 [%rd1], %f1;", "order");
    varies("atom.global.exch.b32 %r2, [%rd1], %r1;", "order");
}

static void to_print_changes_nothing(void **state)
{
    (void)state;
    steady(PRINT("%r5"));
    steady(PRINT("%r5") PRINT("%r6") "st.global.u32 [%rd1], %r1;");
    varies(PRINT("%r5") "st.global.u32 [%rd1], %r5;", "printing");
    varies(PRINT("%r5") "setp.eq.u32 %p1, %r5, 1; @%p1 st.global.u32 [%rd1], %r1;", "printing");
    varies(PRINT("%r5") PRINT("%r6") "st.global.u32 [%rd1], %r6;", "printing");
    const char *function = ".func (.param .b32 out) say (.param .b64 f)\n{ .reg .b32 %r<9>;"
                           ".param .b64 v; .param .b32 r; call (r), vprintf, (v, v);"
                           "ld.param.b32 %r1, [r]; st.param.b32 [out], %r1; ret; }\n";
    assert_non_null(why_of(function, ""));
}

static void what_is_allocated_lies_anywhere(void **state)
{
    (void)state;
    varies("{ .param .b64 n; .param .b64 r; call.uni (r), malloc, (n); ld.param.b64 %rd2, [r]; }",
           "allocates");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_arguments_and_the_thread_tell),
        cmocka_unit_test(the_order_of_atomic_operations),
        cmocka_unit_test(to_print_changes_nothing),
        cmocka_unit_test(what_is_allocated_lies_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
