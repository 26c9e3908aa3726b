/* SPDX-License-Identifier: Apache-2.0 */
/* Calls under way: seen to, and not known to have reached the device. The core's lock is not held
 * across a driver's call, so what another thread's is going to meet is in no stream and of no
 * version yet. A replay that rewound such bytes would have that call read its past, or write over
 * it; and who writes what a replay's call is about to read must come behind that one. So in a guard
 * a call of a replay waits for those of other threads that it meets, and they for it. In recompute
 * what they meet stays where it is. All functions want the core's lock. */
#ifndef RP_INTERPOSE_UNDERWAY_H
#define RP_INTERPOSE_UNDERWAY_H

#include "interpose/run/footprint.h"

struct rp_under_way {
    const struct rp_footprint *call;
    const struct rp_thread *thread;
};

/* In modes that keep copies. */
void rp_underway_begins(const struct rp_footprint *call);
void rp_underway_ends(const struct rp_footprint *call);

size_t rp_underway_count(void);
const struct rp_under_way *rp_underway_at(size_t index);
/* The host was out of memory: there may be others. */
bool rp_underway_is_blind(void);

/* A call is about to be seen to: where it is a replay's, or may begin one, waits for those of other
 * threads that meet what is kept for the replay, or what the call meets; else for replays' calls
 * that it meets. The lock is given up meanwhile. Where one takes longer than a driver does, goes on
 * with a hazard. A graph's launch, of which `call` has no more than name, stream and in_graph,
 * waits for all calls of others' replays. */
void rp_underway_await(const struct rp_footprint *call);
/* For tests: a call of a thread that replays nothing lingers before it is handed on; and so does
 * what is made anew, between what it has put back and its launches. */
void rp_underway_linger(bool is_tracked);
/* After a fork. */
void rp_underway_forget(void);

#endif
