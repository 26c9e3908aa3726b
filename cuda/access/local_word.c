/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored in local memory, and what is loaded of it. */
#include "cuda/access/local.h"

enum { MOST_PICKED = 16 }; /* places that an index may pick from */

static const struct rp_op *op_at(const struct rp_builder *build, uint32_t value)
{
    return &RP_ITEMS(build->ops, struct rp_op)[value];
}

static const struct rp_local_variable *variable_at(const struct rp_builder *build, uint32_t index)
{
    return &RP_ITEMS(build->local->variables, struct rp_local_variable)[index];
}

static const struct rp_local_variable *variable_of(const struct rp_translation *at,
                                                   const struct rp_place *place)
{
    return variable_at(at->build, op_at(at->build, place->base)->b);
}

static bool is_inside(const struct rp_local_variable *variable, int64_t offset, uint64_t bytes)
{
    return offset >= 0 && (uint64_t)offset <= variable->var->bytes &&
           bytes <= variable->var->bytes - (uint64_t)offset;
}

/* ---- words ------------------------------------------------------------------------ */

static uint32_t unknown(const struct rp_translation *at, unsigned bits)
{
    return rp_ssa_opaque(at->build, at->node, bits, bits, false);
}

static uint32_t part_of(const struct rp_local_variable *variable, int64_t offset, unsigned part)
{
    return variable->first + (uint32_t)(offset / 8) * RP_LOCAL_PARTS + part;
}

static void assign(const struct rp_translation *at, const struct rp_local_variable *variable,
                   int64_t offset, unsigned part, uint32_t value)
{
    rp_translate_assign(at->build, at->node, part_of(variable, offset, part),
                        part == RP_LOCAL_WHOLE ? 64 : 32, value);
}

static uint32_t read(const struct rp_translation *at, const struct rp_local_variable *variable,
                     int64_t offset, unsigned part)
{
    return rp_ssa_read(at->build, at->node, part_of(variable, offset, part),
                       part == RP_LOCAL_WHOLE ? 64 : 32);
}

static uint32_t make(const struct rp_translation *at, enum rp_op_kind kind, unsigned bits,
                     uint32_t a, uint32_t b)
{
    return rp_ssa_op(at->build, (struct rp_op){.kind = (uint8_t)kind, .bits = (uint8_t)bits,
                                               .from = 64, .a = a, .b = b, .c = RP_NONE,
                                               .block = at->node, .stage = 2});
}

static bool are_halves(const struct rp_op *low, const struct rp_op *high)
{
    return low->kind == RP_OP_CONVERT && low->from == 64 && high->kind == RP_OP_HIGH &&
           low->a == high->a;
}

/* ... of a parameter: as compilers copy structs, by words of 32 bits. */
static bool are_halves_of_param(const struct rp_op *low, const struct rp_op *high)
{
    return low->kind == RP_OP_PARAM && low->from == 32 && high->kind == RP_OP_PARAM &&
           high->from == 32 && low->imm % 8 == 0 && high->imm == low->imm + 4;
}

/* The halves of one value are that value. */
static uint32_t pack(const struct rp_translation *at, uint32_t low, uint32_t high)
{
    struct rp_op a = *op_at(at->build, low), b = *op_at(at->build, high);
    if (are_halves(&a, &b))
        return a.a;
    const struct rp_ptx_var *var = are_halves_of_param(&a, &b)
                                       ? rp_param_at(at->build, (uint64_t)a.imm) : NULL;
    if (!var || var != rp_param_at(at->build, (uint64_t)b.imm))
        return make(at, RP_OP_PACK, 64, low, high);
    a.bits = a.from = 64;
    a.a = rp_translate_root(at->build, var, (uint32_t)a.imm);
    return rp_ssa_op(at->build, a);
}

static void write_half(const struct rp_translation *at, const struct rp_local_variable *variable,
                       int64_t offset, uint32_t value)
{
    bool is_high = offset & 4;
    uint32_t other = read(at, variable, offset, is_high ? RP_LOCAL_LOW : RP_LOCAL_HIGH);
    uint32_t whole = is_high ? pack(at, other, value) : pack(at, value, other);
    assign(at, variable, offset, is_high ? RP_LOCAL_HIGH : RP_LOCAL_LOW, value);
    assign(at, variable, offset, RP_LOCAL_WHOLE, whole);
}

static void write_whole(const struct rp_translation *at, const struct rp_local_variable *variable,
                        int64_t offset, uint32_t value)
{
    assign(at, variable, offset, RP_LOCAL_WHOLE, value);
    assign(at, variable, offset, RP_LOCAL_LOW, make(at, RP_OP_CONVERT, 32, value, RP_NONE));
    assign(at, variable, offset, RP_LOCAL_HIGH, make(at, RP_OP_HIGH, 32, value, RP_NONE));
}

/* Bytes of which nothing is known, and with them the words that they are in. */
static void write_unknown(const struct rp_translation *at, const struct rp_local_variable *variable,
                          int64_t offset, uint64_t bytes)
{
    for (int64_t word = offset / 8 * 8; word < offset + (int64_t)bytes; word += 8)
        for (unsigned part = 0; part < RP_LOCAL_PARTS; part++)
            assign(at, variable, word, part, unknown(at, part == RP_LOCAL_WHOLE ? 64 : 32));
}

static void forget_all(const struct rp_translation *at)
{
    for (uint32_t i = 0; i < at->build->local->variables.count; i++) {
        const struct rp_local_variable *variable = variable_at(at->build, i);
        if (variable->first != RP_NONE)
            write_unknown(at, variable, 0, variable->var->bytes);
    }
}

/* ---- stores ----------------------------------------------------------------------- */

