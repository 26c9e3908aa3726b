/* SPDX-License-Identifier: Apache-2.0 */
/* Work, operations and the scheduler.
 *
 * A work is something that can be done: a copy, a kernel with its arguments, a function to
 * call. It is immutable and counted, so that a graph can submit it again and again.
 * An operation is one submission of a work: it waits until all operations that it comes after
 * are done, then an executor thread runs it. Streams, events and graphs are nothing but
 * rules for who comes after whom; when an operation is submitted, all that is known.
 *
 * Without a seed, operations that are ready run side by side, the oldest first. With one
 * (REPRISE_SOFT_SCHEDULE), calls of the program draw from a generator: each may put some of
 * the operations that could run now, or parts of them, into one total order, and waiting calls
 * put as many as they need (seeded.c). One thing at a time happens in that order, so a program
 * that makes the same calls gets the same interleaving. Functions of the program run on a thread
 * of their own in either mode, and the order goes on without one that doesn't return soon.
 *
 * Everything here is called with the device's lock held. Functions that wait give it up. */
#ifndef RP_CUDA_SOFT_API_WORK_H
#define RP_CUDA_SOFT_API_WORK_H

#include "cuda/soft/api/soft.h"

struct soft_work;
struct soft_op;
struct soft_moment;
struct soft_past;
struct soft_touched;

enum soft_work_class {
    SOFT_WORK_MARKER,  /* nothing to run: done as soon as its turn comes */
    SOFT_WORK_DEVICE,  /* touches device memory; runs without the lock */
    SOFT_WORK_PROGRAM, /* calls a function of the program; runs without the lock */
};

struct soft_work_type {
    const char *name;                                   /* as messages and the oracle call it ... */
    const char *(*title)(const struct soft_work *work); /* NULL, or: a name of its own */
    enum soft_work_class class_;
    CUgraphNodeType node; /* what it becomes in a graph ... */
    bool capturable;      /* ... if it may */
    /* Does it, on an executor thread without the lock; anything but CUDA_SUCCESS is the
     * context's fault from now on. Not called once the context has one, except where
     * `always` is set. */
    CUresult (*run)(const struct soft_work *work, struct soft_op *op);
    bool always;
    /* NULL, or: into how many parts may its run be broken (soft_op_progress)? */
    unsigned (*pieces)(const struct soft_work *work);
    /* NULL, or: the works that it consists of, to be submitted one after the other in its
     * place. It is a marker itself. */
    struct soft_work *const *(*parts)(const struct soft_work *work, size_t *count);
    /* NULL, or: can it run yet? Asked again and again, with the lock. */
    bool (*ready)(const struct soft_work *work, const struct soft_op *op);
    /* NULL, or: gives up what the work holds, with the lock. The struct itself is freed. */
    void (*release)(struct soft_work *work);
};

struct soft_work {
    const struct soft_work_type *type;
    unsigned references;
};

/* A zeroed work of `bytes` bytes with one reference, or NULL. */
void *soft_work_create(const struct soft_work_type *type, size_t bytes);
struct soft_work *soft_work_retain(struct soft_work *work);
void soft_work_release(struct soft_work *work); /* NULL is fine */

/* PAUSED: between two turns of a seeded order. */
enum soft_op_state {
    SOFT_OP_NEW,
    SOFT_OP_WAITING,
    SOFT_OP_READY,
    SOFT_OP_RUNNING,
    SOFT_OP_PAUSED,
    SOFT_OP_DONE
};
#define SOFT_MOST_TURNS 4

struct soft_op {
    struct soft_work *work;
    struct soft_context *context;
    uint64_t seq;    /* order of submission */
    uint64_t rank;   /* place in the total order, 0: none yet; seq where there is no seed */
    uint64_t stream; /* id of the stream, for messages */
    unsigned references;
    struct soft_queue *queue; /* of the stream, for operations that count there (queue.h) */
    bool in_queue;            /* it still does */
    unsigned waits;           /* earlier operations that are not done */
    unsigned unranked;        /* earlier operations without a rank */
    enum soft_op_state state;
    bool has_reserved; /* an executor, as it may block */
    uint64_t finished_ns;
    struct soft_op **later; /* operations that wait for this one */
    size_t later_count, later_capacity;
    struct soft_op *next;          /* in the list of ready operations */
    struct soft_op *next_rankable; /* and in that of rankable ones */
    /* Seeded: in how many turns it runs, how many of them have a rank, and how many are over. */
    unsigned turns, ranked, ran;
    uint64_t rank_of[SOFT_MOST_TURNS];
    pthread_cond_t *resume;       /* of the thread that waits for its next turn */
    struct soft_touched *touched; /* while it runs and somebody watches (touched.h) */
    struct soft_moment *moment;   /* in model time, where there is a clock (timeline.h) */
    struct soft_past *past;       /* where somebody looks for races (past.h) */
};

/* A new operation with one reference, which does not run before it is submitted. Takes over
 * the caller's reference to `work`, also when it answers NULL for want of host memory. */
struct soft_op *soft_op_create(struct soft_context *context, struct soft_work *work);
struct soft_op *soft_op_retain(struct soft_op *op);
void soft_op_release(struct soft_op *op); /* NULL is fine */

/* `op`, not yet submitted, is to come after `earlier`, which may be NULL or done. Short of
 * host memory the order is kept by waiting for it here. */
void soft_op_after(struct soft_op *op, struct soft_op *earlier);
void soft_op_submit(struct soft_op *op);

/* Called by a run whose type has `pieces`, when `done` of `whole` is done and it could pause: where
 * a seeded order has others run meanwhile, it does. Answers for how many ns. Without the lock. */
uint64_t soft_op_progress(struct soft_op *op, uint64_t done, uint64_t whole);

bool soft_op_is_done(const struct soft_op *op); /* NULL is done */
/* The calling thread has learnt that `op`, which may be NULL, is done. */
void soft_op_met(const struct soft_op *op);
/* Is the order told for its own sake, also after operations that are done? A seed, a model clock
 * and the search for races want it. */
bool soft_history_matters(void);

/* Sees to it that there is a thread for operations, whatever blocks; false when there can't be. */
bool soft_executor_reserve(bool for_program);

/* Waits until `op` is done, without the lock. The caller holds a reference. */
void soft_op_wait(struct soft_op *op);
void soft_scheduler_start(void); /* in cuInit */
/* Before a call answers whether something is done: with a seed, lets the order go on a
 * little and settles what is in it, so that the answer is a function of the calls. */
void soft_scheduler_poll(void);
/* Waits a little, or until the condition (NULL: until one ends), where operations may still end
 * without another call; false where none will. */
bool soft_scheduler_await(pthread_cond_t *until);

/* Waits until no device operation is running and keeps others from starting until the
 * counterpart is called: for the moment when memory goes away under its addresses. */
void soft_scheduler_hold(void);
void soft_scheduler_resume(void);

/* A work that does nothing: joins and forks of streams and graphs. Never fails. */
struct soft_work *soft_work_marker(void);

#endif
