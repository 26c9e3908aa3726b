/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's parameters say that a launch can be compared by: word for word, and of each word
 * what the kernel may load. The rest is padding, which holds what the stack held. */
#ifndef RP_INTERPOSE_GIVEN_H
#define RP_INTERPOSE_GIVEN_H

#include "cuda/access/access.h"
#include "interpose/calls/layout.h"

#include <string.h>

/* Up to eight bytes of one parameter. */
struct rp_given_word {
    uint32_t at, bytes; /* in the parameter block */
    uint64_t counts;    /* bits of the word that may be loaded */
};

struct rp_given {
    size_t count;
    struct rp_given_word words[];
};

/* Of a known layout; `proof` may be NULL: then all of it counts. To be freed; NULL without
 * memory. */
struct rp_given *rp_given_create(const struct rp_kernel_layout *layout,
                                 const struct rp_proof *proof);

/* It is going to be looked at: as much as most have, a dozen words, is fetched meanwhile. */
static inline void rp_given_expect(const struct rp_given *given)
{
    enum { LINE = 64, LINES = 3 };
    for (size_t i = 0; i < LINES; i++)
        __builtin_prefetch((const char *)given + i * LINE);
}

/* Up to eight bytes, as a number. Most are pointers or numbers: for these a copy is no call. */
static inline uint64_t rp_given_load(const void *from, size_t bytes)
{
    uint64_t word = 0;
    uint32_t half;
    if (bytes == sizeof word) {
        memcpy(&word, from, sizeof word);
        return word;
    }
    if (bytes == sizeof half) {
        memcpy(&half, from, sizeof half);
        return half;
    }
    memcpy(&word, from, bytes);
    return word;
}

#endif
