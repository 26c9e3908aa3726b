/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of a job as a story that can be gone through again: its calls, what each read
 * and wrote, and the NVTX ranges around them.
 *
 * The calls of all threads stand in the order in which the layer has counted them. A range holds
 * those of its own thread: it is a stretch of the story, which begins and ends with calls of that
 * thread, and in which others may stand that are none of it.
 *
 * A story ends after RP_STORY_CALLS calls: what repeats has repeated by then. Times, handles and
 * all else that differs from run to run is left out. */
#ifndef RP_TOOLS_DISCOVER_STORY_H
#define RP_TOOLS_DISCOVER_STORY_H

#include "tools/filter.h"
#include "tools/roster.h"
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
    uint64_t seq, thread;
    uint64_t moment; /* see moment.h */
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
    uint32_t parent;         /* a range of its thread, or RP_STORY_NONE */
    size_t first, end;       /* its stretch, [first, end): empty where it holds no call */
    size_t opened, closed;   /* the calls of all threads that came in it: [opened, closed) */
    uint64_t thread;
    uint64_t begun, ended;   /* moments */
};

struct rp_story_allocation {
    uint64_t id, bytes;
    size_t born, died; /* before which call; died is SIZE_MAX while it lives */
    uint64_t made, freed; /* moments */
};

struct rp_story {
    struct rp_roster names;
    struct rp_story_call *calls;
    size_t call_count, call_capacity;
    struct rp_story_access *accesses;
    size_t access_count, access_capacity;
    struct rp_story_argument *arguments;
    size_t argument_count, argument_capacity;
    struct rp_story_range *ranges; /* in the order in which they began */
    size_t range_count, range_capacity;
    struct rp_story_allocation *allocations; /* in order of id */
    size_t allocation_count, allocation_capacity;
    char mode[16];   /* other than observe, of any trace; "" where there is none */
    uint64_t traces; /* that were there; the story is that of the busiest one */
    bool cut;        /* it has more calls than a story holds */
    bool untold;     /* threads took turns, and the trace does not tell when their ranges began */
    bool no_memory;
};

/* Reads what the filter lets pass of the source's traces; the story is that of the one with the
 * most launches. Returns an exit code after a message, or RP_EXIT_OK. */
int rp_story_read(const struct rp_source *source, const struct rp_filter *filter,
                  struct rp_story *story);
void rp_story_release(struct rp_story *story);

/* The next call of the same thread, or `end`. */
size_t rp_story_next(const struct rp_story *story, size_t call, size_t end);
/* Whether the stretch [inner, inner_end), which is not empty, lies in the other one. */
bool rp_story_holds(const struct rp_story *story, size_t outer, size_t outer_end, size_t inner,
                    size_t inner_end);
/* The calls' accesses in their turn. */
struct rp_story_walk {
    const struct rp_story *story;
    size_t call, end; /* a stretch */
    size_t nth;       /* of the call's accesses */
};
/* NULL behind the last one. */
const struct rp_story_access *rp_story_walk(struct rp_story_walk *walk);
const char *rp_story_name(const struct rp_story *story, uint32_t name);
/* NULL for what was there before the trace began. */
const struct rp_story_allocation *rp_story_allocation(const struct rp_story *story, uint64_t id);

#endif
