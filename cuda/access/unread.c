/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes of its parameters a kernel never loads: the padding of a struct that is passed by
 * value, the elements of an array that no constant index reaches, what it has no use for.
 *
 * A load at a place that is written down loads those bytes. Any other mention of a parameter may
 * load all of it: its address is taken, or it goes to a function; and a place that is not its own
 * may be any of all parameters. Code that is never reached counts like any other. Only the entry
 * itself can name its parameters.
 */
#include "cuda/access/build.h"

#include <string.h>

struct unread {
    const struct rp_ptx_function *entry;
    uint8_t *bits; /* by byte of the parameter block, the lowest first */
};

static bool get(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static void set(const struct unread *unread, uint64_t at, uint64_t end, bool is_unread)
{
    if (end > unread->entry->param_bytes)
        end = unread->entry->param_bytes;
    for (; at < end; at++)
        unread->bits[at / 8] = (uint8_t)((unread->bits[at / 8] & ~(1u << at % 8)) |
                                         (unsigned)is_unread << at % 8);
}

static bool is_param(const struct rp_ptx_function *entry, const struct rp_ptx_var *var)
{
    for (size_t i = 0; i < entry->param_count; i++)
        if (var == &entry->params[i])
            return true;
    return false;
}

/* The bytes that a load at a place within one parameter loads; 0: it is no such load. */
static uint64_t loaded_bytes(const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *from = &ptx->operands[1];
    if (strcmp(ptx->op, "ld") != 0 || ptx->operand_count != 2 || ptx->type_count != 1 ||
        from->kind != RP_PTX_OPERAND_ADDRESS || from->base != RP_PTX_OPERAND_VAR ||
        from->item_count || from->imm < 0)
        return 0;
    uint64_t bytes = (uint64_t)rp_ptx_type_bytes(ptx->type[0]) * (ptx->vector ? ptx->vector : 1);
    return (uint64_t)from->imm + bytes <= from->var->bytes ? bytes : 0;
}

/* At a place of another parameter than it names. */
static bool is_beyond(const struct rp_ptx_instruction *ptx, const struct rp_ptx_operand *operand)
{
    uint64_t bytes = ptx->type_count ? rp_ptx_type_bytes(ptx->type[0]) : 0;
    return operand->kind == RP_PTX_OPERAND_ADDRESS && operand->base == RP_PTX_OPERAND_VAR &&
           (operand->imm < 0 || (uint64_t)operand->imm + bytes * (ptx->vector ? ptx->vector : 1) >
                                    operand->var->bytes);
}

static void read_operand(const struct unread *unread, const struct rp_ptx_instruction *ptx,
                         const struct rp_ptx_operand *operand)
{
    for (uint32_t i = 0; i < operand->item_count; i++)
        read_operand(unread, ptx, &operand->items[i]);
    const struct rp_ptx_var *var = operand->var;
    if (!is_param(unread->entry, var))
        return;
    uint64_t bytes = operand == &ptx->operands[1] ? loaded_bytes(ptx) : 0;
    if (bytes)
        set(unread, var->offset + (uint64_t)operand->imm,
            var->offset + (uint64_t)operand->imm + bytes, false);
    else if (is_beyond(ptx, operand))
        set(unread, 0, unread->entry->param_bytes, false);
    else
        set(unread, var->offset, var->offset + var->bytes, false);
}

void rp_unread_find(struct rp_builder *build, struct rp_proof *proof)
{
    const struct rp_ptx_function *entry = build->entry;
    size_t size = entry->param_bytes / 8 + 2; /* eight bits can be had from any byte on */
    struct unread unread = {entry, rp_build_alloc(build, size)};
    for (size_t i = 0; i < entry->param_count; i++)
        set(&unread, entry->params[i].offset, entry->params[i].offset + entry->params[i].bytes,
            true);
    for (size_t i = 0; i < entry->code_count; i++)
        for (unsigned j = 0; j < entry->code[i].operand_count; j++)
            read_operand(&unread, &entry->code[i], &entry->code[i].operands[j]);
    proof->unread = unread.bits;
    for (uint64_t at = 0; at < entry->param_bytes && !proof->unread_bytes; at++)
        if (get(unread.bits, at))
            proof->unread_bytes = size;
}

bool rp_proof_reads_all_params(const struct rp_proof *proof)
{
    return !proof->unread_bytes;
}

uint64_t rp_proof_read_params(const struct rp_proof *proof, uint64_t at)
{
    if (at / 8 + 1 >= proof->unread_bytes)
        return UINT64_MAX;
    unsigned pair = proof->unread[at / 8] | (unsigned)proof->unread[at / 8 + 1] << 8;
    uint64_t spread = (pair >> at % 8 & 0xff) * UINT64_C(0x0101010101010101) &
                      UINT64_C(0x8040201008040201); /* byte i has bit i, and nothing else */
    uint64_t ones = (spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
    return ~(ones * 0xff);
}
