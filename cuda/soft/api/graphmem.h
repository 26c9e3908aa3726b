/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of graphs: nodes that allocate and nodes that free.
 *
 * An allocation has its address from the moment its node is added until the last graph or
 * executable with the node is gone, and takes its share of the device's memory all the while.
 * Each launch makes its contents indeterminate anew; what a free node frees, nobody may touch
 * until then, but nothing checks that here. Called with the device's lock. */
#ifndef RP_CUDA_SOFT_API_GRAPHMEM_H
#define RP_CUDA_SOFT_API_GRAPHMEM_H

#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/work.h"

CUresult soft_graph_allocate(struct soft_device *device, uint64_t bytes, struct soft_work **out,
                             CUdeviceptr *address);
/* The work of a free node; CUDA_ERROR_INVALID_VALUE where `address` is no graph's. */
CUresult soft_graph_free(CUdeviceptr address, struct soft_work **out);

#endif
