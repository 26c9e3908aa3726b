/* SPDX-License-Identifier: Apache-2.0 */
/* Random kernels with a launch each, from a seed. */
#ifndef RP_TESTS_ACCESS_GENERATE_H
#define RP_TESTS_ACCESS_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_ROOTS 4
#define GENERATED_TABLES 2
#define GENERATED_WORDS 16 /* of a table */
#define GENERATED_PARAM_BYTES 128
#define GENERATED_TABLE_OFFSET 72 /* of the pointer to the first table */

enum generated_kind {
    GENERATED_PLAIN,    /* each fourth: nothing in it but what is affine */
    GENERATED_POINTERS, /* each fourth: its pointers come by many ways, see generator/detour.c */
    GENERATED_OTHER,
    GENERATED_KINDS
};

/* By what the pointers of a kernel come, see generator/detour.c. */
enum generated_detour {
    GENERATED_BY_HALVES,    /* apart and together again */
    GENERATED_BY_SUMS,      /* likewise, where the low half was changed meanwhile */
    GENERATED_BY_BITS,      /* aligned by a mask or a shift */
    GENERATED_BY_TAGS,      /* with a bit set or turned round */
    GENERATED_BY_DISTANCE,
    GENERATED_BY_TABLE,
    GENERATED_BY_STRUCT,
    GENERATED_BY_ARRAY,
    GENERATED_BY_FUNCTION,
    GENERATED_BY_REFERENCE,
    GENERATED_NEAR_OR_FAR,  /* to local memory, or to global */
    GENERATED_DETOURS
};

/* What is known of memory as the launch begins. */
struct generated_table {
    uint64_t address; /* 0: there is none */
    uint64_t words[GENERATED_WORDS];
};

struct generated {
    char *text; /* to be freed */
    enum generated_kind kind;
    unsigned detours; /* a bit each */
    uint32_t grid[3], block[3];
    unsigned char params[GENERATED_PARAM_BYTES];
    uint64_t roots[GENERATED_ROOTS]; /* the pointers in params, each far from the others */
    struct generated_table tables[GENERATED_TABLES];
};

void generate(uint64_t seed, struct generated *out);
/* Another launch of the same kernel: geometry, numbers, roots and tables. */
void generate_launch(uint64_t seed, struct generated *out);
/* An rp_known_fn of these tables. */
bool generated_known(void *generated, uint64_t address, uint64_t bytes, void *out);

#endif
