/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

struct rp_ptx_module *body_module(const char *before, const char *body)
{
    char text[16384], message[160];
    struct rp_ptx_module *module;

    snprintf(text, sizeof(text), "%s%s%s%s\nret;\n}\n", HEAD, before, PARAMS, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("%s\n%s", message, text);
    return module;
}

void prove_in(const char *before, const char *body, struct claim_size grid,
              struct claim_size block, const char *words, const struct claim *expected)
{
    struct rp_ptx_module *module = body_module(before, body);

    claim_check(module, "k", grid, block, words, expected);
    rp_ptx_destroy(module);
}

void prove(const char *body, unsigned blocks, unsigned threads, const char *words,
           const struct claim *expected)
{
    prove_in("", body, (struct claim_size){blocks, 1, 1}, (struct claim_size){threads, 1, 1},
             words, expected);
}
