/* SPDX-License-Identifier: Apache-2.0 */
/* Loads whose result a launch may know: pointers that stand in memory (RP_OP_LOAD), and what is
 * picked out of a parameter by an index (RP_OP_FIELD). All others return data. And tensor maps
 * among the parameters (RP_OP_MAP). */
#include "cuda/access/translate.h"

void rp_load_results(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                     uint32_t address, int64_t offset)
{
    struct rp_translation at = {.build = build, .node = node, .step = step, .ptx = step->ptx};
    const struct rp_ptx_operand *to = &step->ptx->operands[0];
    enum rp_ptx_type type = step->ptx->type_count ? step->ptx->type[0] : RP_PTX_NONE;
    bool vector = to->kind == RP_PTX_OPERAND_VECTOR;
    uint32_t bytes = rp_ptx_type_bytes(type);
    if (address == RP_NONE || !rp_value_is_integer(type)) {
        rp_translate_results(build, node, step, bytes * 8, rp_value_is_signed(type));
        return;
    }
    for (uint32_t i = 0; i < (vector ? to->item_count : 1); i++) {
        const struct rp_ptx_operand *item = vector ? &to->items[i] : to;
        unsigned own = rp_value_register_bits(&at, item), from = bytes * 8;
        struct rp_op op = {.kind = RP_OP_LOAD, .bits = (uint8_t)own, .from = (uint8_t)from,
                           .is_signed = rp_value_is_signed(type), .a = address, .b = RP_NONE,
                           .c = RP_NONE, .imm = offset + (int64_t)i * bytes, .block = node,
                           .stage = 2};
        if (item->kind == RP_PTX_OPERAND_REG && own >= from)
            rp_value_assign(&at, item->reg, rp_ssa_op(build, op));
        else
            rp_value_assign_opaque(&at, item);
    }
}

/* ---- when all values are there --------------------------------------------------- */

enum { MOST_SUMS = 8 };

static bool take_apart(struct rp_builder *build, uint32_t value, struct rp_place *out,
                       unsigned depth)
{
    value = rp_ssa_find(build, value);
    const struct rp_op *op = &RP_ITEMS(build->ops, struct rp_op)[value];
    uint32_t a = op->a, b = op->b;
    if (op->kind == RP_OP_ADD && depth < MOST_SUMS)
        return take_apart(build, a, out, depth + 1) && take_apart(build, b, out, depth + 1);
    if (op->kind == RP_OP_CONST)
        return !__builtin_add_overflow(out->offset, op->imm, &out->offset);
    uint32_t *place = op->kind == RP_OP_NEAR && op->imm ? &out->base : &out->index;
    if (*place != RP_NONE)
        return false;
    *place = value;
    return true;
}

bool rp_place_find(struct rp_builder *build, uint32_t value, struct rp_place *out)
{
    *out = (struct rp_place){.base = RP_NONE, .index = RP_NONE};
    return take_apart(build, value, out, 0);
}

static bool is_of_param(const struct rp_builder *build, const struct rp_place *place)
{
    return place->base != RP_NONE &&
           RP_ITEMS(build->ops, struct rp_op)[place->base].imm == RP_NEAR_PARAM;
}

const struct rp_ptx_var *rp_param_at(const struct rp_builder *build, uint64_t offset)
{
    const struct rp_ptx_function *entry = build->entry;
    for (size_t i = 0; i < entry->param_count; i++)
        if (offset >= entry->params[i].offset &&
            offset - entry->params[i].offset < entry->params[i].bytes)
            return &entry->params[i];
    return NULL;
}

static struct rp_op opaque_like(const struct rp_op *op)
{
    return (struct rp_op){.kind = RP_OP_OPAQUE, .bits = op->bits, .imm = op->from,
                          .is_signed = op->is_signed, .block = op->block, .stage = op->stage};
}

/* From the parameter block: of a constant place as if its name had been written. */
static struct rp_op field(struct rp_builder *build, const struct rp_op *load,
                          const struct rp_place *place)
{
    const struct rp_op *base = &RP_ITEMS(build->ops, struct rp_op)[place->base];
    struct rp_op out = *load;
    bool overflow = __builtin_add_overflow(out.imm, place->offset, &out.imm) ||
                    __builtin_add_overflow(out.imm, (int64_t)base->b, &out.imm);
    out.kind = RP_OP_FIELD;
    out.a = place->index;
    out.b = base->b;
    out.c = base->c;
    bool inside = !overflow && out.imm >= (int64_t)out.b &&
                  out.imm + load->from / 8 <= (int64_t)out.c;
    if (place->index != RP_NONE)
        return overflow ? opaque_like(load) : out;
    if (!inside)
        return opaque_like(load);
    out.kind = RP_OP_PARAM;
    out.a = out.b = out.c = RP_NONE;
    if (load->from == 64)
        out.a = rp_translate_root(build, rp_param_at(build, (uint64_t)out.imm), (uint32_t)out.imm);
    return out;
}

/* The map that has no place among the parameters may be any. */
static void settle_map(struct rp_builder *build, uint32_t value)
{
    struct rp_op op = RP_ITEMS(build->ops, struct rp_op)[value];
    struct rp_place place;
    bool simple = rp_place_find(build, op.a, &place) && is_of_param(build, &place) &&
                  place.index == RP_NONE;
    const struct rp_op *base = &RP_ITEMS(build->ops, struct rp_op)[simple ? place.base : value];
    int64_t at = (int64_t)base->b;
    simple = simple && !__builtin_add_overflow(op.imm, place.offset, &op.imm) &&
             !__builtin_add_overflow(op.imm, at, &op.imm) && op.imm >= (int64_t)base->b &&
             op.imm + RP_MAP_BYTES <= (int64_t)base->c;
    op.a = RP_NONE;
    RP_ITEMS(build->ops, struct rp_op)[value] = simple ? op : opaque_like(&op);
}

static void settle(struct rp_builder *build, uint32_t value)
{
    struct rp_op load = RP_ITEMS(build->ops, struct rp_op)[value];
    struct rp_place place;
    if (rp_place_find(build, load.a, &place) && is_of_param(build, &place))
        load = field(build, &load, &place);
    else if (load.from != 64)
        load = opaque_like(&load);
    RP_ITEMS(build->ops, struct rp_op)[value] = load;
}

void rp_loads_settle(struct rp_builder *build)
{
    for (uint32_t value = 0; value < build->ops.count; value++) {
        uint8_t kind = RP_ITEMS(build->ops, struct rp_op)[value].kind;
        if (kind == RP_OP_LOAD)
            settle(build, value);
        else if (kind == RP_OP_MAP)
            settle_map(build, value);
    }
}
