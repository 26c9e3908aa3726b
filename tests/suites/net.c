/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites/net.h"

#include <stdbool.h>
#include <string.h>

static uint64_t random_state;

static int below(int limit)
{
    /* splitmix64 */
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (int)((z ^ (z >> 31)) % (uint64_t)limit);
}

static const struct condition {
    const char *name;
    int count;
    enum net_kind kinds[5];
} conditions[] = {
    {"functional", 0, {0}},
    {"running", 1, {NET_RUNNING}},
    {"queue", 1, {NET_QUEUE}},
    {"queue-by-index", 1, {NET_QUEUE_BY_INDEX}},
    {"counter", 1, {NET_COUNTER}},
    {"generator", 1, {NET_DROPOUT}},
    {"in-place", 1, {NET_SHIFT}},
    {"mixed", 5, {NET_RUNNING, NET_QUEUE, NET_COUNTER, NET_DROPOUT, NET_SHIFT}},
};

static void add_params(struct net *net, struct net_layer *layer)
{
    layer->params = net->params;
    if (layer->kind == NET_SCALE || layer->kind == NET_SHIFT)
        net->params += net->width;
    if (layer->kind == NET_DENSE)
        net->params += net->width * net->width;
}

/* One that another layer has already, or a new one. */
static void choose_state(struct net *net, struct net_layer *layer)
{
    for (int i = 0; i < net->states; i++)
        if (net->states_of[i] == layer->kind && (net->states == NET_STATES || below(2))) {
            layer->state = i;
            return;
        }
    if (net->states == NET_STATES) {
        layer->kind = NET_BEND;
        return;
    }
    layer->state = net->states;
    net->states_of[net->states++] = layer->kind;
}

static void choose_layer(struct net *net, const struct condition *condition, int segment, int at,
                         bool stateful)
{
    static const enum net_kind pure[] = {NET_SCALE, NET_DENSE, NET_BEND, NET_CURVE};
    struct net_layer *layer = &net->layer[segment][at];
    layer->kind = pure[below(4)];
    /* In place on what the segment was given is state; further in, it is nobody's. */
    int choices = condition->count > 1 && at > 0 ? condition->count - 1 : condition->count;
    if (stateful && choices)
        layer->kind = condition->kinds[below(choices)];
    if (layer->kind >= NET_RUNNING)
        choose_state(net, layer);
    add_params(net, layer);
}

void net_choose(struct net *net, uint32_t seed)
{
    memset(net, 0, sizeof *net);
    random_state = seed;
    const struct condition *condition =
        &conditions[seed % (sizeof conditions / sizeof *conditions)];
    net->seed = seed;
    net->condition = condition->name;
    net->width = 2 + below(NET_WIDEST - 1);
    net->rows = 2 + below(NET_ROWS - 1);
    net->steps = 2 + below(3);
    net->segments = 1 + below(NET_SEGMENTS);
    for (int s = 0; s < net->segments; s++) {
        net->layers[s] = 2 + below(NET_LAYERS - 1);
        int sure = below(net->layers[s] - 1); /* each segment has what its condition is about */
        if (condition->kinds[0] == NET_SHIFT)
            sure = 0; /* in place on what the segment was given */
        for (int l = 0; l < net->layers[s]; l++)
            choose_layer(net, condition, s, l, l == sure || below(3) == 0);
    }
    /* Something to differentiate by. */
    net->layer[0][net->layers[0] - 1].kind = NET_SCALE;
    net->params = 0;
    for (int s = 0; s < net->segments; s++)
        for (int l = 0; l < net->layers[s]; l++)
            add_params(net, &net->layer[s][l]);
}

int net_state_size(const struct net *net, int state)
{
    switch (net->states_of[state]) {
    case NET_QUEUE: return net->rows * net->width;
    case NET_QUEUE_BY_INDEX: return net->rows * net->width + 1;
    case NET_DROPOUT: return 2;
    case NET_SCALE: case NET_DENSE: case NET_BEND: case NET_CURVE: case NET_SHIFT:
    case NET_RUNNING: case NET_COUNTER: break;
    }
    return 1;
}
