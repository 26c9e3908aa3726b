/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/recipe.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
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
    if (!call->is_launch)
        rp_recipe_retain(execution, "a call of it is no launch");
    else if (call->in_graph)
        rp_recipe_retain(execution, "it is launched as a graph");
    else if (call->writes >= RP_VERDICT_REACHABLE || call->reads >= RP_VERDICT_REACHABLE)
        rp_recipe_retain(execution, "what a launch of it reads or writes is not proved");
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

static void record(struct rp_recipe *recipe, const struct rp_launch *launch, CUfunction function,
                   const struct rp_footprint *call)
{
    struct rp_step_of_recipe *step = &recipe->steps[recipe->count++];
    *step = (struct rp_step_of_recipe){
        .version = call->version,
        .function = function,
        .shared_bytes = launch->shared_bytes,
        .params_at = recipe->params_bytes,
        .params_bytes = launch->param_bytes,
        .reaches_at = recipe->reach_count,
        .reach_count = call->count,
    };
    for (int i = 0; i < 3; i++) {
        step->grid[i] = launch->grid[i];
        step->block[i] = launch->block[i];
    }
    memcpy(recipe->params + recipe->params_bytes, launch->params, launch->param_bytes);
    recipe->params_bytes += launch->param_bytes;
    memcpy(recipe->reaches + recipe->reach_count, call->reaches,
           call->count * sizeof *call->reaches);
    recipe->reach_count += call->count;
}

void rp_recipe_add(struct rp_execution *execution, const struct rp_launched *launch,
                   CUfunction function, bool is_plain, const struct rp_footprint *call)
{
    struct rp_recipe *recipe = recipe_of(execution);
    if (!recipe || recipe->retained)
        return;
    if (!is_plain)
        rp_recipe_retain(execution, "a launch of it has attributes");
    else if (launch->kernel->proof && rp_proof_varies(launch->kernel->proof))
        rp_recipe_retain(execution, rp_proof_varies(launch->kernel->proof));
    else if (!launch->gathered || !launch->kernel->packed_alike)
        rp_recipe_retain(execution, "the parameters of a launch of it can't be given again");
    else if (!make_room(recipe, launch->geometry.param_bytes, call->count))
        rp_recipe_retain(execution, "the host is out of memory");
    else
        record(recipe, &launch->geometry, function, call);
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
        rp_recipe_retain(execution, "not all of it was seen");
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

enum rp_status rp_recipe_follow(struct rp_recipe *recipe, rp_stream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; result == CUDA_SUCCESS && i < recipe->count; i++) {
        const struct rp_step_of_recipe *step = &recipe->steps[i];
        size_t bytes = step->params_bytes;
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, recipe->params + step->params_at,
                         CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
        result = rp_real.cuLaunchKernel(step->function, step->grid[0], step->grid[1],
                                        step->grid[2], step->block[0], step->block[1],
                                        step->block[2], step->shared_bytes,
                                        rp_driver_stream(stream), NULL, bytes ? extra : NULL);
    }
    recipe->times++;
    return result == CUDA_SUCCESS ? RP_OK : RP_IO;
}
