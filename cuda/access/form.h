/* SPDX-License-Identifier: Apache-2.0 */
/* Values as affine forms in the coordinates of a thread.
 *
 * A form stands for the value that every thread of a launch has at one point, all at once:
 *
 *     root + c + sum of k[v] * v + something in [0, fuzz]
 *
 * over the variables v: the thread's coordinates, loop counters, and parts of either. Forms
 * are exact in the integers; a register of n bits is congruent to its form modulo 2^n. So
 * sums and products need no care about wrap-around, and whoever gives a register a meaning
 * as a signed or an unsigned number (comparisons, widenings, shifts to the right, divisions)
 * must first show that the range of the form fits. What does not fit becomes fuzz. */
#ifndef RP_CUDA_ACCESS_FORM_H
#define RP_CUDA_ACCESS_FORM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RP_VAR_TID = 0,    /* x, y, z; or the common sum of tid and ctaid */
    RP_VAR_CTAID = 3,
    RP_VAR_LOOP = 6,   /* by depth */
    RP_VAR_PART = 10,  /* quotients of a variable that was divided */
    RP_VARS = 16
};

#define RP_HUGE_FUZZ (UINT64_C(1) << 31) /* what may be anything bounds nothing */

enum rp_form_flag {
    RP_FORM_TOP = 1,  /* the offset may be anything */
    RP_FORM_WILD = 2, /* may hold, or be part of, a pointer that is not `root` */
    RP_FORM_NEAR = 4, /* an address in shared, local or param memory */
    RP_FORM_PART = 8, /* with WILD: a pointer shifted to the right */
    RP_FORM_STRANGE = RP_FORM_WILD | RP_FORM_PART
};

struct rp_form {
    int64_t c;
    uint64_t fuzz;
    uint32_t mask; /* of the variables whose k counts; the others' is not set */
    int32_t root;  /* index + 1, or 0 */
    uint8_t flags;
    int64_t k[RP_VARS];
};

/* What the variables range over, both ends included. */
struct rp_box {
    int64_t lo[RP_VARS], hi[RP_VARS];
};

static inline void rp_form_set(struct rp_form *form, int64_t c)
{
    form->c = c;
    form->fuzz = 0;
    form->mask = 0;
    form->root = 0;
    form->flags = 0;
}

static inline bool rp_form_is_number(const struct rp_form *form)
{
    return !form->mask && !form->fuzz && !form->root && !form->flags;
}

/* A value of which nothing is known but its width. */
void rp_form_unknown(struct rp_form *form, unsigned bits);
/* Any value in [lo, hi]. */
void rp_form_interval(struct rp_form *form, int64_t lo, int64_t hi);
void rp_form_copy(struct rp_form *out, const struct rp_form *from);
bool rp_form_equal(const struct rp_form *a, const struct rp_form *b);

/* These keep no root: callers see to it. On overflow of 64 bits the result is TOP. `out` may
 * be an operand. */
void rp_form_add(struct rp_form *out, const struct rp_form *a, const struct rp_form *b);
void rp_form_scale(struct rp_form *out, const struct rp_form *a, int64_t by);
void rp_form_subtract(struct rp_form *out, const struct rp_form *a, const struct rp_form *b);

/* Brings coefficients of a value of `bits` bits back into a signed range: any form congruent
 * to it is as good. */
void rp_form_normalise(struct rp_form *form, unsigned bits);

/* The range over a box, the root not counted; false when it is not known. */
bool rp_form_range(const struct rp_form *form, const struct rp_box *box, int64_t *lo, int64_t *hi);

#endif
