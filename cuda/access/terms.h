/* SPDX-License-Identifier: Apache-2.0 */
/* The address of one touch on its way to a cover: an affine form over a box, cut by facts, taken
 * apart into strided terms. */
#ifndef RP_CUDA_ACCESS_TERMS_H
#define RP_CUDA_ACCESS_TERMS_H

#include "cuda/access/run.h"

#define RP_HUGE_RANGE (INT64_C(1) << 40)

struct rp_tie { /* variables that one fact ties together */
    const struct rp_form *form;
    uint32_t mask; /* of the form, without what the address does not depend on */
    int64_t lo, hi;
};

struct rp_covering {
    struct rp_run *run;
    const struct rp_form *address;
    const struct rp_box *box; /* the context's, or `narrowed` */
    bool exact, wanted;
    unsigned tie_count, term_count;
    int64_t base, top; /* lowest byte, and the lowest byte of the highest access */
    struct rp_term terms[RP_VARS];
    struct rp_tie ties[8];
    struct rp_box narrowed;
};

/* Begins with an address that lies in the run's present context. */
void rp_terms_begin(struct rp_covering *at, struct rp_run *run, const struct rp_form *address,
                    bool wanted);
/* Makes terms of all variables, the largest stride first; false when only the plain range is to
 * be had. Takes back `exact` where the terms are more than what is touched. */
bool rp_terms_find(struct rp_covering *at);

#endif
