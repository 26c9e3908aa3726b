/* SPDX-License-Identifier: Apache-2.0 */
/* Matching: which call of its forward a replay's call repeats.
 *
 * Calls of one kind are told apart by what they are given by value, then by what they see, and
 * where several see the same, by where they write; of what fits alike, the next in order is taken.
 * What a call sees is no proof of everything: state is put back by the layer itself, as the first
 * call found it. So a replay that leaves calls out may have meant a later one, which works on the
 * same buffers. Which it was is looked at when the replay is over and all of it is known; what
 * can't be told then is reported. All functions want the core's lock. */
#ifndef RP_INTERPOSE_MATCH_H
#define RP_INTERPOSE_MATCH_H

#include "interpose/run/segment.h"

/* The entry of the log that the call repeats, going by order and what it is given: the next one of
 * its kind, or one that was left out before. log_count when it repeats none. */
size_t rp_match_by_order(const struct rp_scope *scope, const struct rp_footprint *call);
/* The same by what it sees, now that what it reads stands there, for one that repeats some call. */
size_t rp_match_by_sight(const struct rp_scope *scope, const struct rp_footprint *call);

/* It was matched (call->entry), and has its output elsewhere than its twin: where another of its
 * kind had its own, this may mean that other. Or memory is used again. */
void rp_match_doubt(struct rp_scope *scope, const struct rp_footprint *call);

/* The replay is over, and nothing is reinstated yet: tells what is left of such doubts. Where calls
 * were left out, and any of them may as well be one of those that came, it is reported. */
void rp_match_close(struct rp_scope *scope);

#endif
