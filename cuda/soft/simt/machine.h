/* SPDX-License-Identifier: Apache-2.0 */
/* The running machine: workers, blocks, warps, and the splits of a diverged warp.
 *
 * Divergence is a list of splits, each a place in the code and the lanes that stand there.
 * One split runs at a time, the deepest and then the lowest first, so that lanes meet again
 * at the end of the code they parted over; splits at the same place in the same frame
 * become one. A split that waits (at a barrier, or for the lanes that a shuffle names) stays
 * in the list until somebody wakes it.
 *
 * A block belongs to one worker thread; nothing here is shared between threads except the
 * launch, whose shared fields are atomic or behind its lock. */
#ifndef RP_SOFT_SIMT_MACHINE_H
#define RP_SOFT_SIMT_MACHINE_H

#include "cuda/soft/simt/code.h"
#include "cuda/soft/simt/compact.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIMT_BARRIERS 16
#define SIMT_MAX_DEPTH 4096

/* How many lane-operations a warp's turn has, looked at by backward branches: a millisecond
 * or so. A loop that looks as if it waited for somebody (an atomic, a volatile load) pays
 * SIMT_SPIN_COST more a round. Fuzzers, which count each branch, are a hundred times slower. */
#ifdef SIMT_SHORT_TURNS
#define SIMT_TURN (UINT64_C(1) << 17)
#else
#define SIMT_TURN (UINT64_C(1) << 23)
#endif
#define SIMT_SPIN_COST (1 << 17)

struct simt_frame {
    struct simt_frame *parent, *next_free, *next_all;
    const struct simt_function *function;
    const struct simt_op *back; /* where the caller goes on */
    const struct simt_call *call;
    char *rows;
    uint32_t live;  /* lanes that have not returned */
    uint32_t depth;
    uint32_t local; /* of this activation, in each lane's local memory */
    uint32_t capacity;
};

enum simt_split_state { SIMT_READY, SIMT_AT_BARRIER, SIMT_AT_COLLECTIVE };

struct simt_split {
    const struct simt_op *op;
    struct simt_frame *frame;
    uint32_t mask;
    uint32_t wait; /* barrier number, or member mask */
    enum simt_split_state state;
    uint64_t stamp; /* turn at which it last ran */
};

struct simt_range {
    uint64_t lo, hi; /* [lo, hi) */
};

struct simt_warp {
    struct simt_block *block;
    struct simt_worker *worker;
    struct simt_frame *root;
    uint32_t index;
    uint32_t live;          /* lanes that have not exited */
    uint32_t participants;  /* of the collective operation that runs */
    bool rotate;            /* the turn was used up: next runs who has waited longest, */
    bool holding;           /* and is not preempted by those who stand lower */
    bool faulted;
    bool parted;            /* some live lanes did not run, until they all do again; */
    uint32_t reunions;      /* how often that has happened */
    bool observed;          /* the launch has an oracle: no global access takes the short way */
    struct simt_range *sites; /* range cache, one entry an access site */
    struct simt_walk *walks;  /* and how lanes went there */
    struct simt_split now;  /* mask 0 when none runs */
    struct simt_split parked[SIMT_LANES];
    uint32_t parked_count;
    uint64_t turn;
    uint32_t arrived[SIMT_BARRIERS];
};

struct simt_barrier {
    bool active;        /* somebody has arrived */
    uint32_t expected;  /* threads, 0: all of the block */
    uint32_t positive;  /* bar.red: threads with a true predicate */
    uint32_t voters;
};

struct simt_text {
    char *bytes;
    size_t length, capacity;
};

struct simt_block {
    struct simt_worker *worker;
    struct simt_warp *warps;
    uint32_t warp_count;
    uint32_t live_threads;
    uint32_t turns; /* of all warps together, so far */
    uint32_t id[3];
    uint64_t linear;
    uint32_t shared_lo, shared_bytes; /* addresses below 2 GiB */
    uint32_t local_lo, local_stride;  /* local memory of thread t: local_lo + t * local_stride */
    struct simt_range *sites;
    struct simt_walk *walks;
    struct simt_frame *roots; /* of the warps */
    char *files;              /* the roots' register files */
    uint8_t order[32];        /* in which warps have their turns */
    struct simt_barrier barriers[SIMT_BARRIERS];
    struct simt_text printed;
};

/* A launch under way. */
struct simt_run {
    const struct simt_launch *launch;
    const struct simt_kernel *kernel;
    const struct simt_isa *isa;
    unsigned char *params; /* and the workspace behind them */
    uint32_t param_bytes, workspace_offset;
    uint32_t threads, warps; /* of a block */
    uint32_t shared_bytes;
    uint64_t blocks;
    uint64_t share; /* cooperative: blocks that a worker starts with */
    uint64_t deadline;
    _Atomic uint64_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* over the rest */
    struct simt_fault fault;
    struct simt_counts counts;
    struct simt_printed { uint64_t block; struct simt_text text; } *printed;
    size_t printed_count;
    unsigned helpers, wanted; /* workers of the pool that are in it, and that may be */
    struct simt_run *next_run; /* in the pool's list of runs that want helpers */
};

