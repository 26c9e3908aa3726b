/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory before and after: kept and compared, or summed up, on the device.
 *
 * For audits. It detects, and prevents nothing: the same bytes written again are no change,
 * and no change once says nothing of the next time. Everything runs in one stream and waits
 * for it, so it is for modes that ask for that.
 *
 * Kernels of the layer's own (cuda/kernels/compare.cu) do the work; they are loaded into the
 * context that is current at the first use. Not for several threads at a time. */
#ifndef RP_CUDA_COMPARE_H
#define RP_CUDA_COMPARE_H

#include "cuda/calls/calls.h"
#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_compare_area { /* of device memory */
    uint64_t address, bytes;
    uint64_t tag; /* the caller's */
};

struct rp_compare;

/* `real` stays the caller's and must outlive it. */
enum rp_status rp_compare_create(const struct rp_real *real, struct rp_compare **out);
void rp_compare_destroy(struct rp_compare *compare);
/* The same where its context has gone, with all that it had there; not between keep and check. */
void rp_compare_abandon(struct rp_compare *compare);

/* Keeps the areas as they are now. Where the device has no room for a copy, sums of 128 bits
 * are kept instead. */
enum rp_status rp_compare_keep(struct rp_compare *compare, const struct rp_compare_area *areas,
                               size_t count, CUstream stream);

struct rp_change {
    struct rp_compare_area area; /* as given */
    uint64_t offset;     /* of the first byte that changed, or of the stretch that it is in */
    uint64_t count;      /* bytes that changed; 0: only sums were kept */
};
/* Looks at what was kept. RP_END when nothing changed, RP_OK with the first change in the
 * order of the areas; `count` then counts all of its area. */
enum rp_status rp_compare_check(struct rp_compare *compare, CUstream stream,
                                struct rp_change *change);
/* Sums instead of copies from now on. */
void rp_compare_use_sums(struct rp_compare *compare, bool sums);

#endif
