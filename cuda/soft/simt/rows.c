/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that serve several registers. Compilers give every result a register of its own; as many
 * rows would not fit into the nearest cache.
 *
 * A loop of such code ends with a list of `mov sum, next`: where nobody reads the old sum after
 * the next one is there, both can be the same row, and the copy is left out. And a register that
 * is written and read in one block only leaves its row to others after that. */
#include "cuda/soft/simt/compile.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a register when an instruction is looked at. Instructions are counted from 1;
 * 0 is none. */
struct history {
    uint32_t mentions; /* in the whole function */
    uint32_t so_far;   /* of them up to here */
    uint32_t last;     /* instruction that mentioned it */
    uint32_t written;  /* instruction that wrote it, alone and whatever the guards */
    uint32_t block;    /* that mentioned it first, */
    bool is_local;     /* as a result; and no other block has since */
    bool is_home;      /* another register lives in its row */
};

struct scan {
    struct compiler *c;
    struct history *registers;
    const struct rp_ptx_instruction *instruction;
    uint32_t at;    /* its number */
    uint32_t block; /* instructions up to here belong to other blocks */
};

/* ---- mentions ----------------------------------------------------------------- */

typedef void visitor(struct scan *scan, uint32_t reg);

static void visit_operand(struct scan *scan, const struct rp_ptx_operand *operand, visitor *visit)
{
    if (operand->kind == RP_PTX_OPERAND_REG ||
        (operand->kind == RP_PTX_OPERAND_ADDRESS && operand->base == RP_PTX_OPERAND_REG))
        visit(scan, operand->reg);
    if (operand->paired)
        visit(scan, operand->paired - 1);
    for (uint32_t i = 0; operand->items && i < operand->item_count; i++)
        visit_operand(scan, &operand->items[i], visit);
}

static void visit_registers(struct scan *scan, visitor *visit)
{
    if (scan->instruction->guarded)
        visit(scan, scan->instruction->guard);
    for (uint32_t k = 0; k < scan->instruction->operand_count; k++)
        visit_operand(scan, &scan->instruction->operands[k], visit);
}

static void count_mention(struct scan *scan, uint32_t reg)
{
    scan->registers[reg].mentions++;
}

static bool is_register(const struct rp_ptx_operand *operand)
{
    return operand->kind == RP_PTX_OPERAND_REG && !operand->paired && !operand->negated;
}

/* Whatever stands first is taken for a result. */
static bool is_result(const struct rp_ptx_instruction *at, uint32_t reg)
{
    if (at->guarded || !at->operand_count)
        return false;
    const struct rp_ptx_operand *first = at->operands;
    if (first->kind != RP_PTX_OPERAND_VECTOR)
        return is_register(first) && first->reg == reg;
    bool found = false;
    for (uint32_t i = 0; i < first->item_count; i++)
        found |= is_register(&first->items[i]) && first->items[i].reg == reg;
    return found;
}

static void mention(struct scan *scan, uint32_t reg)
{
    struct history *history = &scan->registers[reg];
    if (history->so_far == 0) {
        history->block = scan->block;
        history->is_local = is_result(scan->instruction, reg);
    } else if (history->block != scan->block ||
               (history->so_far == 1 && history->last == scan->at)) {
        history->is_local = false; /* read elsewhere, or before it is written */
    }
    history->so_far++;
    history->last = scan->at;
}

/* ---- copies ------------------------------------------------------------------- */

static bool is_copy(const struct compiler *c, const struct rp_ptx_instruction *at)
{
    if (strcmp(at->op, "mov") != 0 || at->guarded || at->operand_count != 2 ||
        at->type_count != 1 || at->modifier_count != 1)
        return false;
    const struct rp_ptx_operand *to = &at->operands[0], *from = &at->operands[1];
    const uint32_t width = rp_ptx_type_bytes(at->type[0]);
    return is_register(to) && is_register(from) && to->reg != from->reg && width >= 2 &&
           simt_register_width(c, to->reg) == width && simt_register_width(c, from->reg) == width;
}

