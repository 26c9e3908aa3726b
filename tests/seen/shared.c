/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two processes have: this one exports it, and another, which runs the same program and
 * is under the layer as well, writes it where this one's steps say so. */
#include "tests/seen/job.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FROM_HERE = 3, TO_HERE = 4 }; /* the other's ends of the pipes */

static int orders, answers;
static pid_t other;

static void need(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "seen_job: %s failed\n", what);
    exit(1);
}

static void start_other(void)
{
    int there[2], back[2];
    char *command[] = {(char *)(uintptr_t)"seen_job", (char *)(uintptr_t)kernels_path,
                       (char *)(uintptr_t)"other-process", (char *)(uintptr_t)"eager", NULL};
    posix_spawn_file_actions_t ends;
    need(pipe(there) == 0 && pipe(back) == 0, "pipe");
    need(posix_spawn_file_actions_init(&ends) == 0, "posix_spawn_file_actions_init");
    /* Out of the way first: the ends may have each other's numbers. */
    int in = fcntl(there[0], F_DUPFD_CLOEXEC, 10), out = fcntl(back[1], F_DUPFD_CLOEXEC, 10);
    need(posix_spawn_file_actions_adddup2(&ends, in, FROM_HERE) == 0 &&
             posix_spawn_file_actions_adddup2(&ends, out, TO_HERE) == 0,
         "posix_spawn_file_actions_adddup2");
    need(posix_spawn(&other, "/proc/self/exe", &ends, NULL, command, environ) == 0, "posix_spawn");
    posix_spawn_file_actions_destroy(&ends);
    close(in);
    close(out);
    close(there[0]);
    close(back[1]);
    orders = there[1];
    answers = back[0];
}

/* The other writes the queue's second row, and it is done when this returns. */
static void have_row_written(void)
{
    char done;
    CU(cuCtxSynchronize());
    need(write(orders, "w", 1) == 1 && read(answers, &done, 1) == 1, "the other process");
}

static void written_there(void)
{
    CUipcMemHandle handle;
    int status;
    queue = allocate(WORDS(ROWS * n));
    start_other();
    CU(cuIpcGetMemHandle(&handle, queue));
    need(write(orders, &handle, sizeof handle) == sizeof handle, "write");
    run_steps(queue_forward, have_row_written);
    close(orders);
    need(waitpid(other, &status, 0) == other && status == 0, "the other process");
}

/* What the other process does. */
static void other_process(void)
{
    CUipcMemHandle handle;
    unsigned value = 5;
    char order;
    need(read(FROM_HERE, &handle, sizeof handle) == sizeof handle, "read");
    CU(cuIpcOpenMemHandle(&queue, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    for (; read(FROM_HERE, &order, 1) == 1; value++) {
        CU(cuMemsetD32(x, value, (size_t)n));
        write_row();
        CU(cuCtxSynchronize());
        need(write(TO_HERE, "d", 1) == 1, "write");
    }
    CU(cuIpcCloseMemHandle(queue));
    exit(0); /* its results are the first one's to print */
}

const struct scenario shared_scenarios[] = {
    {"written-by-another-process", written_there},
    {"other-process", other_process},
    {NULL, NULL},
};
