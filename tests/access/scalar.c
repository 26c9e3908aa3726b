/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/scalar_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 20000 /* instructions of one thread */

/* ---- values ------------------------------------------------------------------- */

static uint64_t special(struct thread *at, enum rp_ptx_sreg sreg)
{
    if (sreg <= RP_PTX_TID_Z)
        return at->tid[sreg - RP_PTX_TID_X];
    if (sreg <= RP_PTX_NTID_Z)
        return at->launch->block[sreg - RP_PTX_NTID_X];
    if (sreg <= RP_PTX_CTAID_Z)
        return at->ctaid[sreg - RP_PTX_CTAID_X];
    if (sreg <= RP_PTX_NCTAID_Z)
        return at->launch->grid[sreg - RP_PTX_NCTAID_X];
    const uint32_t *block = at->launch->block;
    if (sreg == RP_PTX_LANEID)
        return (at->tid[0] + block[0] * (at->tid[1] + block[1] * at->tid[2])) % 32;
    at->any_loaded = true;
    return scalar_random(&at->random);
}

uint64_t scalar_value(struct thread *at, const struct rp_ptx_operand *operand)
{
    uint64_t result = 0;
    switch ((int)operand->kind) {
    case RP_PTX_OPERAND_REG:
        result = at->frame->regs[operand->reg];
        at->any_loaded |= at->frame->loaded[operand->reg];
        break;
    case RP_PTX_OPERAND_IMM: result = (uint64_t)operand->imm; break;
    case RP_PTX_OPERAND_VAR:
        result = scalar_address_of(at, operand->var) + (uint64_t)operand->imm;
        break;
    case RP_PTX_OPERAND_SREG: result = special(at, operand->sreg); break;
    default: at->failed = true;
    }
    return operand->negated ? !result : result;
}

void scalar_set(struct thread *at, const struct rp_ptx_operand *to, uint64_t result)
{
    if (to->kind == RP_PTX_OPERAND_REG) {
        at->frame->regs[to->reg] = cut(result, bits_of(at->frame->function->regs[to->reg].type));
        at->frame->loaded[to->reg] = at->any_loaded;
    } else if (to->kind != RP_PTX_OPERAND_SINK) {
        at->failed = true;
    }
}

/* ---- instructions ------------------------------------------------------------- */

static bool compare(const char *how, uint64_t a, uint64_t b, unsigned bits, bool by_sign)
{
    int64_t x = extend(a, bits), y = extend(b, bits);
    bool less = by_sign ? x < y : cut(a, bits) < cut(b, bits), equal = cut(a, bits) == cut(b, bits);
    switch (how[0]) {
    case 'e': return equal;
    case 'n': return !equal;
    case 'l': return how[1] == 't' || how[1] == 'o' ? less : less || equal;
    case 'g': return how[1] == 't' ? !less && !equal : !less;
    default: return how[1] == 's' ? !less : !less && !equal; /* hs, hi */
    }
}

static void run_setp(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    bool by_sign = is_signed(ptx->type[0]);
    bool result = compare(ptx->modifiers[0], scalar_value(at, &ptx->operands[1]),
                          scalar_value(at, &ptx->operands[2]), bits_of(ptx->type[0]), by_sign);
    bool opposite = !result;
    if (ptx->operand_count > 3) {
        bool other = scalar_value(at, &ptx->operands[3]);
        bool and = rp_ptx_has(ptx, "and"), or = rp_ptx_has(ptx, "or");
        result = and ? result && other : or ? result || other : result != other;
        opposite = and ? opposite && other : or ? opposite || other : opposite != other;
    }
    scalar_set(at, &ptx->operands[0], result);
    if (ptx->operands[0].paired) {
        at->frame->regs[ptx->operands[0].paired - 1] = opposite;
        at->frame->loaded[ptx->operands[0].paired - 1] = at->any_loaded;
    }
}

static uint64_t shift_right(uint64_t a, uint64_t by, unsigned bits, bool by_sign)
{
    if (by >= bits)
        by = by_sign ? bits - 1 : bits;
    return by >= 64 ? 0 : by_sign ? (uint64_t)(extend(a, bits) >> by) : cut(a, bits) >> by;
}

static uint64_t divide(struct thread *at, uint64_t a, uint64_t b, unsigned bits, bool by_sign,
                       bool remainder)
{
    if (!cut(b, bits)) {
        at->any_loaded = true;
        return scalar_random(&at->random); /* unspecified */
    } else if (!by_sign) {
        return remainder ? cut(a, bits) % cut(b, bits) : cut(a, bits) / cut(b, bits);
    } else if (extend(b, bits) == -1) {
        return remainder ? 0 : -a;
    }
    return (uint64_t)(remainder ? extend(a, bits) % extend(b, bits)
                                : extend(a, bits) / extend(b, bits));
}

