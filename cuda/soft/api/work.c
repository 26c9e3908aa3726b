/* SPDX-License-Identifier: Apache-2.0 */
/* Works and operations: their lives, and who comes after whom. */
#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/past.h"
#include "cuda/soft/api/queue.h"
#include "cuda/soft/api/scheduler.h"
#include "cuda/soft/api/timeline.h"

#include <stdlib.h>

/* ---- works ------------------------------------------------------------------------- */

void *soft_work_create(const struct soft_work_type *type, size_t bytes)
{
    struct soft_work *work = calloc(1, bytes);
    if (work != NULL)
        *work = (struct soft_work){type, 1};
    return work;
}

struct soft_work *soft_work_retain(struct soft_work *work)
{
    work->references++;
    return work;
}

void soft_work_release(struct soft_work *work)
{
    if (work == NULL || --work->references > 0)
        return;
    if (work->type->release != NULL)
        work->type->release(work);
    free(work);
}

struct soft_work *soft_work_marker(void)
{
    static const struct soft_work_type type = {.name = "marker",
                                               .class_ = SOFT_WORK_MARKER,
                                               .node = CU_GRAPH_NODE_TYPE_EMPTY,
                                               .capturable = true};
    static struct soft_work marker = {&type, 1};
    return soft_work_retain(&marker);
}

/* ---- operations -------------------------------------------------------------------- */

struct soft_op *soft_op_create(struct soft_context *context, struct soft_work *work)
{
    struct soft_op *op = calloc(1, sizeof *op);
    if (op == NULL) {
        soft_work_release(work);
        return NULL;
    }
    op->work = work;
    op->context = context;
    op->references = 1;
    op->has_reserved = work->type->class_ == SOFT_WORK_PROGRAM && soft_executor_reserve(true);
    if ((work->type->class_ == SOFT_WORK_PROGRAM && !op->has_reserved) ||
        !soft_timeline_enter(op) || !soft_past_enter(op)) {
        soft_op_release(op);
        return NULL;
    }
    return op;
}

struct soft_op *soft_op_retain(struct soft_op *op)
{
    op->references++;
    return op;
}

void soft_op_release(struct soft_op *op)
{
    if (op == NULL || --op->references > 0)
        return;
    soft_executor_return(op);
    soft_queue_leave(op);
    soft_queue_release(op->queue);
    soft_work_release(op->work);
    soft_timeline_drop(op->moment);
    soft_past_release(op->past);
    free(op->later);
    free(op);
}

bool soft_op_is_done(const struct soft_op *op)
{
    return op == NULL || op->state == SOFT_OP_DONE;
}

bool soft_history_matters(void)
{
    return soft.options.seeded || soft_clock_figures() != NULL || soft_past_is_kept();
}

void soft_op_met(const struct soft_op *op)
{
    soft_timeline_met(op);
    soft_past_met(op);
}

void soft_op_after(struct soft_op *op, struct soft_op *earlier)
{
    soft_timeline_after(op, earlier);
    if (soft_op_is_done(earlier)) {
        if (earlier != NULL)
            soft_past_join(op, earlier);
        return;
    }
    if (earlier->later_count == earlier->later_capacity) {
        size_t capacity = earlier->later_capacity ? 2 * earlier->later_capacity : 4;
        struct soft_op **later = realloc(earlier->later, capacity * sizeof(struct soft_op *));
        if (later == NULL) {
            soft_op_retain(earlier);
            soft_op_wait(earlier);
            soft_op_release(earlier);
            return;
        }
        earlier->later = later;
        earlier->later_capacity = capacity;
    }
    earlier->later[earlier->later_count++] = op;
    op->waits++;
    if (earlier->turns == 0 || earlier->ranked < earlier->turns)
        op->unranked++;
}

/* ---- lists ------------------------------------------------------------------------- */

static struct soft_op **link_of(const struct soft_op_list *list, struct soft_op *op)
{
    return list->is_of_rankable ? &op->next_rankable : &op->next;
}

void soft_op_list_insert(struct soft_op_list *list, struct soft_op *op)
{
    struct soft_op **at = &list->first;
    while (*at != NULL && (list->is_of_rankable || (*at)->rank <= op->rank))
        at = link_of(list, *at);
    *link_of(list, op) = *at;
    *at = op;
}

void soft_op_list_remove(struct soft_op_list *list, struct soft_op *op)
{
    struct soft_op **at = &list->first;
    while (*at != op)
        at = link_of(list, *at);
    *at = *link_of(list, op);
    *link_of(list, op) = NULL;
}
