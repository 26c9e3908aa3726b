/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/captured.h"

#include "interpose/run/core.h"
#include "interpose/run/segment.h"
#include "tracker/array.h"

static void add(struct rp_captured *captured, struct rp_captured_call call)
{
    struct rp_captured_call *bigger = rp_array_reserve(captured->items, &captured->capacity,
                                                       captured->count + 1, sizeof *bigger);
    if (!bigger) {
        captured->is_full = true;
        return;
    }
    captured->items = bigger;
    captured->items[captured->count++] = call;
}

void rp_captured_call(struct rp_thread *thread, uint32_t name, bool is_launch)
{
    for (unsigned i = 0; i < thread->scope_count; i++)
        add(&thread->scopes[i].captured, (struct rp_captured_call){name, is_launch});
}

/* Launches are told by their kernels; copies and sets have other names as nodes. */
static void take_out(struct rp_captured *captured, const struct rp_footprint *call)
{
    for (size_t i = 0; i < captured->count; i++) {
        const struct rp_captured_call *item = &captured->items[i];
        if (item->is_launch != call->is_launch || (item->is_launch && item->name != call->name))
            continue;
        captured->items[i] = captured->items[--captured->count];
        return;
    }
}

void rp_captured_ran(struct rp_thread *thread, const struct rp_footprint *call)
{
    for (unsigned i = 0; i < thread->scope_count; i++)
        take_out(&thread->scopes[i].captured, call);
}

void rp_captured_unknown(struct rp_thread *thread)
{
    for (unsigned i = 0; i < thread->scope_count; i++)
        thread->scopes[i].captured.count = 0;
}

uint32_t rp_captured_left(const struct rp_captured *captured)
{
    if (captured->count)
        return captured->items[0].name;
    return captured->is_full ? rp_names_id(rp_core.names, "(a captured call)") : 0;
}
