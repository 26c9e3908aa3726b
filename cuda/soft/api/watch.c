/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/watch.h"

#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/oracle.h"
#include "cuda/soft/api/races.h"
#include "cuda/soft/api/timeline.h"
#include "cuda/soft/api/touched.h"

static void complain(void)
{
    static _Atomic bool said;
    if (!said)
        soft_say("no host memory to watch an operation: what is written about it is incomplete");
    said = true;
}

void soft_watch_begin(struct soft_op *op)
{
    if (!soft_oracle_is_on() && soft_clock_figures() == NULL && !soft_races_are_wanted())
        return;
    op->touched = soft_touched_create();
    if (op->touched == NULL)
        complain();
}

/* ---- what it costs ----------------------------------------------------------------- */

static bool is_on_host(uint64_t address)
{
    const struct soft_allocation *allocation = soft_memory_next(address, address + SOFT_PAGE_BYTES);
    return allocation != NULL &&
           (allocation->kind == SOFT_MEMORY_HOST || allocation->kind == SOFT_MEMORY_REGISTERED);
}

/* Pinned host memory is reached over the link, everything else is the device's own. */
static void add_bytes(struct soft_demand *demand, struct soft_touched *touched)
{
    size_t count;
    const struct soft_page *pages = soft_touched_pages(touched, &count);

    pthread_mutex_lock(&soft.lock);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = soft_page_sectors(&pages[i]);
        if (is_on_host(pages[i].number << SOFT_PAGE_SHIFT))
            demand->link_bytes += bytes;
        else
            demand->memory_bytes += bytes;
    }
    pthread_mutex_unlock(&soft.lock);
    demand->moved_bytes += soft_touched_moved(touched);
}

void soft_watch_end(struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    struct soft_demand *demand = soft_timeline_demand(op);

    if (op->touched == NULL)
        return;
    if (soft_touched_is_lost(op->touched))
        complain();
    else if (soft_oracle_is_on())
        soft_oracle_write(op, type->title != NULL ? type->title(op->work) : type->name);
    if (demand != NULL)
        add_bytes(demand, op->touched);
    if (soft_races_are_wanted()) {
        pthread_mutex_lock(&soft.lock);
        soft_races_check(op);
        pthread_mutex_unlock(&soft.lock);
    }
    soft_touched_destroy(op->touched);
    op->touched = NULL;
}
