/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include "host.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void fail(const char *path)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, path,
            strerror(errno));
    exit(1);
}

FILE *file_open(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file == NULL)
        fail(path);
    return file;
}

void file_close(FILE *file, const char *path)
{
    if (ferror(file) != 0 || fclose(file) != 0)
        fail(path);
}

char *file_read_text(const char *path)
{
    FILE *file = file_open(path, "rb");
    if (fseek(file, 0, SEEK_END) != 0)
        fail(path);
    long size = ftell(file);
    if (size < 0)
        fail(path);
    rewind(file);
    char *text = host_alloc((size_t)size + 1, 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size)
        fail(path);
    file_close(file, path);
    return text;
}

char *file_beside_program(const char *name)
{
    static const char self[] = "/proc/self/exe";
    char *path = host_alloc(PATH_MAX + strlen(name) + 1, 1);
    if (readlink(self, path, PATH_MAX) < 0)
        fail(self);
    memcpy(strrchr(path, '/') + 1, name, strlen(name) + 1);
    return path;
}
