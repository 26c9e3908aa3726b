/* SPDX-License-Identifier: Apache-2.0 */
/* Step cost: what one step took, and each segment's part of it (cost.h says how a step is divided).
 *
 * Its arrays are kept from one step to the next, so that they are allotted once. Wants the core's
 * lock. */
#ifndef RP_INTERPOSE_STEP_COST_H
#define RP_INTERPOSE_STEP_COST_H

#include "cuda/preserve.h"
#include "interpose/plan/keeping.h"
#include "interpose/plan/notes.h"
#include "planner/profile.h"

enum rp_phase { RP_PHASE_OF_FORWARD, RP_PHASE_OF_REPLAY, RP_PHASE_OF_BACKWARD, RP_PHASE_COUNT };

/* What is measured of a segment: its phases, and then copies of it by what they are for. */
enum { RP_COST_KINDS = RP_PHASE_COUNT + RP_COPYING_COUNT };

/* All intervals of one kind, in one step. */
struct rp_interval {
    uint64_t ns; /* with what the marks took */
    uint32_t marks;
};

/* Of one segment in one step. */
struct rp_part {
    uint32_t name;
    enum rp_choice choice; /* by which it was replayed, if it was */
    bool replayed, forward_over;
    struct rp_interval intervals[RP_COST_KINDS];
    uint64_t ns[RP_PHASE_COUNT], copy_ns[RP_COPYING_COUNT]; /* of them, without the marks' own */
    struct rp_amount copies[RP_COPYING_COUNT]; /* what halves preserve counts twice: as preserved,
                                                * and for themselves, two pieces each */
    struct rp_amount abroad[RP_COPYING_COUNT]; /* what of `copies` led to host memory, or from it:
                                                * its time is none of copy_ns' but ABROAD's */
    uint64_t job[RP_PHASE_COUNT]; /* the most bytes of the job's own, by phase; what comes after a
                                   * copy that a backward has others make counts for the replay
                                   * that is next */
    struct rp_keeping state;      /* what was preserved */
    struct rp_keeping outputs;    /* what would have to be copied to be kept */
    struct rp_amount whole;       /* what policy whole would keep */
    struct rp_amount served;      /* outputs that serving would copy into place */
    const char *no_retain;        /* why its outputs can't serve, or NULL */
};

struct rp_step_cost {
    uint32_t step;
    struct rp_part *parts; /* by place in the chain */
    size_t count, capacity;
    struct rp_notes notes; /* of the state that was preserved and written */
    uint64_t ns;           /* from the step's first call to its end */
    uint64_t own;          /* what a mark took at its end */
    uint64_t peak;         /* bytes on the device, of job and layer together */
    const char *departure; /* why it is not what a plan can be made from, or NULL */
    uint32_t plan;         /* the number of the plan that was in force, 0 for none */
    bool by_part;          /* false: only the sums were measured */
    bool plain;            /* by_part, but without marks within: no part has times */
    bool halved;           /* some of its state was preserved by two copies instead of one */
};

/* Another step's, in the same arrays. */
void rp_step_cost_clear(struct rp_step_cost *cost);
void rp_step_cost_release(struct rp_step_cost *cost);
/* The part of the segment at `place`; NULL when the host is out of memory. */
struct rp_part *rp_step_cost_part(struct rp_step_cost *cost, uint32_t place);

#endif
