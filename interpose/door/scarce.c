/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/scarce.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static unsigned long long nth; /* 0: none is refused */
static bool for_good;          /* nor is anything given after it */
static ptrdiff_t lo, hi;       /* only what is asked for there counts; 0, 0: all does */
static int log_file = -1;
static _Atomic unsigned long long asked;

static void read_environment(void)
{
    const char *number = secure_getenv("REPRISE_TEST_SCARCE");
    const char *path = secure_getenv("REPRISE_TEST_SCARCE_LOG");
    char *rest = NULL;
    if (number)
        nth = strtoull(number, &rest, 10);
    for_good = rest && *rest == '+';
    if (rest && *rest == '@') {
        lo = (ptrdiff_t)strtoull(rest + 1, &rest, 16);
        hi = *rest == '-' ? (ptrdiff_t)strtoull(rest + 1, NULL, 16) : 0;
    }
    if (path)
        log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Where the object lies: the linker's. */
extern const char start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char end[] __asm__("_end") __attribute__((visibility("hidden")));

enum { MOST_PLACES = 24, OWN_PLACES = 3, PLACE_CHARACTERS = 2 + 8 };

/* Who asks, as far as that is in the object. */
static __attribute__((noinline)) int find_places(ptrdiff_t found[MOST_PLACES])
{
    void *places[MOST_PLACES];
    int count = backtrace(places, MOST_PLACES), n = 0;
    for (int i = OWN_PLACES; i < count; i++) {
        const char *place = places[i];
        if (place >= start && place < end)
            found[n++] = place - start;
    }
    return n;
}

static bool counts(const ptrdiff_t *places, int count)
{
    bool does = !hi;
    for (int i = 0; !does && i < count; i++)
        does = places[i] >= lo && places[i] < hi;
    return does;
}

static void note(const ptrdiff_t *places, int count)
{
    char line[MOST_PLACES * PLACE_CHARACTERS + 2];
    int length = 0;
    for (int i = 0; i < count; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s%tx",
                           length ? "," : "", places[i]);
    line[length++] = '\n';
    if (write(log_file, line, (size_t)length) < 0)
        log_file = -1;
}

bool rp_scarce_refuses(void)
{
    pthread_once(&read_once, read_environment);
    ptrdiff_t places[MOST_PLACES];
    int count = log_file >= 0 || hi ? find_places(places) : 0;
    if (log_file >= 0)
        note(places, count);
    if (!counts(places, count))
        return false;
    unsigned long long number = atomic_fetch_add(&asked, 1) + 1;
    return nth && (number == nth || (for_good && number > nth));
}
