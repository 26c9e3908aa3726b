/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch is. The entry points are in launchcalls.c. */
#include "cuda/soft/api/launch.h"

#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/timeline.h"
#include "cuda/soft/api/touched.h"

#include <stdio.h>
#include <string.h>

struct kernel_work {
    struct soft_work base;
    struct soft_function *function; /* its module is retained */
    struct soft_launch launch;
    unsigned char params[]; /* function->info.ptx->param_bytes */
};

/* ---- running ----------------------------------------------------------------------- */

static CUresult fault_result(enum simt_fault_kind kind)
{
    switch (kind) {
    case SIMT_FAULT_NONE: return CUDA_SUCCESS;
    case SIMT_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIMT_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SIMT_FAULT_TIMEOUT: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case SIMT_FAULT_NO_MEMORY: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case SIMT_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case SIMT_FAULT_TRAP:
    case SIMT_FAULT_BARRIER: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static const char *fault_text(const struct simt_fault *fault)
{
    switch (fault->kind) {
    case SIMT_FAULT_NONE: return "no fault";
    case SIMT_FAULT_ADDRESS: return fault->is_write ? "illegal write at" : "illegal read at";
    case SIMT_FAULT_MISALIGNED:
        return fault->is_write ? "misaligned write at" : "misaligned read at";
    case SIMT_FAULT_TRAP: return "trap";
    case SIMT_FAULT_TIMEOUT: return "timeout";
    case SIMT_FAULT_BARRIER: return "barrier that can't be reached by all threads";
    case SIMT_FAULT_NO_MEMORY: return "no host memory to run it";
    case SIMT_FAULT_STACK: return "stack overflow";
    }
    return "fault";
}

static void say_fault(const struct soft_function *function, const struct simt_fault *fault)
{
    char address[24] = "";
    if (fault->kind == SIMT_FAULT_ADDRESS || fault->kind == SIMT_FAULT_MISALIGNED)
        snprintf(address, sizeof address, " %#llx", (unsigned long long)fault->address);
    soft_say("kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s%s (PTX line %u)", function->name,
             fault->block[0], fault->block[1], fault->block[2], fault->thread[0], fault->thread[1],
             fault->thread[2], fault_text(fault), address, fault->line);
}

/* Any number but 0, the same for the same seed and place in the order. */
static uint64_t block_seed(const struct soft_op *op)
{
    if (!soft.options.seeded)
        return 0;
    return (soft.options.seed + op->rank) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static void ask_of_clock(struct soft_demand *demand, struct simt_launch *launch)
{
    if (demand == NULL)
        return;
    demand->engine = SOFT_ENGINE_COMPUTE;
    demand->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    demand->threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    launch->counts = &demand->counts;
}

static uint64_t between_blocks(void *op, uint64_t done, uint64_t whole)
{
    return soft_op_progress(op, done, whole);
}

static unsigned kernel_pieces(const struct soft_work *base)
{
    const struct soft_launch *launch = &((const struct kernel_work *)base)->launch;
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (launch->cooperative)
        return 1;
    return blocks < SOFT_MOST_TURNS ? (unsigned)blocks : SOFT_MOST_TURNS;
}

static CUresult kernel_run(const struct soft_work *base, struct soft_op *op)
{
    const struct kernel_work *work = (const struct kernel_work *)base;
    struct simt_fault fault = {.kind = SIMT_FAULT_NONE};
    struct simt_launch launch = {
        .kernel = work->function->kernel,
        .dynamic_shared_bytes = work->launch.shared,
        .params = work->params,
        .cooperative = work->launch.cooperative,
        .timeout_ns = soft.options.timeout_ms * 1000000u,
        .schedule_seed = block_seed(op),
        .grid_id = op->seq,
        .between = soft.options.seeded && !work->launch.cooperative ? between_blocks : NULL,
        .between_ctx = op,
        .bounds = soft_memory_bounds,
        .bounds_ctx = op->context,
        .oracle = op->touched != NULL ? soft_touched_by_kernel : NULL,
        .oracle_ctx = op,
    };
    memcpy(launch.grid, work->launch.grid, sizeof launch.grid);
    memcpy(launch.block, work->launch.block, sizeof launch.block);
    ask_of_clock(soft_timeline_demand(op), &launch);

    enum rp_status status = simt_run(soft.pool, &launch, &fault);
    if (fault.kind != SIMT_FAULT_NONE) {
        say_fault(work->function, &fault);
        return fault_result(fault.kind);
    }
    return status == RP_OK ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static const char *kernel_title(const struct soft_work *base)
{
    return ((const struct kernel_work *)base)->function->name;
}

static void kernel_release(struct soft_work *base)
{
    soft_module_release(((struct kernel_work *)base)->function->module);
}

static const struct soft_work_type kernel_type = {
    .name = "kernel",
    .class_ = SOFT_WORK_DEVICE,
    .node = CU_GRAPH_NODE_TYPE_KERNEL,
    .capturable = true,
    .title = kernel_title,
    .run = kernel_run,
    .pieces = kernel_pieces,
    .release = kernel_release,
};

/* ---- making ------------------------------------------------------------------------ */

static bool dimensions_fit(const unsigned dimensions[3], unsigned x, unsigned y, unsigned z)
{
    return dimensions[0] > 0 && dimensions[1] > 0 && dimensions[2] > 0 && dimensions[0] <= x &&
           dimensions[1] <= y && dimensions[2] <= z;
}

CUresult soft_launch_check(const struct soft_function *function, const struct soft_launch *launch)
{
    const unsigned *block = launch->block, *grid = launch->grid;

    if (!dimensions_fit(grid, SOFT_MAX_GRID_X, SOFT_MAX_GRID_YZ, SOFT_MAX_GRID_YZ) ||
        !dimensions_fit(block, SOFT_MAX_BLOCK_X, SOFT_MAX_BLOCK_Y, SOFT_MAX_BLOCK_Z))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads > SOFT_MAX_THREADS_PER_BLOCK || launch->shared > function->max_dynamic_shared)
        return CUDA_ERROR_INVALID_VALUE;
    if (function->info.max_threads != 0 && threads > function->info.max_threads)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

static bool has_control(const struct rp_ptx_function *function, const char *what)
{
    for (size_t i = 0; i < function->code_count; i++)
        if (strcmp(function->code[i].op, "griddepcontrol") == 0 &&
            rp_ptx_has(&function->code[i], what))
            return true;
    return false;
}

/* Whoever may call a function that does is taken to do so. */
static bool may_control(const struct soft_function *function, const char *what)
{
    const struct rp_ptx_module *ptx = function->module->ptx;
    bool does = has_control(function->info.ptx, what);
    for (size_t i = 0; i < ptx->function_count && !does; i++)
        does = !ptx->functions[i].is_entry && has_control(&ptx->functions[i], what);
    return does;
}

bool soft_launch_overlaps(const struct soft_work *launch, const struct soft_work *ahead)
{
    const struct kernel_work *later = (const struct kernel_work *)launch;
    const struct kernel_work *earlier = (const struct kernel_work *)ahead;
    return later->launch.dependent && ahead->type == &kernel_type &&
           may_control(earlier->function, "launch_dependents") &&
           !may_control(later->function, "wait");
}

/* The pool is made when something is launched for the first time. A seed's order of blocks is
 * one only where one thread runs them. */
static CUresult start_pool(void)
{
    unsigned workers = soft.options.seeded ? 1 : (unsigned)soft.options.workers;
    if (soft.pool != NULL)
        return CUDA_SUCCESS;
    return simt_pool_create(workers, &soft.pool) == RP_OK ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_work(struct soft_function *function, const struct soft_launch *launch,
                          struct kernel_work **out)
{
    CUresult result = soft_function_check(function);
    if (result == CUDA_SUCCESS)
        result = soft_launch_check(function, launch);
    if (result == CUDA_SUCCESS)
        result = start_pool();
    if (result != CUDA_SUCCESS)
        return result;
    struct kernel_work *work =
        soft_work_create(&kernel_type, sizeof *work + function->info.ptx->param_bytes);
    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_module_retain(function->module);
    work->function = function;
    work->launch = *launch;
    *out = work;
    return CUDA_SUCCESS;
}

/* Reads the {CU_LAUNCH_PARAM_..., value, ..., END} list. */
static CUresult read_extra(void **extra, const void **block, size_t *bytes)
{
    *block = NULL;
    *bytes = 0;
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *block = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
            memcpy(bytes, extra[1], sizeof *bytes);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return *block != NULL || *bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_launch_work_packed(struct soft_function *function, const struct soft_launch *launch,
                                 const void *block, size_t bytes, struct soft_work **out)
{
    uint64_t needed = function->info.ptx->param_bytes;
    struct kernel_work *work;

    if (bytes < needed)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = make_work(function, launch, &work);
    if (result != CUDA_SUCCESS)
        return result;
    if (needed > 0)
        memcpy(work->params, block, needed);
    *out = &work->base;
    return CUDA_SUCCESS;
}

CUresult soft_launch_work(struct soft_function *function, const struct soft_launch *launch,
                          void **params, void **extra, struct soft_work **out)
{
    const struct rp_ptx_function *ptx = function->info.ptx;
    struct kernel_work *work;
    CUresult result;

    if (params != NULL && extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra != NULL) {
        const void *block;
        size_t bytes;
        result = read_extra(extra, &block, &bytes);
        if (result != CUDA_SUCCESS)
            return result;
        return soft_launch_work_packed(function, launch, block, bytes, out);
    }
    if (params == NULL && ptx->param_count > 0)
        return CUDA_ERROR_INVALID_VALUE;
    result = make_work(function, launch, &work);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < ptx->param_count; i++)
        memcpy(work->params + ptx->params[i].offset, params[i], ptx->params[i].bytes);
    *out = &work->base;
    return CUDA_SUCCESS;
}

/* ---- asking ------------------------------------------------------------------------ */

struct soft_function *soft_launch_read(const struct soft_work *work, struct soft_launch *launch)
{
    const struct kernel_work *kernel = (const struct kernel_work *)work;
    *launch = kernel->launch;
    return kernel->function;
}

unsigned char *soft_launch_params(struct soft_work *work)
{
    return ((struct kernel_work *)work)->params;
}
