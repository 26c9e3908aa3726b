/* SPDX-License-Identifier: Apache-2.0 */
/* Random kernels with a launch each, from a seed. */
#ifndef RP_TESTS_ACCESS_GENERATE_H
#define RP_TESTS_ACCESS_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_ROOTS 4
#define GENERATED_PARAM_BYTES 72

struct generated {
    char *text; /* to be freed */
    bool plain; /* each fourth: nothing in it but what is affine */
    uint32_t grid[3], block[3];
    unsigned char params[GENERATED_PARAM_BYTES];
    uint64_t roots[GENERATED_ROOTS]; /* the pointers in params, each far from the others */
};

void generate(uint64_t seed, struct generated *out);
/* Another launch of the same kernel: geometry, numbers and roots. */
void generate_launch(uint64_t seed, struct generated *out);

#endif
