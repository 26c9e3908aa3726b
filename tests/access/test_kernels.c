/* SPDX-License-Identifier: Apache-2.0 */
/* Training kernels: what is said of a launch is what one reads in their source. */
#include "tests/access/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void training_kernels_come_out_as_their_source_says(void **state)
{
    (void)state;
    char path[512], message[160];
    size_t length;
    for (size_t i = 0; i < kernel_case_count; i++) {
        const struct kernel_case *at = &kernel_cases[i];
        char *text = claim_file(kernel_case_path(at, path), &length);
        struct rp_ptx_module *module;
        if (rp_ptx_parse(text, length, &module, message, sizeof(message)) != RP_OK)
            fail_msg("%s:%s", path, message);
        claim_check(module, at->kernel, at->grid, at->block, at->words, at->claims);
        rp_ptx_destroy(module);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_kernels_come_out_as_their_source_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
