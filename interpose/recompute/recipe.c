/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/recipe.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
#include "interpose/calls/unseen.h"
#include "tracker/array.h"

void rp_recipe_destroy(struct rp_recipe *recipe)
{
    if (!recipe)
        return;
    free(recipe->steps);
    free(recipe->params);
    free(recipe->reaches);
    free(recipe);
}

#define RETAINED_KIND "a call of it is of a kind that is not issued again"

static struct rp_recipe *recipe_of(struct rp_execution *execution)
{
    if (!execution->recipe)
        execution->recipe = calloc(1, sizeof *execution->recipe);
    return execution->recipe;
}

void rp_recipe_retain(struct rp_execution *execution, const char *reason)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe || recipe->retained)
        return;
    recipe->retained = reason;
    rp_segment_figures(execution->instance->segment)->unserved = reason;
}

bool rp_recipe_is_good(const struct rp_execution *execution)
{
    const struct rp_recipe *recipe = execution->recipe;
    return recipe && !recipe->retained && !recipe->closed && !recipe->lost &&
           !execution->refused;
}

/* ---- recording ------------------------------------------------------------------- */

/* To write there again would be to write over what nobody saw come. */
static bool writes_where_others_do(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, call->reaches[i].id);
        if (call->reaches[i].effect == RP_WRITE && alloc && rp_unseen_why(alloc))
            return true;
    }
    return false;
}

void rp_recipe_expect(struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe)
        return;
    recipe->calls++;
    if (recipe->calls > 1 && rp_driver_context_of(call->stream) !=
                                 rp_driver_context_of(recipe->stream))
        rp_recipe_retain(execution, "it works in several contexts");
    recipe->stream = call->stream;
    if (recipe->calls == 1)
        rp_real.cuCtxGetCurrent(&recipe->context);
    if (!call->on_device)
        rp_recipe_retain(execution, RETAINED_KIND);
    else if (call->in_graph)
        rp_recipe_retain(execution, "it is launched as a graph");
    else if (call->writes >= RP_VERDICT_REACHABLE || call->reads >= RP_VERDICT_REACHABLE)
        rp_recipe_retain(execution, "what a launch of it reads or writes is not proved");
    else if (writes_where_others_do(call))
        rp_recipe_retain(execution, "it writes memory that others may write, unseen");
}

static bool make_room(struct rp_recipe *recipe, size_t params, size_t reaches)
{
    void *steps = rp_array_reserve(recipe->steps, &recipe->capacity, recipe->count + 1,
                                   sizeof *recipe->steps);
    if (steps)
        recipe->steps = steps;
    void *bytes = rp_array_reserve(recipe->params, &recipe->params_capacity,
                                   recipe->params_bytes + params, 1);
    if (bytes)
        recipe->params = bytes;
    void *stretches = rp_array_reserve(recipe->reaches, &recipe->reach_capacity,
                                       recipe->reach_count + reaches, sizeof *recipe->reaches);
    if (stretches)
        recipe->reaches = stretches;
    return steps && bytes && stretches;
}

static struct rp_recipe_step *record(struct rp_recipe *recipe, enum rp_recipe_step_kind kind,
                                     const struct rp_footprint *call)
{
    struct rp_recipe_step *step = &recipe->steps[recipe->count++];
    *step = (struct rp_recipe_step){.kind = kind, .version = call->version};
    memcpy(recipe->reaches + recipe->reach_count, call->reaches,
           call->count * sizeof *call->reaches);
    recipe->reach_count += call->count;
    return step;
}

static void record_launch(struct rp_recipe *recipe, const struct rp_launch *launch,
                          CUfunction function, const struct rp_footprint *call)
{
    struct rp_relaunch *again = &record(recipe, RP_STEP_LAUNCH, call)->launch;
    *again = (struct rp_relaunch){.function = function,
                                  .shared_bytes = launch->shared_bytes,
                                  .params_at = recipe->params_bytes,
                                  .params_bytes = launch->param_bytes};
    for (int i = 0; i < 3; i++) {
        again->grid[i] = launch->grid[i];
        again->block[i] = launch->block[i];
    }
    memcpy(recipe->params + recipe->params_bytes, launch->params, launch->param_bytes);
    recipe->params_bytes += launch->param_bytes;
}

void rp_recipe_add(struct rp_execution *execution, const struct rp_launched *launch,
                   CUfunction function, bool is_plain, const struct rp_footprint *call)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe || recipe->retained)
        return;
    if (!is_plain)
        rp_recipe_retain(execution, "a launch of it has attributes");
    else if (launch->kernel->varies)
        rp_recipe_retain(execution, launch->kernel->varies);
    else if (!launch->gathered || !launch->kernel->packed_alike)
        rp_recipe_retain(execution, "the parameters of a launch of it can't be given again");
    else if (!make_room(recipe, launch->geometry.param_bytes, call->count))
        rp_recipe_retain(execution, "the host is out of memory");
    else
        record_launch(recipe, &launch->geometry, function, call);
}

