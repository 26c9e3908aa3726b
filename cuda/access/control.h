/* SPDX-License-Identifier: Apache-2.0 */
/* Which branches decide whether a node is reached: control dependence (Ferrante, Ottenstein,
 * Warren: "The Program Dependence Graph and Its Use in Optimization"). Unlike
 * rp_graph_postdominates it looks at whole runs of a thread, iterations included: a loop's exits
 * decide whether its header is reached again. All memory is the builder's. */
#ifndef RP_CUDA_ACCESS_CONTROL_H
#define RP_CUDA_ACCESS_CONTROL_H

#include "cuda/access/build.h"

struct rp_control {
    uint32_t *after; /* by node: the next one that every run from it passes, or RP_NONE */
    struct rp_indices *deciders; /* by node: those whose branches decide whether it is reached */
};

/* False where a run from somewhere has no end: what is said is not true of that one. */
bool rp_control_find(struct rp_builder *build, struct rp_control *out);

#endif
