/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the generator share: PTX as it is put together, and where it stands. */
#ifndef RP_TESTS_ACCESS_GENERATOR_H
#define RP_TESTS_ACCESS_GENERATOR_H

#include "tests/access/generate.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_POOL 64

/* The roots come first, then a number of 64 bits, and two tables in kernels that have them. */
enum { RD_NUMBER = GENERATED_ROOTS, RD_TABLE, RD_OTHER_TABLE, RD_FREE };

struct generator {
    uint64_t state;
    FILE *out;
    unsigned ints, longs, predicates, labels; /* numbers given away */
    unsigned pool[MAX_POOL], pool_count;      /* 32-bit registers that hold something here */
    unsigned statements;                      /* left to be made */
    enum generated_kind kind;
    unsigned detours; /* so far, a bit each */
    unsigned only;    /* all are of the kind that this picks; 0: of any */
};

static inline bool is_plain(const struct generator *at)
{
    return at->kind == GENERATED_PLAIN;
}

static inline uint64_t random_bits(struct generator *at)
{
    at->state ^= at->state << 13;
    at->state ^= at->state >> 7;
    at->state ^= at->state << 17;
    return at->state * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static inline unsigned below(struct generator *at, unsigned limit)
{
    return (unsigned)(random_bits(at) % limit);
}

static inline void emit(struct generator *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void emit(struct generator *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(at->out, format, args);
    va_end(args);
    fputc('\n', at->out);
}

static inline unsigned keep(struct generator *at, unsigned reg)
{
    if (at->pool_count < MAX_POOL)
        at->pool[at->pool_count++] = reg;
    return reg;
}

/* Younger values are more likely: chains grow. */
static inline unsigned pick(struct generator *at)
{
    unsigned a = below(at, at->pool_count), b = below(at, at->pool_count);
    return at->pool[a > b ? a : b];
}

static inline unsigned small_constant(struct generator *at)
{
    static const unsigned constants[] = {0, 1, 2, 3, 4, 5, 7, 8, 10, 15, 16, 31, 32, 33, 64, 100};
    return constants[below(at, sizeof(constants) / sizeof(constants[0]))];
}

/* number.c: 32-bit registers, and predicates of them */
unsigned generator_int(struct generator *at);
unsigned generator_index(struct generator *at, char d); /* of the thread, in this dimension */
unsigned generator_predicate(struct generator *at);

/* pointer.c: 64-bit registers that point into memory */
unsigned generator_pointer(struct generator *at);
unsigned generator_root(struct generator *at); /* as the kernel was given it */
/* detour.c: the same, by ways that compilers and people take */
unsigned generator_detour(struct generator *at);
void generator_functions(struct generator *at); /* which they go through: before the kernel */
/* Whether an access may be to local or to global memory, as the address tells. */
bool generator_is_near_or_far(struct generator *at);

/* access.c */
void generator_access(struct generator *at);

/* control.c */
void generator_if(struct generator *at, unsigned depth);
void generator_for(struct generator *at, unsigned depth);
void generator_walk(struct generator *at, unsigned depth);
void generator_unrolled(struct generator *at);

/* generate.c: some statements */
void generator_block(struct generator *at, unsigned depth);

/* launch.c */
void generator_launch(struct generator *at, struct generated *out);

#endif
