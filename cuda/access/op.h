/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the slice on forms, by kind. `out` may be no operand of the same call. */
#ifndef RP_CUDA_ACCESS_OP_H
#define RP_CUDA_ACCESS_OP_H

#include "cuda/access/run.h"

/* op.c: what the kinds share */
/* The number that the form is, as one of `bits` bits with or without a sign. */
bool rp_op_number(const struct rp_form *form, unsigned bits, bool is_signed, int64_t *number);
/* Where the root points there can be no memory. It is a number of 64 bits, such as a size. Who asks
 * uses its number. */
bool rp_op_is_small(const struct rp_run *run, int32_t root);
/* Takes the root into the number: the value is used as one. */
void rp_op_unroot(const struct rp_run *run, struct rp_form *form);
void rp_op_unknown(struct rp_form *out, unsigned bits, uint8_t flags);
/* What remains of a value that stands in no affine relation to its operands. */
void rp_op_unrelated(struct rp_form *out, unsigned bits);
void rp_op_interval(struct rp_form *out, int64_t lo, int64_t hi, unsigned bits);

/* sum.c */
void rp_op_add(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
               const struct rp_form *right, unsigned bits);
void rp_op_subtract(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
                    const struct rp_form *right, unsigned bits);

/* product.c */
void rp_op_multiply(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_multiply_high(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_shift_left(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
bool rp_op_shift_amount(struct rp_run *run, const struct rp_op *op, int64_t *amount);

/* quotient.c */
void rp_op_divide(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_shift_right(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
/* a mod 2^count of any integer that is congruent to a register of more than `count` bits. */
void rp_op_low_bits(struct rp_run *run, const struct rp_form *a, unsigned count, bool wanted,
                    struct rp_form *out);

/* bits.c */
void rp_op_and(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_or(struct rp_run *run, const struct rp_op *op, struct rp_form *out); /* and XOR */

/* choice.c */
void rp_op_select(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_phi(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_least_or_most(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_op_absolute(struct rp_run *run, const struct rp_op *op, struct rp_form *out);

#endif
