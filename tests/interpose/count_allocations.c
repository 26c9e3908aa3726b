/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: counts what the calling thread allocates. */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static _Thread_local unsigned long allocations;

#define EXPORT __attribute__((visibility("default")))
EXPORT unsigned long counted_allocations(void);
EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *old, size_t bytes);

unsigned long counted_allocations(void)
{
    return allocations;
}

void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations++;
    return __libc_realloc(old, bytes);
}
