/* SPDX-License-Identifier: Apache-2.0 */
/* What an image is made of: shared by the files that gather, keep and prove it, image_*.c. */
#ifndef RP_INTERPOSE_IMAGE_PARTS_H
#define RP_INTERPOSE_IMAGE_PARTS_H

#include "interpose/calls/image.h"

#include "cuda/ptx/ptx.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct rp_image_entry {
    struct rp_image_kernel out;
    char *name;
    const struct rp_ptx_module *ptx; /* with `function`: where its text is, or NULL */
    const struct rp_ptx_function *function;
    unsigned texts, codes; /* how many parts of the image define it */
    struct rp_kernel_param *params; /* of the machine code */
    uint32_t param_count, param_bytes;
    bool codes_agree;
    bool decided;
};

struct rp_image_variable {
    char *name;
    uint64_t bytes;
};

struct rp_image {
    XXH128_hash_t hash;
    const char *kind, *doubt;
    const char *met_with; /* the doubt that reading it started from */
    bool has_code; /* machine code that the device may prefer to the PTX */
    struct rp_ptx_module **texts; /* parsed: kernels are proved when they are asked for */
    size_t text_count, text_capacity;
    struct rp_image_entry *entries; /* sorted by name once all are there */
    size_t entry_count, entry_capacity;
    struct rp_image_variable *variables;
    size_t variable_count, variable_capacity;
};

/* Adds all that the content holds. RP_NO_MEMORY is the only error: what can't be read becomes
 * the image's doubt. */
enum rp_status rp_image_gather(struct rp_image *image, const struct rp_content *content);

#endif
