/* SPDX-License-Identifier: Apache-2.0 */
/* Declared buffers, found as they appear: from locators to ranges of allocations.
 *
 * All functions want the core's lock and do nothing without a contract. */
#ifndef RP_INTERPOSE_BUFFER_H
#define RP_INTERPOSE_BUFFER_H

#include "tracker/memory.h"

#include <stddef.h>

/* An allocation, or a module global, was born. */
void rp_buffer_meet_allocation(const struct rp_alloc *alloc);

/* A kernel is about to be launched. `param` gives the bytes of one parameter: its pointer is
 * NULL when the kernel has no such parameter. */
struct rp_param {
    const unsigned char *bytes;
    size_t size;
};
typedef struct rp_param (*rp_param_fn)(void *ctx, uint32_t position);
void rp_buffer_meet_launch(const char *kernel, rp_param_fn param, void *ctx);

/* A buffer that is found in another way: all of `id` belongs to the rule. */
void rp_buffer_note(size_t rule, const char *name, rp_alloc_id id, uint64_t bytes);

/* How often each buffer rule was found, by rule. */
uint64_t rp_buffer_found(size_t rule);

#endif
