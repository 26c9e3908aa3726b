/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: what is noted of a step, for the planner: what each forward has made, how much of that
 * other forwards read, what was kept for it, and what there was beside outputs.
 *
 * Sizes are bytes of device memory. The last few steps are known that had forwards. All functions
 * want the core's lock. */
#ifndef RP_INTERPOSE_ROUND_H
#define RP_INTERPOSE_ROUND_H

#include "interpose/run/execution.h"

/* Of one forward of a step. */
struct rp_portion {
    uint32_t name;  /* of rp_core.names */
    bool may_go;    /* its recipe is good */
    uint64_t made;  /* whole granules of outputs ... */
    uint64_t read;  /* ... of which other forwards read so much */
    uint64_t kept;  /* copies of what it has read */
    uint64_t times; /* that it was followed again in this step */
    /* The most of the job's that was no outputs, on the host or not, while it ran, and from when it
     * was followed again until another one was. */
    uint64_t beside, beside_later;
};

struct rp_round {
    uint32_t step;
    struct rp_portion *items; /* by place in the chain */
    size_t count, capacity;
    uint64_t beside; /* the same, after the latest forward */
    uint32_t again;  /* the place that was followed again since then; UINT32_MAX: none */
};

/* A step begins, and rp_core.step is not yet its number. */
void rp_round_begins(void);
/* The forward is over, and what it holds is known. */
void rp_round_forward(const struct rp_execution *execution);
/* A copy of so many bytes is made of what it has read; it is followed again. */
void rp_round_kept(const struct rp_execution *execution, uint64_t bytes);
void rp_round_recalled(const struct rp_execution *execution);
/* A call is done. */
void rp_round_call(void);

/* The step of that number, or NULL where it is not known. */
const struct rp_round *rp_round_of(uint32_t step);
/* The last step before that one which had forwards, or NULL where none is known. */
const struct rp_round *rp_round_before(const struct rp_round *round);
/* True when both have had the same forwards, which made as much. NULL is like nothing. */
bool rp_rounds_are_alike(const struct rp_round *a, const struct rp_round *b);
/* The least that there was beside outputs while a forward ran: it is there all the time; and
 * what there was above that at a segment's worst moment. */
uint64_t rp_round_base(const struct rp_round *round);
uint64_t rp_round_beside(const struct rp_round *round, size_t place);
/* After a fork. */
void rp_rounds_forget(void);

#endif
