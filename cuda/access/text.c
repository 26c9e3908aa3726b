/* SPDX-License-Identifier: Apache-2.0 */
/* A proof in words: one line for each root and side, about the access that is known worst.
 *
 * p3 is the value of parameter 3 (from 0), p3.8 the field at byte 8 of it; k counts the
 * iterations of a loop. */
#include "cuda/access/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 8 /* of an address that is spelt out */

struct writer {
    struct rp_builder *build;
    const struct rp_proof *proof;
    char text[400]; /* the line at hand */
    size_t used;
    struct rp_vec lines; /* char * */
};

static void put(struct writer *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(to->text + to->used, sizeof(to->text) - to->used, format, args);
    va_end(args);
    if (length > 0)
        to->used += (size_t)length;
    if (to->used >= sizeof(to->text) - 1)
        to->used = sizeof(to->text) - 1;
}

static void end_line(struct writer *to)
{
    *(char **)rp_build_push(to->build, &to->lines, sizeof(char *)) =
        rp_build_format(to->build, "%s", to->text);
}

/* ---- values ------------------------------------------------------------------- */

static const char *special_name(int64_t sreg)
{
    static const char *const names[] = {
        [RP_PTX_TID_X] = "tid.x",       [RP_PTX_TID_Y] = "tid.y",       [RP_PTX_TID_Z] = "tid.z",
        [RP_PTX_NTID_X] = "ntid.x",     [RP_PTX_NTID_Y] = "ntid.y",     [RP_PTX_NTID_Z] = "ntid.z",
        [RP_PTX_CTAID_X] = "ctaid.x",   [RP_PTX_CTAID_Y] = "ctaid.y",
        [RP_PTX_CTAID_Z] = "ctaid.z",
        [RP_PTX_NCTAID_X] = "nctaid.x", [RP_PTX_NCTAID_Y] = "nctaid.y",
        [RP_PTX_NCTAID_Z] = "nctaid.z", [RP_PTX_LANEID] = "laneid"};
    bool known = sreg >= 0 && sreg < (int64_t)(sizeof(names) / sizeof(names[0]));
    return known && names[sreg] ? names[sreg] : "a special register";
}

static const char *compare_symbol(const struct rp_op *op, bool sense)
{
    static const char *const names[][2] = {[RP_EQ] = {" != ", " == "}, [RP_NE] = {" == ", " != "},
                                           [RP_LT] = {" >= ", " < "},  [RP_LE] = {" > ", " <= "},
                                           [RP_GT] = {" <= ", " > "},  [RP_GE] = {" < ", " >= "}};
    return names[op->compare][sense];
}

static const char *symbol_of(const struct rp_op *op)
{
    switch ((int)op->kind) {
    case RP_OP_ADD: case RP_OP_GRID: return " + ";
    case RP_OP_SUB: return " - ";
    case RP_OP_MUL: case RP_OP_MUL_WIDE: return " * ";
    case RP_OP_SHL: return " << "; /* but by a constant it is a product */
    case RP_OP_SHR: return " >> ";
    case RP_OP_AND: case RP_OP_PAND: return " & ";
    case RP_OP_OR: case RP_OP_POR: return " | ";
    case RP_OP_XOR: case RP_OP_PXOR: return " ^ ";
    case RP_OP_DIV: return " / ";
    case RP_OP_REM: return " % ";
    case RP_OP_COMPARE: return compare_symbol(op, true);
    default: return NULL;
    }
}

static void put_value(struct writer *to, uint32_t value, unsigned depth);

static void put_pair(struct writer *to, const char *before, uint32_t a, const char *between,
                     uint32_t b, unsigned depth)
{
    put(to, "%s", before);
    put_value(to, a, depth + 1);
    put(to, "%s", between);
    put_value(to, b, depth + 1);
    put(to, ")");
}

