/* SPDX-License-Identifier: Apache-2.0 */
/* Who came before whom, for good: the past of an operation as a vector clock.
 *
 * Operations form chains. One that comes after all of a chain goes on with it, else it begins a
 * new one; so there are as many chains as ever ran side by side. A past has for each chain how
 * much of it came before. What the program waited for is in the past of all that it submits
 * later, by any thread: how its threads order each other is not known here, so they are taken
 * at their word.
 *
 * Called with the device's lock; nothing happens unless somebody looks for races. */
#ifndef RP_CUDA_SOFT_API_PAST_H
#define RP_CUDA_SOFT_API_PAST_H

#include "cuda/soft/api/work.h"

struct soft_past; /* counted; changes until its operation has ended */

void soft_past_keep(void); /* from now on, in cuInit */
bool soft_past_is_kept(void);

bool soft_past_enter(struct soft_op *op); /* at its creation; false: no host memory */
struct soft_past *soft_past_retain(struct soft_past *past);
void soft_past_release(struct soft_past *past); /* NULL is fine */
/* `earlier`, which is done, is in the past of `op`, which has not begun. */
void soft_past_join(struct soft_op *op, const struct soft_op *earlier);
/* What the program has waited for so far is; at submission. */
void soft_past_join_program(struct soft_op *op);
/* `op` begins, and gets its place. Once is enough. */
void soft_past_begin(struct soft_op *op);
/* The program has learnt that `op` is done. */
void soft_past_met(const struct soft_op *op);

/* Is the operation whose past is `other`, and that has begun, in this past? */
bool soft_past_contains(const struct soft_past *past, const struct soft_past *other);
/* It is from now on: `past` is of one that runs and has seen what the other did. */
void soft_past_witness(struct soft_past *past, const struct soft_past *other);

#endif
