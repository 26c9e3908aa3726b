/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and kernels: modules that belong to no context and are loaded into each one
 * when something of them is first used there. Such a module points back to its library. */
#ifndef RP_CUDA_SOFT_API_LIBRARY_H
#define RP_CUDA_SOFT_API_LIBRARY_H

#include "cuda/soft/api/module.h"

struct soft_kernel {
    struct soft_library *library;
    const char *name; /* in the library's PTX */
    /* cuKernelSetAttribute, to be repeated in each context of the device; -1: not set */
    int max_dynamic_shared[SOFT_MAX_DEVICES], carveout[SOFT_MAX_DEVICES];
};

struct soft_library {
    char *text; /* PTX */
    size_t length;
    struct rp_ptx_module *ptx; /* for the names */
    struct soft_kernel *kernels;
    size_t kernel_count;
};

/* The library's module in `context`, loaded there if need be. */
CUresult soft_library_module(struct soft_library *library, struct soft_context *context,
                             struct soft_module **out);
/* The function of `kernel` in `context`. */
CUresult soft_kernel_function(struct soft_kernel *kernel, struct soft_context *context,
                              struct soft_function **out);

#endif
