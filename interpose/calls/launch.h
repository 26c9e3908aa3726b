/* SPDX-License-Identifier: Apache-2.0 */
/* One launch: from a kernel, what is proved of it and its arguments, to a footprint.
 *
 * All functions want the core's lock. One launch is followed at a time: the parameters of
 * the latest are kept in one place. */
#ifndef RP_INTERPOSE_LAUNCH_H
#define RP_INTERPOSE_LAUNCH_H

#include "interpose/calls/kernel.h"
#include "interpose/run/buffer.h"
#include "interpose/run/footprint.h"

struct rp_launched {
    const struct rp_kernel *kernel;
    struct rp_launch geometry;
    bool of_graph; /* it runs in a context that its node knows, and perhaps not in its stream's */
    bool gathered; /* the parameters lie in `geometry` as the kernel's layout says */
};

/* Copies the parameters as the job gives them to the driver (either may be NULL). The layout
 * is never guessed: without one the array of pointers cannot even be counted. */
void rp_launched_gather(struct rp_launched *launch, void **params, void **extra);

/* The parameter block of a known layout, into `block`; its bytes, or 0 where it can't be read or
 * is larger than `size`. Without the lock. */
size_t rp_launched_params(const struct rp_kernel_layout *layout, void **params, void **extra,
                          unsigned char *block, size_t size);

/* For locators; ctx is the launch. No bytes where the parameters could not be read. */
struct rp_param rp_launched_param(void *ctx, uint32_t position);

/* The context that it runs in, as its kernel's proof wants it. */
struct rp_kernel_in rp_launched_in(const struct rp_launched *launch,
                                   const struct rp_footprint *call);

/* What the launch may read and write, added to `call`, which was begun. */
void rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call);

#endif
