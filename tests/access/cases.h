/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of training programs, as nvcc compiles them, and what a launch of each touches. */
#ifndef RP_TESTS_ACCESS_CASES_H
#define RP_TESTS_ACCESS_CASES_H

#include "tests/access/claim.h"

struct kernel_case {
    const char *file; /* in tests/kernels; digits.ptx is the example's */
    const char *kernel;
    struct claim_size grid, block;
    const char *words;
    struct claim claims[CLAIM_MAX];
};

extern const struct kernel_case kernel_cases[];
extern const size_t kernel_case_count;

/* The path of a case's file, from the environment: KERNELS and DIGITS. */
const char *kernel_case_path(const struct kernel_case *at, char path[512]);

#endif
