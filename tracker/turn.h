/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: which calls are known to be over before what a stream is given next, where streams do not
 * wait for each other by themselves.
 *
 * Streams stand in lines. All of a context that wait for its legacy default stream are one line,
 * named for that stream: what that one is given comes in the order of the calls. A stream that
 * waits for nobody is a line of its own. Between lines there is the order that events and waits of
 * the host make, and no other is known: an answer "no" may mean either.
 *
 * Calls are known by their sequence numbers. Of more lines or events than there is room for
 * nothing is known. Not thread-safe. */
#ifndef RP_TRACKER_TURN_H
#define RP_TRACKER_TURN_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stdint.h>

struct rp_turns;

enum rp_status rp_turns_create(struct rp_turns **out);
void rp_turns_destroy(struct rp_turns *turns);

/* The stream is new, after call `seq`, and waits for the default stream or for nobody. Its handle
 * may be that of an older one. Streams that nobody opened wait for the default stream. */
enum rp_status rp_turns_open(struct rp_turns *turns, uint64_t stream, bool waits, uint64_t seq);
/* The stream that the line of `stream` is named for, where `legacy` is its context's. */
uint64_t rp_turns_line(const struct rp_turns *turns, uint64_t stream, uint64_t legacy);
/* True as long as nobody has opened a stream that waits for nobody. */
bool rp_turns_are_plain(const struct rp_turns *turns);
/* The line is given call `seq`. */
void rp_turns_take(struct rp_turns *turns, uint64_t line, uint64_t seq);

/* ---- what makes order: `line` and the calls up to `seq` that it was given --------------- */

/* The event is recorded behind them. */
void rp_turns_record(struct rp_turns *turns, uint64_t event, uint64_t line, uint64_t seq);
/* What was known of the event holds no more. */
void rp_turns_forget(struct rp_turns *turns, uint64_t event);
void rp_turns_forget_events(struct rp_turns *turns); /* of all */
/* What the line is given next comes after the event. */
void rp_turns_wait(struct rp_turns *turns, uint64_t line, uint64_t event);
/* The host has seen that they are over, respectively that all before the event is. */
void rp_turns_settle(struct rp_turns *turns, uint64_t line, uint64_t seq);
void rp_turns_settle_all(struct rp_turns *turns, bool (*is)(uint64_t line, uint64_t asked),
                         uint64_t asked, uint64_t seq); /* the lines for which that is true */
void rp_turns_settle_event(struct rp_turns *turns, uint64_t event);

/* True when what `line` is given next is known to come after call `seq` of the line `other`. */
bool rp_turns_after(const struct rp_turns *turns, uint64_t line, uint64_t other, uint64_t seq);

#endif
