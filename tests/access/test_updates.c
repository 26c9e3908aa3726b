/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel has stored before it loads it, and loaded before it stores it. */
#include "tests/access/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* What one block of the kernel touches; the caller releases it. */
static struct rp_access_set touched(const char *body)
{
    struct rp_ptx_module *module = body_module("", body);
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    unsigned char params[CLAIM_PARAM_BYTES];
    const struct rp_ptx_function *kernel = rp_ptx_find(module, "k");

    assert_int_equal(rp_proof_build(module, kernel, &proof), RP_OK);
    claim_params(kernel, "A B C 100 0 0 0 0 0", NULL, params);
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params,
                               .param_bytes = sizeof(params)};
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
    return set;
}

/* Whether all that the body writes, it is said to have read before. */
static bool updates(const char *body)
{
    struct rp_access_set set = touched(body);
    bool all = true, any = false;

    for (size_t i = 0; i < set.count; i++) {
        assert_false(set.items[i].effect == RP_READ && set.items[i].updates);
        any |= set.items[i].effect == RP_WRITE;
        all &= set.items[i].effect == RP_READ || set.items[i].updates;
    }
    rp_access_set_release(&set);
    return any && all;
}

static bool reads_a(const char *body)
{
    struct rp_access_set set = touched(body);
    bool reads = false;

    for (size_t i = 0; i < set.count; i++)
        reads |= set.items[i].effect == RP_READ && set.items[i].root == claim_address('A');
    rp_access_set_release(&set);
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
    assert_false(updates(PLACE "setp.eq.s32 %p1, %r4, 0; @%p1 bra E; ld.global.u32 %r10, [%rd10];"
                               "E: st.global.u32 [%rd10], %r4;"));
    /* another one's load in a loop that moves on before the store */
    assert_false(updates(PLACE "mov.u32 %r11, 0; L: ld.global.u32 %r10, [%rd10];"
                               "add.s64 %rd10, %rd10, %rd2; st.global.u32 [%rd10], %r4;"
                               "add.s32 %r11, %r11, 1; setp.lt.s32 %p1, %r11, %r9; @%p1 bra L;"));
    /* one blind store at an unknown place is enough */
    assert_false(updates(PLACE "ld.global.u32 %r10, [%rd10]; st.global.u32 [%rd10], %r4;"
                               "ld.global.u32 %r12, [%rd2+4]; mul.wide.u32 %rd12, %r12, 4;"
                               "add.s64 %rd13, %rd1, %rd12; st.global.u32 [%rd13], 0;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_of_what_the_thread_has_stored_is_no_read),
        cmocka_unit_test(a_store_over_what_was_loaded_is_an_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
