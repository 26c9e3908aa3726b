/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/queue.h"

#include "cuda/soft/api/scheduler.h"

#include <stdlib.h>

struct soft_queue *soft_queue_create(void)
{
    struct soft_queue *queue = calloc(1, sizeof *queue);
    if (queue != NULL)
        queue->references = 1;
    return queue;
}

void soft_queue_release(struct soft_queue *queue)
{
    if (queue != NULL && --queue->references == 0)
        free(queue);
}

void soft_queue_enter(struct soft_queue *queue, struct soft_op *op)
{
    queue->references++;
    queue->pending++;
    op->queue = queue;
    op->in_queue = true;
}

void soft_queue_leave(struct soft_op *op)
{
    if (!op->in_queue)
        return;
    op->in_queue = false;
    op->queue->pending--;
}

void soft_queue_use(struct soft_queue *queue)
{
    if (soft_thread.full != NULL || queue->pending <= SOFT_QUEUE_MOST || soft.options.seeded)
        return;
    queue->references++;
    soft_thread.full = queue;
    soft_thread.found = queue->pending;
}

/* What the call itself has added may stay: a graph can be larger than the queue. */
void soft_queue_settle(void)
{
    struct soft_queue *queue = soft_thread.full;
    unsigned added = queue->pending > soft_thread.found ? queue->pending - soft_thread.found : 0;

    soft_thread.full = NULL;
    while (queue->pending > SOFT_QUEUE_MOST + added && soft_scheduler_await())
        ;
    soft_queue_release(queue);
}
