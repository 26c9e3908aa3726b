/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_CUDA_SOFT_API_HOSTFUNC_H
#define RP_CUDA_SOFT_API_HOSTFUNC_H

#include "cuda/soft/api/work.h"

/* A work that calls `function`, or NULL for want of host memory. */
struct soft_work *soft_host_function_work(CUhostFn function, void *argument);
/* What such a work calls. */
void soft_host_function_read(const struct soft_work *work, CUhostFn *function, void **argument);

#endif
