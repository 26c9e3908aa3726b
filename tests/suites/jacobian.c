/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of the derivatives: forward-mode differentiation of the same networks with dual
 * numbers, in plain C. It shares nothing with the job but what a network is.
 *
 * usage: jacobian < LINES-OF-DERIVE
 *
 * Takes each step's parameters from the job, differentiates the loss by every one of them, and
 * prints a line a step: network, step, the largest absolute difference from the job's gradients,
 * the largest one relative to the gradient (where it is above 1), and how many there are. */
#include "tests/suites/net.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMS = NET_SEGMENTS * NET_LAYERS * NET_WIDEST * NET_WIDEST,
       MOST_STATE = NET_ROWS * NET_WIDEST + 1, MOST_LINE = 1 << 17 };

/* A value and its derivative along one parameter. */
struct dual {
    double value, slope;
};

static struct net net;
static double states[NET_STATES][MOST_STATE]; /* plain: nothing is differentiated through them */
static double params[MOST_PARAMS], job_gradients[MOST_PARAMS];

static uint32_t scramble(uint32_t h)
{
    h ^= h >> 16;
    h *= 2146121005u;
    h ^= h >> 15;
    h *= 2221713035u;
    return h ^ (h >> 16);
}

static double number(uint32_t seed, uint32_t index)
{
    return (double)(int32_t)scramble(scramble(seed) + index) * 0x1p-31;
}

/* ---- dual numbers -------------------------------------------------------------------------- */

static struct dual plus(struct dual a, struct dual b)
{
    return (struct dual){a.value + b.value, a.slope + b.slope};
}

static struct dual times(struct dual a, struct dual b)
{
    return (struct dual){a.value * b.value, a.slope * b.value + a.value * b.slope};
}

static struct dual over(struct dual a, struct dual b)
{
    double quotient = a.value / b.value;
    return (struct dual){quotient, (a.slope - quotient * b.slope) / b.value};
}

static struct dual root(struct dual a)
{
    double value = sqrt(a.value);
    return (struct dual){value, a.slope / (2 * value)};
}

static struct dual constant(double value)
{
    return (struct dual){value, 0};
}

/* ---- layers -------------------------------------------------------------------------------- */

static void apply_state(const struct net_layer *layer, double *state, int step, struct dual *x)
{
    int n = net.width, at = 0;
    double sum = 0, old = state[0];
    if (layer->kind == NET_QUEUE)
        at = step % net.rows * n;
    if (layer->kind == NET_QUEUE_BY_INDEX)
        at = (int)state[net.rows * n] * n;
    for (int i = 0; i < n; i++) {
        double factor = 1, stored = x[i].value;
        switch (layer->kind) {
        case NET_RUNNING: factor = 1 / (1 + old * old); break;
        case NET_COUNTER: factor = 1 + 1 / (2 + old); break;
        case NET_QUEUE: case NET_QUEUE_BY_INDEX: factor = 1 + state[at + i] / 4; break;
        case NET_DROPOUT: {
            uint32_t drawn = scramble(scramble((uint32_t)old) + (uint32_t)state[1] + (uint32_t)i);
            factor = drawn % 4 ? 1.25 : 0;
            break;
        }
        case NET_SCALE: case NET_DENSE: case NET_BEND: case NET_CURVE: case NET_SHIFT: break;
        }
        sum += stored;
        x[i] = times(x[i], constant(factor));
        if (layer->kind == NET_QUEUE || layer->kind == NET_QUEUE_BY_INDEX)
            state[at + i] = stored;
    }
    if (layer->kind == NET_RUNNING)
        state[0] = old * 0.75 + sum / n;
    if (layer->kind == NET_COUNTER)
        state[0] = old + 1;
    if (layer->kind == NET_DROPOUT)
        state[1] += n;
    if (layer->kind == NET_QUEUE_BY_INDEX)
        state[net.rows * n] = (at / n + 1) % net.rows;
}

static void apply_dense(const struct dual *w, struct dual *x)
{
    struct dual y[NET_WIDEST];
    for (int i = 0; i < net.width; i++) {
        y[i] = constant(0);
        for (int j = 0; j < net.width; j++)
            y[i] = plus(y[i], times(w[i * net.width + j], x[j]));
        y[i] = over(y[i], constant(net.width));
    }
    memcpy(x, y, (size_t)net.width * sizeof *x);
}

