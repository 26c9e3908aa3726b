/* SPDX-License-Identifier: Apache-2.0 */
/* What the three rooms of the scheduler share: work.c (works and operations), scheduler.c (who
 * may run, and in which order) and executor.c (the threads that run them). */
#ifndef RP_CUDA_SOFT_API_SCHEDULER_H
#define RP_CUDA_SOFT_API_SCHEDULER_H

#include "cuda/soft/api/work.h"

#define MILLISECOND UINT64_C(1000000)

struct soft_op_list { /* by rank, or in order of arrival */
    struct soft_op *first;
};
void soft_op_list_insert(struct soft_op_list *list, struct soft_op *op);
void soft_op_list_remove(struct soft_op_list *list, struct soft_op *op);

struct soft_scheduler {
    pthread_cond_t done;          /* some operation is done */
    struct soft_op_list ready;    /* by rank */
    struct soft_op_list rankable; /* seeded: could run next but has no rank */
    uint64_t last_seq, last_rank;
    uint64_t random;              /* state of the generator */
    uint64_t calls, calls_seen;   /* seeded: submissions and waits, for the idle rule, */
    uint64_t seen_ns;             /* and when they were looked at first */
    unsigned device_running, program_running;
    uint64_t program_since; /* when the oldest running function of the program started */
    unsigned holds;
};
extern struct soft_scheduler soft_scheduler;

/* The first ready operation that may start now, or NULL. `*again` becomes the time after which
 * to look again without being told to, 0 for never. */
struct soft_op *soft_scheduler_pick(uint64_t *again);
/* Seeded: does a function of the program hold the order up? */
bool soft_scheduler_is_held(void);
/* Marks `op` done, and what only waited for it ready. The caller sees to executors. */
void soft_scheduler_finish(struct soft_op *op);
/* Seeded work that no call drives any more, because the program looks at memory instead of
 * asking: lets all of it go. */
void soft_scheduler_rank_abandoned(void);
#define SOFT_IDLE_NS (2000 * MILLISECOND) /* how long that takes to show */

/* executor.c: sees to it that somebody looks at the ready operations. */
void soft_executor_call(void);

#endif
