/* SPDX-License-Identifier: Apache-2.0 */
/* Random networks with mutable state: what the job runs and what the oracle differentiates.
 * This is all that the two share. */
#ifndef RP_TESTS_SUITES_NET_H
#define RP_TESTS_SUITES_NET_H

#include <stdint.h>

enum { NET_SEGMENTS = 4, NET_LAYERS = 5, NET_STATES = 6, NET_WIDEST = 8, NET_ROWS = 5 };

enum net_kind {
    NET_SCALE, NET_DENSE, NET_BEND, NET_CURVE, NET_SHIFT,
    NET_RUNNING, NET_QUEUE, NET_QUEUE_BY_INDEX, NET_COUNTER, NET_DROPOUT
};

struct net_layer {
    enum net_kind kind;
    int params; /* offset into the parameters, for SCALE, DENSE and SHIFT */
    int state;  /* which state, from RUNNING on; layers may share one */
};

struct net {
    uint32_t seed;
    const char *condition; /* "functional", "running", ..., "mixed" */
    int width, steps, rows;
    int segments, layers[NET_SEGMENTS];
    struct net_layer layer[NET_SEGMENTS][NET_LAYERS];
    int params;            /* how many */
    int states;
    enum net_kind states_of[NET_STATES];
};

void net_choose(struct net *net, uint32_t seed);
/* Doubles of a state: RUNNING and COUNTER one, DROPOUT two, queues rows and perhaps an index. */
int net_state_size(const struct net *net, int state);

#endif
