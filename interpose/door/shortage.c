/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/shortage.h"

#include "interpose/door/scarce.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

_Thread_local bool rp_shortage_met;
static _Atomic uint64_t shortages;

uint64_t rp_shortages(void)
{
    return atomic_load_explicit(&shortages, memory_order_relaxed);
}

static bool refused_on_purpose(void)
{
    if (!rp_scarce_refuses())
        return false;
    errno = ENOMEM;
    return true;
}

/* What is asked of a file may be refused for other reasons. */
static void note(void)
{
    if (errno != ENOMEM)
        return;
    rp_shortage_met = true;
    atomic_fetch_add_explicit(&shortages, 1, memory_order_relaxed);
}

#define WRAP(type, name, failure, parameters, arguments)                                          \
    type __real_##name parameters;                                                                \
    type __wrap_##name parameters;                                                                \
    type __wrap_##name parameters                                                                 \
    {                                                                                             \
        type given = refused_on_purpose() ? failure : __real_##name arguments;                    \
        if (given == failure)                                                                     \
            note();                                                                               \
        return given;                                                                             \
    }
WRAP(void *, malloc, NULL, (size_t bytes), (bytes))
WRAP(void *, calloc, NULL, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, NULL, (void *old, size_t bytes), (old, bytes))
WRAP(void *, aligned_alloc, NULL, (size_t alignment, size_t bytes), (alignment, bytes))
WRAP(char *, strdup, NULL, (const char *text), (text))
WRAP(char *, strndup, NULL, (const char *text, size_t most), (text, most))
WRAP(void *, mmap, MAP_FAILED,
     (void *at, size_t bytes, int protection, int flags, int file, off_t offset),
     (at, bytes, protection, flags, file, offset))
