/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DIGITS_HOST_H
#define DIGITS_HOST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Zeroed host memory for `count` items; the program ends where there is none. */
static inline void *host_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
        exit(1);
    }
    return memory;
}

#endif