/* Both its sides are memory that is known: what lies on the host may be another thing next time. */
static bool is_within_device(const struct rp_footprint *call, enum rp_effect effect,
                             uint64_t bytes)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, reach->id);
        bool is_there = alloc && (alloc->kind == RP_ALLOC_DEVICE || alloc->kind == RP_ALLOC_POOL);
        if (!is_there || !reach->certain)
            return false;
        bytes -= reach->effect == effect ? reach->hi - reach->lo : 0;
    }
    return bytes == 0;
}

static struct rp_recipe_step *add_plain(struct rp_execution *execution,
                                        enum rp_recipe_step_kind kind, bool is_known,
                                        const struct rp_footprint *call)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe || recipe->retained)
        return NULL;
    if (!is_known)
        rp_recipe_retain(execution, "a copy or set of it meets memory of another kind");
    else if (!make_room(recipe, 0, call->count))
        rp_recipe_retain(execution, "the host is out of memory");
    else
        return record(recipe, kind, call);
    return NULL;
}

void rp_recipe_add_copy(struct rp_execution *execution, const struct rp_recopy *copy,
                        const struct rp_footprint *call)
{
    bool is_known = is_within_device(call, RP_READ, copy->bytes) &&
                    is_within_device(call, RP_WRITE, copy->bytes);
    struct rp_recipe_step *step = add_plain(execution, RP_STEP_COPY, is_known, call);
    if (step)
        step->copy = *copy;
}

void rp_recipe_add_set(struct rp_execution *execution, const struct rp_reset *set,
                       const struct rp_footprint *call)
{
    bool is_known = is_within_device(call, RP_WRITE, set->count * set->width);
    struct rp_recipe_step *step = add_plain(execution, RP_STEP_SET, is_known, call);
    if (step)
        step->set = *set;
}

void rp_recipe_close(struct rp_execution *execution)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe)
        return;
    recipe->over = true;
    if (execution->refused)
        rp_recipe_retain(execution, execution->refused);
    else if (!recipe->count || recipe->count != recipe->calls)
        rp_recipe_retain(execution, RETAINED_KIND);
}

uint64_t rp_recipe_bytes(const struct rp_execution *execution)
{
    struct rp_spans met = {0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < execution->instance->live_count; i++) {
        const struct rp_live *live = &execution->instance->lives[i];
        if (rp_spans_copy(&met, &live->live_in) == RP_OK &&
            rp_spans_add_all(&met, &live->touched) == RP_OK)
            bytes += rp_spans_bytes(&met);
    }
    rp_spans_release(&met);
    return bytes;
}

/* ---- following ------------------------------------------------------------------- */

bool rp_recipe_wrote(const struct rp_recipe *recipe, rp_version version)
{
    size_t lo = 0, hi = recipe->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (recipe->steps[mid].version < version)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < recipe->count && recipe->steps[lo].version == version;
}

static CUresult launch_again(const struct rp_recipe *recipe, const struct rp_relaunch *launch,
                             CUstream stream)
{
    size_t bytes = launch->params_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, recipe->params + launch->params_at,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    return rp_real.cuLaunchKernel(launch->function, launch->grid[0], launch->grid[1],
                                  launch->grid[2], launch->block[0], launch->block[1],
                                  launch->block[2], launch->shared_bytes, stream, NULL,
                                  bytes ? extra : NULL);
}

static CUresult set_again(const struct rp_reset *set, CUstream stream)
{
    switch (set->width) {
    case 1:
        return rp_real.cuMemsetD8Async(set->to, (unsigned char)set->value, set->count, stream);
    case 2:
        return rp_real.cuMemsetD16Async(set->to, (unsigned short)set->value, set->count, stream);
    default: return rp_real.cuMemsetD32Async(set->to, set->value, set->count, stream);
    }
}

static CUresult step_again(const struct rp_recipe *recipe, const struct rp_recipe_step *step,
                           CUstream stream)
{
    switch (step->kind) {
    case RP_STEP_COPY:
        return rp_real.cuMemcpyDtoDAsync_v2(step->copy.to, step->copy.from, step->copy.bytes,
                                            stream);
    case RP_STEP_SET: return set_again(&step->set, stream);
    case RP_STEP_LAUNCH:
    default: return launch_again(recipe, &step->launch, stream);
    }
}

enum rp_status rp_recipe_follow(struct rp_recipe *recipe, rp_stream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; result == CUDA_SUCCESS && i < recipe->count; i++)
        result = step_again(recipe, &recipe->steps[i], rp_driver_stream(stream));
    recipe->times++;
    return result == CUDA_SUCCESS ? RP_OK : RP_IO;
}
