/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a command writes: whole or not at all. It is written beside its place and renamed
 * at the end; "-" is standard output. */
#ifndef RP_TOOLS_FILE_H
#define RP_TOOLS_FILE_H

#include "tools/command.h"

#include <limits.h>
#include <stdio.h>

struct rp_file {
    FILE *stream;
    char path[PATH_MAX];
    char draft[PATH_MAX]; /* "" for standard output */
    int error;            /* errno of the first failure */
};

/* Makes parent folders. Returns RP_EXIT_OK; RP_EXIT_USAGE after a message when the file is there
 * and `force` is false, or can't be created. */
int rp_file_create(const char *command, const char *path, bool force, struct rp_file *file);
/* False once anything was lost; later writes do nothing then. */
bool rp_file_write(struct rp_file *file, const void *bytes, size_t count);
/* Puts the file in its place when `good`, else removes the draft. False after a message when
 * the text could not be written; a pipe that was closed early is no error. */
bool rp_file_finish(struct rp_file *file, bool good);

#endif
