/* SPDX-License-Identifier: Apache-2.0 */
/* Holdings: whole granules that hold nothing but outputs of one forward, and whether they do now.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_HOLDING_H
#define RP_INTERPOSE_HOLDING_H

#include "interpose/recompute/backing.h"
#include "interpose/run/execution.h"

enum rp_holding_state {
    RP_HOLDING_STANDS,  /* memory and content are there */
    RP_HOLDING_DROPPED, /* the content is not: it must be made before anybody looks */
};

struct rp_holding {
    rp_alloc_id id;
    uint64_t lo, hi; /* bytes of the allocation */
    struct rp_backed *backed;
    struct rp_execution *owner;
    uint32_t nth; /* the stretch of its owner's recipe that writes it first */
    enum rp_holding_state state;
    uint64_t used; /* the last time, by rp_fence_now */
    bool claimed; /* dropped, and a call is under way that overwrites all of it */
    uint64_t next; /* use, as the place of a call in the step; see rp_victims_rank ... */
    bool is_noted; /* another forward reads it: see interpose/recompute/round.h */
    bool is_input; /* ... as of this: a forward that somebody is going to use reads it, or it is
                    * left of an earlier step and its forward's own input is gone */
};

/* The forward is over: what it has written for certain, and not read before, is held for it. */
enum rp_status rp_holdings_add(struct rp_execution *execution);
/* The owner's claim to them ends; none of them is dropped. */
void rp_holdings_release(struct rp_execution *execution);
/* The allocation is gone. */
void rp_holdings_forget(rp_alloc_id id);

/* Adds what of the allocation is held to `spans`. */
enum rp_status rp_holdings_of(rp_alloc_id id, struct rp_spans *spans);

/* Bytes in those that stand. */
uint64_t rp_holdings_standing(void);

size_t rp_holdings_count(void);
struct rp_holding *rp_holdings_at(size_t index);
/* The first dropped one that [lo, hi) meets, or NULL. Costs a test while nothing is dropped. */
struct rp_holding *rp_holding_dropped(rp_alloc_id id, uint64_t lo, uint64_t hi);
/* Any dropped one that nobody has claimed, or NULL. */
struct rp_holding *rp_holding_any_dropped(void);
void rp_holding_set(struct rp_holding *holding, enum rp_holding_state state);
/* A dropped one is claimed, or is not any more. */
void rp_holding_claim(struct rp_holding *holding, bool claimed);

/* A call has written [lo, hi): what it met of holdings that stand, or were claimed, is nobody's
 * output any more. True when a holding went. */
bool rp_holdings_overwrite(rp_alloc_id id, uint64_t lo, uint64_t hi);

/* True while every byte in it was written by its owner, and by nobody since. */
bool rp_holding_is_own(const struct rp_holding *holding);
/* True where some of it is live-in of `execution`. */
bool rp_holding_is_read(const struct rp_holding *holding, const struct rp_execution *execution);
/* A call was given to the device that may use them. */
void rp_holdings_use(const struct rp_footprint *call);
/* A copy of the layer's, into [lo, hi), was given to it. */
void rp_holdings_use_part(rp_alloc_id id, uint64_t lo, uint64_t hi);
/* The last use of this one, by rp_fence_now. */
uint64_t rp_holding_used(const struct rp_holding *holding);
/* Something was given to it that may use any; the last time that this was so, by rp_fence_now. */
void rp_holdings_use_any(void);
uint64_t rp_holdings_used(void);
/* After a fork. */
void rp_holdings_forget_all(void);

#endif
