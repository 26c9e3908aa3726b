/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one thread to its writes, while it is being found: of the kernel's values and
 * branches those that decide where it writes (struct rp_walk_block). Writes whose addresses are
 * made of data, whatever the launch, are not on it. All memory is the builder's. */
#ifndef RP_CUDA_ACCESS_PATH_H
#define RP_CUDA_ACCESS_PATH_H

#include "cuda/access/control.h"
#include "cuda/access/slice.h"

struct rp_path {
    struct rp_builder *build;
    struct rp_slice *slice;
    struct rp_proof *proof;
    struct rp_control control;
    bool *value_is_data;      /* perhaps: it depends on the launch */
    bool *surely_data;
    bool *is_lost;            /* nodes that cannot be walked to at all */
    uint64_t *branch_bit;     /* by node: stands for its branch, where data decide that */
    unsigned branch_count;
    uint64_t *decided_by;     /* by node: such branches that decide whether it is reached */
    bool strays;              /* something is on it that has no way to follow */
    bool *kept, *needed, *decides; /* values; nodes; nodes whose branch matters */
    struct rp_vec work, node_work; /* uint32_t: values and nodes to follow */
    uint32_t *order, order_count;  /* kept values, sorted */
    uint32_t *number, *block_number;
};

/* path.c */
const struct rp_op *rp_path_op(const struct rp_path *path, uint32_t value);
const struct rp_phi_arg *rp_path_args(const struct rp_path *path, const struct rp_op *op);
bool rp_path_is_merge(const struct rp_op *op);
/* The operands on the way of a thread: what a loop leaves behind is its last value. */
bool rp_path_operands(const struct rp_op *op, bool used[3]);
/* Of a value of the proof, or RP_NONE. */
uint32_t rp_path_value(const struct rp_path *path, uint32_t number);

/* path_data.c: what is made of data, or reached by their decision */
void rp_path_find_data(struct rp_path *path);
bool rp_path_is_data(const struct rp_op *op);
/* Nothing decides here that could be followed: neither way, nor both. */
bool rp_path_is_switch(const struct rp_path *path, uint32_t node);
bool rp_path_branches_on_data(const struct rp_path *path, uint32_t node);
/* Not what it is made of, but the way to it is where data may come in. */
bool rp_path_is_fickle(const struct rp_path *path, const struct rp_op *op);

/* path_write.c: what is needed of it, into the proof. node_of: by block of the proof. */
void rp_path_write(struct rp_path *path, const uint32_t *node_of);

#endif
