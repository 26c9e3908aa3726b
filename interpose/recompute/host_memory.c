/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, KIB = 1024 };

static const char *path(void)
{
#ifdef RP_TEST_SWITCHES
    const char *other = secure_getenv("REPRISE_TEST_MEMINFO");
    if (other)
        return other;
#endif
    return "/proc/meminfo";
}

static ssize_t read_start(char *text, size_t most)
{
    int descriptor = open(path(), O_RDONLY | O_CLOEXEC);
    ssize_t got = descriptor < 0 ? -1 : read(descriptor, text, most);
    if (descriptor >= 0)
        close(descriptor);
    return got;
}

/* UINT64_MAX where nobody tells. */
static uint64_t available(void)
{
    static const char name[] = "MemAvailable:";
    char text[MOST];
    int before = errno;
    ssize_t got = read_start(text, sizeof text - 1);
    text[got < 0 ? 0 : got] = 0;
    const char *line = strstr(text, name);
    uint64_t bytes = line ? strtoull(line + strlen(name), NULL, 10) * KIB : UINT64_MAX;
    errno = before;
    return bytes;
}

uint64_t rp_host_memory_share(uint64_t pinned)
{
    uint64_t left = available();
    return left == UINT64_MAX ? left : (left + pinned) / 2;
}
