/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: all functions compiled, and for each kernel the layout of what it reaches. */
#include "cuda/soft/simt/machine.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Local memory kept for a recursion or for calls through pointers, a thread. */
#define STACK_RESERVE (16u << 10)

static bool collect_shared(struct simt_module *module)
{
    const struct rp_ptx_module *ptx = module->ptx;
    size_t count = ptx->global_count;
    for (size_t i = 0; i < ptx->function_count; i++)
        count += ptx->functions[i].local_count;
    module->shared = calloc(count + 1, sizeof *module->shared);
    if (!module->shared)
        return false;
    for (size_t i = 0; i < ptx->global_count; i++) {
        if (ptx->globals[i].space == RP_PTX_SHARED)
            module->shared[module->shared_count++] = &ptx->globals[i];
    }
    for (size_t i = 0; i < ptx->function_count; i++) {
        const struct rp_ptx_function *function = &ptx->functions[i];
        for (size_t k = 0; k < function->local_count; k++) {
            if (function->locals[k].space == RP_PTX_SHARED)
                module->shared[module->shared_count++] = &function->locals[k];
        }
    }
    return true;
}

/* Opcodes become the addresses of the build that was chosen; access sites get numbers that
 * are unique in the module. */
static void bind(struct simt_module *module, struct simt_function *function)
{
    const struct simt_isa *isa = simt_isa_chosen();
    for (uint32_t i = 0; i < function->op_count; i++) {
        struct simt_op *op = &function->ops[i];
        op->label = isa->label(op);
        if (op->opcode < SIMT_CONTROL_COUNT)
            continue;
        const uint32_t index = op->opcode - SIMT_CONTROL_COUNT;
        op->lanes = isa->lanes[index];
        if (simt_signatures[index].control == SIMT_CHECKED)
            op->target += module->site_count;
    }
    module->site_count += function->site_count;
}

/* ---- kernels ------------------------------------------------------------------ */

struct reach {
    const struct simt_module *module;
    uint8_t *state;   /* of each function, enum visit */
    uint32_t *path;   /* the functions being visited, and at which callee each is */
    uint32_t *next;
    bool recursive;
};

enum visit { UNSEEN, ON_PATH, SEEN };

/* Everything that may run when `index` runs, depth first: meeting a function that is on the
 * path is recursion. The path is kept by hand, since chains of calls may be long. */
static void visit(struct reach *reach, uint32_t index)
{
    uint32_t depth = 0;
    if (reach->state[index] != UNSEEN)
        return;
    reach->path[0] = index;
    reach->next[0] = 0;
    reach->state[index] = ON_PATH;
    for (;;) {
        const struct simt_function *function = &reach->module->functions[reach->path[depth]];
        if (reach->next[depth] == function->callee_count) {
            reach->state[reach->path[depth]] = SEEN;
            if (depth-- == 0)
                return;
            continue;
        }
        const uint32_t callee = function->callees[reach->next[depth]++];
        reach->recursive |= reach->state[callee] == ON_PATH;
        if (reach->state[callee] == UNSEEN) {
            reach->state[callee] = ON_PATH;
            reach->path[++depth] = callee;
            reach->next[depth] = 0;
        }
    }
}

/* An indirect call may reach every function of which somebody takes the address. */
static void visit_all(struct reach *reach, uint32_t root)
{
    visit(reach, root);
    for (uint32_t i = 0; i < reach->module->function_count; i++) {
        if (reach->state[i] == UNSEEN || !reach->module->functions[i].calls_unknown)
            continue;
        reach->recursive = true;
        for (uint32_t k = 0; k < reach->module->function_count; k++) {
            if (reach->module->functions[k].address_taken)
                visit(reach, k);
        }
    }
}

