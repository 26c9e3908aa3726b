/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs: what a forward wrote that a replay can be served from, where each stands now, and the
 * copies of those that are gone from there. Wants the core's lock. */
#ifndef RP_INTERPOSE_OUTPUTS_H
#define RP_INTERPOSE_OUTPUTS_H

#include "cuda/preserve.h"
#include "interpose/plan/cost.h"
#include "interpose/run/footprint.h"

/* Of an output's copy: it stands where it was written, or would be copied if it was kept. */
enum { RP_OUTPUT_IN_PLACE = -1, RP_OUTPUT_COUNTED = -2 };

/* [lo, hi) of `id`, `offset` bytes into a write of the forward's call number `call`. */
struct rp_forward_output {
    size_t call;
    uint32_t write; /* which of the call's writes, from 0 */
    uint64_t offset;
    rp_alloc_id id;
    uint64_t lo, hi;
    int copy;   /* index of its copy, or one of the above */
    bool again; /* the replay has made it in its own place */
};

enum { RP_OUTPUT_MARKS = 4096 };

struct rp_outputs {
    struct rp_forward_output *items; /* by call */
    size_t count, capacity;
    uint64_t marks[RP_OUTPUT_MARKS / 64]; /* which allocations may hold some; most have none */
    uint64_t *shapes; /* a call each: a hash of its writes' sizes */
    size_t shape_count, shape_capacity;
    struct rp_copies copies;
    struct rp_keeping keeping;
    const char *refused; /* why they can't serve, or NULL */
};

/* Makes them where there are none; false when the host is out of memory. */
bool rp_outputs_make(struct rp_outputs **outputs);
void rp_outputs_destroy(struct rp_outputs *outputs);
/* False when the host is out of memory. */
bool rp_outputs_add(struct rp_outputs *outputs, const struct rp_forward_output *output);
bool rp_outputs_add_shape(struct rp_outputs *outputs, uint64_t shape);
bool rp_outputs_may_hold(const struct rp_outputs *outputs, rp_alloc_id id);

/* False when there are none that could serve. */
bool rp_outputs_can_serve(const struct rp_outputs *outputs);
/* Calls of one shape write as many stretches, of the same sizes, in the same order. */
uint64_t rp_outputs_shape(const struct rp_footprint *call);

/* Copies an output into a block of the bench's store. */
enum rp_status rp_outputs_copy(struct rp_outputs *outputs, struct rp_forward_output *output,
                               const struct rp_workbench *bench, rp_stream stream);

#endif
