/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping: where memory is short, the content of holdings is given up and their memory taken.
 *
 * Nothing is dropped before somebody needs the memory. Then the job's call waits, as it may when
 * it asks a driver for memory, until the device is done with what goes. All functions want the
 * core's lock. */
#ifndef RP_INTERPOSE_DROP_H
#define RP_INTERPOSE_DROP_H

#include "interpose/recompute/holding.h"

/* True when no call under way (run/underway.h) is of another thread's; when one that is matters to
 * the forward's being followed again. */
bool rp_drop_is_quiet(void);
bool rp_drop_meet_others(const struct rp_execution *execution);
/* Waits until none matters to anything that is dropped, without the lock meanwhile. False where
 * that takes too long (gate.h). */
bool rp_drop_let_others_pass(void);
/* True when such a call may meet the holding. */
bool rp_drop_is_under_way(const struct rp_holding *holding);

/* Adds to `spans` what somebody is about to use of the allocation: calls under way, and recipes
 * that are being followed. */
enum rp_status rp_drop_taken(rp_alloc_id id, struct rp_spans *spans);

/* For tests: as if there never were enough memory. */
void rp_drop_unless_plenty(void);
/* While it is held nothing that stands is dropped. Holds are counted. */
void rp_drop_hold(bool begins);
/* Gives at least `bytes` back to the device, or false: idle blocks of the layer's own first, then
 * what the job has given back to pools, then holdings, then what can only be moved elsewhere
 * (interpose/recompute/exile.h). */
bool rp_drop_make_room(uint64_t bytes);
/* What it takes for the budget to leave so many more, or false. */
bool rp_drop_make_room_for(uint64_t bytes);
/* Puts memory behind [lo, hi), for which something else may be dropped. */
enum rp_status rp_drop_fill(struct rp_backed *backed, uint64_t lo, uint64_t hi);
/* The host waits until the device has done all that it was given. False when it can't. */
bool rp_drop_wait(void);
/* The same by another way where that is refused; for memory of `context`'s that goes for good. */
bool rp_drop_wait_for_all(uint64_t context);
/* Streams of the layer's own in the context it works in: one that waits for others, and one for
 * copies, which no gate holds up. False when there is none. */
bool rp_drop_line(rp_stream *line);
bool rp_drop_mover(rp_stream *line);
/* The host waits until that has made its copies. False when it can't, or a gate is in the way. */
bool rp_drop_moved(void);
/* After a fork. */
void rp_drop_forget(void);

#endif