static bool lay_out_shared(struct simt_kernel *kernel, const struct reach *reach)
{
    const struct simt_module *module = reach->module;
    uint64_t at = 0;
    uint32_t dynamic_align = 16;
    kernel->shared_offset = calloc(module->shared_count + 1, sizeof *kernel->shared_offset);
    if (!kernel->shared_offset)
        return false;
    for (uint32_t i = 0; i < module->shared_count; i++)
        kernel->shared_offset[i] = UINT32_MAX;
    for (uint32_t f = 0; f < module->function_count; f++) {
        const struct simt_function *function = &module->functions[f];
        for (uint32_t k = 0; reach->state[f] != UNSEEN && k < function->shared_count; k++) {
            const uint32_t index = function->shared[k];
            const struct rp_ptx_var *var = module->shared[index];
            const uint32_t align = var->align ? var->align : 1;
            if (kernel->shared_offset[index] != UINT32_MAX)
                continue;
            if (var->is_extern && var->bytes == 0) {
                dynamic_align = align > dynamic_align ? align : dynamic_align;
                continue;
            }
            at = (at + align - 1) & ~(uint64_t)(align - 1);
            kernel->shared_offset[index] = (uint32_t)at;
            at += var->bytes;
            if (at > 256u << 10)
                return asprintf(&kernel->refusal, "%u:1: %s: more than 256 KiB of shared memory",
                                kernel->function->ptx->line, kernel->function->ptx->name) >= 0;
        }
    }
    kernel->static_shared_bytes = (uint32_t)at;
    const uint32_t dynamic = (uint32_t)((at + dynamic_align - 1) & ~(uint64_t)(dynamic_align - 1));
    for (uint32_t i = 0; i < module->shared_count; i++) {
        if (kernel->shared_offset[i] == UINT32_MAX)
            kernel->shared_offset[i] = dynamic;
    }
    kernel->dynamic_offset = dynamic;
    return true;
}

static bool finish_kernel(struct simt_module *module, uint32_t index)
{
    struct simt_kernel *kernel = &module->kernels[index];
    struct simt_function *function = &module->functions[index];
    const size_t count = module->function_count;
    struct reach reach = {.module = module,
                          .state = calloc(count, 1),
                          .path = calloc(count, sizeof *reach.path),
                          .next = calloc(count, sizeof *reach.next)};
    bool ok = reach.state && reach.path && reach.next;
    kernel->function = function;
    if (ok) {
        visit_all(&reach, index);
        uint64_t local = 0;
        for (uint32_t i = 0; i < module->function_count; i++) {
            const struct simt_function *other = &module->functions[i];
            if (reach.state[i] == UNSEEN)
                continue;
            local += other->local_bytes;
            if (other->refusal && !kernel->refusal)
                ok = (kernel->refusal = strdup(other->refusal)) != NULL;
        }
        if (reach.recursive)
            local += STACK_RESERVE;
        kernel->local_bytes = (uint32_t)(local > (1u << 20) ? 1u << 20 : (local + 15) & ~15u);
        ok = ok && lay_out_shared(kernel, &reach);
    }
    free(reach.state);
    free(reach.path);
    free(reach.next);
    return ok;
}

/* ---- life --------------------------------------------------------------------- */

static void mark_addresses(struct simt_module *module)
{
    for (uint32_t f = 0; f < module->function_count; f++) {
        const struct simt_function *function = &module->functions[f];
        for (uint32_t i = 0; i < function->row_count; i++) {
            if (function->rows[i].fill == SIMT_FILL_FUNCTION)
                module->functions[function->rows[i].symbol].address_taken = true;
        }
    }
}

/* Initial values that are addresses: the caller has filled in the rest. */
static bool patch_variable(struct simt_module *module, const struct rp_ptx_var *var,
                           const char **problem)
{
    char *storage = (char *)(uintptr_t)module->storage(module->storage_ctx, var);
    for (size_t i = 0; i < var->reloc_count; i++) {
        const struct rp_ptx_reloc *reloc = &var->relocs[i];
        uint64_t value = 0;
        for (uint32_t f = 0; f < module->function_count && !value; f++) {
            if (!strcmp(module->ptx->functions[f].name, reloc->symbol)) {
                value = SIMT_FUNCTION_BASE + f;
                module->functions[f].address_taken = true;
            }
        }
        for (size_t g = 0; g < module->ptx->global_count && !value; g++) {
            if (!strcmp(module->ptx->globals[g].name, reloc->symbol) &&
                module->ptx->globals[g].space != RP_PTX_SHARED)
                value = module->storage(module->storage_ctx, &module->ptx->globals[g]);
        }
        *problem = reloc->symbol;
        if (!storage || !value || reloc->offset + 8 > var->bytes)
            return false;
        value += (uint64_t)reloc->addend;
        memcpy(storage + reloc->offset, &value, sizeof value);
    }
    return true;
}

