/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that touch memory: what they read and write, and where. */
#include "cuda/access/build.h"

#include <stdio.h>
#include <string.h>

struct context {
    struct rp_builder *build;
    uint32_t node;
    const struct rp_step *step;
    const struct rp_ptx_instruction *ptx;
};

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

static struct rp_touch *add_touch(const struct context *at, enum rp_effect effect)
{
    struct rp_touch *touch = rp_build_push(at->build, &at->build->touches, sizeof(*touch));
    *touch = (struct rp_touch){.effect = (uint8_t)effect, .verdict = RP_VERDICT_EXACT,
                               .certain = true, .sense = true, .address = RP_NONE,
                               .guard = at->build->guard, .block = at->node, .line = at->ptx->line};
    return touch;
}

static void add_worst(const struct context *at, enum rp_effect effect, enum rp_verdict verdict,
                      const char *reason)
{
    struct rp_touch *touch = add_touch(at, effect);
    touch->verdict = (uint8_t)verdict;
    touch->reason = reason;
}

static bool is_near(const struct rp_ptx_operand *operand)
{
    return operand->base == RP_PTX_OPERAND_VAR && operand->var->space != RP_PTX_GLOBAL &&
           operand->var->space != RP_PTX_CONST;
}

/* The value of an address without its constant, which goes to *offset. */
static uint32_t address_value(const struct context *at, const struct rp_ptx_operand *operand,
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

/* One access of `width` bytes at an address operand. */
static struct rp_touch *touch_at(const struct context *at, enum rp_effect effect,
                                 const struct rp_ptx_operand *operand, uint64_t width)
{
    if (operand->kind != RP_PTX_OPERAND_ADDRESS || operand->item_count || !width) {
        struct rp_touch *touch = add_touch(at, effect);
        touch->verdict = RP_VERDICT_EVERYTHING;
        touch->reason = "its address is written in a way that is not understood";
        return touch;
    }
    int64_t offset;
    uint32_t address = address_value(at, operand, &offset);
    struct rp_touch *touch = add_touch(at, effect);
    touch->address = address;
    touch->offset = offset;
    touch->width = width;
    touch->generic = at->ptx->space == RP_PTX_GENERIC;
    return touch;
}

static bool touches_global(const struct context *at, const struct rp_ptx_operand *operand)
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

static bool has_signed_type(const struct rp_ptx_instruction *ptx)
{
    return ptx->type_count && ptx->type[0] >= RP_PTX_S8 && ptx->type[0] <= RP_PTX_S64;
}

/* ---- parameters --------------------------------------------------------------- */

static uint32_t param_value(const struct context *at, const struct rp_ptx_var *var,
                            int64_t offset, uint32_t bytes, unsigned bits)
{
    struct rp_builder *build = at->build;
    if (!rp_flow_is_kernel_param(build, at->step->frame, var)) {
        uint32_t variable = rp_flow_slot(build, at->step->frame, var, offset, bytes);
        if (variable == RP_NONE || bits != bytes * 8)
            return rp_ssa_opaque(build, at->node, bits, bytes * 8, has_signed_type(at->ptx));
        return rp_ssa_read(build, at->node, variable, bits);
    }
    if (offset < 0 || (uint64_t)offset + bytes > var->bytes || bytes > 8)
        return rp_ssa_opaque(build, at->node, bits, bits, false);
    struct rp_op op = {.kind = RP_OP_PARAM, .bits = (uint8_t)bits, .from = (uint8_t)(bytes * 8),
                       .is_signed = has_signed_type(at->ptx), .a = RP_NONE, .b = RP_NONE,
                       .imm = (int64_t)var->offset + offset, .block = RP_ENTRY_NODE, .stage = 2};
    if (bytes == 8)
        op.a = rp_translate_root(build, var, (uint32_t)op.imm);
    return rp_ssa_op(build, op);
}

static uint32_t reg_bits(const struct context *at, uint32_t reg)
{
    const struct rp_frame *frames = at->build->frames.items;
    enum rp_ptx_type type = frames[at->step->frame].function->regs[reg].type;
    uint32_t bytes = rp_ptx_type_bytes(type);
    return type == RP_PTX_PRED ? 1 : bytes > 8 ? 64 : bytes * 8;
}

static void assign_reg(const struct context *at, uint32_t reg, uint32_t value)
{
    const struct rp_frame *frames = at->build->frames.items;
    rp_translate_assign(at->build, at->node, frames[at->step->frame].first_reg + reg,
                        reg_bits(at, reg), value);
}

static void load_param(const struct context *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    uint32_t bytes = at->ptx->type_count ? rp_ptx_type_bytes(at->ptx->type[0]) : 0;
    if (from->kind != RP_PTX_OPERAND_ADDRESS || from->base != RP_PTX_OPERAND_VAR || !bytes) {
        int64_t offset = 0;
        bool by_register = from->kind == RP_PTX_OPERAND_ADDRESS && !from->item_count && bytes;
        uint32_t address = by_register ? address_value(at, from, &offset) : RP_NONE;
        rp_load_results(at->build, at->node, at->step, address, offset);
        return;
    }
    bool vector = to->kind == RP_PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (vector ? to->item_count : 1); i++) {
        const struct rp_ptx_operand *item = vector ? &to->items[i] : to;
        if (item->kind == RP_PTX_OPERAND_REG)
            assign_reg(at, item->reg, param_value(at, from->var, from->imm + (int64_t)i * bytes,
                                                  bytes, reg_bits(at, item->reg)));
    }
}