static void apply(const struct net_layer *layer, const struct dual *w, int step,
                  double (*state)[MOST_STATE], struct dual *x)
{
    const struct dual one = {1, 0};
    w += layer->params;
    if (layer->kind == NET_DENSE)
        apply_dense(w, x);
    else if (layer->kind >= NET_RUNNING)
        apply_state(layer, state[layer->state], step, x);
    for (int i = 0; i < net.width; i++) {
        struct dual square = plus(one, times(x[i], x[i]));
        if (layer->kind == NET_SCALE)
            x[i] = times(w[i], x[i]);
        else if (layer->kind == NET_SHIFT)
            x[i] = plus(x[i], w[i]);
        else if (layer->kind == NET_BEND)
            x[i] = over(x[i], root(square));
        else if (layer->kind == NET_CURVE)
            x[i] = plus(x[i], over(times(constant(0.25), x[i]), square));
    }
}

/* The loss and its derivative along parameter `along`; `state` moves on. */
static struct dual loss(int step, int along, double (*state)[MOST_STATE])
{
    static struct dual w[MOST_PARAMS];
    struct dual x[NET_WIDEST], sum = constant(0);
    uint32_t seed = net.seed * 64u + (uint32_t)step * 2u;
    for (int i = 0; i < net.params; i++)
        w[i] = (struct dual){params[i], i == along};
    for (int i = 0; i < net.width; i++)
        x[i] = constant(number(seed, (uint32_t)i));
    for (int s = 0; s < net.segments; s++)
        for (int l = 0; l < net.layers[s]; l++)
            apply(&net.layer[s][l], w, step, state, x);
    for (int i = 0; i < net.width; i++)
        sum = plus(sum, times(x[i], constant(number(seed + 1, (uint32_t)i))));
    return sum;
}

/* ---- the job's lines ----------------------------------------------------------------------- */

static void begin_states(void)
{
    memset(states, 0, sizeof states);
    for (int s = 0; s < net.states; s++) {
        if (net.states_of[s] == NET_DROPOUT)
            states[s][0] = net.seed % 1000u;
        if (net.states_of[s] == NET_QUEUE || net.states_of[s] == NET_QUEUE_BY_INDEX)
            for (int i = 0; i < net.rows * net.width; i++)
                states[s][i] = number(net.seed + 7000u + (uint32_t)s, (uint32_t)i);
    }
}

static double from_bits(const char *hex)
{
    uint64_t bits = strtoull(hex, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The numbers behind the words that begin with `letter`. */
static int read_doubles(const char *line, char letter, double *out)
{
    int count = 0;
    for (const char *at = line; (at = strchr(at, ' ')) && count < MOST_PARAMS; at++)
        if (at[1] == letter)
            out[count++] = from_bits(at + 2);
    return count;
}

static void compare(const char *line, uint32_t seed, int step)
{
    double absolute = 0, relative = 0;
    static double before[NET_STATES][MOST_STATE];
    if (step == 0) {
        net_choose(&net, seed);
        begin_states();
    }
    int count = read_doubles(line, 'g', job_gradients);
    if (read_doubles(line, 'w', params) != net.params || count != net.params) {
        printf("d%u %d broken\n", seed, step);
        return;
    }
    memcpy(before, states, sizeof states);
    for (int i = 0; i < net.params; i++) {
        memcpy(states, before, sizeof states);
        double gradient = loss(step, i, states).slope;
        double off = fabs(gradient - job_gradients[i]);
        double size = fabs(gradient) > 1 ? fabs(gradient) : 1;
        absolute = off <= absolute ? absolute : off; /* a NaN stays */
        relative = off / size <= relative ? relative : off / size;
    }
    printf("d%u %d %.3e %.3e %d\n", seed, step, absolute, relative, net.params);
}

int main(void)
{
    char *line = malloc(MOST_LINE);
    unsigned seed;
    int step;
    while (line && fgets(line, MOST_LINE, stdin))
        if (sscanf(line, "d%u %d", &seed, &step) == 2)
            compare(line, seed, step);
    free(line);
    return 0;
}
