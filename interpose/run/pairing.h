/* SPDX-License-Identifier: Apache-2.0 */
/* Pairing: which forward a replay belongs to. What can't be told is never passed for told. All
 * functions want the core's lock. */
#ifndef RP_INTERPOSE_PAIRING_H
#define RP_INTERPOSE_PAIRING_H

#include "interpose/run/execution.h"
#include "tracker/hazard.h"

/* What helps where nothing else tells forwards apart. */
#define RP_PAIR_BY_KEY                                                                            \
    "check the segment's \"pair\"; \"key\" names each forward, by ranges whose `*` matches "       \
    "another text for each"

/* What was put where several forwards that wait have read. */
struct rp_filled {
    rp_alloc_id id; /* 0: nowhere */
    uint64_t lo, hi;
    struct rp_writer by;
};

/* Which forward a replay of `segment` with `key` belongs to. The rule's pairing names it, among
 * those that were replayed least, before the replay's first call; that call, when it comes, may
 * tell better: it works on the same buffers as its twin in the forward. */
struct rp_pairing {
    struct rp_execution *execution; /* NULL when there is none */
    const char *guessed; /* NULL, or why it may be another: they were all replayed as often as was
                          * promised, or what the replay meets speaks for another; and what helps */
    bool is_place;       /* that is where it has its output */
    enum rp_assumption assumed;  /* if that is NULL: why the order alone tells */
    struct rp_filled untold;     /* FILLED: the job has put there both's, or neither's */
};
struct rp_pairing rp_pairing_find(uint32_t segment, const char *key);
/* `before` is what was named before the first call. */
struct rp_pairing rp_pairing_settle(struct rp_pairing before, const char *key,
                                      const struct rp_footprint *first);
/* Whether a pending execution, of which a replay is due, began with the same kind of call. */
bool rp_pairing_may_repeat(uint32_t segment, const struct rp_footprint *first);
/* That which began with the same call on the same inputs, or NULL. */
struct rp_execution *rp_pairing_repeated(uint32_t segment, const struct rp_footprint *first);

/* The first call of the forward's log that did the same work on the same buffers, or log_count. */
size_t rp_pairing_twin(const struct rp_execution *execution, const struct rp_footprint *call);

/* True when the call is given what its twin in the forward was given, by value and from the
 * host. */
bool rp_pairing_same_values(const struct rp_logged *entry, const struct rp_footprint *call);

/* Hash of where a call reads: tells one forward's call from another's. */
uint64_t rp_pairing_inputs(const struct rp_footprint *call);
/* The same of where it writes. */
uint64_t rp_pairing_outputs(const struct rp_footprint *call);

#endif
