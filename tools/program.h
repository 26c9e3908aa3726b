/* SPDX-License-Identifier: Apache-2.0 */
/* The job's program: found as a shell would find it, and looked at before it starts, because
 * the layer only gets into dynamically linked programs that run with the user's own rights. */
#ifndef RP_TOOLS_PROGRAM_H
#define RP_TOOLS_PROGRAM_H

#include <limits.h>
#include <stddef.h>

/* Fills `path`. Returns 0, RP_EXIT_NOT_FOUND or RP_EXIT_CANNOT_RUN, with errno set. */
int rp_program_find(const char *name, char path[PATH_MAX]);

/* Follows scripts to their interpreter. Returns 0, or RP_EXIT_RUN with the reason, one
 * line, in `message`, when the layer could not be preloaded. A file that can't be read is
 * given the benefit of the doubt: the kernel may still run it. */
int rp_program_inspect(const char *path, char *message, size_t size);

#endif
