/* SPDX-License-Identifier: Apache-2.0 */
/* Costs: what each part of a step takes, in time on the device and in its memory.
 *
 * A step is divided without gaps, by marks in the job's own streams (cuda/timeline.h):
 *
 *     forward k    from the first call of segment k's forward to that of the next segment's, or
 *                  of the first replay. What comes before the first forward counts for it.
 *     replay k     the calls of the replay
 *     backward k   from the replay's end to the next replay, or to the step's end, and calls
 *                  between those of the replay that are no part of it
 *     copies       of the layer's own, by what they are for, whosever calls they stand between
 *
 * Nothing here waits for the device: a step's times are collected when they have come. A step
 * is not measured where times would mislead, and says why (a departure): streams side by side,
 * captures, replays in another order than the reverse.
 *
 * Where all copies of a step have one size, what of their time is by the piece and what by the byte
 * can't be told. After two such steps the next one that is measured by part preserves by two copies
 * instead of one (rp_bench.in_halves): what they take longer is by the piece.
 *
 * Where the pieces are so small that their bytes take next to nothing, copies after the step tell
 * what they would take (trial.h).
 *
 * Marks take time where the host is the bottleneck. In guard some of the steps that are measured by
 * part have none within, and tell what a step takes without them (marks.h).
 *
 * All functions want the core's lock. Without steps in the contract there is nothing to
 * measure, and nothing is done. */
#ifndef RP_INTERPOSE_COST_H
#define RP_INTERPOSE_COST_H

#include "cuda/preserve.h"
#include "interpose/plan/keeping.h"
#include "interpose/plan/notes.h"
#include "interpose/run/execution.h"
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

/* A step begins or ends; an end without a beginning is nothing. */
void rp_cost_step_begins(void);
void rp_cost_step_ends(void);
/* The segment at `place` is in this phase now. */
void rp_cost_phase(enum rp_phase phase, uint32_t place);
/* A call is about to go out, after all that the layer has put before it; `repeats`, if it is one
 * of the replay that it stands in. */
void rp_cost_call(rp_stream stream, bool repeats);
/* The job's memory has changed. */
void rp_cost_memory(void);
/* rp_bench.meter. */
void rp_cost_meter(uint32_t place, enum rp_copying what, uint64_t bytes, rp_stream stream);

/* True while this step is measured part by part. */
bool rp_cost_by_part(void);
/* This step is not what a plan can be made from. `reason` lives for ever; the first one stays. */
void rp_cost_depart(const char *reason);
/* The part of this step at `place`; NULL when the step is not measured. */
struct rp_part *rp_cost_part(uint32_t place);
/* A copy that the segment at `place` is to hold until its replay is made now; early, if its
 * forward is not over. */
void rp_cost_keep(struct rp_keeping *keeping, uint32_t place, bool early, uint64_t bytes);
/* Bytes of state were preserved for the execution, for somebody is about to write them. */
void rp_cost_kept(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo, uint64_t hi);
/* Its replay has put these bytes aside, to write them or what was kept of them. */
void rp_cost_stashed(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                     uint64_t hi);
/* The forward of the segment at `place` is over. */
void rp_cost_forward_ends(uint32_t place);
/* The replay of `execution` is about to begin: whether the order is one that can be planned. */
void rp_cost_replay(const struct rp_execution *execution);

/* Takes in the times that have come; of the step that ended last only with `all`, for when
 * nothing is to come. To be told that it is over, as early as that, is to learn where the device
 * is, and on a model clock a host that has run ahead waits for that moment: whether it did would
 * be a matter of luck, and of the step's time. */
void rp_cost_collect(bool all);
/* The steps that were measured by part, oldest first. Once there are RP_COST_STEPS, later
 * steps' sums alone are measured, until rp_cost_restart; so are those of steps under a plan, which
 * the marks would slow down. Valid until the next call of any function here. */
#define RP_COST_STEPS 8
size_t rp_cost_steps(const struct rp_step_cost *steps[RP_COST_STEPS]);
/* The first step of all, if it was measured by part and is none of these: its times mislead, for
 * it loads and allocates what the others find there, but its memory counts. Or NULL. */
const struct rp_step_cost *rp_cost_first(void);
/* The last step of which the sums are known, or NULL. */
const struct rp_step_cost *rp_cost_last(void);
/* How many steps' sums have come in all. */
uint64_t rp_cost_count(void);

/* Forgets the parts: from the next step on, steps are measured by part again. */
void rp_cost_restart(void);
/* The most bytes of job and layer together, in any step. */
uint64_t rp_cost_peak(void);
/* After a fork. */
void rp_cost_forget(void);
/* The contexts of the events are gone. */
void rp_cost_lost(void);

#endif
