/* SPDX-License-Identifier: Apache-2.0 */
/* A small host generator (splitmix64): initial parameters and the order of the samples. */
#ifndef DIGITS_RANDOM_H
#define DIGITS_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Uniform in [low, high). */
static inline float random_between(struct random *random, float low, float high)
{
    float unit = (float)(random_next(random) >> 40) / 16777216.0f;
    return low + (high - low) * unit;
}

/* Fisher and Yates. The bias of the remainder is 2^-53 for our sizes. */
static inline void random_shuffle(struct random *random, int *items, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(random_next(random) % (uint64_t)(i + 1));
        int kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}

#endif
