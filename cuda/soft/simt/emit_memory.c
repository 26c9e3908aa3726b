/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomics. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdio.h>
#include <string.h>

/* Every thread sees memory in one order, and nothing is cached apart from it: scopes,
 * orders and cache hints leave a load or store as it is. A host with weaker ordering than
 * x86 would have to look at acquire and release. */
static const char *const access_modifiers[] = {
    "weak", "volatile", "relaxed", "acquire", "release", "mmio", "cta", "cluster", "gpu", "sys",
    "global", "const", "local", "param", "param::entry", "param::func", "shared", "shared::cta",
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged",
    "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B",
    "v2", "v4", "v8", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
    "s64", "f32", "f64", NULL};

/* The lane loops of an access are numbered by type pair, then address width, then vector. */
struct access_form {
    uint8_t bytes, width;
    bool sign;
    int first;
};

enum { bytes_u8 = 1, bytes_s8 = 1, bytes_u16 = 2, bytes_s16 = 2, bytes_u32 = 4, bytes_s32 = 4,
       bytes_u64 = 8, bytes_s64 = 8 };
enum { sign_u8, sign_u16 = 0, sign_u32 = 0, sign_u64 = 0, sign_s8 = 1, sign_s16 = 1, sign_s32 = 1 };

#define LOAD_FORM(M, R) {bytes_##M, bytes_##R, sign_##M, SIMT_OP_ld_##M##_##R##_v1_a32},
#define STORE_FORM(M, R) {bytes_##M, bytes_##R, sign_##M, SIMT_OP_st_##M##_##R##_v1_a32},
static const struct access_form loads[] = {SIMT_LOADS(LOAD_FORM)};
static const struct access_form stores[] = {SIMT_STORES(STORE_FORM)};

static int find_form(const struct access_form *forms, size_t count, uint32_t bytes,
                     uint32_t width, bool sign)
{
    for (size_t i = 0; i < count; i++) {
        if (forms[i].bytes == bytes && forms[i].width == width && forms[i].sign == sign)
            return forms[i].first;
    }
    return -1;
}

/* Sign extension is a matter of wider registers only. */
static int access_opcode(bool is_load, uint32_t bytes, uint32_t width, bool sign,
                         uint32_t vector, uint32_t address_width)
{
    if (!is_load || bytes == width)
        sign = false;
    const int first = is_load ? find_form(loads, sizeof loads / sizeof loads[0], bytes, width, sign)
                              : find_form(stores, sizeof stores / sizeof stores[0], bytes, width,
                                          false);
    const int step = vector == 1 ? 0 : vector == 2 ? 1 : 2;
    return first < 0 ? -1 : first + step + (address_width == 8 ? 3 : 0);
}

static bool is_signed(enum rp_ptx_type type)
{
    return type == RP_PTX_S8 || type == RP_PTX_S16 || type == RP_PTX_S32;
}

/* The data operand of a load or store as its elements. */
static const struct rp_ptx_operand *elements(const struct rp_ptx_operand *operand, uint32_t *count)
{
    *count = operand->kind == RP_PTX_OPERAND_VECTOR ? operand->item_count : 1;
    return operand->kind == RP_PTX_OPERAND_VECTOR ? operand->items : operand;
}

struct address {
    uint32_t row, width;
    int64_t offset;
    uint32_t array; /* of an element: the array's row; `row` is that of the index, */
    uint16_t scale; /* and the offset has what to add to the index below, bytes above */
};

/* A module without shared variables knows its dynamic shared memory by number: Halide's code
 * addresses it from 0 on. Past the last variable, shared_offset has an entry for that 0. */
static bool counts_shared_from_zero(const struct compiler *c)
{
    return c->at->space == RP_PTX_SHARED && c->module->shared_count == 0;
}

