/* SPDX-License-Identifier: Apache-2.0 */
/* Images that the job loaded: what their kernels are proved to do.
 *
 * Each is read once however often it is loaded, and kept for ever: proofs are small, and jobs
 * load the same few images again and again. Kernels are proved when they are first asked
 * for, or known from an earlier run. All functions want the core's lock. */
#ifndef RP_INTERPOSE_IMAGE_H
#define RP_INTERPOSE_IMAGE_H

#include "cuda/access/access.h"
#include "cuda/image/content.h"
#include "interpose/calls/layout.h"

#include <stdint.h>

struct rp_image;

/* What an image says of one kernel. */
struct rp_image_kernel {
    const char *name;
    const struct rp_proof *proof; /* NULL: only its arguments are known */
    const char *unproved;         /* why, then */
    const char *escapes;          /* why it may write what nothing leads to, or NULL */
    struct rp_kernel_layout layout; /* the proof's, or else the machine code's */
    bool aligned_widely;          /* a parameter wants more than 16 bytes: devices differ */
    bool was_damaged;             /* its proof was kept on disk, but not whole: proved anew */
};

/* `bytes` is 0 where only the image itself tells its size. Never NULL. */
const struct rp_image *rp_image_read(const void *data, size_t bytes,
                                     const struct rp_target *target);
/* An image that the driver's linker made. Never NULL. */
const struct rp_image *rp_image_read_linked(const void *data, const struct rp_linked *linked);
/* An image that was not seen; `why` is static text. Never NULL. */
const struct rp_image *rp_image_unseen(const char *why);

const char *rp_image_kind_text(const struct rp_image *image);
uint64_t rp_image_hash(const struct rp_image *image);
size_t rp_image_kernel_count(const struct rp_image *image);
/* Why nothing is known of a kernel that is not in the image. */
const char *rp_image_doubt(const struct rp_image *image);

/* NULL when the image does not speak of it. `trust_ptx`: take the PTX beside machine code for
 * the same program. */
const struct rp_image_kernel *rp_image_kernel(const struct rp_image *image, const char *name,
                                              bool trust_ptx);

/* From now on proofs are kept in this folder (cuda/access/cache.h), and looked for there; NULL:
 * no more. It must stay as it is. */
void rp_image_keep_proofs(const char *folder);
struct rp_image_figures {
    uint64_t recalled, kept, damaged; /* proofs from and to the folder */
};
struct rp_image_figures rp_image_proof_figures(void);

typedef void (*rp_image_global_fn)(void *ctx, const char *symbol, uint64_t bytes);
void rp_image_globals(const struct rp_image *image, rp_image_global_fn visit, void *ctx);

#endif
