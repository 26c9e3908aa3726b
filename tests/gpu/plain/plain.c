/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/plain/cmocka.h"

jmp_buf plain_failed;

static int run_one(const struct CMUnitTest *test)
{
    void *state = NULL;
    int failed = setjmp(plain_failed);
    if (!failed)
        test->run(&state);
    printf("%s: %s\n", test->name, failed ? "failed" : "well");
    fflush(stdout);
    return failed;
}

int plain_run(const struct CMUnitTest *tests, size_t count, int (*open)(void **),
              int (*close)(void **))
{
    void *state = NULL;
    int failed = 0;
    if (open && open(&state) != 0) {
        fprintf(stderr, "the tests could not be set up\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        failed += run_one(&tests[i]);
    if (close)
        close(&state);
    return failed;
}