/* The operand's address, as a compact row (`lazy`) where the operation can do with one. */
static bool find_address(struct compiler *c, const struct rp_ptx_operand *operand, bool lazy,
                         struct address *address)
{
    const bool from_zero = counts_shared_from_zero(c);
    c->lazy = lazy && !from_zero;
    const bool ok = simt_operand_address(c, operand, &address->row, &address->width,
                                         &address->offset);
    c->lazy = false;
    if (!ok || !from_zero)
        return ok;
    const uint32_t sum = simt_temporary(c, address->width);
    const uint32_t base = simt_constant_row(
        c, (struct simt_row){.width = (uint8_t)address->width,
                             .fill = SIMT_FILL_SHARED,
                             .symbol = c->module->shared_count});
    struct simt_op *op = simt_emit_always(c, address->width == 8 ? SIMT_OP_add_64
                                                                 : SIMT_OP_add_32);
    op->d = sum;
    op->a = address->row;
    op->b = base;
    address->row = sum;
    return true;
}

static int element_opcode(bool is_load, uint32_t vector)
{
    const int first = is_load ? SIMT_OP_ld_u32_u32_v1_ix : SIMT_OP_st_u32_u32_v1_ix;
    return first + (vector == 1 ? 0 : vector == 2 ? 1 : 2);
}

/* Where the element that the instruction at hand is about lies. */
static bool find_element(struct compiler *c, const struct rp_ptx_operand *where,
                         struct address *address)
{
    const struct simt_indexed *element = &c->indexed;
    c->lazy = true;
    const bool ok = simt_operand_value(c, element->index, 4, RP_PTX_S32, &address->row) &&
                    simt_operand_value(c, element->array, 8, RP_PTX_U64, &address->array);
    c->lazy = false;
    address->scale = element->scale;
    address->offset = (int64_t)((uint64_t)where->imm << 32 | (uint32_t)element->more);
    return ok;
}

/* A piece of at most four elements. */
static bool emit_piece(struct compiler *c, bool is_load, const struct rp_ptx_operand *items,
                       uint32_t count, const struct address *address)
{
    const enum rp_ptx_type type = c->at->type[0];
    const uint32_t bytes = rp_ptx_type_bytes(type);
    uint32_t rows[4] = {0}, width = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t own = 0;
        const bool ok = is_load
                            ? simt_operand_target_any(c, &items[k], &rows[k], &own)
                            : simt_operand_any(c, &items[k], bytes == 1 ? 2 : bytes, type, &rows[k],
                                               &own);
        if (!ok)
            return false;
        if (own && width && own != width)
            return simt_refuse(c, "registers of different sizes");
        width = own ? own : width;
    }
    if (!width)
        width = bytes == 1 ? 2 : bytes;
    const int opcode = address->array
                           ? element_opcode(is_load, count)
                           : access_opcode(is_load, bytes, width, is_signed(type), count,
                                           address->width);
    if (opcode < 0)
        return simt_refuse(c, "registers of this size");
    struct simt_op *op = simt_emit(c, opcode);
    op->a = address->row;
    op->imm = address->offset;
    op->d = rows[0];
    op->b = rows[1];
    op->c = rows[2];
    op->e = rows[3];
    op->f = address->array;
    op->flags = (uint16_t)(address->scale | simt_own_flags(c));
    op->target = c->next_site++;
    return true;
}

/* A load of a kernel parameter at a fixed place is a constant of the launch. */
static bool load_parameter(struct compiler *c, const struct rp_ptx_operand *items, uint32_t count,
                           const struct rp_ptx_operand *from)
{
    const enum rp_ptx_type type = c->at->type[0];
    const uint32_t bytes = rp_ptx_type_bytes(type);
    const int64_t start = (int64_t)from->var->offset + from->imm;
    for (uint32_t k = 0; k < count; k++) {
        const int64_t at = start + (int64_t)k * bytes;
        if (from->imm < 0 || at < 0 || (uint64_t)at + bytes > c->ptx->param_bytes)
            return simt_refuse(c, "a load past the parameters");
        if (items[k].kind == RP_PTX_OPERAND_SINK)
            continue;
        uint32_t width = items[k].kind == RP_PTX_OPERAND_REG
                             ? simt_register_width(c, items[k].reg) : 0;
        if (width < bytes)
            return simt_refuse(c, "a register that is too small");
        const uint32_t row =
            simt_constant_row(c, (struct simt_row){.width = (uint8_t)width,
                                                   .fill = SIMT_FILL_PARAM,
                                                   .bytes = (uint8_t)bytes,
                                                   .sign = is_signed(type),
                                                   .value = at});
        if (!simt_emit_constant(c, &items[k], width, row))
            return false;
    }
    return true;
}

