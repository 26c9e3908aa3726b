/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and dominator trees, of any graph. All memory is the builder's. */
#ifndef RP_CUDA_ACCESS_TREE_H
#define RP_CUDA_ACCESS_TREE_H

#include "cuda/access/build.h"

struct rp_tree {
    struct rp_indices *succ, *pred; /* by node */
    uint32_t count, root;
    uint32_t *order;  /* position of a node, or RP_NONE where the root does not lead there */
    uint32_t *sorted; /* nodes in reverse post-order */
    uint32_t sorted_count;
    uint32_t *idom;   /* RP_NONE where the root does not lead */
};

void rp_indices_append(struct rp_builder *build, struct rp_indices *list, uint32_t item);
/* The kernel's graph turned round, from the exit to the entry: without a way yet; and with the one
 * that leads from `from` to `to` in the kernel. */
struct rp_tree rp_tree_backward(struct rp_builder *build);
void rp_tree_add_backward(struct rp_builder *build, struct rp_tree *graph, uint32_t from,
                          uint32_t to);
void rp_tree_sort(struct rp_builder *build, struct rp_tree *graph);
/* What never ends, ends here for us. True where there is no such thing. */
bool rp_tree_sort_backward(struct rp_builder *build, struct rp_tree *graph);
void rp_tree_dominators(struct rp_builder *build, struct rp_tree *graph); /* of a sorted one */
/* By node: a holds b when a dominates b. */
struct rp_tree_interval *rp_tree_number(struct rp_builder *build, const struct rp_tree *graph);

#endif
