/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of scopes that became nodes of graphs instead of running: whether these were launched in
 * the same scope. All functions want the core's lock. */
#ifndef RP_INTERPOSE_CAPTURED_H
#define RP_INTERPOSE_CAPTURED_H

#include "interpose/run/footprint.h"

struct rp_thread;

/* Of one scope: those whose graph has not been launched in it so far. */
struct rp_captured {
    struct rp_captured_call { uint32_t name; bool is_launch; } *items;
    size_t count, capacity;
    bool is_full; /* the host is out of memory: there were more */
};

/* A call of the thread became a node of a graph instead of running. */
void rp_captured_call(struct rp_thread *thread, uint32_t name, bool is_launch);
/* A node of a graph that the thread launches runs: in the scopes that have captured it, as a call
 * of theirs. */
void rp_captured_ran(struct rp_thread *thread, const struct rp_footprint *call);
/* The same of a graph whose nodes are not known. */
void rp_captured_unknown(struct rp_thread *thread);
/* The name of a call that the scope has captured and whose graph was not launched in it, or 0. */
uint32_t rp_captured_left(const struct rp_captured *captured);

#endif
