/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of graph nodes. */
#ifndef RP_CUDA_SOFT_API_NODE_H
#define RP_CUDA_SOFT_API_NODE_H

#include "cuda/soft/api/graph.h"

/* The node of an executable that the program names by the original's handle; it must be of
 * this type. */
CUresult soft_exec_node(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                        struct soft_node **out);

/* Enters with a live node of this type; `argument` is where the call's answer goes. */
CUresult soft_node_enter(CUgraphNode handle, CUgraphNodeType type, const void *argument,
                         struct soft_node **node);

/* A work made of parameters, and the context that it runs in. */
struct soft_made {
    struct soft_work *work;
    struct soft_context *context;
};
CUresult soft_made_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct soft_made *out);
CUresult soft_made_memcpy(const CUDA_MEMCPY3D *params, CUcontext context, struct soft_made *out);
CUresult soft_made_memset(const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext context,
                          struct soft_made *out);
CUresult soft_made_host(CUhostFn function, void *argument, struct soft_made *out);
/* The two halves of every cuGraphAdd*Node: enters with the live nodes `from`, and adds the node
 * when `result` is still good. `node` may be NULL. */
struct soft_place {
    struct soft_graph *graph;
    struct soft_node **from;
    size_t count;
};
CUresult soft_place_begin(const CUgraphNode *out, CUgraph handle, const CUgraphNode *from,
                          size_t count, struct soft_place *place);
CUresult soft_place_end(struct soft_place *place, CUresult result, CUgraphNodeType type,
                        const struct soft_made *made, CUgraphNode *out, struct soft_node **node);

/* All of a cuGraphAdd*Node that needs nothing else: `make` is called with the lock and `params`,
 * which may not be NULL. */
typedef CUresult (*soft_make_fn)(const void *params, struct soft_made *out);
CUresult soft_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *from, size_t count,
                       CUgraphNodeType type, soft_make_fn make, const void *params);

/* Other versions of the parameters, as the second. */
CUDA_KERNEL_NODE_PARAMS_v2 soft_kernel_from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUDA_KERNEL_NODE_PARAMS_v2 soft_kernel_from_v3(const CUDA_KERNEL_NODE_PARAMS_v3 *params);

#endif
