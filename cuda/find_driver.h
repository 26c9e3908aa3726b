/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the real driver's file.
 *
 * The preloaded object bears the driver's soname, so the loader would answer a request for
 * "libcuda.so.1" with the layer itself. The driver is therefore found by looking where the
 * loader would, and opened by absolute path. Nothing is opened or loaded here. */
#ifndef RP_CUDA_FIND_DRIVER_H
#define RP_CUDA_FIND_DRIVER_H

#include <stdbool.h>

enum rp_driver_verdict {
    RP_DRIVER_USABLE,
    RP_DRIVER_MISSING,  /* named by REPRISE_DRIVER, but not a file that can be read */
    RP_DRIVER_RELATIVE, /* not an absolute path: what runs must not hang on where one stands */
    RP_DRIVER_FOREIGN,  /* no shared object of this machine */
    RP_DRIVER_STUB,     /* a toolkit's link-time stub: it answers every call with an error */
    RP_DRIVER_ITSELF    /* the layer */
};
const char *rp_driver_verdict_text(enum rp_driver_verdict verdict);

/* Where to look. rp_driver_search_default fills it from the environment and the machine. */
struct rp_driver_search {
    const char *chosen;        /* REPRISE_DRIVER: then nothing else is considered. Or NULL */
    const char *library_path;  /* LD_LIBRARY_PATH, or NULL */
    const char *cache;         /* the loader's cache file */
    const char *const *places; /* further directories; ends with NULL */
    const char *itself;        /* the layer's own file, or NULL */
};
void rp_driver_search_default(struct rp_driver_search *search);

/* Told about each candidate that exists, in the loader's order of preference, usable or not;
 * `path` is valid during the call, and absolute where it is usable. Returning true ends the
 * search. */
typedef bool (*rp_driver_fn)(void *ctx, const char *path, enum rp_driver_verdict verdict);

/* True when `visit` ended the search. Allocates nothing; thread-safe. */
bool rp_driver_find(const struct rp_driver_search *search, rp_driver_fn visit, void *ctx);

#endif