static void put_param(struct writer *to, int64_t offset)
{
    const struct rp_ptx_function *entry = to->build->entry;
    for (size_t i = 0; i < entry->param_count; i++) {
        uint64_t start = entry->params[i].offset;
        if ((uint64_t)offset < start || (uint64_t)offset >= start + entry->params[i].bytes)
            continue;
        put(to, "p%zu", i);
        if ((uint64_t)offset > start)
            put(to, ".%llu", (unsigned long long)offset - start);
        return;
    }
}

static bool is_constant(const struct writer *to, uint32_t value, int64_t constant)
{
    const struct rp_op *op = &to->proof->ops[value];
    return op->kind == RP_OP_CONST && op->imm == constant;
}

/* Sums and products without what adds or multiplies nothing. */
static bool put_simplified(struct writer *to, const struct rp_op *op, unsigned depth)
{
    const struct rp_op *by = &to->proof->ops[op->b];
    if (op->kind == RP_OP_ADD && is_constant(to, op->a, 0)) {
        put_value(to, op->b, depth);
    } else if ((op->kind == RP_OP_ADD || op->kind == RP_OP_SUB || op->kind == RP_OP_INDUCTION) &&
               is_constant(to, op->b, 0)) {
        put_value(to, op->a, depth);
    } else if (op->kind == RP_OP_SHL && by->kind == RP_OP_CONST && by->imm >= 0 && by->imm < 32) {
        put(to, "(");
        put_value(to, op->a, depth + 1);
        put(to, " * %u)", 1u << by->imm);
    } else {
        return false;
    }
    return true;
}

static void put_value(struct writer *to, uint32_t value, unsigned depth)
{
    const struct rp_op *op = &to->proof->ops[value];
    const char *symbol = symbol_of(op);
    if (depth > MAX_DEPTH) {
        put(to, "...");
        return;
    }
    if ((symbol || op->kind == RP_OP_INDUCTION) && put_simplified(to, op, depth))
        return;
    if (symbol) {
        put_pair(to, "(", op->a, symbol, op->b, depth);
        return;
    }
    switch ((int)op->kind) {
    case RP_OP_CONST: put(to, "%lld", (long long)op->imm); break;
    case RP_OP_PARAM: put_param(to, op->imm); break;
    case RP_OP_ROOT: put(to, "&%s", to->proof->roots[op->imm].name); break;
    case RP_OP_SREG: put(to, "%s", special_name(op->imm)); break;
    case RP_OP_CONVERT: case RP_OP_EXIT: put_value(to, op->a, depth); break;
    case RP_OP_MIN: put_pair(to, "min(", op->a, ", ", op->b, depth); break;
    case RP_OP_MAX: put_pair(to, "max(", op->a, ", ", op->b, depth); break;
    case RP_OP_INDUCTION:
        put_pair(to, "(", op->a, " + k * ", op->b, depth);
        break;
    case RP_OP_PNOT: put(to, "not "); put_value(to, op->a, depth + 1); break;
    case RP_OP_SELECT: case RP_OP_PHI: put(to, "(one of several)"); break;
    case RP_OP_NEAR: put(to, "(shared or local)"); break;
    case RP_OP_MAP: put(to, "the tensor of map "); put_param(to, op->imm); break;
    default: put(to, "(data)"); break;
    }
}

/* ---- lines -------------------------------------------------------------------- */

static uint32_t root_of(const struct rp_proof *proof, uint32_t value, unsigned depth)
{
    const struct rp_op *op = &proof->ops[value];
    if (op->kind == RP_OP_ROOT)
        return (uint32_t)op->imm;
    if (op->kind == RP_OP_PARAM)
        return op->from == 64 ? op->a : RP_NONE;
    if (depth > 64 || op->bits != 64)
        return RP_NONE;
    if (op->kind == RP_OP_ADD || op->kind == RP_OP_SUB || op->kind == RP_OP_INDUCTION ||
        op->kind == RP_OP_EXIT || op->kind == RP_OP_CONVERT) {
        uint32_t root = root_of(proof, op->a, depth + 1);
        return root == RP_NONE && op->kind == RP_OP_ADD ? root_of(proof, op->b, depth + 1) : root;
    }
    return RP_NONE;
}