static uint64_t multiply(const struct rp_ptx_instruction *ptx, uint64_t a, uint64_t b,
                         unsigned bits, bool by_sign)
{
    __extension__ typedef unsigned __int128 wide; /* two's complement: signs take care of it */
    wide x = by_sign ? (wide)extend(a, bits) : (wide)cut(a, bits);
    wide y = by_sign ? (wide)extend(b, bits) : (wide)cut(b, bits);
    return rp_ptx_has(ptx, "hi") ? (uint64_t)((x * y) >> bits) : (uint64_t)(x * y);
}

/* Everything with one result and plain sources. */
static bool run_arithmetic(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    static const char *const ops[] = {"add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor",
                                      "not", "neg", "abs", "min", "max", "div", "rem", "selp",
                                      "bfe"};
    bool known = false;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        known |= is(ptx, ops[i]);
    if (!known)
        return false;
    unsigned bits = bits_of(ptx->type[0]);
    bool by_sign = is_signed(ptx->type[0]), less;
    uint64_t a = scalar_value(at, &ptx->operands[1]), r = 0;
    uint64_t b = ptx->operand_count > 2 ? scalar_value(at, &ptx->operands[2]) : 0;
    uint64_t c = ptx->operand_count > 3 ? scalar_value(at, &ptx->operands[3]) : 0;
    less = by_sign ? extend(a, bits) < extend(b, bits) : cut(a, bits) < cut(b, bits);
    if (is(ptx, "add")) r = a + b;
    else if (is(ptx, "sub")) r = a - b;
    else if (is(ptx, "mul")) r = multiply(ptx, a, b, bits, by_sign);
    else if (is(ptx, "mad")) r = multiply(ptx, a, b, bits, by_sign) + c;
    else if (is(ptx, "shl")) r = cut(b, 32) >= bits ? 0 : a << cut(b, 32);
    else if (is(ptx, "shr")) r = shift_right(a, cut(b, 32), bits, by_sign);
    else if (is(ptx, "and")) r = a & b;
    else if (is(ptx, "or")) r = a | b;
    else if (is(ptx, "xor")) r = a ^ b;
    else if (is(ptx, "not")) r = bits == 1 ? !a : ~a;
    else if (is(ptx, "neg")) r = -a;
    else if (is(ptx, "abs")) r = extend(a, bits) < 0 ? -a : a;
    else if (is(ptx, "min")) r = less ? a : b;
    else if (is(ptx, "max")) r = less ? b : a;
    else if (is(ptx, "selp")) r = c ? a : b;
    else if (is(ptx, "bfe")) r = cut(cut(a, bits) >> b, (unsigned)c);
    else r = divide(at, a, b, bits, by_sign, is(ptx, "rem"));
    scalar_set(at, &ptx->operands[0], r);
    return true;
}

static void run_cvt(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    unsigned to = bits_of(ptx->type[0]), from = bits_of(ptx->type[1]);
    uint64_t a = scalar_value(at, &ptx->operands[1]);
    a = is_signed(ptx->type[1]) ? (uint64_t)extend(a, from) : cut(a, from);
    a = is_signed(ptx->type[0]) ? (uint64_t)extend(a, to) : cut(a, to);
    scalar_set(at, &ptx->operands[0], a);
}

static void run_move(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *to = &ptx->operands[0], *from = &ptx->operands[1];
    if (to->kind == RP_PTX_OPERAND_VECTOR) {
        uint64_t whole = scalar_value(at, from);
        scalar_set(at, &to->items[0], cut(whole, 32));
        scalar_set(at, &to->items[1], whole >> 32);
    } else if (from->kind == RP_PTX_OPERAND_VECTOR) {
        uint64_t low = cut(scalar_value(at, &from->items[0]), 32);
        scalar_set(at, to, low | scalar_value(at, &from->items[1]) << 32);
    } else {
        scalar_set(at, to, scalar_value(at, from));
    }
}

