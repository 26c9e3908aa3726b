/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that cut a kernel down to its slice. */
#ifndef RP_CUDA_ACCESS_SLICE_H
#define RP_CUDA_ACCESS_SLICE_H

#include "cuda/access/build.h"

struct rp_slice {
    struct rp_builder *build;
    struct rp_basic_block *rules; /* by node */
    bool *kept, *wanted;          /* by value */
    struct rp_vec work;           /* uint32_t: values to look at */
    struct rp_vec node_work;      /* uint32_t: nodes */
    uint32_t *order;              /* kept values, sorted */
    uint32_t order_count;
    uint32_t *number, *node_number;
};

/* path.c: the way of a thread to its writes, when the rest of the proof is there */
void rp_slice_path(struct rp_slice *slice, struct rp_proof *proof);

/* rule.c: under which condition each node runs, into slice->rules */
void rp_slice_rules(struct rp_slice *slice);

/* grid.c: in a dimension where tid and ctaid are used for nothing but their common sum
 * `ctaid * factor + tid` with one factor, that sum can be the coordinate. The first marks
 * such sums, the second says for which dimensions they are all there is. */
void rp_slice_mark_sums(struct rp_builder *build);
void rp_slice_check_sums(const struct rp_slice *slice, struct rp_proof *proof);

#endif