static void store_param(const struct context *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    uint32_t bytes = at->ptx->type_count ? rp_ptx_type_bytes(at->ptx->type[0]) : 0;
    if (to->kind != RP_PTX_OPERAND_ADDRESS || to->base != RP_PTX_OPERAND_VAR || !bytes)
        return; /* through a register: a variable whose address is taken is not tracked */
    bool vector = from->kind == RP_PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (vector ? from->item_count : 1); i++) {
        const struct rp_ptx_operand *item = vector ? &from->items[i] : from;
        uint32_t variable = rp_flow_slot(at->build, at->step->frame, to->var,
                                         to->imm + (int64_t)i * bytes, bytes);
        if (variable == RP_NONE || bytes > 8)
            continue;
        bool fits = item->kind != RP_PTX_OPERAND_REG || reg_bits(at, item->reg) == bytes * 8;
        uint32_t value = fits ? rp_translate_operand(at->build, at->node, at->step->frame, item,
                                                     bytes * 8)
                              : rp_ssa_opaque(at->build, at->node, bytes * 8, bytes * 8, false);
        rp_translate_assign(at->build, at->node, variable, bytes * 8, value);
    }
}

/* ---- the classes -------------------------------------------------------------- */

/* A load of what the same thread has stored on every way to it, see read_first: it brings nothing
 * that stood there before the launch. */
static bool is_own(const struct context *at, const struct rp_touch *load)
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

static void translate_load(const struct context *at)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    if (ptx->space == RP_PTX_PARAM) {
        load_param(at);
        return;
    }
    uint32_t address = RP_NONE;
    int64_t offset = 0;
    if (touches_global(at, &ptx->operands[1])) {
        const struct rp_touch *touch = touch_at(at, RP_READ, &ptx->operands[1], width_of(ptx));
        bool own = is_own(at, touch);
        address = own ? RP_NONE : touch->address;
        offset = touch->offset;
        at->build->touches.count -= own;
    }
    rp_load_results(at->build, at->node, at->step, address, offset);
}

/* A store over what the same thread has loaded on every way to it: the one value is the address of
 * both, so that the load's last turn was for these very bytes. */
static void read_first(const struct context *at, struct rp_touch *store)
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

static void translate_store(const struct context *at)
{
    if (at->ptx->space == RP_PTX_PARAM)
        store_param(at);
    if (at->ptx->space == RP_PTX_PARAM || !touches_global(at, &at->ptx->operands[0]))
        return;
    struct rp_touch *store = touch_at(at, RP_WRITE, &at->ptx->operands[0], width_of(at->ptx));
    store->stored = !rp_ptx_has(at->ptx, "async");
    read_first(at, store);
}

static void translate_atomic(const struct context *at, unsigned address, bool has_result)
{
    const struct rp_ptx_operand *operand = &at->ptx->operands[address];
    if (touches_global(at, operand)) {
        /* An exchange is a store that also returns something: what it leaves behind does
         * not depend on what was there. */
        bool modifies = !rp_ptx_has(at->ptx, "exch");
        touch_at(at, RP_READ, operand, width_of(at->ptx))->atomic = modifies;
        struct rp_touch *write = touch_at(at, RP_WRITE, operand, width_of(at->ptx));
        write->atomic = write->updates = modifies;
        write->certain = !rp_ptx_has(at->ptx, "cas");
    }
    if (has_result)
        rp_translate_results(at->build, at->node, at->step, 0, false);
}

