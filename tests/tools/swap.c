/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: before $SWAP_PATH is opened for the second time, the file $SWAP_BY takes its place, or
 * it goes where there is none of that name. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *path)
{
    static int times;
    const char *wanted = getenv("SWAP_PATH"), *by = getenv("SWAP_BY");

    if (wanted && by && strcmp(path, wanted) == 0 && ++times == 2 && rename(by, wanted) != 0)
        unlink(wanted);
}

/* In a build with large files it is open64. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    int (*real)(const char *path, int flags, ...);
    va_list more;

    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    *(void **)&real = dlsym(RTLD_NEXT, "open");
    note(path);
    return real(path, flags, mode);
}
