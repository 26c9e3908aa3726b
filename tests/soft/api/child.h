/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that run in a process of their own, because the device reads its environment once.
 *
 * A test's main() hands its arguments to child_main first: when the test has started itself
 * again to be one of `programs`, that runs it and the process ends with its answer. */
#ifndef RP_TESTS_SOFT_API_CHILD_H
#define RP_TESTS_SOFT_API_CHILD_H

#include <stddef.h>

struct child_program {
    const char *name;
    int (*main)(void); /* the exit code */
};
void child_main(int argc, char **argv, const struct child_program *programs, size_t count);

/* Runs `program` with these "NAME=value" settings, up to a NULL. What it says on standard output
 * comes back in `text`, and on standard error in `errors`; both may be NULL. Answers the exit
 * code, or 128 + the signal that ended it; a child lives half a minute at most. */
int child_run(const char *program, const char *const *settings, char *text, char *errors,
              size_t size);

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
