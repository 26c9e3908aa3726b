/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/touch.h"

#include "cuda/access/local.h"

#include <string.h>

static const char texture_reason[] = "it reads through a texture or surface object";

uint32_t rp_translate_root(struct rp_builder *build, const struct rp_ptx_var *var, uint32_t param)
{
    struct rp_root *roots = build->roots.items;
    for (uint32_t i = 0; i < build->roots.count; i++)
        if (param != RP_NONE ? roots[i].param == param
                             : roots[i].symbol && !strcmp(roots[i].symbol, var->name))
            return i;
    struct rp_root *root = rp_build_push(build, &build->roots, sizeof(*root));
    *root = (struct rp_root){.param = param, .name = var->name,
                             .symbol = param == RP_NONE ? var->name : NULL};
    return (uint32_t)build->roots.count - 1;
}

struct rp_touch *rp_touch_add(const struct rp_translation *at, enum rp_effect effect)
{
    struct rp_touch *touch = rp_build_push(at->build, &at->build->touches, sizeof(*touch));
    *touch = (struct rp_touch){.effect = (uint8_t)effect, .verdict = RP_VERDICT_EXACT,
                               .certain = true, .sense = true, .address = RP_NONE,
                               .guard = at->build->guard, .block = at->node, .line = at->ptx->line};
    return touch;
}

void rp_touch_worst(const struct rp_translation *at, enum rp_effect effect, enum rp_verdict verdict,
                      const char *reason)
{
    struct rp_touch *touch = rp_touch_add(at, effect);
    touch->verdict = (uint8_t)verdict;
    touch->reason = reason;
}

static bool is_near(const struct rp_ptx_operand *operand)
{
    return operand->base == RP_PTX_OPERAND_VAR && operand->var->space != RP_PTX_GLOBAL &&
           operand->var->space != RP_PTX_CONST;
}

uint32_t rp_touch_address(const struct rp_translation *at, const struct rp_ptx_operand *operand,
                          int64_t *offset)
{
    struct rp_builder *build = at->build;
    *offset = operand->imm;
    if (operand->base == RP_PTX_OPERAND_REG) {
        struct rp_ptx_operand reg = {.kind = RP_PTX_OPERAND_REG, .reg = operand->reg};
        return rp_translate_operand(build, at->node, at->step->frame, &reg, 64);
    }
    if (operand->base == RP_PTX_OPERAND_VAR) {
        struct rp_ptx_operand var = {.kind = RP_PTX_OPERAND_VAR, .var = operand->var};
        return rp_translate_operand(build, at->node, at->step->frame, &var, 64);
    }
    *offset = 0;
    return rp_ssa_constant(build, operand->imm, 64);
}

struct rp_touch *rp_touch_at(const struct rp_translation *at, enum rp_effect effect,
                             const struct rp_ptx_operand *operand, uint64_t width)
{
    if (operand->kind != RP_PTX_OPERAND_ADDRESS || operand->item_count || !width) {
        struct rp_touch *touch = rp_touch_add(at, effect);
        touch->verdict = RP_VERDICT_EVERYTHING;
        touch->reason = "its address is written in a way that is not understood";
        return touch;
    }
    int64_t offset;
    uint32_t address = rp_touch_address(at, operand, &offset);
    struct rp_touch *touch = rp_touch_add(at, effect);
    touch->address = address;
    touch->offset = offset;
    touch->width = width;
    touch->generic = at->ptx->space == RP_PTX_GENERIC;
    return touch;
}

bool rp_touch_is_global(const struct rp_translation *at, const struct rp_ptx_operand *operand)
{
    enum rp_ptx_space space = at->ptx->space;
    if (space == RP_PTX_GENERIC)
        return operand->kind != RP_PTX_OPERAND_ADDRESS || !is_near(operand);
    return space == RP_PTX_GLOBAL || space == RP_PTX_CONST;
}

static uint64_t width_of(const struct rp_ptx_instruction *ptx)
{
    return ptx->type_count ? (uint64_t)rp_ptx_type_bytes(ptx->type[0]) * ptx->vector : 0;
}

/* ---- the classes -------------------------------------------------------------- */

/* A load of what the same thread has stored on every way to it, see read_first: it brings nothing
 * that stood there before the launch. */
static bool is_own(const struct rp_translation *at, const struct rp_touch *load)
{
    const struct rp_touch *touches = at->build->touches.items;
    bool own = false;
    for (const struct rp_touch *store = touches; load->address != RP_NONE && store < load && !own;
         store++)
        own = store->stored && store->guard == RP_NONE && store->address == load->address &&
              store->offset <= load->offset && store->generic == load->generic &&
              store->offset + (int64_t)store->width >= load->offset + (int64_t)load->width &&
              rp_graph_dominates(at->build, store->block, at->node);
    return own;
}

