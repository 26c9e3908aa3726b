/* SPDX-License-Identifier: Apache-2.0 */
/* The size of the device that the software device pretends to be. What depends on the
 * architecture is in device.c. */
#ifndef RP_CUDA_SOFT_API_DEVICE_H
#define RP_CUDA_SOFT_API_DEVICE_H

#include "cuda/soft/simt.h"

#define SOFT_MAX_THREADS_PER_BLOCK 1024
#define SOFT_MAX_BLOCK_X 1024
#define SOFT_MAX_BLOCK_Y 1024
#define SOFT_MAX_BLOCK_Z 64
#define SOFT_MAX_GRID_X 2147483647
#define SOFT_MAX_GRID_YZ 65535
#define SOFT_SHARED_PER_BLOCK (48 * 1024) /* without opting in to more */
#define SOFT_REGISTERS 65536
#define SOFT_MULTIPROCESSORS SIMT_MULTIPROCESSORS

#endif
