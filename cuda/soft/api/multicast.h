/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast objects have handles of the kind that physical memory has: what calls for both need.
 * Called with the device's lock held. */
#ifndef RP_CUDA_SOFT_API_MULTICAST_H
#define RP_CUDA_SOFT_API_MULTICAST_H

#include "cuda/soft/api/vmm.h"

bool soft_multicast_is(CUmemGenericAllocationHandle handle);
void soft_multicast_release(CUmemGenericAllocationHandle handle);

#endif