static void translate_load(const struct rp_translation *at)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    if (ptx->space == RP_PTX_PARAM) {
        rp_param_load(at);
        return;
    }
    if (rp_local_load(at))
        return;
    uint32_t address = RP_NONE;
    int64_t offset = 0;
    if (rp_touch_is_global(at, &ptx->operands[1])) {
        const struct rp_touch *touch = rp_touch_at(at, RP_READ, &ptx->operands[1], width_of(ptx));
        bool own = is_own(at, touch);
        address = own ? RP_NONE : touch->address;
        offset = touch->offset;
        at->build->touches.count -= own;
    }
    rp_load_results(at->build, at->node, at->step, address, offset);
}

/* A store over what the same thread has loaded on every way to it: the one value is the address of
 * both, so that the load's last turn was for these very bytes. */
static void read_first(const struct rp_translation *at, struct rp_touch *store)
{
    const struct rp_touch *touches = at->build->touches.items;
    size_t before = at->build->touches.count - 1;
    for (size_t i = 0; store->address != RP_NONE && i < before && !store->updates; i++) {
        const struct rp_touch *load = &touches[i];
        store->updates = load->effect == RP_READ && load->certain && load->guard == RP_NONE &&
                         load->address == store->address && load->offset == store->offset &&
                         load->width >= store->width && load->generic == store->generic &&
                         rp_graph_dominates(at->build, load->block, at->node);
    }
}

static void translate_store(const struct rp_translation *at)
{
    if (at->ptx->space == RP_PTX_PARAM)
        rp_param_store(at);
    if (at->ptx->space == RP_PTX_PARAM || rp_local_store(at) ||
        !rp_touch_is_global(at, &at->ptx->operands[0]))
        return;
    struct rp_touch *store = rp_touch_at(at, RP_WRITE, &at->ptx->operands[0], width_of(at->ptx));
    store->stored = !rp_ptx_has(at->ptx, "async");
    read_first(at, store);
}

static void translate_atomic(const struct rp_translation *at, unsigned address, bool has_result)
{
    const struct rp_ptx_operand *operand = &at->ptx->operands[address];
    rp_local_change(at, operand);
    if (rp_touch_is_global(at, operand)) {
        /* An exchange is a store that also returns something: what it leaves behind does
         * not depend on what was there. */
        bool modifies = !rp_ptx_has(at->ptx, "exch");
        rp_touch_at(at, RP_READ, operand, width_of(at->ptx))->atomic = modifies;
        struct rp_touch *write = rp_touch_at(at, RP_WRITE, operand, width_of(at->ptx));
        write->atomic = write->updates = modifies;
        write->certain = !rp_ptx_has(at->ptx, "cas");
    }
    if (has_result)
        rp_translate_results(at->build, at->node, at->step, 0, false);
}

static unsigned operands_needed(enum rp_opcode_class class_)
{
    switch ((int)class_) {
    case RP_CLASS_LOAD: case RP_CLASS_STORE: case RP_CLASS_ATOMIC: case RP_CLASS_REDUCE:
    case RP_CLASS_MATRIX_LOAD: case RP_CLASS_MATRIX_STORE: return 2;
    case RP_CLASS_COPY_ASYNC: case RP_CLASS_BULK: return 2;
    default: return 0;
    }
}

void rp_translate_touch(const struct rp_translation *at, enum rp_opcode_class class_)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    if (ptx->operand_count < operands_needed(class_) &&
        !(class_ == RP_CLASS_BULK && rp_ptx_has(ptx, "prefetch")))
        rp_build_refuse(at->build, rp_build_format(at->build, "line %u: %s lacks operands",
                                                   ptx->line, ptx->op));
    switch ((int)class_) {
    case RP_CLASS_LOAD: translate_load(at); break;
    case RP_CLASS_STORE: translate_store(at); break;
    case RP_CLASS_ATOMIC: translate_atomic(at, 1, true); break;
    case RP_CLASS_REDUCE: translate_atomic(at, 0, false); break;
    case RP_CLASS_COPY_ASYNC: rp_bulk_copy_async(at); break;
    case RP_CLASS_BULK: rp_bulk_copy(at); break;
    case RP_CLASS_MATRIX_LOAD: rp_tile_touch(at, RP_READ, 1); break;
    case RP_CLASS_MATRIX_STORE: rp_tile_touch(at, RP_WRITE, 0); break;
    case RP_CLASS_TEXTURE:
        rp_touch_worst(at, RP_READ, RP_VERDICT_REACHABLE, texture_reason);
        rp_translate_results(at->build, at->node, at->step, 0, false);
        break;
    case RP_CLASS_SHARED:
        rp_translate_results(at->build, at->node, at->step, 0, false);
        break;
    default: {
        const char *reason = rp_build_format(at->build, "line %u: %s may write anywhere",
                                             ptx->line, ptx->op);
        rp_touch_worst(at, RP_READ, RP_VERDICT_EVERYTHING, reason);
        rp_touch_worst(at, RP_WRITE, RP_VERDICT_EVERYTHING, reason);
        rp_translate_results(at->build, at->node, at->step, 0, false);
    }
    }
}
