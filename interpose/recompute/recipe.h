/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes: the calls of one forward, recorded so that they can be issued again.
 *
 * A recipe belongs to an execution and holds, for each launch, the function, the shape, the block
 * of parameters; for copies and sets in device memory their arguments; and what was read and
 * written at which version. It is good until something says otherwise; the first reason stays.
 * Host memory only. All functions want the core's lock. */
#ifndef RP_INTERPOSE_RECIPE_H
#define RP_INTERPOSE_RECIPE_H

#include "cuda/calls/calls.h"
#include "interpose/calls/launch.h"
#include "interpose/run/execution.h"

enum rp_recipe_step_kind { RP_STEP_LAUNCH, RP_STEP_COPY, RP_STEP_SET };

struct rp_relaunch {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    size_t params_at, params_bytes; /* in rp_recipe.params */
};

/* From one line of device memory to another. */
struct rp_recopy {
    uint64_t to, from, bytes;
};

/* `count` elements of `width` bytes get this value. */
struct rp_reset {
    uint64_t to, count;
    unsigned width, value;
};

struct rp_recipe_step {
    rp_version version;
    enum rp_recipe_step_kind kind;
    union {
        struct rp_relaunch launch;
        struct rp_recopy copy;
        struct rp_reset set;
    };
};

struct rp_recipe {
    struct rp_recipe_step *steps;
    size_t count, capacity;
    unsigned char *params;
    size_t params_bytes, params_capacity;
    struct rp_reach *reaches;
    size_t reach_count, reach_capacity;
    size_t calls;         /* of the forward, whatever they do */
    const char *retained; /* why its outputs stay where they are, or NULL. Lives for ever */
    bool over;            /* the forward has ended */
    bool closed;          /* nothing of it is dropped, nothing will be, and no copy is wanted */
    bool lost;            /* what it has dropped can't be made any more */
    rp_stream stream;     /* of the forward's latest call ... */
    CUcontext context;    /* ... and where that is */
    bool busy;            /* it is being followed right now */
    size_t held, dropped; /* its holdings, and those without content ... */
    size_t claimed;       /* ... of which somebody is about to make another */
    uint64_t times;       /* that it was followed */
    uint64_t next;        /* place in the step of the next use of an output, ... */
    uint64_t missed;      /* ... and of one that no other forward reads; see rp_victims_rank */
    uint64_t depth;       /* forwards in a row to follow for its outputs, itself one; see there */
};

/* A call of the forward is about to go out. */
void rp_recipe_expect(struct rp_execution *execution, const struct rp_footprint *call);
/* It is this launch; `is_plain` when nothing but the shape and the parameters matter. */
void rp_recipe_add(struct rp_execution *execution, const struct rp_launched *launch,
                   CUfunction function, bool is_plain, const struct rp_footprint *call);
/* It is this copy or set, which must be all that `call` does. */
void rp_recipe_add_copy(struct rp_execution *execution, const struct rp_recopy *copy,
                        const struct rp_footprint *call);
void rp_recipe_add_set(struct rp_execution *execution, const struct rp_reset *set,
                       const struct rp_footprint *call);
/* The forward is over: whether all of it was recorded. */
void rp_recipe_close(struct rp_execution *execution);
/* The outputs stay from now on, for this reason. */
void rp_recipe_retain(struct rp_execution *execution, const char *reason);
/* Bytes that it reads or writes, each once. */
uint64_t rp_recipe_bytes(const struct rp_execution *execution);
bool rp_recipe_is_good(const struct rp_execution *execution);
void rp_recipe_destroy(struct rp_recipe *recipe);

/* True when this write is one of the recipe's. */
bool rp_recipe_wrote(const struct rp_recipe *recipe, rp_version version);
/* Issues the calls, in `stream`. RP_IO when the driver takes one of them no more. */
enum rp_status rp_recipe_follow(struct rp_recipe *recipe, rp_stream stream);

#endif
