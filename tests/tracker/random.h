/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for the random tests. The seed is printed; REPRISE_TEST_SEED repeats a run. */
#ifndef RP_TESTS_TRACKER_RANDOM_H
#define RP_TESTS_TRACKER_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct random {
    uint64_t state;
};

static inline struct random random_begin(const char *test)
{
    const char *given = getenv("REPRISE_TEST_SEED");
    struct timespec now;
    uint64_t seed;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given != NULL ? strtoull(given, NULL, 0)
                         : (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 20) ^
                               (uint64_t)getpid();
    printf("%s: REPRISE_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    fflush(stdout);
    return (struct random){seed};
}

/* splitmix64 */
static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 <= result < limit */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

#endif
