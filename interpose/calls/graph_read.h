/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the driver what a graph is made of. */
#ifndef RP_INTERPOSE_GRAPH_READ_H
#define RP_INTERPOSE_GRAPH_READ_H

#include "interpose/calls/graph.h"

/* Appends the graph's nodes, in an order in which each comes after those that it depends on, and
 * those of a child graph right after its node. `parent` is the node that the graph is in, or 0.
 * False when the driver's answers don't make sense, or the host is out of memory. Wants the
 * core's lock. */
bool rp_graph_read(struct rp_exec *exec, CUgraph graph, uint64_t parent);

#endif
