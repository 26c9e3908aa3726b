/* SPDX-License-Identifier: Apache-2.0 */
/* Times each decision of the layer that this is linked into: from a launch's kernel, shape and
 * arguments to what it may read and write. At the end of the process prints, to the file that
 * DECISIONS names: how many there were, and their median, 99th and 99.9th percentile and maximum in
 * nanoseconds. The decisions are made one at a time, under the core's lock. */
#include "interpose/calls/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 20 };

static double taken[MOST];
static size_t count;

void __real_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call);
void __wrap_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void __wrap_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call)
{
    double start = now_ns();
    __real_rp_launched_footprint(launch, call);
    if (count < MOST)
        taken[count++] = now_ns() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("DECISIONS");
    FILE *file = path != NULL && count > 0 ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    qsort(taken, count, sizeof(taken[0]), by_value);
    fprintf(file, "%zu %.0f %.0f %.0f %.0f\n", count, taken[count / 2], taken[count * 99 / 100],
            taken[count * 999 / 1000], taken[count - 1]);
    fclose(file);
}
