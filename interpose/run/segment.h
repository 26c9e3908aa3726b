/* SPDX-License-Identifier: Apache-2.0 */
/* Segments on the move: which call belongs to which forward, replay, or to neither.
 *
 * Each thread has a stack of open scopes, innermost last. A scope is one forward or one
 * replay of a segment rule; NVTX ranges, launch names and the reprise_segment_ calls open and
 * close them. All functions want the core's lock. */
#ifndef RP_INTERPOSE_SEGMENT_H
#define RP_INTERPOSE_SEGMENT_H

#include "cuda/transaction.h"
#include "interpose/run/captured.h"
#include "interpose/run/execution.h"
#include "interpose/run/footprint.h"
#include "interpose/run/range.h"

#define RP_MAX_SCOPES 16

enum rp_scope_kind { RP_SCOPE_FORWARD, RP_SCOPE_REPLAY };

/* Calls of a replay with their outputs where another call of its forward had its own, and worked
 * on the same buffers besides. */
struct rp_moved_calls {
    struct rp_moved {
        uint32_t name;
        uint64_t launch;
        size_t entry, meant; /* of the log: what it was matched with, and that other */
        struct rp_reach output;
    } *items;
    size_t count, capacity;
};

/* The first call of a replay with its output elsewhere than its twin. */
struct rp_elsewhere {
    uint32_t name; /* 0: there is none */
    uint64_t launch;
    struct rp_reach output;
    bool stands; /* and all that the forward has made stands where it made it */
};

struct rp_scope {
    enum rp_scope_kind kind;
    uint32_t segment;
    struct rp_execution *execution; /* NULL for a replay that could not be paired */
    bool by_launch;                 /* opened by a launch's name, closed by one */
    char key[RP_KEY_BYTES];         /* what the replay's own range says */
    const char *guessed; /* why the pairing is no more than a guess so far, or NULL */
    bool settled;                   /* its first call has confirmed the pairing, or named another */
    struct rp_captured captured;
    /* Replay only: */
    struct rp_host_copy *host;          /* the live content of host variables, or NULL */
    uint64_t errands;     /* since when host functions are watched that waited; 0: none did */
    struct rp_transaction *transaction; /* NULL until the replay's first call, and in check */
    size_t cursor;        /* the next call of the log that should come */
    size_t repeated;      /* calls of the log that came */
    bool skips;           /* some were left out so far, or came in another order */
    bool tainted;         /* it read something else than the forward did */
    struct rp_moved_calls moved;
    struct rp_elsewhere elsewhere; /* where launches alone tell that it is a replay */
    uint32_t repeating;   /* name of its latest call that the forward had too */
    uint32_t stranger;    /* name of the first call in its range that the forward had not */
};

/* The call that should have come next in a replay that is over. */
struct rp_left_out {
    uint64_t signature; /* 0: none should have */
    uint64_t values, inputs, outputs;
    uint32_t segment;
    uint64_t instance;
};

struct rp_thread {
    struct rp_scope scopes[RP_MAX_SCOPES];
    unsigned scope_count;
    bool marks; /* has opened one, if ever so long ago */
    struct rp_ranges ranges;
    bool is_early;    /* has ranges that began before the layer was there, and opened nothing yet */
    bool catches_up;  /* it opens them just now */
    struct rp_left_out left_out; /* until the thread's next call, or segment */
    bool is_full; /* no memory was left for the thread: no scope can be opened */
};

/* The calling thread's state; never NULL. */
struct rp_thread *rp_thread_self(void);

/* NVTX ranges begin and end, each in its domain (NULL: the default one). */
void rp_segment_push(struct rp_thread *thread, const void *domain, const char *message);
void rp_segment_pop(struct rp_thread *thread, const void *domain);
/* The same of what began before the layer was there. */
void rp_segment_catch_up(struct rp_thread *thread);
/* reprise_segment_begin/end: by the rule's name. RP_NOT_FOUND when no rule has it. */
enum rp_status rp_segment_begin(struct rp_thread *thread, const char *name, const char *key,
                                bool replay);
enum rp_status rp_segment_end(struct rp_thread *thread);

/* True when the call, outside of any replay, may be the first in one of the segment's, which
 * launches alone tell. */
bool rp_segment_may_replay(const struct rp_thread *thread, uint32_t segment,
                           const struct rp_footprint *call);
/* Before and after each launch: scopes that are found by kernel names. */
void rp_segment_before_launch(struct rp_thread *thread, const struct rp_footprint *call);
void rp_segment_after_launch(struct rp_thread *thread, uint32_t kernel);

/* The thread's innermost replay, or NULL. */
struct rp_scope *rp_segment_replay(struct rp_thread *thread);
/* The replay that `replay`, the innermost one, is a part of, because its forward ran inside that
 * one's: what that one needs is rewound, and nothing more for the parts. Often `replay` itself. */
struct rp_scope *rp_segment_owner(struct rp_thread *thread, struct rp_scope *replay);
/* True when the scope is one of the calling thread's. */
bool rp_segment_is_own(const struct rp_scope *scope);

/* Scopes of any thread whose transaction is open: what calls outside must be held against.
 * Adding fails when the host is out of memory. */
size_t rp_transactions_count(void);
struct rp_scope *rp_transactions_at(size_t index);
bool rp_transactions_add(struct rp_scope *scope);
void rp_transactions_remove(const struct rp_scope *scope);
/* After a fork. */
void rp_transactions_forget(void);

#endif
