/* SPDX-License-Identifier: Apache-2.0 */
/* What does a driver call cost a job? Three calls of the fake driver, made directly and through
 * what is preloaded, in turns: a question, a copy, and the launch of a kernel whose accesses are
 * proved. Prints a line a call, of medians: name, bare, through, in nanoseconds.
 *
 * usage: call_cost KERNELS, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 101, CALLS = 2000 };

/* Of the thread's own work: the machine may have others. What the trace's writer does on another
 * thread is not in it; a job that outruns that thread is slowed, which the trace counts. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double one_round(void (*call)(const struct door *), const struct door *door)
{
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        call(door);
    return (now_ns() - start) / CALLS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(values[0]), by_value);
    return values[ROUNDS / 2];
}

static void measure(const char *name, void (*call)(const struct door *), const struct door *bare,
                    const struct door *layered)
{
    static double direct[ROUNDS], through[ROUNDS];
    one_round(call, layered);
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = one_round(call, bare);
        through[i] = one_round(call, layered);
    }
    printf("%s %.1f %.1f\n", name, median(direct), median(through));
}

int main(int argc, char **argv)
{
    static struct door bare, layered;
    if (argc != 2)
        return 2;
    fake_job_doors(&bare, &layered);
    fake_job_begin(&layered, argv[1]);
    measure("cuCtxGetCurrent", fake_job_ask, &bare, &layered);
    measure("cuMemcpyHtoDAsync", fake_job_copy, &bare, &layered);
    measure("cuLaunchKernel", fake_job_launch, &bare, &layered);
    return 0;
}
