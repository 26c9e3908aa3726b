/* SPDX-License-Identifier: Apache-2.0 */
/* One instruction on its way to values: its operands, what is made of them, where it goes.
 * value.c reads and writes; translate.c knows what instructions compute. */
#ifndef RP_CUDA_ACCESS_TRANSLATE_H
#define RP_CUDA_ACCESS_TRANSLATE_H

#include "cuda/access/build.h"

struct rp_translation {
    struct rp_builder *build;
    uint32_t node;
    const struct rp_step *step;
    const struct rp_ptx_instruction *ptx;
    enum rp_ptx_type type; /* the first one written */
    unsigned bits;         /* of it; 1 for predicates */
    bool is_integer, is_signed;
};

unsigned rp_value_bits(enum rp_ptx_type type); /* 1 for predicates */
bool rp_value_is_integer(enum rp_ptx_type type);
bool rp_value_is_signed(enum rp_ptx_type type);

/* Of the instruction's type. */
uint32_t rp_value_make(const struct rp_translation *at, enum rp_op_kind kind, uint32_t a,
                       uint32_t b);
uint32_t rp_value_not(struct rp_builder *build, uint32_t node, uint32_t predicate);
/* The value of the guard with which a step runs, or RP_NONE when it always does. Read once,
 * before the step assigns anything: it may assign its own guard. */
uint32_t rp_value_guard(struct rp_builder *build, uint32_t node, const struct rp_step *step);
uint32_t rp_value_operand(const struct rp_translation *at, unsigned index, unsigned bits);
/* Of a register operand; 32 for all others. */
unsigned rp_value_register_bits(const struct rp_translation *at,
                                const struct rp_ptx_operand *reg);

void rp_value_assign(const struct rp_translation *at, uint32_t reg, uint32_t value);
/* To an operand, or to each item of a vector: a value of which nothing is known. */
void rp_value_assign_opaque(const struct rp_translation *at, const struct rp_ptx_operand *to);
void rp_value_opaque(const struct rp_translation *at); /* to all results */
void rp_value_finish(const struct rp_translation *at, uint32_t value); /* to the one result */

/* touch.c: one that touches memory. */
void rp_translate_touch(const struct rp_translation *at, enum rp_opcode_class class_);

#endif
