/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that all want memory at one time, again and again, and soon give it back: prints the
 * most bytes that they had together.
 * Each goes on until it had some ROUNDS times.
 *
 * usage: rush_job KERNELS THREADS BYTES ROUNDS */
#include "tests/laws/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_THREADS = 16 };

static size_t bytes;
static int rounds;
static _Atomic size_t held, most;

static void note_held(size_t now)
{
    size_t known = atomic_load(&most);
    while (now > known && !atomic_compare_exchange_weak(&most, &known, now))
        ;
}

static void *rush(void *unused)
{
    CU(CtxSetCurrent, context);
    for (int had = 0; had < rounds;) {
        CUdeviceptr address;
        if (driver.MemAlloc(&address, bytes) != CUDA_SUCCESS)
            continue;
        had++;
        note_held(atomic_fetch_add(&held, bytes) + bytes);
        usleep(20); /* another one may have some too by now */
        atomic_fetch_sub(&held, bytes);
        CU(MemFree, address);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    unsigned count = argc == 5 ? (unsigned)atoi(argv[2]) : 0;
    if (!count || count > MOST_THREADS)
        return 2;
    kernels = argv[1];
    bytes = (size_t)atol(argv[3]);
    rounds = atoi(argv[4]);
    open_driver();
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, rush, NULL);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%zu\n", atomic_load(&most));
    return 0;
}
