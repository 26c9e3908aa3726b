/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays in one operation. A renderer that makes every address from its index
 *
 *     add.s32 t, x, 3;  cvt.s64.s32 d, t;  mad.lo.s64 d, d, 4, array;  ld.global.f32 v, [d];
 *
 * pays for four operations and three registers that nobody else reads; a load or store of
 * array[x + 3] leaves them out. The addition is optional. */
#include "cuda/soft/simt/compile.h"

#include <string.h>

enum { MAX_SCALE = 4096 }; /* in an operation's flags, below SIMT_TRACKED */

static bool spelled(const struct rp_ptx_instruction *at, const char *wanted)
{
    char text[SIMT_SPELLING];
    simt_spell(at, text);
    return !at->guarded && !strcmp(text, wanted);
}

static bool is_plain(const struct rp_ptx_operand *operand)
{
    return operand->kind == RP_PTX_OPERAND_REG && !operand->paired && !operand->negated;
}

/* A register that nothing but this pattern mentions. */
static bool is_private(const struct compiler *c, const struct rp_ptx_operand *operand,
                       uint32_t mentions, uint32_t width)
{
    return is_plain(operand) && c->mentions[operand->reg] == mentions &&
           simt_register_width(c, operand->reg) == width && !c->lives_in[operand->reg];
}

static bool literal(const struct compiler *c, const struct rp_ptx_operand *operand,
                    int64_t *value)
{
    if (operand->kind == RP_PTX_OPERAND_IMM && !operand->is_float && !operand->negated) {
        *value = operand->imm;
        return true;
    }
    if (!is_plain(operand) || !c->aliased[operand->reg])
        return false;
    for (uint32_t i = 0; i < c->row_count; i++) {
        if (c->rows[i].offset == c->reg_row[operand->reg] &&
            c->rows[i].fill == SIMT_FILL_VALUE) {
            *value = c->rows[i].value;
            return true;
        }
    }
    return false;
}

/* An access of one to four words at [address + something], which may be guarded. */
static bool is_word_access(const struct compiler *c, const struct rp_ptx_instruction *at,
                           uint32_t address)
{
    const bool is_load = !strcmp(at->op, "ld"), is_store = !strcmp(at->op, "st");
    if ((!is_load && !is_store) || at->operand_count != 2 || at->type_count != 1 ||
        rp_ptx_type_bytes(at->type[0]) != 4 || at->vector > 4 || at->space != RP_PTX_GLOBAL)
        return false;
    const struct rp_ptx_operand *where = &at->operands[is_load ? 1 : 0];
    const struct rp_ptx_operand *data = &at->operands[is_load ? 0 : 1];
    const bool vector = data->kind == RP_PTX_OPERAND_VECTOR;
    for (uint32_t k = 0; k < (vector ? data->item_count : 1); k++) {
        const struct rp_ptx_operand *item = vector ? &data->items[k] : data;
        if (item->kind != RP_PTX_OPERAND_REG || simt_register_width(c, item->reg) != 4)
            return false;
    }
    return where->kind == RP_PTX_OPERAND_ADDRESS && where->base == RP_PTX_OPERAND_REG &&
           where->reg == address && where->imm == (int32_t)where->imm && !where->item_count;
}

/* array[index] by the instructions from `first` on. */
static bool is_element(const struct compiler *c, uint32_t first, struct simt_indexed *element)
{
    if (first + 2 >= c->ptx->code_count || c->entries[first + 1] || c->entries[first + 2])
        return false;
    const struct rp_ptx_instruction *at = &c->ptx->code[first];
    if (!spelled(&at[0], "cvt.s64.s32") || !spelled(&at[1], "mad.lo.s64") ||
        at[0].operand_count != 2 || at[1].operand_count != 4)
        return false;
    const struct rp_ptx_operand *address = &at[0].operands[0];
    const struct rp_ptx_operand *index = &at[0].operands[1], *product = at[1].operands;
    int64_t scale;
    if (!is_private(c, address, 4, 8) || !is_plain(index) ||
        simt_register_width(c, index->reg) != 4 || !is_plain(&product[0]) ||
        product[0].reg != address->reg || !is_plain(&product[1]) ||
        product[1].reg != address->reg || !literal(c, &product[2], &scale) || scale < 0 ||
        scale > MAX_SCALE || !is_plain(&product[3]) || product[3].reg == address->reg ||
        simt_register_width(c, product[3].reg) != 8 || !is_word_access(c, &at[2], address->reg))
        return false;
    *element = (struct simt_indexed){
        .index = index, .array = &product[3], .scale = (uint16_t)scale, .used = 3};
    return true;
}

bool simt_find_indexed(const struct compiler *c, uint32_t first, struct simt_indexed *element)
{
    if (is_element(c, first, element))
        return true;
    const struct rp_ptx_instruction *at = &c->ptx->code[first];
    int64_t more;
    if (first + 1 >= c->ptx->code_count || c->entries[first + 1] || !spelled(at, "add.s32") ||
        at->operand_count != 3 || !is_plain(&at->operands[1]) ||
        simt_register_width(c, at->operands[1].reg) != 4 ||
        !literal(c, &at->operands[2], &more) || !is_private(c, &at->operands[0], 2, 4) ||
        !is_element(c, first + 1, element) || element->index->reg != at->operands[0].reg)
        return false;
    element->index = &at->operands[1];
    element->more = (int32_t)more;
    element->used++;
    return true;
}