/* Of two small constants, which are the same whether they have a sign or not. */
static bool is_settled(const struct writer *to, const struct rp_op *op, bool sense)
{
    const struct rp_op *a = &to->proof->ops[op->a], *b = &to->proof->ops[op->b];
    if (a->kind != RP_OP_CONST || b->kind != RP_OP_CONST || a->imm < 0 || b->imm < 0 ||
        a->imm > INT8_MAX || b->imm > INT8_MAX)
        return false;
    const bool is[] = {[RP_EQ] = a->imm == b->imm, [RP_NE] = a->imm != b->imm,
                       [RP_LT] = a->imm < b->imm, [RP_LE] = a->imm <= b->imm,
                       [RP_GT] = a->imm > b->imm, [RP_GE] = a->imm >= b->imm};
    return is[op->compare] == sense;
}

/* Whether `value` is `sense` whatever the launch is: such a condition says nothing. */
static bool is_always(const struct writer *to, uint32_t value, bool sense, unsigned depth)
{
    const struct rp_op *op = &to->proof->ops[value];
    switch ((int)op->kind) {
    case RP_OP_CONST: return (op->imm != 0) == sense;
    case RP_OP_COMPARE: return is_settled(to, op, sense);
    case RP_OP_PNOT: return is_always(to, op->a, !sense, depth);
    case RP_OP_PAND: case RP_OP_POR:
        return (op->kind == RP_OP_PAND) == sense && depth < MAX_DEPTH &&
               is_always(to, op->a, sense, depth + 1) && is_always(to, op->b, sense, depth + 1);
    default: return false;
    }
}

/* `not (a >= b)` is a < b, and neither of two is both of the opposites. */
static void put_condition(struct writer *to, uint32_t value, bool sense, unsigned depth)
{
    const struct rp_op *op = &to->proof->ops[value];
    bool pair = op->kind == RP_OP_PAND || op->kind == RP_OP_POR;
    if (op->kind == RP_OP_COMPARE) {
        put_value(to, op->a, depth + 1);
        put(to, "%s", compare_symbol(op, sense));
        put_value(to, op->b, depth + 1);
    } else if (op->kind == RP_OP_PNOT) {
        put_condition(to, op->a, !sense, depth);
    } else if (pair && (op->kind == RP_OP_PAND) == sense && depth < MAX_DEPTH) {
        bool first = !is_always(to, op->a, sense, 0), second = !is_always(to, op->b, sense, 0);
        if (first || !second)
            put_condition(to, op->a, sense, depth + 1);
        put(to, first && second ? " and " : "");
        if (second)
            put_condition(to, op->b, sense, depth + 1);
    } else {
        put(to, sense ? "" : "not ");
        put_value(to, value, depth);
    }
}

static void put_guards(struct writer *to, const struct rp_touch *touch)
{
    const struct rp_proof *proof = to->proof;
    unsigned count = 0;
    for (uint32_t at = touch->block; at != RP_NONE; at = proof->blocks[at].parent) {
        const struct rp_basic_block *block = &proof->blocks[at];
        if (block->condition == RP_NONE ||
            is_always(to, block->condition, block->sense, 0) || ++count > 4)
            continue;
        put(to, count == 1 ? ", if " : " and ");
        put_condition(to, block->condition, block->sense, 2);
    }
    if (touch->guard != RP_NONE && !is_always(to, touch->guard, touch->sense, 0)) {
        put(to, count ? " and " : ", if ");
        put_condition(to, touch->guard, touch->sense, 2);
    }
}

