/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs as the layer knows them: nodes in an order that respects their dependencies,
 * each with the parameters that it has now.
 *
 * A graph may be made in many ways, by explicit nodes or by capture, through old calls and new
 * ones. None of them is followed: when the graph is instantiated the driver is asked for all of
 * it. From then on only the calls that change the executable count. What they change in a way
 * that is not understood makes the executable unknown.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_GRAPH_H
#define RP_INTERPOSE_GRAPH_H

#include "cuda/access/access.h"
#include "cuda/calls/calls.h"
#include "tracker/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_node {
    uint64_t handle; /* in the graph that was instantiated: what later calls name it by */
    uint64_t parent; /* the child graph node that it is in, or 0 */
    CUgraphNodeType type;
    bool disabled;
    const char *unknown; /* why it counts as writing everything, or NULL */
    union {
        struct {
            uint64_t function;
            struct rp_launch geometry; /* its params are owned here */
            bool gathered;             /* as struct rp_launched has it */
        } kernel;
        CUDA_MEMCPY3D copy;
        CUDA_MEMSET_NODE_PARAMS_v1 fill;
        struct {
            uint64_t address, bytes;
            enum rp_alloc_kind kind;
        } memory; /* MEM_ALLOC, MEM_FREE */
        struct {
            CUstreamBatchMemOpParams *items; /* owned here */
            size_t count;
        } batch;
    };
};

struct rp_exec {
    uint64_t handle;
    struct rp_node *nodes;
    size_t count, capacity;
    const char *unknown; /* why its nodes don't say what it does, or NULL */
};

/* `exec` was made from `graph`, or updated to it: all nodes are read anew. */
void rp_exec_read(uint64_t exec, CUgraph graph);
/* NULL: made out of the layer's sight. */
struct rp_exec *rp_exec_find(uint64_t exec);
void rp_exec_forget(uint64_t exec);
/* After a fork. */
void rp_execs_forget(void);

/* The node that the job names by `handle`; NULL makes the executable unknown. */
struct rp_node *rp_exec_node(struct rp_exec *exec, CUgraphNode handle);

/* New parameters, as the driver took them. */
void rp_node_set_kernel(struct rp_node *node, const CUDA_KERNEL_NODE_PARAMS_v2 *params);
void rp_node_set_batch(struct rp_node *node, const CUstreamBatchMemOpParams *items, size_t count);
/* The child graph node `handle` has another graph's nodes now. */
void rp_exec_set_child(struct rp_exec *exec, CUgraphNode handle, CUgraph child);

#endif