static enum rp_status patch_all(struct simt_module *module, char *message, size_t size)
{
    const char *problem = "";
    for (size_t i = 0; i < module->ptx->global_count; i++) {
        const struct rp_ptx_var *var = &module->ptx->globals[i];
        if (var->reloc_count && !patch_variable(module, var, &problem)) {
            snprintf(message, size, "the initial value of %s needs the address of %s", var->name,
                     problem);
            return RP_UNSUPPORTED;
        }
    }
    return RP_OK;
}

static enum rp_status compile_all(struct simt_module *module)
{
    const struct rp_ptx_module *ptx = module->ptx;
    module->functions = calloc(ptx->function_count + 1, sizeof *module->functions);
    module->kernels = calloc(ptx->function_count + 1, sizeof *module->kernels);
    if (!module->functions || !module->kernels || !collect_shared(module))
        return RP_NO_MEMORY;
    module->function_count = (uint32_t)ptx->function_count;
    for (uint32_t i = 0; i < module->function_count; i++) {
        module->functions[i].ptx = &ptx->functions[i];
        module->functions[i].module = module;
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (ptx->functions[i].is_defined &&
            simt_compile_function(&module->functions[i]) != RP_OK)
            return RP_NO_MEMORY;
        bind(module, &module->functions[i]);
    }
    return RP_OK;
}

enum rp_status simt_module_create(const struct rp_ptx_module *ptx, simt_storage_fn storage,
                                  void *ctx, struct simt_module **out, char *message,
                                  size_t message_size)
{
    *out = NULL;
    struct simt_module *module = calloc(1, sizeof *module);
    if (!module)
        return RP_NO_MEMORY;
    module->ptx = ptx;
    module->storage = storage;
    module->storage_ctx = ctx;
    enum rp_status status = compile_all(module);
    if (status == RP_OK)
        status = patch_all(module, message, message_size);
    mark_addresses(module);
    for (uint32_t i = 0; status == RP_OK && i < module->function_count; i++) {
        if (ptx->functions[i].is_entry && ptx->functions[i].is_defined && !finish_kernel(module, i))
            status = RP_NO_MEMORY;
    }
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s", rp_status_text(status));
    if (status != RP_OK) {
        simt_module_destroy(module);
        return status;
    }
    *out = module;
    return RP_OK;
}

static void destroy_function(struct simt_function *function)
{
    for (uint32_t i = 0; i < function->op_count; i++) {
        struct simt_op *op = &function->ops[i];
        if (op->opcode == SIMT_CALL || op->opcode == SIMT_BRANCH_INDEX ||
            (op->opcode >= SIMT_OP_mma && op->opcode <= SIMT_OP_movmatrix))
            free((void *)(uintptr_t)op->data);
    }
    free(function->refusal);
    free(function->ops);
    free(function->place);
    free(function->rows);
    free(function->params);
    free(function->returns);
    free(function->callees);
    free(function->shared);
}

void simt_module_destroy(struct simt_module *module)
{
    if (!module)
        return;
    for (uint32_t i = 0; i < module->function_count; i++) {
        destroy_function(&module->functions[i]);
        free(module->kernels[i].refusal);
        free(module->kernels[i].shared_offset);
    }
    free(module->functions);
    free(module->kernels);
    free(module->shared);
    free(module);
}

const struct simt_kernel *simt_module_kernel(const struct simt_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct rp_ptx_function *ptx = &module->ptx->functions[i];
        if (ptx->is_entry && ptx->is_defined && !strcmp(ptx->name, name))
            return &module->kernels[i];
    }
    return NULL;
}

const char *simt_kernel_refusal(const struct simt_kernel *kernel)
{
    return kernel->refusal;
}

void simt_kernel_info(const struct simt_kernel *kernel, struct simt_kernel_info *info)
{
    const struct rp_ptx_function *ptx = kernel->function->ptx;
    const uint32_t *most = ptx->reqntid[0] ? ptx->reqntid : ptx->maxntid;
    const uint64_t threads = (uint64_t)most[0] * most[1] * most[2];
    *info = (struct simt_kernel_info){
        .ptx = ptx,
        .static_shared_bytes = kernel->static_shared_bytes,
        .local_bytes = kernel->local_bytes,
        .registers = ptx->reg_count < 255 ? (uint32_t)ptx->reg_count : 255,
        .max_threads = threads && threads < 1024 ? (uint32_t)threads : 1024};
}
