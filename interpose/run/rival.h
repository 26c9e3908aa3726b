/* SPDX-License-Identifier: Apache-2.0 */
/* Rivals: other forwards that wait for a replay while one is paired with the forward chosen for it.
 *
 * The replay's first call tells whose it is by what it reads, as it stands now beside what each of
 * them has read there, and by where it has its output. Whatever speaks for a rival is an objection;
 * so is that nothing speaks for either. Bytes that both have read so, or neither, tell nothing, nor
 * does what segments have written themselves, nor state. All functions want the core's lock. */
#ifndef RP_INTERPOSE_RIVAL_H
#define RP_INTERPOSE_RIVAL_H

#include "interpose/run/pairing.h"

enum rp_objection_grade {
    RP_OBJECTION_NONE,
    RP_OBJECTION_BY_ORDER, /* nothing but the order tells */
    RP_OBJECTION_UNTOLD,   /* the job has put something there that is both's, or neither's */
    RP_OBJECTION_SLIGHT,   /* the output lies where the rival had its own */
    RP_OBJECTION_GRAVE     /* what is met speaks for the rival */
};

/* What speaks against a pairing, of all rivals so far; {0} at first. */
struct rp_objection {
    enum rp_objection_grade worst;
    const char *why; /* where it is grave, and what helps ... */
    bool is_place;   /* ... because of where the output lies */
    struct rp_filled untold;
};

/* The call `first` of a replay of `chosen` may repeat one of the rival's as well. */
void rp_rival_weigh(struct rp_objection *found, const struct rp_execution *chosen,
                    const struct rp_execution *rival, const struct rp_footprint *first);
/* The buffers have named `chosen`, and the order had named another. They tell nothing where the
 * bytes by which the two differ have been replaced since. */
void rp_rival_in_order(struct rp_objection *found, const struct rp_execution *chosen,
                       const struct rp_execution *order, const struct rp_footprint *first);

#endif
