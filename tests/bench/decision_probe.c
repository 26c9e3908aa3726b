/* SPDX-License-Identifier: Apache-2.0 */
/* Times each decision of the layer that this is linked into: from a launch's kernel, shape and
 * arguments to what it may read and write. At the end of the process writes, to the file that
 * DECISIONS names, a line for each in order:
 *
 *     alike|new NANOSECONDS WHOLE AGAIN STRETCHES
 *
 * `alike` ones were decided as one before them was, with whatever pointers. WHOLE begins where the
 * launch's kernel is looked up and its arguments are copied. AGAIN is what the very
 * same decision takes when it is made once more, at once: the least of TIMES, with everything in
 * the processor's caches. What the clock itself takes is taken off. The decisions are made one at a
 * time, under the core's lock. */
#include "interpose/calls/launch.h"
#include "interpose/run/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 20, CLOCKS = 1001, TIMES = 10 };

static struct decision {
    double ns, whole, again;
    bool is_alike;
    size_t stretches;
} taken[MOST];
static size_t count;

static double start_of_whole;

const struct rp_kernel *__real_rp_kernel_find(uint64_t function);
const struct rp_kernel *__wrap_rp_kernel_find(uint64_t function);
void __real_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call);
void __wrap_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

const struct rp_kernel *__wrap_rp_kernel_find(uint64_t function)
{
    start_of_whole = now_ns();
    return __real_rp_kernel_find(function);
}

static double decide(const struct rp_launched *launch, struct rp_footprint *call)
{
    double start = now_ns();
    __real_rp_launched_footprint(launch, call);
    return now_ns() - start;
}

static double decide_again(const struct rp_launched *launch, struct rp_footprint *call)
{
    struct rp_figures figures = rp_core.figures;
    double least = 1e9;
    for (int i = 0; i < TIMES; i++) {
        rp_footprint_begin(call, call->name, call->stream);
        double ns = decide(launch, call);
        least = ns < least ? ns : least;
    }
    rp_core.figures = figures;
    return least;
}

void __wrap_rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call)
{
    uint64_t alike = rp_core.figures.launches_remembered;
    double ns = decide(launch, call), whole = now_ns() - start_of_whole;
    if (count == MOST)
        return;
    struct decision *at = &taken[count++];
    at->ns = ns;
    at->whole = whole;
    at->is_alike = rp_core.figures.launches_remembered > alike;
    at->stretches = call->count;
    at->again = decide_again(launch, call);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double clock_ns(void)
{
    static double sample[CLOCKS];
    for (int i = 0; i < CLOCKS; i++) {
        double start = now_ns();
        sample[i] = now_ns() - start;
    }
    qsort(sample, CLOCKS, sizeof(sample[0]), by_value);
    return sample[CLOCKS / 2];
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("DECISIONS");
    FILE *file = path != NULL && count > 0 ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    double clock = clock_ns();
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s %.0f %.0f %.0f %zu\n", taken[i].is_alike ? "alike" : "new",
                taken[i].ns - clock, taken[i].whole - 3 * clock, taken[i].again - clock,
                taken[i].stretches);
    fclose(file);
}
