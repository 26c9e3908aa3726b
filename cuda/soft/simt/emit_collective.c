/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers and the operations for which lanes wait for each other. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdlib.h>
#include <string.h>

/* ---- barriers ----------------------------------------------------------------- */

static bool warp_sync(struct compiler *c)
{
    uint32_t mask;
    if (c->at->operand_count != 1 ||
        !simt_operand_value(c, &c->at->operands[0], 4, RP_PTX_B32, &mask))
        return simt_refuse(c, "these operands");
    const uint32_t around = simt_branch_around(c);
    simt_emit_always(c, SIMT_OP_warp_sync)->f = mask;
    simt_end_around(c, around);
    return true;
}

/* bar[rier][.cta].{sync,arrive,red} [d,] id [, count] [, predicate] */
bool simt_emit_bar(struct compiler *c)
{
    static const char *const known[] = {"cta", "sync", "arrive", "red", "popc", "and", "or",
                                        "aligned", "u32", "pred", NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (rp_ptx_has(at, "warp") && at->modifier_count == 2 && rp_ptx_has(at, "sync"))
        return warp_sync(c);
    if (!simt_modifiers_known(c, known))
        return false;
    const bool reduces = rp_ptx_has(at, "red"), arrives = rp_ptx_has(at, "arrive");
    const uint32_t first = reduces ? 1 : 0;
    const uint32_t operands = at->operand_count - first - reduces;
    if (reduces + arrives + rp_ptx_has(at, "sync") != 1 ||
        at->operand_count < first + 1 + reduces || operands > 2 || (arrives && operands != 2))
        return simt_refuse(c, "not supported");
    uint32_t flags = arrives ? SIMT_BAR_ARRIVE : 0, id, count = 0, predicate = 0, d = SIMT_SINK_ROW;
    if (!simt_operand_value(c, &at->operands[first], 4, RP_PTX_U32, &id))
        return false;
    if (operands == 2) {
        flags |= SIMT_BAR_COUNTED;
        if (!simt_operand_value(c, &at->operands[first + 1], 4, RP_PTX_U32, &count))
            return false;
    }
    if (reduces) {
        const bool popc = rp_ptx_has(at, "popc");
        flags |= popc                    ? SIMT_BAR_POPC
                 : rp_ptx_has(at, "and") ? SIMT_BAR_AND
                 : rp_ptx_has(at, "or")  ? SIMT_BAR_OR
                                         : 0;
        if (!(flags & (SIMT_BAR_POPC | SIMT_BAR_AND | SIMT_BAR_OR)))
            return simt_refuse(c, "not supported");
        if (!simt_operand_predicate(c, &at->operands[at->operand_count - 1], &predicate) ||
            !simt_operand_target(c, &at->operands[0], popc ? 4 : 0, &d))
            return false;
    }
    const uint32_t around = simt_branch_around(c);
    struct simt_op *op = simt_emit_always(c, SIMT_BARRIER);
    op->a = id;
    op->b = count;
    op->c = predicate;
    op->d = d;
    op->flags = (uint16_t)flags;
    simt_end_around(c, around);
    return true;
}

/* ---- lanes that look at each other -------------------------------------------- */

struct collective {
    int opcode;
    uint32_t d, a, b, c, e, f, flags;
};

static bool emit_collective(struct compiler *c, const struct collective *from)
{
    const uint32_t around = simt_branch_around(c);
    struct simt_op *op = simt_emit_always(c, from->opcode);
    op->d = from->d;
    op->a = from->a;
    op->b = from->b;
    op->c = from->c;
    op->e = from->e;
    op->f = from->f;
    op->flags = (uint16_t)from->flags;
    simt_end_around(c, around);
    return true;
}

/* The member mask is the last operand of the .sync forms; the old ones have none. */
static bool member_mask(struct compiler *c, bool sync, struct collective *out)
{
    if (!sync) {
        out->flags |= SIMT_LANE_UNNAMED;
        return true;
    }
    return simt_operand_value(c, &c->at->operands[c->at->operand_count - 1], 4, RP_PTX_B32,
                              &out->f);
}

static bool second_result(struct compiler *c, struct collective *out)
{
    const struct rp_ptx_operand *first = &c->at->operands[0];
    if (!first->paired)
        return true;
    if (simt_register_width(c, first->paired - 1) != 0)
        return simt_refuse(c, "a second result that is no predicate");
    out->e = simt_register_row(c, first->paired - 1);
    out->flags |= SIMT_LANE_WITH_PREDICATE;
    return true;
}

static int pick(const struct rp_ptx_instruction *at, const char *const *names, const int *opcodes)
{
    for (size_t i = 0; names[i]; i++) {
        if (rp_ptx_has(at, names[i]))
            return opcodes[i];
    }
    return -1;
}

bool simt_emit_shfl(struct compiler *c)
{
    static const char *const known[] = {"sync", "up", "down", "bfly", "idx", "b32", NULL};
    static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
    static const int opcodes[] = {SIMT_OP_shfl_up, SIMT_OP_shfl_down, SIMT_OP_shfl_bfly,
                                  SIMT_OP_shfl_idx};
    const struct rp_ptx_instruction *at = c->at;
    const bool sync = rp_ptx_has(at, "sync");
    struct collective out = {.opcode = pick(at, modes, opcodes)};
    if (!simt_modifiers_known(c, known))
        return false;
    if (out.opcode < 0 || at->operand_count != 4u + sync)
        return simt_refuse(c, "not supported");
    return member_mask(c, sync, &out) && second_result(c, &out) &&
           simt_operand_value(c, &at->operands[1], 4, RP_PTX_B32, &out.a) &&
           simt_operand_value(c, &at->operands[2], 4, RP_PTX_B32, &out.b) &&
           simt_operand_value(c, &at->operands[3], 4, RP_PTX_B32, &out.c) &&
           simt_operand_target(c, &at->operands[0], 4, &out.d) && emit_collective(c, &out);
}

bool simt_emit_vote(struct compiler *c)
{
    static const char *const known[] = {"sync", "all", "any", "uni", "ballot", "pred", "b32", NULL};
    static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
    static const int opcodes[] = {SIMT_OP_vote_all, SIMT_OP_vote_any, SIMT_OP_vote_uni,
                                  SIMT_OP_vote_ballot};
    const struct rp_ptx_instruction *at = c->at;
    const bool sync = rp_ptx_has(at, "sync");
    struct collective out = {.opcode = pick(at, modes, opcodes), .flags = SIMT_LANE_PREDICATE};
    if (!simt_modifiers_known(c, known))
        return false;
    if (out.opcode < 0 || at->operand_count != 2u + sync)
        return simt_refuse(c, "not supported");
    const uint32_t width = out.opcode == SIMT_OP_vote_ballot ? 4 : 0;
    return member_mask(c, sync, &out) &&
           simt_operand_predicate(c, &at->operands[1], &out.a) &&
           simt_operand_target(c, &at->operands[0], width, &out.d) && emit_collective(c, &out);
}

bool simt_emit_match(struct compiler *c)
{
    static const char *const known[] = {"any", "all", "sync", "b32", "b64", NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    const bool all = rp_ptx_has(at, "all");
    if (all == rp_ptx_has(at, "any") || !rp_ptx_has(at, "sync") || at->type_count != 1 ||
        at->operand_count != 3 || (at->operands[0].paired && !all))
        return simt_refuse(c, "not supported");
    const uint32_t width = rp_ptx_type_bytes(at->type[0]);
    struct collective out = {.opcode = all ? SIMT_OP_match_all_32 : SIMT_OP_match_any_32,
                             .flags = width == 8 ? SIMT_LANE_WIDE : 0};
    return member_mask(c, true, &out) && second_result(c, &out) &&
           simt_operand_value(c, &at->operands[1], width, at->type[0], &out.a) &&
           simt_operand_target(c, &at->operands[0], 4, &out.d) && emit_collective(c, &out);
}

bool simt_emit_redux(struct compiler *c)
{
    static const char *const known[] = {"sync", "add", "min", "max", "and", "or", "xor", "u32",
                                        "s32", "b32", NULL};
    static const char *const names[] = {"add", "and", "or", "xor", NULL};
    static const int opcodes[] = {SIMT_OP_redux_add, SIMT_OP_redux_and, SIMT_OP_redux_or,
                                  SIMT_OP_redux_xor};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    struct collective out = {.opcode = pick(at, names, opcodes)};
    const bool is_signed = rp_ptx_has(at, "s32");
    if (rp_ptx_has(at, "min"))
        out.opcode = is_signed ? SIMT_OP_redux_min_s32 : SIMT_OP_redux_min_u32;
    else if (rp_ptx_has(at, "max"))
        out.opcode = is_signed ? SIMT_OP_redux_max_s32 : SIMT_OP_redux_max_u32;
    const bool bits = rp_ptx_has(at, "and") || rp_ptx_has(at, "or") || rp_ptx_has(at, "xor");
    if (out.opcode < 0 || at->modifier_count != 3 || at->operand_count != 3 ||
        bits != rp_ptx_has(at, "b32"))
        return simt_refuse(c, "not supported");
    return member_mask(c, true, &out) &&
           simt_operand_value(c, &at->operands[1], 4, at->type[0], &out.a) &&
           simt_operand_target(c, &at->operands[0], 4, &out.d) && emit_collective(c, &out);
}

bool simt_emit_elect(struct compiler *c)
{
    static const char *const known[] = {"sync", NULL};
    struct collective out = {.opcode = SIMT_OP_elect, .a = SIMT_SINK_ROW};
    if (!simt_modifiers_known(c, known))
        return false;
    if (c->at->operand_count != 2 || !c->at->operands[0].paired)
        return simt_refuse(c, "not supported");
    return member_mask(c, true, &out) && second_result(c, &out) &&
           simt_operand_target(c, &c->at->operands[0], 4, &out.d) && emit_collective(c, &out);
}

bool simt_emit_activemask(struct compiler *c)
{
    uint32_t d;
    if (c->at->operand_count != 1 || !simt_operand_target(c, &c->at->operands[0], 4, &d))
        return simt_refuse(c, "not supported");
    const uint32_t around = simt_branch_around(c);
    simt_emit_always(c, SIMT_OP_activemask)->d = d;
    simt_end_around(c, around);
    return true;
}
