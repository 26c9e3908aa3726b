/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* A proof that loads no odd byte. */
uint64_t rp_proof_read_params(const struct rp_proof *proof, uint64_t at)
{
    (void)proof;
    return at % 2 ? UINT64_C(0xff00ff00ff00ff00) : UINT64_C(0x00ff00ff00ff00ff);
}

static const struct rp_kernel_param params[] = {{0, 8}, {8, 4}, {12, 3}, {16, 21}, {37, 1}};
static const struct rp_kernel_layout layout = {params, 5, 38, true};
static const struct rp_given_word expected[] = {{0, 8, 0},  {8, 4, 0},  {12, 3, 0}, {16, 8, 0},
                                                {24, 8, 0}, {32, 5, 0}, {37, 1, 0}};

static void words_lie_as_parameters_do(void **state)
{
    (void)state;
    struct rp_given *given = rp_given_create(&layout, NULL);
    assert_non_null(given);
    assert_int_equal(given->count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < given->count; i++) {
        assert_int_equal(given->words[i].at, expected[i].at);
        assert_int_equal(given->words[i].bytes, expected[i].bytes);
        assert_true(given->words[i].counts == UINT64_MAX);
    }
    free(given);
}

static void what_is_never_loaded_does_not_count(void **state)
{
    (void)state;
    const struct rp_proof *proof = (const void *)&layout; /* nobody looks into it */
    struct rp_given *given = rp_given_create(&layout, proof);
    assert_non_null(given);
    for (size_t i = 0; i < given->count; i++)
        assert_true(given->words[i].counts == rp_proof_read_params(proof, expected[i].at));
    free(given);
}

static void no_byte_beyond_is_loaded(void **state)
{
    (void)state;
    const unsigned char bytes[9] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99};
    for (size_t count = 0; count <= 8; count++) {
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++)
            word |= (uint64_t)bytes[i + 1] << 8 * i;
        assert_true(rp_given_load(bytes + 1, count) == word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_lie_as_parameters_do),
        cmocka_unit_test(what_is_never_loaded_does_not_count),
        cmocka_unit_test(no_byte_beyond_is_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
