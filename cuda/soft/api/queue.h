/* SPDX-License-Identifier: Apache-2.0 */
/* How much work may be pending in a stream.
 *
 * A driver's queue for launches is finite: CUDA's Programming Guide says of asynchronous calls
 * that they may block when it is full, and about 1024 launches fit on the GPUs of today. Here a
 * call that finds more than that pending in its stream waits at its end, with the lock given
 * up, until the rest has been worked off. It waits only while the device gets on: where all that
 * is left waits for the program (a value that the host is to write, a function of the program
 * that does not return), the call goes on, and the queue grows. With a seed there is no bound:
 * how far the device is would not be a function of the calls.
 *
 * A queue outlives its stream: operations and waiting calls hold it. Called with the device's
 * lock held. */
#ifndef RP_CUDA_SOFT_API_QUEUE_H
#define RP_CUDA_SOFT_API_QUEUE_H

#include "cuda/soft/api/work.h"

#define SOFT_QUEUE_MOST 1024

struct soft_queue {
    unsigned references;
    unsigned pending;    /* operations that entered and did not leave */
    unsigned enough;     /* a call waits until no more than that are pending; 0: none waits */
    pthread_cond_t room; /* so it is */
};

struct soft_queue *soft_queue_create(void); /* NULL: no host memory */
void soft_queue_release(struct soft_queue *queue);

/* `op` counts until it leaves, which it does when it is done and when it is freed. */
void soft_queue_enter(struct soft_queue *queue, struct soft_op *op);
void soft_queue_leave(struct soft_op *op);

/* The call at hand is about to add to the queue: should that be full already, soft_leave waits. */
void soft_queue_use(struct soft_queue *queue);

#endif
