/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: works and who comes after whom, to be submitted as often as one likes.
 *
 * A node holds a counted work or, for the kinds that only concern order, an event or a child
 * graph. An executable graph is a sorted private copy; its nodes remember the nodes that they
 * were copied from, by address alone, as those may be gone. Called with the device's lock. */
#ifndef RP_CUDA_SOFT_API_GRAPH_H
#define RP_CUDA_SOFT_API_GRAPH_H

#include "cuda/soft/api/stream.h"

struct soft_node {
    struct soft_graph *graph;
    CUgraphNodeType type;
    struct soft_context *context; /* where it runs; NULL: where the graph is launched */
    struct soft_work *work;       /* KERNEL, MEMCPY, MEMSET, HOST, BATCH_MEM_OP */
    CUevent event;                /* EVENT_RECORD, WAIT_EVENT */
    struct soft_graph *child;     /* GRAPH: owned by the node */
    struct soft_node **from;      /* nodes that this one comes after */
    size_t from_count, from_capacity;
    const struct soft_node *origin; /* in a copy: the node that was copied */
    bool disabled;                  /* in an executable: does nothing */
    void **slots;                   /* what cuGraphKernelNodeGetParams hands out */
    /* Scratch of one walk: the copy in soft_graph_copy, the operation in a launch. */
    union {
        struct soft_node *copy;
        struct soft_op *op;
        size_t mark;
    };
};

struct soft_graph {
    struct soft_node **nodes; /* in the order of creation; sorted in an executable */
    size_t count, capacity;
    struct soft_node *owner; /* of a child graph: its node, which destroys it */
    struct soft_held *held;  /* objects of the program (userobject.h) */
    size_t held_count;
};

struct soft_exec {
    struct soft_graph *graph;
    struct soft_op *last; /* the end of its last launch: launches do not overlap */
    uint64_t flags;
};

struct soft_graph *soft_graph_create(void); /* NULL: no host memory */
void soft_graph_destroy(struct soft_graph *graph);
/* A copy with its own nodes that share the works; NULL: no host memory. */
struct soft_graph *soft_graph_copy(struct soft_graph *graph);
/* Puts every node after all that it comes after; false when there is a circle. */
bool soft_graph_sort(struct soft_graph *graph);

/* Handles from the program. */
CUresult soft_graph_find(CUgraph handle, struct soft_graph **out);
CUresult soft_node_find(CUgraphNode handle, struct soft_node **out);

/* A new node after `from`, which are nodes of the same graph without duplicates. Takes over
 * the reference to `work`, which may be NULL, also on failure. */
CUresult soft_graph_add(struct soft_graph *graph, CUgraphNodeType type, struct soft_work *work,
                        struct soft_node *const *from, size_t from_count, struct soft_node **out);
/* One more edge; CUDA_ERROR_INVALID_VALUE when it is there or leads from a node to itself. */
CUresult soft_node_after(struct soft_node *node, struct soft_node *earlier);
bool soft_node_is_after(const struct soft_node *node, const struct soft_node *earlier);
void soft_node_destroy(struct soft_node *node);
void soft_node_set_work(struct soft_node *node, struct soft_work *work); /* takes it over */

CUresult soft_exec_find(CUgraphExec handle, struct soft_exec **out);
/* Submits all of the executable in stream order. */
CUresult soft_exec_launch(struct soft_exec *exec, struct soft_stream *stream);

#endif
