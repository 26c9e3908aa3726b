/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and kernels: modules that belong to no context and are loaded into each one
 * when a kernel is first used there. */
#ifndef RP_CUDA_SOFT_API_LIBRARY_H
#define RP_CUDA_SOFT_API_LIBRARY_H

#include "cuda/soft/api/module.h"

/* The function of `kernel` in `context`, loading the library there if need be. */
CUresult soft_kernel_function(struct soft_kernel *kernel, struct soft_context *context,
                              struct soft_function **out);

#endif