bool simt_is_entry_parameter(const struct compiler *c, const struct rp_ptx_operand *operand)
{
    return c->ptx->is_entry && operand->kind == RP_PTX_OPERAND_ADDRESS &&
           operand->base == RP_PTX_OPERAND_VAR && operand->var->space == RP_PTX_PARAM &&
           operand->var >= c->ptx->params && operand->var < c->ptx->params + c->ptx->param_count;
}

static bool emit_access(struct compiler *c, bool is_load)
{
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, access_modifiers))
        return false;
    if (at->type_count != 1 || at->operand_count != 2)
        return simt_refuse(c, "not supported");
    const struct rp_ptx_operand *data = &at->operands[is_load ? 0 : 1];
    const struct rp_ptx_operand *where = &at->operands[is_load ? 1 : 0];
    if (!is_load && (at->space == RP_PTX_CONST || (at->space == RP_PTX_PARAM && c->ptx->is_entry &&
                                                   where->base == RP_PTX_OPERAND_REG)))
        return simt_refuse(c, "a store to memory that can only be read");
    uint32_t count;
    const struct rp_ptx_operand *items = elements(data, &count);
    if (count != at->vector)
        return simt_refuse(c, "a vector of %u values", count);
    if (is_load && simt_is_entry_parameter(c, where))
        return load_parameter(c, items, count, where);
    struct address address = {0};
    if (!(c->indexed.used ? find_element(c, where, &address)
                          : find_address(c, where, true, &address)))
        return false;
    /* Eight elements go in two halves; a load must not overwrite its address in between. */
    if (count == 8) {
        for (uint32_t k = 0; is_load && k < 4; k++) {
            if (items[k].kind == RP_PTX_OPERAND_REG && where->base == RP_PTX_OPERAND_REG &&
                items[k].reg == where->reg)
                return simt_refuse(c, "an address among the destinations");
        }
        struct address second = address;
        second.offset += 4 * rp_ptx_type_bytes(at->type[0]);
        return emit_piece(c, is_load, items, 4, &address) &&
               emit_piece(c, is_load, items + 4, 4, &second);
    }
    return emit_piece(c, is_load, items, count, &address);
}

bool simt_emit_load(struct compiler *c)
{
    return emit_access(c, true);
}

bool simt_emit_store(struct compiler *c)
{
    return emit_access(c, false);
}

/* ---- atomics ------------------------------------------------------------------ */

/* The operation's key: "atom.add.u32". Orders, scopes and spaces fall away: every atomic is
 * sequentially consistent. A vector may name its type before the operation. */
static bool atomic_key(struct compiler *c, char key[SIMT_SPELLING])
{
    static const char *const dropped[] = {
        "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "global",
        "shared", "shared::cta", "v2", "v4", "v8", NULL};
    const char *type = c->at->vector > 1 ? rp_ptx_type_name(c->at->type[0]) : "";
    size_t at = (size_t)snprintf(key, SIMT_SPELLING, "atom");
    for (uint32_t i = 0; i < c->at->modifier_count; i++) {
        const char *modifier = c->at->modifiers[i];
        bool drop = !strcmp(modifier, type);
        for (const char *const *d = dropped; *d && !drop; d++)
            drop = !strcmp(*d, modifier);
        if (!drop && at < SIMT_SPELLING)
            at += (size_t)snprintf(key + at, SIMT_SPELLING - at, ".%s", modifier);
    }
    if (*type && at < SIMT_SPELLING)
        at += (size_t)snprintf(key + at, SIMT_SPELLING - at, ".%s", type);
    return at < SIMT_SPELLING;
}

static bool is_half(enum rp_ptx_type type)
{
    return type == RP_PTX_F16 || type == RP_PTX_F16X2 || type == RP_PTX_BF16 ||
           type == RP_PTX_BF16X2;
}

