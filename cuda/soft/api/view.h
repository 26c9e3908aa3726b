/* SPDX-License-Identifier: Apache-2.0 */
/* Views: texture and surface objects, what they stand for and how it is read.
 *
 * Kernels that sample are not run (docs/ptx.md), so an object is made, checked and asked for, and
 * names the memory that it stands for. Called with the device's lock held. */
#ifndef RP_CUDA_SOFT_API_VIEW_H
#define RP_CUDA_SOFT_API_VIEW_H

#include "cuda/soft/api/soft.h"

#define SOFT_TEXTURE_ALIGNMENT 512
#define SOFT_TEXTURE_PITCH_ALIGNMENT 32
#define SOFT_TEXTURE_1D_LINEAR (1 << 28) /* elements */

/* All objects of a context that is idle. */
void soft_views_destroy(struct soft_context *context);

#endif
