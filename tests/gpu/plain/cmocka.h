/* SPDX-License-Identifier: Apache-2.0 */
/* The words of cmocka that the programs for other machines use, so that they run where that
 * library is not. A failed assertion ends its test; the program's exit status counts them. */
#ifndef RP_TESTS_GPU_CMOCKA_H
#define RP_TESTS_GPU_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};
#define cmocka_unit_test(test) {#test, test}

/* Of the one translation unit that has main; the others fail through it. */
extern jmp_buf plain_failed;

#define print_message printf
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define fail_msg(...)                                                                            \
    do {                                                                                         \
        fprintf(stderr, __VA_ARGS__);                                                            \
        fprintf(stderr, "\n%s:%d\n", __FILE__, __LINE__);                                        \
        longjmp(plain_failed, 1);                                                                \
    } while (0)
#define assert_true(x)                                                                           \
    do {                                                                                         \
        if (!(x))                                                                                \
            fail_msg("does not hold: %s", #x);                                                   \
    } while (0)
#define assert_false(x) assert_true(!(x))
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_int_equal(a, b) assert_true((intmax_t)(a) == (intmax_t)(b))
#define assert_int_not_equal(a, b) assert_true((intmax_t)(a) != (intmax_t)(b))
#define assert_string_equal(a, b) assert_true(strcmp((a), (b)) == 0)

int plain_run(const struct CMUnitTest *tests, size_t count, int (*open)(void **),
              int (*close)(void **));
#define cmocka_run_group_tests(tests, open, close)                                               \
    plain_run((tests), sizeof(tests) / sizeof((tests)[0]), (open), (close))

#endif
