/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of forwards, as the rest of the layer tells of them (recompute.h). */
#include "interpose/recompute/recording.h"

#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/segment.h"

/* The next forward that this thread is in, from scope *at on, or NULL. */
static struct rp_execution *next_forward(unsigned *at)
{
    const struct rp_thread *thread = rp_thread_self();
    while (rp_recompute_is_on() && *at < thread->scope_count) {
        const struct rp_scope *scope = &thread->scopes[(*at)++];
        if (scope->kind == RP_SCOPE_FORWARD && scope->execution)
            return scope->execution;
    }
    return NULL;
}

void rp_recompute_launch(const struct rp_launched *launch, uint64_t function, bool is_plain,
                         const struct rp_footprint *call)
{
    struct rp_execution *forward;
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add(forward, launch, (CUfunction)(uintptr_t)function, is_plain, call);
}

void rp_recompute_copy(uint64_t to, uint64_t from, uint64_t bytes,
                       const struct rp_footprint *call)
{
    struct rp_execution *forward;
    const struct rp_recopy copy = {to, from, bytes};
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add_copy(forward, &copy, call);
}

void rp_recompute_set(uint64_t to, uint64_t count, unsigned width, unsigned value,
                      const struct rp_footprint *call)
{
    struct rp_execution *forward;
    const struct rp_reset set = {to, count, width, value};
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add_set(forward, &set, call);
}

/* ---- other threads' -------------------------------------------------------------------- */

static bool is_of_this_thread(const struct rp_execution *forward)
{
    const struct rp_execution *own;
    for (unsigned at = 0; (own = next_forward(&at)) != NULL;)
        if (own == forward)
            return true;
    return false;
}

static bool writes_what_it_meets(const struct rp_footprint *call,
                                 const struct rp_execution *forward)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = reach->effect == RP_WRITE
                                         ? rp_instance_live(forward->instance, reach->id)
                                         : NULL;
        if (live && (rp_spans_overlaps(&live->live_in, reach->lo, reach->hi) ||
                     rp_spans_overlaps(&live->touched, reach->lo, reach->hi)))
            return true;
    }
    return false;
}

void rp_recording_doubt(const struct rp_footprint *call)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *forward = rp_executions_at(i);
        const struct rp_recipe *recipe = forward->recipe;
        if (recipe && !recipe->over && !recipe->retained && !is_of_this_thread(forward) &&
            writes_what_it_meets(call, forward))
            rp_recipe_retain(forward, "another thread wrote what it works on before its end");
    }
}
