/* SPDX-License-Identifier: Apache-2.0 */
/* What is to happen in a process of its own. */
#ifndef RP_TESTS_TRACKER_TRACE_CHILD_H
#define RP_TESTS_TRACKER_TRACE_CHILD_H

#include "tests/tracker/trace_check.h"

#include <sys/wait.h>
#include <unistd.h>

/* Runs `body` in a child process; the child reports by its exit status. */
static inline int in_child(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

#define CHILD_ASSERT(condition)                                                                  \
    do {                                                                                         \
        if (!(condition))                                                                        \
            _exit(__LINE__ % 250 + 1);                                                           \
    } while (0)

#endif
