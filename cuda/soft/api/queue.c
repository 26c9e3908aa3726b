/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/queue.h"

#include "cuda/soft/api/scheduler.h"

#include <stdlib.h>

struct soft_queue *soft_queue_create(void)
{
    struct soft_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    queue->references = 1;
    pthread_cond_init(&queue->room, NULL);
    return queue;
}

void soft_queue_release(struct soft_queue *queue)
{
    if (queue == NULL || --queue->references > 0)
        return;
    pthread_cond_destroy(&queue->room);
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
    if (--op->queue->pending == op->queue->enough)
        pthread_cond_broadcast(&op->queue->room);
}

void soft_queue_use(struct soft_queue *queue)
{
    if (soft_thread.full != NULL || queue->pending <= SOFT_QUEUE_MOST || soft.options.seeded)
        return;
    queue->references++;
    soft_thread.full = queue;
    soft_thread.found = queue->pending;
}

/* What the call itself has added may stay: a graph can be larger than the queue. A waiting call is
 * woken when a part of the queue is free, not for each operation that ends. */
void soft_queue_settle(void)
{
    struct soft_queue *queue = soft_thread.full;
    unsigned added = queue->pending > soft_thread.found ? queue->pending - soft_thread.found : 0;
    unsigned enough = SOFT_QUEUE_MOST + added - SOFT_QUEUE_MOST / 8;

    soft_thread.full = NULL;
    while (queue->pending > enough) {
        queue->enough = enough; /* that of another thread is noticed a little later */
        if (!soft_scheduler_await(&queue->room))
            break;
    }
    soft_queue_release(queue);
}
