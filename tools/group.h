/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in groups: a driver call with what happened within it, or a note that stands alone.
 *
 * Entering a call and leaving it are two events; what the same thread says between them belongs
 * to the call. Readers want them together: to show a call on one line, to filter by what it
 * touched, to draw it as a slice. Memory is bounded by the size of one group for each thread;
 * a larger one comes in parts. */
#ifndef RP_TOOLS_GROUP_H
#define RP_TOOLS_GROUP_H

#include "tools/filter.h"
#include "tools/source.h"

struct rp_group {
    const struct rp_event *events; /* in their order */
    size_t count;
    bool enters; /* the first event enters a call */
    bool leaves; /* the last event leaves it; with `enters` alone it never came back */
    uint64_t pid, thread, step;
    unsigned facets; /* of those that the filter asks for */
};

struct rp_group_visitor {
    /* A trace begins and ends; both may be NULL. Returning false from `begin` passes over it. */
    bool (*begin)(void *ctx, const char *path, const struct rp_trace_reader *reader);
    /* Every group that the filter lets pass, valid until this returns. False ends all reading. */
    bool (*group)(void *ctx, const struct rp_group *group);
    void (*end)(void *ctx, const char *path, const char *broken);
    void *ctx;
    /* Every group that the filter does not let pass, valid until this returns; may be NULL. */
    void (*held_back)(void *ctx, const struct rp_group *group);
};

/* Reads all traces of the source, one after the other. `filter` may be NULL. Exit codes as of
 * rp_source_read; RP_EXIT_FAILURE after a message when the host is out of memory; RP_EXIT_NO
 * when there were traces and nothing in them passed, after a message unless the visitor takes what
 * is held back: it may know more. */
int rp_groups_read(const struct rp_source *source, const struct rp_filter *filter,
                   const struct rp_group_visitor *visitor);

/* The same by hand, for who reads several traces side by side: one such for each. `visitor` and
 * `filter` must outlive it. */
struct rp_groups;
/* NULL: out of memory. */
struct rp_groups *rp_groups_create(const struct rp_filter *filter,
                                   const struct rp_group_visitor *visitor);
bool rp_groups_begin(struct rp_groups *groups, const char *path,
                     const struct rp_trace_reader *reader);
/* False to end all reading. */
bool rp_groups_take(struct rp_groups *groups, const struct rp_event *event);
/* What was still going on when the trace ended is shown: with a crash, the call that it was in. */
void rp_groups_end(struct rp_groups *groups, const char *path, const char *broken);
/* Sets what it was so for. */
void rp_groups_destroy(struct rp_groups *groups, bool *any_passed, bool *no_memory);
/* The exit code as of rp_groups_read, `code` being that of rp_source_read; says what is to say. */
int rp_groups_code(const struct rp_filter *filter, const struct rp_group_visitor *visitor,
                   int code, bool any_passed, bool no_memory);

#endif
