/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of `reprise export`: one table of callbacks each, over one reading loop.
 *
 * A format is told the run in order: begin, then for each trace process_begins, its groups and
 * process_ends, then end. It appends to `out` as it goes; what it keeps is bounded by what is
 * alive in the job (allocations, open calls), never by the length of the trace. */
#ifndef RP_TOOLS_EXPORT_FORMAT_H
#define RP_TOOLS_EXPORT_FORMAT_H

#include "tools/builder.h"
#include "tools/alive.h"
#include "tools/group.h"

struct rp_export {
    struct rp_builder out; /* written and cleared by the loop */
    struct rp_alive live;  /* what is allocated now, in the process that is read */
    const char *command;   /* of that process; "" when unknown */
    char rank[32];         /* of that process among those of its job; "" when it has none */
    unsigned process;      /* 0, 1, ... in the order of the traces */
    uint64_t pid;
    uint64_t start_ns;     /* when its trace began, since 1970; 0 when unknown */
    uint64_t earliest_ns;  /* the same of the trace that began first */
    uint64_t allocations;  /* of device memory that were exported; where of_memory counts them */
    bool no_memory;
};

struct rp_export_format {
    const char *name;
    const char *suffix; /* of the file that is written when none is named */
    size_t state_bytes; /* of what the format keeps; zeros at first */
    /* Shows allocations and nothing else. One passes the filters with the call that made it, and
     * is followed to its end; groups that do not pass come with live.beside. Where none passes,
     * nothing does. */
    bool of_memory;
    /* When not NULL the run is read twice: with this first, after `live` has followed. */
    void (*look)(struct rp_export *run, void *state, const struct rp_group *group);
    void (*begin)(struct rp_export *run, void *state);
    void (*process_begins)(struct rp_export *run, void *state);
    void (*group)(struct rp_export *run, void *state, const struct rp_group *group);
    /* `broken` says why the trace broke off, or is NULL. */
    void (*process_ends)(struct rp_export *run, void *state, const char *broken);
    void (*end)(struct rp_export *run, void *state);
    void (*release)(void *state);
};

extern const struct rp_export_format rp_export_chrome, rp_export_csv, rp_export_jsonl,
    rp_export_memviz, rp_export_folded;

#endif