/* May what is copied here be made in the copy's row from the beginning? It is written once, in
 * this block, and read up to here; meanwhile nobody looks at the row. */
static bool may_share(const struct scan *scan)
{
    const struct compiler *c = scan->c;
    const uint32_t to = scan->instruction->operands[0].reg;
    const uint32_t from = scan->instruction->operands[1].reg;
    const struct history *source = &scan->registers[from], *home = &scan->registers[to];
    return c->reg_writes[from] == 1 && source->written > scan->block && !source->is_home &&
           source->so_far + 1 == source->mentions && home->last <= source->written &&
           home->written != source->written && !c->lives_in[from] && !c->lives_in[to];
}

static void share(struct scan *scan)
{
    struct compiler *c = scan->c;
    const uint32_t to = scan->instruction->operands[0].reg;
    const uint32_t from = scan->instruction->operands[1].reg;
    scan->registers[to].is_home = true;
    c->lives_in[from] = to + 1;
    c->dropped[scan->at - 1] = 1;
    c->compact[to] &= c->compact[from];
}

/* ---- the plan ----------------------------------------------------------------- */

static bool ends_block(const struct rp_ptx_instruction *at)
{
    static const char *const ends[] = {"bra", "brx", "call", "ret", "exit", "trap"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (!strcmp(at->op, ends[i]))
            return true;
    }
    return false;
}

static void look_at(struct scan *scan)
{
    const struct rp_ptx_instruction *at = scan->instruction;
    if (scan->c->entries[scan->at - 1])
        scan->block = scan->at - 1;
    if (is_copy(scan->c, at) && may_share(scan))
        share(scan);
    visit_registers(scan, mention);
    if (!at->guarded && at->operand_count && is_register(&at->operands[0]))
        scan->registers[at->operands[0].reg].written = scan->at;
    if (ends_block(at))
        scan->block = scan->at;
}

static void keep(const struct scan *scan, uint32_t reg)
{
    struct compiler *c = scan->c;
    const struct history *history = &scan->registers[reg];
    const uint32_t home = c->lives_in[reg];
    c->mentions[reg] = history->mentions;
    c->compact[reg] = home ? c->compact[home - 1] : c->compact[reg];
    if (history->is_local && !home && !history->is_home && !c->compact[reg])
        c->ends[reg] = history->last;
}

void simt_plan_rows(struct compiler *c)
{
    struct scan scan = {.c = c, .registers = calloc(c->ptx->reg_count + 1,
                                                    sizeof *scan.registers)};
    if (!scan.registers) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->ptx->code_count; i++) {
        scan.instruction = &c->ptx->code[i];
        visit_registers(&scan, count_mention);
    }
    for (uint32_t i = 0; i < c->ptx->code_count; i++) {
        scan.instruction = &c->ptx->code[i];
        scan.at = i + 1;
        look_at(&scan);
    }
    for (uint32_t reg = 0; reg < c->ptx->reg_count; reg++)
        keep(&scan, reg);
    free(scan.registers);
}

/* ---- rows that are free again -------------------------------------------------- */

static void release(struct scan *scan, uint32_t reg)
{
    struct compiler *c = scan->c;
    const uint32_t width = simt_register_width(c, reg), row = c->reg_row[reg];
    if (c->ends[reg] != scan->at || !row || c->aliased[reg] || width < 4)
        return;
    struct simt_spare *spare = &c->spare[width == 8];
    if (spare->count < sizeof spare->rows / sizeof spare->rows[0])
        spare->rows[spare->count++] = row;
    c->ends[reg] = 0;
}

void simt_release_rows(struct compiler *c, uint32_t instruction)
{
    struct scan scan = {
        .c = c, .instruction = &c->ptx->code[instruction], .at = instruction + 1};
    visit_registers(&scan, release);
}
