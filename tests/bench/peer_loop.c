/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of calls for uftrace: built with -pg, as it wants it. Prints the seconds it took.
 *
 * usage: peer_loop CALLS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) __attribute__((no_instrument_function));
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static int call(const int *at)
{
    __asm__ volatile("" : : "r"(at) : "memory");
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    int place = 0;
    double start = seconds();

    for (unsigned long i = 0; i < calls; i++)
        call(&place);
    printf("%.6f\n", seconds() - start);
    return 0;
}
