/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a command writes, one at a time: whole or not at all. It is written beside its place
 * and renamed at the end, and an interrupt leaves nothing; "-" is standard output. Symbolic links
 * stay: their target is what is written. What is there and no regular file (a device, a named pipe)
 * is never replaced: it is written to. */
#ifndef RP_TOOLS_FILE_H
#define RP_TOOLS_FILE_H

#include "tools/command.h"

#include <limits.h>
#include <stdio.h>

struct rp_file {
    FILE *stream;
    char path[PATH_MAX];
    char draft[PATH_MAX]; /* "" where there is none: standard output, devices, pipes */
    int error;            /* errno of the first failure */
};

/* RP_EXIT_USAGE after a message when a file is there and `force` is false, or where none can be. */
int rp_file_check(const char *command, const char *path, bool force);
/* Checks as above. Makes parent folders. Returns RP_EXIT_OK, or RP_EXIT_USAGE after a message when
 * the file is there or can't be created. */
int rp_file_create(const char *command, const char *path, bool force, struct rp_file *file);
/* False once anything was lost; later writes do nothing then. */
bool rp_file_write(struct rp_file *file, const void *bytes, size_t count);
/* Puts the file in its place when `good`, else removes the draft. False after a message when
 * the text could not be written; a pipe that was closed early is no error. */
bool rp_file_finish(struct rp_file *file, bool good);

#endif
