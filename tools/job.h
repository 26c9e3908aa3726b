/* SPDX-License-Identifier: Apache-2.0 */
/* Running the job as a child that can't tell it is one: streams, terminal, signals, masks and
 * exit status are its own. */
#ifndef RP_TOOLS_JOB_H
#define RP_TOOLS_JOB_H

#include <stdbool.h>
#include <sys/types.h>

struct rp_job {
    pid_t pid;
    int status; /* as waitpid gives it */
};

/* Starts `path` with `argv` in the present environment and waits for its end, passing on the
 * signals that are sent to us meanwhile. Returns 0, or the errno of what failed: then no
 * job ran. */
int rp_job_run(char *path, char **argv, struct rp_job *job);

/* Whether it ended by itself. A shell says by its exit code that a signal ended what it ran. */
bool rp_job_ended(const struct rp_job *job);

/* The exit code of a job that ended by itself. Where a signal ended it, ends this process
 * by the same signal, without a second core file. */
int rp_job_exit_code(const struct rp_job *job);

#endif
