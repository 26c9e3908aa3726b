/* SPDX-License-Identifier: Apache-2.0 */
/* The dlsym and dlvsym that ours stand in front of. */
#ifndef RP_INTERPOSE_NEXT_H
#define RP_INTERPOSE_NEXT_H

#include <stdbool.h>

typedef void *(*rp_dlsym_fn)(void *handle, const char *name);
typedef void *(*rp_dlvsym_fn)(void *handle, const char *name, const char *version);

struct rp_next {
    rp_dlsym_fn dlsym;
    rp_dlvsym_fn dlvsym;
};

/* Found once, by walking the symbol tables of the objects after ours: asking dlsym for
 * dlsym would only find ourselves. Calls nothing but dl_iterate_phdr, since the first caller
 * may be an early one (an allocator or a sanitizer setting itself up). Never NULL: where
 * nothing is found the functions answer NULL. */
const struct rp_next *rp_next(void);

static inline void *rp_next_dlsym(void *handle, const char *name)
{
    return rp_next()->dlsym(handle, name);
}

#endif