static void store_item(const struct rp_translation *at, const struct rp_local_variable *variable,
                       int64_t offset, unsigned bytes, const struct rp_ptx_operand *item)
{
    bool fits = (bytes == 4 || bytes == 8) && offset % bytes == 0 &&
                (item->kind == RP_PTX_OPERAND_IMM ||
                 (item->kind == RP_PTX_OPERAND_REG &&
                  rp_value_register_bits(at, item) == bytes * 8));
    if (!fits) {
        write_unknown(at, variable, offset, bytes);
        return;
    }
    uint32_t value = rp_translate_operand(at->build, at->node, at->step->frame, item, bytes * 8);
    if (bytes == 8)
        write_whole(at, variable, offset, value);
    else
        write_half(at, variable, offset, value);
}

static uint64_t width_of(const struct rp_ptx_instruction *ptx)
{
    return ptx->type_count ? (uint64_t)rp_ptx_type_bytes(ptx->type[0]) * ptx->vector : 0;
}

bool rp_local_store(const struct rp_translation *at)
{
    const struct rp_ptx_operand *from = &at->ptx->operands[1];
    bool vector = from->kind == RP_PTX_OPERAND_VECTOR;
    uint64_t width = width_of(at->ptx), count = vector ? from->item_count : 1;
    struct rp_place place;
    enum rp_where where = rp_local_locate(at, &at->ptx->operands[0], &place);
    if (where == RP_ELSEWHERE)
        return false;
    const struct rp_local_variable *variable = where == RP_THERE ? variable_of(at, &place) : NULL;
    if (!variable || place.index != RP_NONE || !width || !count || width % count ||
        !is_inside(variable, place.offset, width)) {
        forget_all(at);
        return false;
    }
    unsigned bytes = (unsigned)(width / count);
    for (uint32_t i = 0; variable->first != RP_NONE && i < count; i++)
        store_item(at, variable, place.offset + (int64_t)i * bytes, bytes,
                   vector ? &from->items[i] : from);
    return true;
}

void rp_local_change(const struct rp_translation *at, const struct rp_ptx_operand *address)
{
    struct rp_place place;
    if (rp_local_locate(at, address, &place) != RP_ELSEWHERE)
        forget_all(at);
}

/* ---- loads ------------------------------------------------------------------------ */

static unsigned part_at(int64_t offset, unsigned bytes)
{
    return bytes == 8 ? RP_LOCAL_WHOLE : offset & 4 ? RP_LOCAL_HIGH : RP_LOCAL_LOW;
}

/* One of the places in the variable, as the index says. A load lies at a multiple of its size, or
 * it fails; one that lies outside may bring anything. */
static uint32_t pick(const struct rp_translation *at, const struct rp_local_variable *variable,
                     uint32_t index, int64_t offset, unsigned bytes)
{
    uint64_t count = variable->var->bytes / bytes;
    uint32_t result = unknown(at, bytes * 8);
    if (count > MOST_PICKED || variable->var->align % bytes)
        return result;
    if (offset)
        index = make(at, RP_OP_ADD, 64, index, rp_ssa_constant(at->build, offset, 64));
    for (uint64_t i = count; i-- > 0;) {
        int64_t start = (int64_t)(i * bytes);
        uint32_t end = rp_ssa_constant(at->build, start + bytes, 64);
        uint32_t value = read(at, variable, start, part_at(start, bytes));
        uint32_t before = make(at, RP_OP_COMPARE, 1, index, end);
        RP_ITEMS(at->build->ops, struct rp_op)[before].compare = RP_LT;
        result = make(at, RP_OP_SELECT, bytes * 8, value, result);
        RP_ITEMS(at->build->ops, struct rp_op)[result].c = before;
    }
    return result;
}

static uint32_t load_item(const struct rp_translation *at,
                          const struct rp_local_variable *variable, const struct rp_place *place,
                          int64_t offset, unsigned bytes)
{
    if (place->index != RP_NONE)
        return pick(at, variable, place->index, offset, bytes);
    if (offset % bytes)
        return unknown(at, bytes * 8);
    return read(at, variable, offset, part_at(offset, bytes));
}

/* `value` of `bits` bits, to a register that may be wider. */
static void load_to(const struct rp_translation *at, const struct rp_ptx_operand *to,
                    uint32_t value, unsigned bits)
{
    unsigned own = rp_value_register_bits(at, to);
    if (to->kind != RP_PTX_OPERAND_REG)
        return;
    if (own < bits) {
        rp_value_assign_opaque(at, to);
        return;
    }
    if (own > bits) {
        value = make(at, RP_OP_CONVERT, own, value, RP_NONE);
        RP_ITEMS(at->build->ops, struct rp_op)[value].from = (uint8_t)bits;
        RP_ITEMS(at->build->ops, struct rp_op)[value].is_signed = at->is_signed;
    }
    rp_value_assign(at, to->reg, value);
}

bool rp_local_load(const struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    bool vector = to->kind == RP_PTX_OPERAND_VECTOR;
    unsigned bytes = rp_ptx_type_bytes(at->type);
    uint64_t count = vector ? to->item_count : 1;
    struct rp_place place;
    if ((bytes != 4 && bytes != 8) ||
        rp_local_locate(at, &at->ptx->operands[1], &place) != RP_THERE)
        return false;
    const struct rp_local_variable *variable = variable_of(at, &place);
    if (variable->first == RP_NONE ||
        (place.index == RP_NONE && !is_inside(variable, place.offset, bytes * count)))
        return false;
    for (uint32_t i = 0; i < count; i++)
        load_to(at, vector ? &to->items[i] : to,
                load_item(at, variable, &place, place.offset + (int64_t)i * bytes, bytes),
                bytes * 8);
    return true;
}
