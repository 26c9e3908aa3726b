/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of graph nodes. */
#ifndef RP_CUDA_SOFT_API_NODE_H
#define RP_CUDA_SOFT_API_NODE_H

#include "cuda/soft/api/graph.h"

/* The node of an executable that the program names by the original's handle; it must be of
 * this type. */
CUresult soft_exec_node(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                        struct soft_node **out);

#endif
