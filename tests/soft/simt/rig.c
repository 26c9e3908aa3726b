/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/soft/simt/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *zeroed(size_t bytes)
{
    void *at = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    assert_non_null(at);
    memset(at, 0, bytes);
    return at;
}

static uint64_t storage(void *ctx, const struct rp_ptx_var *var)
{
    struct rig *rig = ctx;
    for (size_t i = 0; i < rig->global_count; i++) {
        if (rig->globals[i].var == var)
            return (uintptr_t)rig->globals[i].at;
    }
    return 0;
}

static bool bounds(void *ctx, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    const struct rig *rig = ctx;
    for (size_t i = 0; i < rig->buffer_count; i++) {
        *lo = (uintptr_t)rig->buffers[i].at;
        *hi = *lo + rig->buffers[i].bytes;
        if (address >= *lo && address + bytes <= *hi)
            return true;
    }
    return false;
}

static void place_globals(struct rig *rig)
{
    for (size_t i = 0; i < rig->ptx->global_count; i++) {
        const struct rp_ptx_var *var = &rig->ptx->globals[i];
        if (var->space == RP_PTX_SHARED)
            continue;
        unsigned char *at = rig_buffer(rig, var->bytes ? var->bytes : 1);
        if (var->initial)
            memcpy(at, var->initial, var->bytes);
        assert_true(rig->global_count < RIG_MAX_BUFFERS);
        rig->globals[rig->global_count].var = var;
        rig->globals[rig->global_count++].at = at;
    }
}

void rig_open(struct rig *rig, const char *ptx, unsigned workers)
{
    char message[256] = "";
    *rig = (struct rig){.options = {.bounds = bounds}};
    rig->options.bounds_ctx = rig;
    if (rp_ptx_parse(ptx, strlen(ptx), &rig->ptx, message, sizeof message) != RP_OK)
        fail_msg("%s", message);
    place_globals(rig);
    if (simt_module_create(rig->ptx, storage, rig, &rig->module, message, sizeof message) != RP_OK)
        fail_msg("%s", message);
    assert_int_equal(simt_pool_create(workers, &rig->pool), RP_OK);
}

void rig_open_file(struct rig *rig, const char *path, unsigned workers)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)length, file), length);
    fclose(file);
    rig_open(rig, text, workers);
    free(text);
}

void rig_close(struct rig *rig)
{
    simt_pool_destroy(rig->pool);
    simt_module_destroy(rig->module);
    rp_ptx_destroy(rig->ptx);
    for (size_t i = 0; i < rig->buffer_count; i++)
        free(rig->buffers[i].at);
    *rig = (struct rig){0};
}

void *rig_buffer(struct rig *rig, size_t bytes)
{
    assert_true(rig->buffer_count < RIG_MAX_BUFFERS);
    unsigned char *at = zeroed(bytes);
    rig->buffers[rig->buffer_count].at = at;
    rig->buffers[rig->buffer_count++].bytes = bytes;
    return at;
}

void *rig_global(struct rig *rig, const char *name)
{
    for (size_t i = 0; i < rig->global_count; i++) {
        if (!strcmp(rig->globals[i].var->name, name))
            return rig->globals[i].at;
    }
    fail_msg("no variable %s", name);
    return NULL;
}

static unsigned char *pack(const struct rp_ptx_function *function, const void *const *args)
{
    unsigned char *block = zeroed(function->param_bytes + 1);
    for (size_t i = 0; i < function->param_count; i++)
        memcpy(block + function->params[i].offset, args[i], function->params[i].bytes);
    return block;
}

enum rp_status rig_try(struct rig *rig, const char *name, struct rig_size grid,
                       struct rig_size block, const void *const *args)
{
    const struct simt_kernel *kernel = simt_module_kernel(rig->module, name);
    if (!kernel)
        fail_msg("no kernel %s", name);
    struct simt_kernel_info info;
    simt_kernel_info(kernel, &info);
    unsigned char *params = pack(info.ptx, args);
    struct simt_launch launch = rig->options;
    launch.kernel = kernel;
    memcpy(launch.grid, &grid, sizeof launch.grid);
    memcpy(launch.block, &block, sizeof launch.block);
    launch.params = params;
    const enum rp_status status = simt_run(rig->pool, &launch, &rig->fault);
    free(params);
    return status;
}

void rig_run(struct rig *rig, const char *name, struct rig_size grid, struct rig_size block,
             const void *const *args)
{
    const enum rp_status status = rig_try(rig, name, grid, block, args);
    if (status != RP_OK) {
        const struct simt_kernel *kernel = simt_module_kernel(rig->module, name);
        const char *refusal = simt_kernel_refusal(kernel);
        fail_msg("%s: %s: %s", name, rp_status_text(status), refusal ? refusal : "");
    }
    if (rig->fault.kind != SIMT_FAULT_NONE)
        fail_msg("%s: fault %d at line %u, block %u, thread %u, address %#llx", name,
                 (int)rig->fault.kind, rig->fault.line, rig->fault.block[0], rig->fault.thread[0],
                 (unsigned long long)rig->fault.address);
}
