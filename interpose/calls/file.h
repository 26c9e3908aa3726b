/* SPDX-License-Identifier: Apache-2.0 */
/* A file that the job names to the driver, as it was before the driver read it. */
#ifndef RP_INTERPOSE_FILE_H
#define RP_INTERPOSE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct rp_file {
    struct stat status;
    size_t size;
    unsigned char bytes[]; /* and zeros behind them */
};

/* NULL when it is no regular file or can't be read: the driver will say so. */
struct rp_file *rp_file_read(const char *path);
/* The path still leads to the same file, which was not written since. */
bool rp_file_is_unchanged(const struct rp_file *file, const char *path);
void rp_file_release(struct rp_file *file); /* or NULL */

#endif
