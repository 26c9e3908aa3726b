/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_input.h"

#include "tracker/array.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A pipe that has a name in a folder; not one that a shell has opened for us, which shows as
 * /dev/fd/N: somebody writes to that. */
static bool is_named_pipe(int fd)
{
    struct stat info;
    struct statfs place;

    return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && fstatfs(fd, &place) == 0 &&
           place.f_type != PIPEFS_MAGIC;
}

/* Without waiting for the other end of a pipe; what is read is waited for. */
static int open_at_once(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

bool rp_input_open(struct rp_trace_input *input, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;

    *input = (struct rp_trace_input){.is_stdin = is_stdin};
    input->fd = is_stdin ? STDIN_FILENO : open_at_once(path);
    input->error = input->fd < 0 ? errno : 0;
    input->is_named_pipe = !is_stdin && input->fd >= 0 && is_named_pipe(input->fd);
    return input->fd >= 0 && !input->is_named_pipe;
}

void rp_input_release(struct rp_trace_input *input)
{
    if (input->fd >= 0 && !input->is_stdin)
        close(input->fd);
    free(input->data);
    input->fd = -1;
    input->data = NULL;
}

size_t rp_input_want(struct rp_trace_input *input, size_t bytes)
{
    size_t have = input->end - input->begin;

    if (have >= bytes || input->eof)
        return have;
    if (input->begin > 0) {
        memmove(input->data, input->data + input->begin, have);
        input->begin = 0;
        input->end = have;
    }
    uint8_t *data = rp_array_reserve(input->data, &input->capacity, bytes + RP_INPUT_READ_BYTES, 1);
    if (data == NULL) {
        input->error = ENOMEM;
        input->eof = true;
        return have;
    }
    input->data = data;
    while (input->end < bytes && !input->eof) {
        ssize_t n = read(input->fd, data + input->end, input->capacity - input->end);
        if (n > 0) {
            input->end += (size_t)n;
        } else if (n == 0 && input->grows) {
            break;
        } else if (n == 0 || errno != EINTR) {
            input->error = n < 0 ? errno : 0;
            input->eof = true;
        }
    }
    return input->end;
}
