/* SPDX-License-Identifier: Apache-2.0 */
/* One thread of the naive evaluator, between its parts. */
#ifndef RP_TESTS_ACCESS_SCALAR_THREAD_H
#define RP_TESTS_ACCESS_SCALAR_THREAD_H

#include "tests/access/scalar.h"

#include <string.h>

#define SCALAR_DEPTH 4     /* of calls */
#define SCALAR_STACK 512   /* bytes for what a function declares */
#define SCALAR_PARAMS (UINT64_C(0x71) << 56) /* where the kernel's parameters seem to lie, */
#define SCALAR_LOCALS (UINT64_C(0x72) << 56) /* and where the thread's own memory does */

/* A function that was entered. */
struct frame {
    const struct rp_ptx_function *function;
    uint64_t *regs;
    bool *loaded; /* by register: made of what a load has brought */
    struct frame *caller;
    unsigned depth;
};

struct thread {
    const struct rp_ptx_module *module;
    const struct rp_launch *launch;
    uint32_t tid[3], ctaid[3];
    struct frame *frame;
    unsigned steps; /* instructions so far */
    bool any_loaded; /* so was an operand of the instruction at hand */
    unsigned char stack[SCALAR_DEPTH * SCALAR_STACK];
    bool stack_loaded[SCALAR_DEPTH * SCALAR_STACK];
    uint64_t random;
    unsigned contents; /* of memory: any, small, zeros, ones */
    struct scalar_table tables[SCALAR_TABLES]; /* as they stand now */
    bool tables_loaded; /* something else has been stored there */
    struct scalar_trace *trace;
    struct scalar_ranges own; /* what this thread has written */
    bool failed;
};

static inline uint64_t cut(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t extend(uint64_t value, unsigned bits)
{
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static inline unsigned bits_of(enum rp_ptx_type type)
{
    return type == RP_PTX_PRED ? 1 : rp_ptx_type_bytes(type) * 8;
}

static inline bool is_signed(enum rp_ptx_type type)
{
    return type >= RP_PTX_S8 && type <= RP_PTX_S64;
}

static inline bool is(const struct rp_ptx_instruction *ptx, const char *op)
{
    return ptx->op[0] == op[0] && !strcmp(ptx->op, op); /* mostly the former tells */
}

static inline uint64_t scalar_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* scalar.c */
uint64_t scalar_value(struct thread *at, const struct rp_ptx_operand *operand);
void scalar_set(struct thread *at, const struct rp_ptx_operand *to, uint64_t result);

/* scalar_memory.c */
void scalar_load(struct thread *at, const struct rp_ptx_instruction *ptx);
void scalar_access(struct thread *at, const struct rp_ptx_instruction *ptx); /* st, atom, red */
/* Where a parameter, or a variable of the frame, seems to lie. */
uint64_t scalar_address_of(struct thread *at, const struct rp_ptx_var *var);
/* Copies the variable of one frame to that of another. */
void scalar_pass(struct thread *at, struct frame *from, const struct rp_ptx_var *source,
                 struct frame *to, const struct rp_ptx_var *target);

#endif
