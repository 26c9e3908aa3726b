/* SPDX-License-Identifier: Apache-2.0 */
/* How parameter blocks lie. Never worked out from C types: compilers align the block's place
 * in constant memory, not the offset, so devices differ where a parameter wants more than 16
 * bytes. All functions want the core's lock. */
#ifndef RP_INTERPOSE_LAYOUT_H
#define RP_INTERPOSE_LAYOUT_H

#include "cuda/calls/calls.h"

#include <stdbool.h>
#include <stdint.h>

struct rp_kernel_param {
    uint32_t offset, bytes;
};

struct rp_kernel_layout {
    const struct rp_kernel_param *params;
    uint32_t count, bytes; /* bytes without tail padding */
    bool known;
};

/* What the driver says of a kernel that it loaded (cuFuncGetParamInfo, since CUDA 12.4); not
 * known when the driver is older. Layouts are kept for ever, each once. */
struct rp_kernel_layout rp_layout_of_function(CUfunction function);
struct rp_kernel_layout rp_layout_of_kernel(CUkernel kernel);

/* True when both have the same parameters, wherever these lie. What is not known differs
 * from nothing. */
bool rp_layout_same_sizes(const struct rp_kernel_layout *a, const struct rp_kernel_layout *b);
bool rp_layout_same_offsets(const struct rp_kernel_layout *a, const struct rp_kernel_layout *b);

#endif
