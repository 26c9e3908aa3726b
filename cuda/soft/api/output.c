/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/output.h"

#include "cuda/soft/api/soft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool expand(const char *pattern, char *path, size_t size)
{
    const char *place = strstr(pattern, "%p");
    int length = place == NULL ? snprintf(path, size, "%s", pattern)
                               : snprintf(path, size, "%.*s%d%s", (int)(place - pattern), pattern,
                                          (int)getpid(), place + 2);
    return length >= 0 && (size_t)length < size;
}

bool soft_output_open(const char *variable, int *file)
{
    const char *pattern = secure_getenv(variable);
    char path[4096];

    *file = -1;
    if (pattern == NULL || *pattern == '\0')
        return true;
    if (strcmp(pattern, "1") == 0)
        *file = STDERR_FILENO;
    else if (!expand(pattern, path, sizeof path))
        errno = ENAMETOOLONG;
    else
        *file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (*file >= 0)
        return true;
    soft_say("%s=%s: %s", variable, pattern, strerror(errno));
    return false;
}

bool soft_output_write(int file, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t got = write(file, at, count);
        if (got < 0 && errno != EINTR)
            return false;
        at += got > 0 ? got : 0;
        count -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

void soft_output_line(int file, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (file == STDERR_FILENO) {
        soft_say("%s", line);
        return;
    }
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    line[used++] = '\n';
    if (!soft_output_write(file, line, used))
        soft_say("%s", line);
}