/* What %envreg1 (upper half) and %envreg2 point to in a cooperative launch, as the barrier of
 * CUDA's cooperative_groups::this_grid() expects it (cooperative_groups/details/driver_abi.h):
 * the size of the workspace, and a word that starts at 0. Other launches have none. */
#define SIMT_WORKSPACE_BYTES 64

static inline uint64_t simt_run_workspace(const struct simt_run *run)
{
    return run->launch->cooperative ? (uintptr_t)run->params + run->workspace_offset : 0;
}

/* A thread's workplace: arenas, caches and the frames that are not in use. */
struct simt_worker {
    struct simt_run *run;
    uint64_t operations;
    struct simt_range known[8]; /* ranges that the bounds callback has answered with */
    uint32_t known_next;
    uint64_t arena_lo, arena_bytes; /* shared and local memory, below 2 GiB */
    struct simt_frame *free_frames, *all_frames;
    struct simt_touch touches[64]; /* that the oracle has not heard of yet */
    uint32_t touch_count;
    struct simt_tally *tallies; /* count.h */
    uint32_t tally_count;
    bool uncounted;
    struct simt_worker *next_free;
};

enum simt_stop { SIMT_DONE, SIMT_BLOCKED, SIMT_TURN_OVER, SIMT_FAULTED };

/* One build of the dispatcher and the lane loops. */
struct simt_isa {
    const char *name;
    enum simt_stop (*run)(struct simt_warp *warp);
    const void *(*label)(const struct simt_op *op); /* where the dispatcher handles it */
    simt_lanes_fn *const *lanes; /* by opcode - SIMT_CONTROL_COUNT */
};
const struct simt_isa *simt_isa_chosen(void);

/* schedule.c: splits. */
/* Puts the running split (if it has lanes) with the parked ones, joins what stands at one
 * place and makes the next ready one the running one. False when none is ready. */
bool simt_warp_switch(struct simt_warp *warp);
void simt_warp_park(struct simt_warp *warp, const struct simt_split *split);
/* The lanes of `mask` leave the machine. */
void simt_warp_exit(struct simt_warp *warp, uint32_t mask);
bool simt_warp_ready(const struct simt_warp *warp);

/* collective.c: operations for which lanes wait for each other. */
bool simt_collective_ready(const struct simt_warp *warp, const char *rows,
                           const struct simt_op *op, uint32_t mask);
void simt_collective_wait(struct simt_warp *warp);
void simt_collective_resolve(struct simt_warp *warp);

/* barrier.c. True when the running split goes on at once. */
bool simt_barrier_arrive(struct simt_warp *warp, const struct simt_op *op, uint32_t mask);
void simt_barrier_recount(struct simt_block *block);

/* frame.c: activations. */
bool simt_frame_call(struct simt_warp *warp, const struct simt_op *op, uint32_t mask);
void simt_frame_return(struct simt_warp *warp, uint32_t mask);
void simt_frames_reclaim(struct simt_worker *worker);
void simt_frames_destroy(struct simt_worker *worker);
void simt_frame_abandon(struct simt_warp *warp, struct simt_frame *frame, uint32_t mask);
void simt_frame_fill(struct simt_warp *warp, struct simt_frame *frame, bool per_block_only);

/* memory.c: the slow way of every access. Checks [address, address+bytes) for one lane and
 * fills the site's cache; raises the fault when it is not allowed. */
bool simt_memory_check(struct simt_warp *warp, const struct simt_op *op, int lane,
                       uint64_t address, uint32_t bytes, bool is_write);
/* The same for an access of any size, aligned to a power of two. */
bool simt_memory_check_part(struct simt_warp *warp, const struct simt_op *op, int lane,
                            uint64_t address, uint32_t bytes, uint32_t align, bool is_write);
/* Tells the oracle what the lanes of `mask` accessed, runs as one. */
void simt_memory_observe(struct simt_warp *warp, uint32_t mask, const uint64_t *address,
                         uint32_t bytes, bool is_write);
/* Checks and observes all lanes at once, where all lie in one range of global memory that the
 * worker knows; false when it takes simt_memory_check for each. */
bool simt_memory_observe_all(struct simt_warp *warp, uint32_t mask, const uint64_t *address,
                             uint32_t bytes, bool is_write);
void simt_memory_report(struct simt_worker *worker); /* the touches still kept back */

/* Works out how lanes walk by the steps of a compact row, times `scale`; steps of more than `far`
 * bits, or that leave words of `bytes` unaligned, are for those who look at each lane. */
void simt_walk_anew(struct simt_walk *walk, const struct simt_slot *slot, bool wide,
                    uint32_t scale, int far, uint32_t bytes);

void simt_fault_raise(struct simt_warp *warp, const struct simt_op *op, int lane,
                      enum simt_fault_kind kind, uint64_t address, bool is_write);

/* print.c */
void simt_text_add(struct simt_text *text, const char *bytes, size_t length);

#endif