static void put_place(struct writer *to, uint32_t root)
{
    const struct rp_root *at = root == RP_NONE ? NULL : &to->proof->roots[root];
    if (!at) {
        put(to, "memory");
    } else if (at->param == RP_NONE) {
        put(to, "global %s", at->name);
    } else {
        put(to, "param ");
        size_t before = to->used;
        put_param(to, at->param);
        if (before < to->used) /* without the letter */
            memmove(to->text + before, to->text + before + 1, to->used-- - before);
        put(to, " (%s)", at->name);
    }
}

static void put_touch(struct writer *to, const struct rp_touch *touch, uint32_t root, size_t others)
{
    static const char *const how[] = {
        [RP_VERDICT_EXACT] = "all of it, as far as the launch makes it linear",
        [RP_VERDICT_BOUNDED] = "some of it",
        [RP_VERDICT_ROOT] = "anywhere in its allocation",
        [RP_VERDICT_REACHABLE] = "whatever the arguments lead to",
        [RP_VERDICT_EVERYTHING] = "anywhere"};
    to->used = 0;
    const char *does = touch->effect == RP_READ ? "reads" : touch->updates ? "updates" : "writes";
    put(to, "%s%s ", does, touch->atomic ? " atomically" : "");
    put_place(to, root);
    if (touch->address != RP_NONE) {
        put(to, ": %llu bytes at ", (unsigned long long)touch->width);
        put_value(to, touch->address, 0);
        if (touch->offset)
            put(to, " + %lld", (long long)touch->offset);
        put_guards(to, touch);
    }
    put(to, " (line %u): %s", touch->line, how[touch->best]);
    if (touch->told && touch->best < RP_VERDICT_REACHABLE)
        put(to, ", where it is known what stands in memory that it goes by; else whatever the "
                "arguments lead to");
    if (touch->reason)
        put(to, ", since %s", touch->reason);
    if (others)
        put(to, "; and %zu more accesses, none worse", others);
    end_line(to);
}

static uint32_t place_of(const struct rp_proof *proof, const struct rp_touch *touch)
{
    return touch->address == RP_NONE ? RP_NONE : root_of(proof, touch->address, 0);
}

/* The worst of the touches that belong on one line with the `first`th; they are marked. */
static void put_line(struct writer *to, size_t first, bool *done)
{
    const struct rp_proof *proof = to->proof;
    uint32_t root = place_of(proof, &proof->touches[first]);
    size_t worst = first, count = 0;
    for (size_t i = first; i < proof->touch_count; i++) {
        const struct rp_touch *touch = &proof->touches[i];
        if (touch->best == RP_VERDICT_NONE || touch->effect != proof->touches[first].effect ||
            touch->atomic != proof->touches[first].atomic ||
            touch->updates != proof->touches[first].updates || place_of(proof, touch) != root)
            continue;
        done[i] = true;
        count++;
        if (touch->best > proof->touches[worst].best)
            worst = i;
    }
    put_touch(to, &proof->touches[worst], root, count - 1);
}

void rp_text_build(struct rp_builder *build, struct rp_proof *proof)
{
    struct writer to = {.build = build, .proof = proof};
    bool *done = rp_build_alloc(build, proof->touch_count + 1);
    size_t bytes = 1;
    for (size_t i = 0; i < proof->touch_count; i++)
        if (!done[i] && proof->touches[i].best != RP_VERDICT_NONE)
            put_line(&to, i, done);
    to.used = 0;
    put(&to, "touches no global memory");
    if (!to.lines.count)
        end_line(&to);
    char **lines = to.lines.items;
    for (size_t i = 0; i < to.lines.count; i++)
        bytes += strlen(lines[i]) + 1;
    char *out = proof->text = rp_build_alloc(build, bytes);
    for (size_t i = 0; i < to.lines.count; i++) {
        size_t length = strlen(lines[i]);
        memcpy(out, lines[i], length);
        out[length] = '\n';
        out += length + 1;
    }
}
