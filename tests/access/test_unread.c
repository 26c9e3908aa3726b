/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes of its parameters a kernel may load. */
#include "cuda/access/access.h"
#include "cuda/access/frozen.h"
#include "cuda/ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* s is at 0, n at 24, b at 28, t at 32. */
#define HEAD                                                                                     \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                            \
    ".func taker (.param .align 8 .b8 a[24]) { ret; }\n"                                         \
    ".visible .entry k(.param .align 8 .b8 s[24], .param .u32 n, .param .u8 b,"                  \
    " .param .u64 t)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %rs<9>;\n"

/* The same when it comes from the cache. */
static struct rp_proof *thawed(struct rp_proof *proof)
{
    void *bytes;
    size_t size;
    assert_int_equal(rp_proof_freeze(proof, &bytes, &size), RP_OK);
    rp_proof_destroy(proof);
    assert_int_equal(rp_proof_thaw(bytes, size, &proof), RP_OK);
    free(bytes);
    return proof;
}

static struct rp_proof *proof_of(const char *body)
{
    static char text[4096];
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof message) != RP_OK)
        fail_msg("%s\n%s", message, text);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    rp_ptx_destroy(module);
    return thawed(proof);
}

/* `wanted`: a letter for each byte of the parameters, `r` where one may be loaded, and anything
 * between them. */
static void loads(const char *body, const char *wanted)
{
    struct rp_proof *proof = proof_of(body);
    char found[41] = "";
    for (unsigned at = 0; at < 40; at++) {
        uint64_t all = rp_proof_read_params(proof, at);
        found[at] = all & 0xff ? 'r' : '.';
        for (unsigned i = 0; i < 8 && at + i < 40; i++) /* wherever the eight begin */
            assert_int_equal(all >> 8 * i & 0xff, rp_proof_read_params(proof, at + i) & 0xff);
        if (wanted[at] == '-')
            found[at] = '-';
    }
    if (strcmp(found, wanted))
        fail_msg("%s\nfound  %s\nwanted %s", body, found, wanted);
    assert_int_equal(rp_proof_reads_all_params(proof), !strchr(wanted, '.'));
    rp_proof_destroy(proof);
}

static void the_places_that_are_written_down(void **state)
{
    (void)state;
    loads("ld.param.u8 %r1, [s]; ld.param.u64 %rd1, [s+8];",
          "r.......rrrrrrrr.............---........");
    loads("ld.param.v2.u32 {%r1, %r2}, [s+16]; ld.param.u8 %r1, [b];",
          "................rrrrrrrr....r---........");
    loads("ld.param.u32 %r1, [n]; ld.param.u32 %r2, [t+4];",
          "........................rrrr.---....rrrr");
    loads("", ".............................---........");
}

static void anything_else_is_all_of_it(void **state)
{
    (void)state;
    const char *all_of_s = "rrrrrrrrrrrrrrrrrrrrrrrr.....---........";
    loads("mov.b64 %rd1, s; ld.param.u8 %r1, [%rd1];", all_of_s);
    loads("mov.b64 %rd1, s; cvta.param.u64 %rd2, %rd1; ld.u8 %r1, [%rd2+4];", all_of_s);
    loads("prefetch.tensormap [s];", all_of_s);
    loads("call.uni taker, (s);", all_of_s);
}

static void a_place_of_another_one_is_any_of_them(void **state)
{
    (void)state;
    const char *all = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrr---rrrrrrrr";
    loads("ld.param.u64 %rd1, [s+20];", all);
    loads("ld.param.u64 %rd1, [s+-8];", all);
    loads("ld.param.u8 %r1, [b+4];", all);
}

static void where_all_is_loaded_nothing_is_left_out(void **state)
{
    (void)state;
    loads("mov.b64 %rd1, s; ld.param.u32 %r1, [n]; ld.param.u8 %r2, [b]; ld.param.u64 %rd2, [t];",
          "rrrrrrrrrrrrrrrrrrrrrrrrrrrrr---rrrrrrrr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_places_that_are_written_down),
        cmocka_unit_test(anything_else_is_all_of_it),
        cmocka_unit_test(a_place_of_another_one_is_any_of_them),
        cmocka_unit_test(where_all_is_loaded_nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
