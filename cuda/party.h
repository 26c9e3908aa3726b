/* SPDX-License-Identifier: Apache-2.0 */
/* The party of a replay: the streams that it uses, and who waits for whom.
 *
 * One of them leads: in it bytes are rewound and reinstated. The others join before their first
 * call of the replay, and wait for what the leader holds by then. A stream outside the replay that
 * is to write rewound bytes waits for all of them, and is one of the party from then on.
 *
 * Nobody waits for anybody where RP_SWITCH_ORDER is off. Not thread-safe; the owner holds one lock
 * around all calls. */
#ifndef RP_CUDA_PARTY_H
#define RP_CUDA_PARTY_H

#include "cuda/order.h"

#include <stddef.h>

/* Alone with its leader at first. */
struct rp_party {
    struct rp_order *order;
    const struct rp_driver *driver;
    rp_stream leader;
    rp_stream *others;
    size_t count, capacity;
};

void rp_party_release(struct rp_party *party);

/* The leader waits for whoever still reads or writes anywhere, in any stream. */
enum rp_status rp_party_gather(const struct rp_party *party);
/* The others wait for what the leader holds now. */
enum rp_status rp_party_let_in(const struct rp_party *party);

enum rp_status rp_party_join(struct rp_party *party, rp_stream stream);
/* Joins, and waits for all of the party. */
enum rp_status rp_party_join_last(struct rp_party *party, rp_stream stream);
/* `stream` is about to be destroyed, and was retired: another of the party leads where it did, or
 * with none that does not capture `heir`. `holds`: what leads then must wait for what the destroyed
 * one held; fails where that can't be had. */
enum rp_status rp_party_leave(struct rp_party *party, rp_stream stream, rp_stream heir,
                              bool holds);

#endif