static void run_plain(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    if (run_arithmetic(at, ptx))
        return;
    if (is(ptx, "mov"))
        run_move(at, ptx);
    else if (is(ptx, "cvta"))
        scalar_set(at, &ptx->operands[0], scalar_value(at, &ptx->operands[1]));
    else if (is(ptx, "setp"))
        run_setp(at, ptx);
    else if (is(ptx, "cvt"))
        run_cvt(at, ptx);
    else if (is(ptx, "ld"))
        scalar_load(at, ptx);
    else if (is(ptx, "st") || is(ptx, "atom") || is(ptx, "red"))
        scalar_access(at, ptx);
    else if (!is(ptx, "bar") && !is(ptx, "membar"))
        at->failed = true;
}

/* ---- control ------------------------------------------------------------------ */

static bool run_function(struct thread *at, struct frame *frame,
                         const struct rp_ptx_instruction **last);

static void run_call(struct thread *at, const struct rp_ptx_instruction *ptx,
                     const struct rp_ptx_instruction **last)
{
    const struct rp_ptx_operand *operands = ptx->operands, *arguments = operands + ptx->returns + 1;
    const struct rp_ptx_function *callee = rp_ptx_find(at->module, operands[ptx->returns].name);
    struct frame *caller = at->frame;
    struct frame frame = {.function = callee, .caller = caller, .depth = caller->depth + 1};
    at->failed |= !callee || frame.depth == SCALAR_DEPTH;
    if (at->failed)
        return;
    for (size_t i = 0; i < callee->param_count; i++)
        scalar_pass(at, caller, arguments[i].var, &frame, &callee->params[i]);
    if (!run_function(at, &frame, last)) /* nor will the caller: it has no steps left */
        return;
    for (size_t i = 0; i < callee->return_count; i++)
        scalar_pass(at, &frame, &callee->returns[i], caller, operands[i].var);
}

/* Returns false when the thread did not come to its end. */
static bool run_code(struct thread *at, const struct rp_ptx_instruction **last)
{
    const struct rp_ptx_function *function = at->frame->function;
    for (size_t pc = 0; pc < function->code_count;) {
        const struct rp_ptx_instruction *ptx = *last = &function->code[pc++];
        if (++at->steps > BUDGET)
            return false;
        if (ptx->guarded && (at->frame->regs[ptx->guard] != 0) == ptx->guard_negated)
            continue;
        at->any_loaded = false;
        if (is(ptx, "ret") || is(ptx, "exit"))
            return true;
        if (is(ptx, "bra"))
            pc = ptx->operands[0].target;
        else if (is(ptx, "call"))
            run_call(at, ptx, last);
        else
            run_plain(at, ptx);
        if (at->failed)
            return true;
    }
    return true;
}

static bool run_function(struct thread *at, struct frame *frame,
                         const struct rp_ptx_instruction **last)
{
    frame->regs = calloc(frame->function->reg_count + 1, sizeof(*frame->regs));
    frame->loaded = calloc(frame->function->reg_count + 1, sizeof(*frame->loaded));
    at->frame = frame;
    bool ended = run_code(at, last);
    at->frame = frame->caller;
    free(frame->regs);
    free(frame->loaded);
    return ended;
}

static void place_thread(struct thread *at, uint64_t t, uint64_t b)
{
    const uint32_t *grid = at->launch->grid, *block = at->launch->block;
    for (int d = 0; d < 3; t /= block[d], b /= grid[d], d++) {
        at->tid[d] = (uint32_t)(t % block[d]);
        at->ctaid[d] = (uint32_t)(b % grid[d]);
    }
    at->own.count = 0;
    at->steps = 0;
}

enum scalar_result scalar_run(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry, const struct rp_launch *launch,
                              const struct scalar_memory *memory, struct scalar_trace *trace)
{
    enum scalar_result result = SCALAR_DONE;
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    struct thread at = {.module = module, .launch = launch, .random = memory->seed, .trace = trace,
                        .contents = (unsigned)(memory->seed / 4 % 4)};
    memcpy(at.tables, memory->tables, sizeof at.tables);
    trace->reads.count = trace->found.count = trace->writes.count = 0;
    for (uint64_t i = 0; i < threads * blocks && result == SCALAR_DONE; i++) {
        const struct rp_ptx_instruction *last = NULL;
        struct frame frame = {.function = entry};
        place_thread(&at, i % threads, i / threads);
        if (!run_function(&at, &frame, &last))
            result = SCALAR_ENDLESS;
        if (at.failed) {
            result = SCALAR_UNKNOWN;
            snprintf(trace->message, sizeof trace->message, "line %u: %s", last->line, last->op);
        }
    }
    scalar_release(&at.own);
    scalar_tidy(&trace->reads);
    scalar_tidy(&trace->found);
    scalar_tidy(&trace->writes);
    return result;
}
