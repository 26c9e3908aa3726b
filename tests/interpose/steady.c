/* SPDX-License-Identifier: Apache-2.0 */
/* The steady path of a job: a call that has been made before, on memory that is known. On it the
 * layer allocates nothing and makes no system call, which the kernel is asked to watch: in its
 * strict mode, any but read and write ends the thread.
 *
 * usage: steady KERNELS, with the layer and the counter of allocations in LD_PRELOAD */
#include "tests/interpose/fake_job.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WARM_UP = 1000, CALLS = 5000 };

static struct door bare, layered;
static unsigned long (*allocations)(void);
static unsigned long allocated;
static _Atomic bool survived;

static void work(int calls)
{
    for (int i = 0; i < calls; i++) {
        fake_job_ask(&layered);
        fake_job_copy(&layered);
        fake_job_launch(&layered);
    }
}

static void *watched(void *unused)
{
    work(WARM_UP);
    unsigned long before = allocations();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
        return unused;
    work(CALLS);
    allocated = allocations() - before;
    atomic_store(&survived, true);
    syscall(SYS_exit, 0); /* the one way out that is left */
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *found = dlsym(RTLD_DEFAULT, "counted_allocations");
    if (argc != 2 || found == NULL)
        return 2;
    memcpy(&allocations, &found, sizeof(allocations));
    fake_job_doors(&bare, &layered);
    fake_job_begin(&layered, argv[1]);
    if (pthread_create(&thread, NULL, watched, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    printf("%s, %lu allocations\n", survived ? "no system call" : "a system call", allocated);
    return survived && allocated == 0 ? 0 : 1;
}
