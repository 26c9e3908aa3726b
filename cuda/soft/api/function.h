/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and parameters of kernels, for cuFunc* and cuKernel*. */
#ifndef RP_CUDA_SOFT_API_FUNCTION_H
#define RP_CUDA_SOFT_API_FUNCTION_H

#include "cuda/soft/api/module.h"

CUresult soft_function_attribute(const struct soft_function *function,
                                 CUfunction_attribute attribute, int *value);
CUresult soft_function_set_attribute(struct soft_function *function, CUfunction_attribute attribute,
                                     int value);
/* CUDA_ERROR_INVALID_VALUE past the last parameter. `bytes` may be NULL. */
CUresult soft_function_param(const struct soft_function *function, size_t index, size_t *offset,
                             size_t *bytes);

#endif
