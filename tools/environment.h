/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that `run` gives the job: built as a list first, so that it can be shown,
 * then set. */
#ifndef RP_TOOLS_ENVIRONMENT_H
#define RP_TOOLS_ENVIRONMENT_H

#include <stdio.h>

enum { RP_ENVIRONMENT_MOST = 24 };

struct rp_environment {
    struct {
        const char *name; /* static text */
        char *value;      /* NULL: the job must not have it */
    } items[RP_ENVIRONMENT_MOST];
    int count;
};

/* The last of several values counts. Ends the program when the host is out of memory. */
__attribute__((format(printf, 3, 4))) void rp_environment_add(struct rp_environment *list,
                                                              const char *name,
                                                              const char *format, ...);
void rp_environment_remove(struct rp_environment *list, const char *name);
/* Adds `first` before what the variable holds already, joined by `separator`. */
void rp_environment_prepend(struct rp_environment *list, const char *name, const char *first,
                            char separator);

/* As a shell would have to be told: "env -u A B=c COMMAND ARG...". */
void rp_environment_print(const struct rp_environment *list, char *const *command, FILE *out);
/* Puts the list in force for this process and its children. 0, or an errno. */
int rp_environment_apply(const struct rp_environment *list);
void rp_environment_release(struct rp_environment *list);

#endif