/* Vectors are of floats; only in them have halves a smallest and a largest one. */
static int atomic_opcode(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    const bool half = is_half(at->type[0]),
               extreme = rp_ptx_has(at, "min") || rp_ptx_has(at, "max");
    char key[SIMT_SPELLING];
    if (at->type_count != 1 || !atomic_key(c, key) || (at->vector == 1 && half && extreme) ||
        (at->vector > 1 && !half && (at->type[0] != RP_PTX_F32 || extreme)))
        return -1;
    return simt_opcode_find(key);
}

static void emit_element(struct compiler *c, int opcode, const struct address *address,
                         uint32_t element, const uint32_t rows[3])
{
    const uint32_t width = rp_ptx_type_bytes(c->at->type[0]);
    struct simt_op *op = simt_emit(c, opcode);
    op->d = rows[0];
    op->a = address->row;
    op->b = rows[1];
    op->c = rows[2];
    op->imm = address->offset + (int64_t)element * width;
    op->flags = (uint16_t)((address->width == 4 ? SIMT_ADDRESS_32 : 0) | simt_own_flags(c));
    op->target = c->next_site++;
}

/* Each element of a vector is an atomic of its own. Results wait until all are done, since a
 * destination may be a source too. */
static bool emit_atomic_vector(struct compiler *c, int opcode, bool with_result,
                               const struct address *address)
{
    const struct rp_ptx_operand *values = &c->at->operands[with_result ? 2 : 1];
    const uint32_t width = rp_ptx_type_bytes(c->at->type[0]), count = c->at->vector;
    uint32_t d[8] = {0}, result[8] = {0};
    if (values->kind != RP_PTX_OPERAND_VECTOR || values->item_count != count ||
        (with_result && (c->at->operands[0].kind != RP_PTX_OPERAND_VECTOR ||
                         c->at->operands[0].item_count != count)))
        return simt_refuse(c, "a vector of %u values", count);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t b;
        if (!simt_operand_value(c, &values->items[k], width, c->at->type[0], &b) ||
            (with_result && !simt_operand_target(c, &c->at->operands[0].items[k], width, &d[k])))
            return false;
        result[k] = with_result ? simt_temporary(c, width) : SIMT_SINK_ROW;
        emit_element(c, opcode, address, k, (const uint32_t[]){result[k], b, b});
    }
    for (uint32_t k = 0; with_result && k < count; k++) {
        struct simt_op *op = simt_emit(c, width == 2 ? SIMT_OP_mov_16 : SIMT_OP_mov_32);
        op->d = d[k];
        op->a = result[k];
    }
    return true;
}

static bool emit_atomic(struct compiler *c, bool with_result)
{
    const struct rp_ptx_instruction *at = c->at;
    const int opcode = atomic_opcode(c);
    const bool is_cas = rp_ptx_has(at, "cas");
    const uint32_t first = with_result ? 1 : 0, width = rp_ptx_type_bytes(at->type[0]);
    if (opcode < 0 || at->operand_count != first + (is_cas ? 3 : 2) ||
        (!with_result && (rp_ptx_has(at, "acquire") || rp_ptx_has(at, "acq_rel"))))
        return simt_refuse(c, "not supported");
    struct address address;
    uint32_t rows[3] = {SIMT_SINK_ROW};
    if (!find_address(c, &at->operands[first], false, &address))
        return false;
    if (at->vector > 1)
        return emit_atomic_vector(c, opcode, with_result, &address);
    if (!simt_operand_value(c, &at->operands[first + 1], width, at->type[0], &rows[1]))
        return false;
    rows[2] = rows[1];
    if ((is_cas &&
         !simt_operand_value(c, &at->operands[first + 2], width, at->type[0], &rows[2])) ||
        (with_result && !simt_operand_target(c, &at->operands[0], width, &rows[0])))
        return false;
    emit_element(c, opcode, &address, 0, rows);
    return true;
}

bool simt_emit_atom(struct compiler *c)
{
    return emit_atomic(c, true);
}

bool simt_emit_red(struct compiler *c)
{
    return emit_atomic(c, false);
}
