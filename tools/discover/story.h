/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of a job as a story that can be gone through again: its calls, what each read
 * and wrote, and the NVTX ranges around them.
 *
 * A story ends after RP_STORY_CALLS calls: what repeats has repeated by then. Times, handles and
 * all else that differs from run to run is left out. */
#ifndef RP_TOOLS_DISCOVER_STORY_H
#define RP_TOOLS_DISCOVER_STORY_H

#include "tools/filter.h"
#include "tools/names.h"
#include "tools/source.h"

#define RP_STORY_CALLS 100000
#define RP_STORY_NONE UINT32_MAX

struct rp_story_access {
    uint64_t allocation, lo, hi; /* bytes [lo, hi) of it */
    bool write, certain, proved;
};

struct rp_story_argument {
    uint64_t allocation, offset;
    uint32_t param;
};

struct rp_story_call {
    uint64_t seq;
    uint64_t shape;  /* equal for the same kernel with the same grid */
    uint32_t name;   /* of the kernel, or of the call */
    uint32_t range;  /* the innermost range that it lies in, or RP_STORY_NONE */
    bool is_launch;
    bool proved;     /* all that it may write is known */
    size_t access, access_count;     /* in the story's accesses */
    size_t argument, argument_count; /* in the story's arguments */
};

struct rp_story_range {
    uint32_t name;
    uint32_t parent;        /* a range, or RP_STORY_NONE */
    size_t first, end;      /* calls [first, end) */
    uint64_t thread;
    bool closed;
};

struct rp_story_allocation {
    uint64_t id, bytes;
    size_t born, died; /* before which call; died is SIZE_MAX while it lives */
};

struct rp_story {
    struct rp_names names;
    struct rp_story_call *calls;
    size_t call_count, call_capacity;
    struct rp_story_access *accesses;
    size_t access_count, access_capacity;
    struct rp_story_argument *arguments;
    size_t argument_count, argument_capacity;
    struct rp_story_range *ranges;
    size_t range_count, range_capacity;
    struct rp_story_allocation *allocations; /* in order of id */
    size_t allocation_count, allocation_capacity;
    char mode[16];   /* other than observe, of any trace; "" where there is none */
    uint64_t traces; /* that were there; the story is that of the busiest one */
    bool cut;        /* it has more calls than a story holds */
    bool tangled;    /* threads took turns, and the calls do not stand in the order of these */
    bool no_memory;
};

/* Reads what the filter lets pass of the source's traces; the story is that of the one with the
 * most launches. Returns an exit code after a message, or RP_EXIT_OK. */
int rp_story_read(const struct rp_source *source, const struct rp_filter *filter,
                  struct rp_story *story);
void rp_story_release(struct rp_story *story);

const char *rp_story_name(const struct rp_story *story, uint32_t name);
/* NULL for what was there before the trace began. */
const struct rp_story_allocation *rp_story_allocation(const struct rp_story *story, uint64_t id);

#endif
