/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/library.h"

CUresult soft_kernel_function(struct soft_kernel *kernel, struct soft_context *context,
                              struct soft_function **out)
{
    (void)kernel;
    (void)context;
    (void)out;
    return CUDA_ERROR_NOT_SUPPORTED;
}
