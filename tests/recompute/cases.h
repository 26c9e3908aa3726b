/* SPDX-License-Identifier: Apache-2.0 */
/* Cases: jobs of which each run is one case, chosen by its name. */
#ifndef RP_TESTS_RECOMPUTE_CASES_H
#define RP_TESTS_RECOMPUTE_CASES_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call without which the case makes no sense. */
#define CU(call)                                                                                  \
    do {                                                                                          \
        CUresult result_ = (call);                                                                \
        if (result_ != CUDA_SUCCESS) {                                                            \
            printf("%s failed with %d\n", #call, (int)result_);                                   \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

struct job_case {
    const char *name;
    void (*run)(void);
};

/* A name that is none of `cases`, whose last one has no name, is a mistake of the test's. */
static inline void run_case(const struct job_case *cases, const char *name)
{
    for (; cases->name; cases++) {
        if (strcmp(cases->name, name) == 0) {
            cases->run();
            return;
        }
    }
    fprintf(stderr, "there is no case '%s'\n", name);
    exit(2);
}

#endif
