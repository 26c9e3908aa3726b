/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* SIGTSTP and its kind are left alone: the terminal stops and continues both of us. */
static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                SIGALRM, SIGPIPE, SIGWINCH};

struct saved {
    sigset_t mask;
    struct sigaction child; /* the disposition of SIGCHLD, which may be "ignore" */
};

/* Blocks what is passed on, so that none is lost between the start and the wait. What we
 * were told to ignore (nohup) the job ignores by itself. */
static void hold_signals(sigset_t *held, struct saved *saved)
{
    struct sigaction action;

    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) {
        sigaction(forwarded[i], NULL, &action);
        if (action.sa_handler != SIG_IGN)
            sigaddset(held, forwarded[i]);
    }
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &saved->child);
    sigprocmask(SIG_BLOCK, held, &saved->mask);
}

/* What came after the job's end was meant for it, and is gone with it. */
static void release_signals(const sigset_t *held, const struct saved *saved)
{
    while (sigtimedwait(held, NULL, &(struct timespec){0}) > 0)
        continue;
    sigaction(SIGCHLD, &saved->child, NULL);
    sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

_Noreturn static void become(char *path, char **argv, const struct saved *saved, int report)
{
    sigaction(SIGCHLD, &saved->child, NULL);
    sigprocmask(SIG_SETMASK, &saved->mask, NULL);
    execv(path, argv);
    int error = errno;
    if (error == ENOEXEC) { /* a script without "#!" is the shell's */
        size_t count = 0;
        while (argv[count])
            count++;
        char **shell = calloc(count + 2, sizeof(*shell));
        if (shell) {
            shell[0] = (char[]){"sh"};
            shell[1] = path;
            for (size_t i = 1; i < count; i++)
                shell[i + 1] = argv[i];
            execv("/bin/sh", shell);
        }
    }
    ssize_t written = write(report, &error, sizeof(error));
    (void)written;
    _exit(127);
}

/* A signal that the terminal made has reached the job as well: it is of our process group.
 * Only what somebody sent to us alone is passed on. */
static bool is_sent(const siginfo_t *info)
{
    return info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
}

static int wait_for(struct rp_job *job, const sigset_t *held)
{
    for (;;) {
        siginfo_t info;
        pid_t ended = waitpid(job->pid, &job->status, WNOHANG);
        if (ended == job->pid)
            return 0;
        if (ended < 0 && errno != EINTR)
            return errno;
        int number = sigwaitinfo(held, &info);
        if (number > 0 && number != SIGCHLD && is_sent(&info) && info.si_pid != job->pid)
            kill(job->pid, number);
    }
}

int rp_job_run(char *path, char **argv, struct rp_job *job)
{
    int report[2], error = 0;
    sigset_t held;
    struct saved saved;

    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    hold_signals(&held, &saved);
    job->pid = fork();
    if (job->pid == 0)
        become(path, argv, &saved, report[1]);
    if (job->pid < 0)
        error = errno;
    close(report[1]);
    int told = 0;
    if (error == 0 && read(report[0], &told, sizeof(told)) == (ssize_t)sizeof(told))
        error = told;
    close(report[0]);
    if (job->pid > 0) {
        int lost = wait_for(job, &held);
        error = error ? error : lost;
    }
    release_signals(&held, &saved);
    return error;
}

bool rp_job_ended(const struct rp_job *job)
{
    return WIFEXITED(job->status) && WEXITSTATUS(job->status) <= 128;
}

int rp_job_exit_code(const struct rp_job *job)
{
    if (!WIFSIGNALED(job->status))
        return WEXITSTATUS(job->status);

    int number = WTERMSIG(job->status);
    sigset_t only;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number; /* a signal that could not end us */
}