static bool immediate(const struct rp_ptx_instruction *ptx, unsigned index, uint64_t *value)
{
    if (index >= ptx->operand_count || ptx->operands[index].kind != RP_PTX_OPERAND_IMM ||
        ptx->operands[index].is_float || ptx->operands[index].imm < 0)
        return false;
    *value = (uint64_t)ptx->operands[index].imm;
    return true;
}

/* cp.async [shared], [global], size {, how much of it is read} */
static void translate_copy_async(const struct context *at)
{
    uint64_t size;
    if (!immediate(at->ptx, 2, &size))
        size = 16; /* the most there is */
    touch_at(at, RP_READ, &at->ptx->operands[1], size)->certain = at->ptx->operand_count == 3;
}

/* By a tensor map: somewhere in its tensor, as far as it is a parameter of the kernel. Of no bytes:
 * the map itself is read, and that is all. */
static void touch_tensor(const struct context *at, enum rp_effect effect,
                         const struct rp_ptx_operand *map, uint64_t bytes)
{
    if (map->kind != RP_PTX_OPERAND_ADDRESS) {
        add_worst(at, effect, RP_VERDICT_EVERYTHING, "it copies through a strange tensor map");
        return;
    }
    struct rp_op op = {.kind = RP_OP_MAP, .bits = 64, .from = 64, .b = RP_NONE, .c = RP_NONE,
                       .block = at->node, .stage = 2};
    op.a = address_value(at, map, &op.imm);
    uint32_t address = rp_ssa_op(at->build, op);
    struct rp_touch *touch = add_touch(at, effect);
    touch->address = address;
    touch->width = bytes;
    touch->verdict = RP_VERDICT_ROOT;
    touch->by_map = true;
    touch->certain = false;
    touch->reason = "it copies through a tensor map";
}

/* Bulk copies: of any size, by the copy engine, in either direction. With .cp_mask the bits of a
 * register choose which bytes of each 16 are written, with .ignore_oob some at the ends are not
 * read (PTX ISA, "cp.async.bulk"). */
static void translate_bulk(const struct context *at)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    bool writes = ptx->space == RP_PTX_GLOBAL, reduces = rp_ptx_has(ptx, "reduce");
    if (rp_ptx_has(ptx, "prefetch"))
        return;
    if (rp_ptx_has(ptx, "tensor")) {
        const struct rp_ptx_operand *map = &ptx->operands[writes ? 0 : 1];
        touch_tensor(at, RP_READ, map, !writes || reduces);
        if (writes || reduces)
            touch_tensor(at, RP_WRITE, map, 1);
        return;
    }
    if (!writes && !rp_ptx_has(ptx, "global"))
        return; /* within shared memory */
    uint64_t size;
    bool known = immediate(ptx, 2, &size) && size;
    bool is_certain = !rp_ptx_has(ptx, "cp_mask") && !rp_ptx_has(ptx, "ignore_oob");
    for (int i = 0; i < 2; i++) {
        bool is_write = i == 1;
        if (is_write ? !writes : writes && !reduces)
            continue;
        struct rp_touch *touch = touch_at(at, is_write ? RP_WRITE : RP_READ,
                                          &ptx->operands[writes ? 0 : 1], known ? size : 1);
        touch->atomic = touch->updates = reduces;
        touch->certain = is_certain;
        if (!known && touch->verdict < RP_VERDICT_ROOT) {
            touch->verdict = RP_VERDICT_ROOT;
            touch->reason = "it copies a number of bytes that is not a constant";
        }
    }
}

/* A matrix of a warp: `lines` rows or columns that lie in memory one by one, `stride` elements
 * apart (PTX ISA, "wmma.load" and "wmma.store"). */
struct tile {
    unsigned lines, elements; /* elements of a line */
    uint32_t element_bytes;
};

static bool read_tile(const struct rp_ptx_instruction *ptx, struct tile *tile)
{
    unsigned m = 0, n = 0, k = 0;
    for (unsigned i = 0; i < ptx->modifier_count && !k; i++)
        if (sscanf(ptx->modifiers[i], "m%un%uk%u", &m, &n, &k) != 3)
            k = 0;
    unsigned rows = rp_ptx_has(ptx, "b") ? k : m, columns = rp_ptx_has(ptx, "a") ? k : n;
    bool by_row = rp_ptx_has(ptx, "row");
    *tile = (struct tile){by_row ? rows : columns, by_row ? columns : rows,
                          ptx->type_count ? rp_ptx_type_bytes(ptx->type[0]) : 0};
    return k && by_row != rp_ptx_has(ptx, "col") && tile->lines <= 32 && tile->elements <= 32;
}

