/* SPDX-License-Identifier: Apache-2.0 */
/* What the four rooms of the scheduler share: work.c (works and operations), scheduler.c (who
 * may run), seeded.c (the order that a seed chooses) and executor.c (the threads that run them). */
#ifndef RP_CUDA_SOFT_API_SCHEDULER_H
#define RP_CUDA_SOFT_API_SCHEDULER_H

#include "cuda/soft/api/work.h"

#include <time.h>

#define MILLISECOND UINT64_C(1000000)

struct soft_op_list {
    struct soft_op *first;
    bool is_of_rankable; /* in order of arrival, and by a link of its own; else by rank */
};
void soft_op_list_insert(struct soft_op_list *list, struct soft_op *op);
void soft_op_list_remove(struct soft_op_list *list, struct soft_op *op);

struct soft_scheduler {
    pthread_cond_t done;          /* some operation is done */
    struct soft_op_list ready;
    struct soft_op_list rankable; /* seeded: whose next turn could have a rank, and has none */
    uint64_t last_seq, last_rank;
    uint64_t random;              /* state of the generator */
    uint64_t calls, calls_seen;   /* seeded: submissions and waits, for the idle rule, */
    uint64_t seen_ns;             /* and when they were looked at first */
    unsigned device_running, program_running;
    unsigned paused;        /* seeded: between two turns */
    /* When the oldest running function of the program started, in which thread, by whose clock, and
     * how much that thread had run before. */
    uint64_t program_since, program_spent_ns;
    clockid_t program_clock;
    _Atomic int program_thread; /* 0: it is over, but for the lock that its thread waits for */
    unsigned holds;
};
extern struct soft_scheduler soft_scheduler;

/* The first ready operation that may start now, or NULL. `*again` becomes the time after which
 * to look again without being told to, 0 for never. */
struct soft_op *soft_scheduler_pick(uint64_t *again);
/* The calling thread begins to run a function of the program, and no other one runs. */
void soft_scheduler_program_begins(void);
/* It is over; without the lock. */
void soft_scheduler_program_ends(void);
/* It has left, and others run, of which nothing is known. */
void soft_scheduler_program_left(void);
/* Is a function of the program at work, not waiting for the program, as far as can be seen? */
bool soft_scheduler_program_works(void);
/* Makes `op` ready where it can be. */
void soft_scheduler_offer(struct soft_op *op);
/* Marks `op` done, and what only waited for it ready. The caller sees to executors. */
void soft_scheduler_finish(struct soft_op *op);
/* seeded.c. Ranks one of the turns that could come next, false when there is none; now and then
 * some. */
bool soft_seeded_rank_one(void);
void soft_seeded_rank_some(void);
bool soft_seeded_is_ranked(const struct soft_op *op); /* all of its turns are */
void soft_seeded_forget_turns(struct soft_op *op);    /* it has ended */
/* Does a function of the program hold the order up? Then look again after `*again`. */
bool soft_seeded_is_held(uint64_t *again);
/* Work that no call drives any more, because the program looks at memory instead of asking: lets
 * all of it go. */
void soft_seeded_rank_abandoned(void);
#define SOFT_IDLE_NS (2000 * MILLISECOND) /* how long that takes to show */

/* executor.c: sees to it that somebody looks at the ready operations. */
void soft_executor_call(void);
void soft_executor_return(struct soft_op *op); /* what it has reserved, if anything */
/* The calling thread, which runs `op`, stands still until its next turn. */
void soft_executor_pause(struct soft_op *op);

#endif
