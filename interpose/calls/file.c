/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MARGIN = 64 }; /* zeros behind, so that headers can be looked at */

static bool read_all(int descriptor, struct rp_file *file)
{
    size_t done = 0;
    while (done < file->size) {
        ssize_t got = read(descriptor, file->bytes + done, file->size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static struct rp_file *read_descriptor(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    struct rp_file *file = calloc(1, sizeof *file + (size_t)status.st_size + MARGIN);
    if (!file)
        return NULL;
    file->status = status;
    file->size = (size_t)status.st_size;
    if (read_all(descriptor, file))
        return file;
    free(file);
    return NULL;
}

/* A pipe is not opened, let alone emptied: the driver's reading is the job's business. */
struct rp_file *rp_file_read(const char *path)
{
    struct stat status;
    struct rp_file *file = NULL;
    int before = errno;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        file = descriptor >= 0 ? read_descriptor(descriptor) : NULL;
        if (descriptor >= 0)
            close(descriptor);
    }
    errno = before;
    return file;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool rp_file_is_unchanged(const struct rp_file *file, const char *path)
{
    struct stat now;
    int before = errno;
    bool there = stat(path, &now) == 0;
    errno = before;
    return there && now.st_dev == file->status.st_dev &&
           now.st_ino == file->status.st_ino && now.st_size == file->status.st_size &&
           same_time(&now.st_mtim, &file->status.st_mtim) &&
           same_time(&now.st_ctim, &file->status.st_ctim);
}

void rp_file_release(struct rp_file *file)
{
    free(file);
}