/* How far line `index` is from the first, as a value; RP_NONE when it is constant. */
static uint32_t line_distance(const struct context *at, unsigned index, const struct tile *tile,
                              int64_t *constant)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    int64_t bytes = (int64_t)index * tile->element_bytes;
    *constant = bytes * tile->elements; /* without a stride, the lines touch each other */
    if (ptx->operand_count < 3 || !index)
        return RP_NONE;
    *constant = 0;
    struct rp_op op = {.kind = RP_OP_MUL_WIDE, .bits = 64, .from = 32, .c = RP_NONE,
                       .block = at->node, .stage = 2};
    op.a = rp_translate_operand(at->build, at->node, at->step->frame, &ptx->operands[2], 32);
    op.b = rp_ssa_constant(at->build, bytes, 32);
    return rp_ssa_op(at->build, op);
}

/* All lanes of the warp take part, or what happens is not defined: together they move all of
 * the tile, and each may be said to. */
static void touch_line(const struct context *at, enum rp_effect effect, unsigned address,
                       unsigned index, const struct tile *tile)
{
    int64_t constant;
    struct rp_touch *touch = touch_at(at, effect, &at->ptx->operands[address],
                                      (uint64_t)tile->elements * tile->element_bytes);
    if (touch->address == RP_NONE)
        return;
    uint32_t distance = line_distance(at, index, tile, &constant);
    touch->offset += constant;
    if (distance != RP_NONE)
        touch->address = rp_ssa_op(at->build, (struct rp_op){.kind = RP_OP_ADD, .bits = 64,
                                                             .block = at->node, .stage = 2,
                                                             .a = touch->address, .b = distance,
                                                             .c = RP_NONE});
}

static void translate_matrix(const struct context *at, enum rp_effect effect, unsigned address)
{
    struct tile tile;
    bool global = touches_global(at, &at->ptx->operands[address]);
    if (global && read_tile(at->ptx, &tile) && tile.element_bytes) {
        for (unsigned i = 0; i < tile.lines; i++)
            touch_line(at, effect, address, i, &tile);
    } else if (global) {
        struct rp_touch *touch = touch_at(at, effect, &at->ptx->operands[address], 1);
        if (touch->verdict < RP_VERDICT_ROOT) {
            touch->verdict = RP_VERDICT_ROOT;
            touch->reason = "it moves a matrix tile whose form is not known";
        }
    }
    if (effect == RP_READ)
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

void rp_translate_touch(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                        enum rp_opcode_class class_)
{
    struct context at = {.build = build, .node = node, .step = step, .ptx = step->ptx};
    if (step->ptx->operand_count < operands_needed(class_) &&
        !(class_ == RP_CLASS_BULK && rp_ptx_has(step->ptx, "prefetch")))
        rp_build_refuse(build, rp_build_format(build, "line %u: %s lacks operands",
                                               step->ptx->line, step->ptx->op));
    switch ((int)class_) {
    case RP_CLASS_LOAD: translate_load(&at); break;
    case RP_CLASS_STORE: translate_store(&at); break;
    case RP_CLASS_ATOMIC: translate_atomic(&at, 1, true); break;
    case RP_CLASS_REDUCE: translate_atomic(&at, 0, false); break;
    case RP_CLASS_COPY_ASYNC: translate_copy_async(&at); break;
    case RP_CLASS_BULK: translate_bulk(&at); break;
    case RP_CLASS_MATRIX_LOAD: translate_matrix(&at, RP_READ, 1); break;
    case RP_CLASS_MATRIX_STORE: translate_matrix(&at, RP_WRITE, 0); break;
    case RP_CLASS_TEXTURE:
        add_worst(&at, RP_READ, RP_VERDICT_REACHABLE, texture_reason);
        rp_translate_results(build, node, step, 0, false);
        break;
    case RP_CLASS_SHARED:
        rp_translate_results(build, node, step, 0, false);
        break;
    default: {
        const char *reason = rp_build_format(build, "line %u: %s may write anywhere",
                                             step->ptx->line, step->ptx->op);
        add_worst(&at, RP_READ, RP_VERDICT_EVERYTHING, reason);
        add_worst(&at, RP_WRITE, RP_VERDICT_EVERYTHING, reason);
        rp_translate_results(build, node, step, 0, false);
    }
    }
}
