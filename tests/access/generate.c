/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels are made of what compilers and people write: indices from tid and ctaid, bounds
 * checks in all their forms, early returns, counted loops (also unrolled), strided loops,
 * pointers that walk, structs by value, atomics; and of things that must not be believed:
 * wrapping sums, masks, divisions, indices from memory, loops that break. Plain kernels have none of
 * these: their addresses and bounds are affine, as those of most kernels are. */
#include "tests/access/generate.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POOL 64

struct generator {
    uint64_t state;
    FILE *out;
    unsigned ints, longs, predicates, labels; /* numbers given away */
    unsigned pool[MAX_POOL], pool_count;      /* 32-bit registers that hold something here */
    unsigned statements;                      /* left to be made */
    bool plain;
};

static uint64_t random_bits(struct generator *at)
{
    at->state ^= at->state << 13;
    at->state ^= at->state >> 7;
    at->state ^= at->state << 17;
    return at->state * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static unsigned below(struct generator *at, unsigned limit)
{
    return (unsigned)(random_bits(at) % limit);
}

static void emit(struct generator *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void emit(struct generator *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(at->out, format, args);
    va_end(args);
    fputc('\n', at->out);
}

static unsigned keep(struct generator *at, unsigned reg)
{
    if (at->pool_count < MAX_POOL)
        at->pool[at->pool_count++] = reg;
    return reg;
}

/* Younger values are more likely: chains grow. */
static unsigned pick(struct generator *at)
{
    unsigned a = below(at, at->pool_count), b = below(at, at->pool_count);
    return at->pool[a > b ? a : b];
}

static unsigned small_constant(struct generator *at)
{
    static const unsigned constants[] = {0, 1, 2, 3, 4, 5, 7, 8, 10, 15, 16, 31, 32, 33, 64, 100};
    return constants[below(at, sizeof(constants) / sizeof(constants[0]))];
}

/* A second operand: register or constant. */
static const char *source(struct generator *at, char text[24])
{
    if (below(at, 3))
        snprintf(text, 24, "%%r%u", pick(at));
    else
        snprintf(text, 24, "%d", (int)small_constant(at) * (below(at, 6) ? 1 : -1));
    return text;
}

static unsigned make_affine(struct generator *at)
{
    char text[24];
    unsigned a = pick(at), b = pick(at), to = at->ints++;
    switch (below(at, 6)) {
    case 0: case 1: emit(at, "add.s32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 2: emit(at, "sub.s32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 3: emit(at, "mul.lo.s32 %%r%u, %%r%u, %u;", to, a, small_constant(at)); break;
    case 4:
        emit(at, "mad.lo.s32 %%r%u, %%r%u, %u, %%r%u;", to, a, small_constant(at), b);
        break;
    default: emit(at, "shl.b32 %%r%u, %%r%u, %u;", to, a, below(at, 4)); break;
    }
    return keep(at, to);
}

static unsigned make_int(struct generator *at)
{
    if (at->plain)
        return make_affine(at);
    char text[24];
    unsigned a = pick(at), b = pick(at), to = at->ints++;
    const char *sign = below(at, 2) ? "s32" : "u32";
    switch (below(at, 27)) {
    case 22: emit(at, "mul.hi.%s %%r%u, %%r%u, %s;", sign, to, a, source(at, text)); break;
    case 23: emit(at, "bfe.u32 %%r%u, %%r%u, %u, %u;", to, a, below(at, 6), 1 + below(at, 8)); break;
    case 24: emit(at, "abs.s32 %%r%u, %%r%u;", to, a); break;
    case 25: { /* there and back by 64 bits */
        unsigned wide = at->longs++;
        emit(at, "cvt.%s %%rd%u, %%r%u;\n%s %%rd%u, %%rd%u, %u;", below(at, 2) ? "s64.s32" : "u64.u32",
             wide, a, below(at, 2) ? "shr.s64" : below(at, 2) ? "shr.u64" : "shl.b64", wide, wide,
             below(at, 40));
        emit(at, "cvt.u32.u64 %%r%u, %%rd%u;", to, wide);
        break;
    }
    case 26: { /* halves of a pair */
        unsigned wide = at->longs++, other = at->ints++;
        emit(at, "mov.b64 %%rd%u, {%%r%u, %%r%u};\nadd.s64 %%rd%u, %%rd%u, %u;", wide, a,
             below(at, 2) ? b : 0, wide, wide, small_constant(at));
        emit(at, "mov.b64 {%%r%u, %%r%u}, %%rd%u;", to, other, wide);
        keep(at, other);
        break;
    }
    case 0: case 1: case 2: emit(at, "add.s32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 3: emit(at, "sub.s32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 4: case 5: emit(at, "mul.lo.s32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 6: case 7:
        emit(at, "mad.lo.s32 %%r%u, %%r%u, %s, %%r%u;", to, a, source(at, text), b);
        break;
    case 8: emit(at, "shl.b32 %%r%u, %%r%u, %u;", to, a, below(at, 7)); break;
    case 9: case 10: emit(at, "shr.%s %%r%u, %%r%u, %u;", sign, to, a, below(at, 7)); break;
    case 11: case 12:
        emit(at, "and.b32 %%r%u, %%r%u, %d;", to, a,
             below(at, 3) ? (1 << below(at, 7)) - 1 : below(at, 2) ? -(1 << below(at, 5)) : 0x55);
        break;
    case 13: emit(at, "or.b32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 14: emit(at, "xor.b32 %%r%u, %%r%u, %s;", to, a, source(at, text)); break;
    case 15:
        emit(at, "%s.%s %%r%u, %%r%u, %s;", below(at, 2) ? "min" : "max", sign, to, a,
             source(at, text));
        break;
    case 16: case 17:
        emit(at, "%s.%s %%r%u, %%r%u, %u;", below(at, 2) ? "div" : "rem", sign, to, a,
             1 + small_constant(at));
        break;
    case 18: emit(at, "not.b32 %%r%u, %%r%u;", to, a); break;
    case 19: emit(at, "neg.s32 %%r%u, %%r%u;", to, a); break;
    case 20:
        emit(at, "cvt.%s.%s %%r%u, %%r%u;", sign, below(at, 2) ? "s8" : "u16", to, a);
        break;
    default: emit(at, "bar.sync 0;\nmov.u32 %%r%u, %%r%u;", to, a); break;
    }
    return keep(at, to);
}

/* ctaid * ntid + tid: what most indices begin with. */
static unsigned make_global_index(struct generator *at, char d)
{
    unsigned tid = at->ints++, ctaid = at->ints++, ntid = at->ints++, to = at->ints++;
    emit(at, "mov.u32 %%r%u, %%tid.%c;", keep(at, tid), d);
    emit(at, "mov.u32 %%r%u, %%ctaid.%c;", below(at, 2) ? keep(at, ctaid) : ctaid, d);
    emit(at, "mov.u32 %%r%u, %%ntid.%c;", below(at, 2) ? keep(at, ntid) : ntid, d);
    if (below(at, 5))
        emit(at, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;", to, ctaid, ntid, tid);
    else
        emit(at, "mad.lo.s32 %%r%u, %%r%u, 32, %%r%u;", to, ctaid, tid);
    return keep(at, to);
}

static unsigned make_bound(struct generator *at)
{
    static const char *const compares[] = {"lt", "le", "gt", "ge"};
    char text[24];
    unsigned to = at->predicates++;
    emit(at, "setp.%s.s32 %%p%u, %%r%u, %s;", compares[below(at, 4)], to, pick(at),
         source(at, text));
    return to;
}

static unsigned make_predicate(struct generator *at)
{
    if (at->plain)
        return make_bound(at);
    static const char *const compares[] = {"lt", "le", "gt", "ge", "lt", "ge", "eq", "ne"};
    char text[24];
    unsigned to = at->predicates++;
    const char *how = compares[below(at, 8)];
    emit(at, "setp.%s.%s %%p%u, %%r%u, %s;", how, below(at, 3) ? "s32" : "u32", to, pick(at),
         source(at, text));
    if (below(at, 6) == 0) {
        unsigned q = at->predicates++, r = at->predicates++;
        emit(at, "setp.%s.%s.s32 %%p%u|%%p%u, %%r%u, %s, %s%%p%u;", compares[below(at, 8)],
             below(at, 3) == 0 ? "xor" : below(at, 2) ? "and" : "or", q, r, pick(at), source(at, text),
             below(at, 2) ? "!" : "", to);
        if (below(at, 3))
            return below(at, 2) ? q : r;
        unsigned bit = at->ints++, again = at->predicates++;
        emit(at, "selp.u32 %%r%u, 1, 0, %%p%u;\nsetp.%s.u32 %%p%u, %%r%u, 0;", bit, q,
             below(at, 2) ? "eq" : "ne", again, bit);
        return again;
    }
    if (below(at, 3))
        return to;
    unsigned other = at->predicates++, both = at->predicates++;
    emit(at, "setp.%s.s32 %%p%u, %%r%u, %s;", compares[below(at, 8)], other, pick(at),
         source(at, text));
    if (below(at, 4) == 0)
        emit(at, "not.pred %%p%u, %%p%u;", both, other);
    else
        emit(at, "%s.pred %%p%u, %%p%u, %%p%u;", below(at, 2) ? "and" : "or", both, to, other);
    return both;
}

/* ---- accesses ----------------------------------------------------------------- */

static unsigned make_address(struct generator *at, unsigned width)
{
    unsigned index = at->longs++, to = at->longs++, base = below(at, GENERATED_ROOTS);
    unsigned from = pick(at);
    switch (below(at, 5)) {
    case 0: case 1: emit(at, "mul.wide.s32 %%rd%u, %%r%u, %u;", index, from, width); break;
    case 2: emit(at, "mul.wide.u32 %%rd%u, %%r%u, %u;", index, from, width); break;
    case 3:
        emit(at, "cvt.%s %%rd%u, %%r%u;", below(at, 2) ? "s64.s32" : "u64.u32", index, from);
        emit(at, "shl.b64 %%rd%u, %%rd%u, %d;", index, index, __builtin_ctz(width));
        break;
    default: {
        unsigned word = at->ints++, second = pick(at);
        emit(at, "mad.lo.s32 %%r%u, %%r%u, %u, %%r%u;", word, from, small_constant(at), second);
        emit(at, "mul.wide.s32 %%rd%u, %%r%u, %u;", index, word, width);
    }
    }
    if (!at->plain && below(at, 12) == 0) { /* one of two pointers */
        unsigned p = make_predicate(at), chosen = at->longs++;
        emit(at, "selp.b64 %%rd%u, %%rd%u, %%rd%u, %%p%u;", chosen, base,
             below(at, GENERATED_ROOTS), p);
        base = chosen;
    }
    if (below(at, 10) == 0) { /* a 64-bit parameter that is no pointer */
        emit(at, "add.s64 %%rd%u, %%rd%u, %%rd%u;", to, base, index);
        emit(at, "add.s64 %%rd%u, %%rd%u, %%rd%u;", to, to, (unsigned)GENERATED_ROOTS);
    } else {
        emit(at, "add.s64 %%rd%u, %%rd%u, %%rd%u;", to, base, index);
    }
    return to;
}

static void make_access(struct generator *at)
{
    static const unsigned widths[] = {1, 2, 4, 4, 4, 4, 8};
    unsigned width = widths[below(at, 7)], address = make_address(at, width);
    unsigned kind = below(at, 9);
    int offset = below(at, 3) ? 0 : (int)(width * below(at, 4));
    char guard[24] = "";
    const char *space = below(at, 4) ? ".global" : "";
    if (below(at, 4) == 0)
        snprintf(guard, sizeof(guard), "@%s%%p%u ", below(at, 2) ? "" : "!", make_predicate(at));
    unsigned to = at->ints++;
    if (kind < 5 && width == 4 && below(at, 4) == 0)
        emit(at, "%sst%s.v2.u32 [%%rd%u+%d], {%%r%u, %%r%u};", guard, space, address, offset,
             pick(at), pick(at));
    else if (kind < 5 && width == 8)
        emit(at, "%sst%s.u64 [%%rd%u+%d], %%rd0;", guard, space, address, offset);
    else if (kind < 5)
        emit(at, "%sst%s.u%u [%%rd%u+%d], %%r%u;", guard, space, width * 8, address, offset,
             pick(at));
    else if (kind == 5 && width == 4)
        emit(at, "%satom%s.%s.b32 %%r%u, [%%rd%u+%d], %s%%r%u;", guard, space,
             offset && !at->plain ? "cas" : "exch", to, address, offset,
             offset && !at->plain ? "%r0, " : "", pick(at));
    else if (kind == 6 && width == 4)
        emit(at, "%sred%s.add.u32 [%%rd%u+%d], %%r%u;", guard, space, address, offset, pick(at));
    else if (width < 8) {
        if (guard[0])
            emit(at, "mov.u32 %%r%u, 0;", to);
        emit(at, "%sld%s.%c%u %%r%u, [%%rd%u+%d];", guard, space, below(at, 2) ? 'u' : 's',
             width * 8, to, address, offset);
        if (!at->plain && below(at, 2)) { /* an index from memory, perhaps made harmless */
            if (below(at, 2))
                emit(at, "and.b32 %%r%u, %%r%u, 15;", to, to);
            keep(at, to);
        }
    }
}

/* ---- control ------------------------------------------------------------------ */

static void make_block(struct generator *at, unsigned depth);

static void make_if(struct generator *at, unsigned depth)
{
    unsigned p = make_predicate(at), label = at->labels++, pool = at->pool_count;
    bool otherwise = below(at, 3) == 0, assigns = below(at, 3) == 0 && !at->plain;
    unsigned victim = pick(at);
    emit(at, "@%s%%p%u bra $else%u;", below(at, 3) ? "!" : "", p, label);
    make_block(at, depth + 1);
    if (assigns)
        emit(at, "mov.u32 %%r%u, %%r%u;", victim, pick(at));
    at->pool_count = pool;
    if (otherwise)
        emit(at, "bra $end%u;", label);
    emit(at, "$else%u:", label);
    if (otherwise) {
        make_block(at, depth + 1);
        emit(at, "$end%u:", label);
    }
    at->pool_count = pool;
}

static void step(struct generator *at, unsigned counter, unsigned kind)
{
    if (kind == 0)
        emit(at, "mov.u32 %%r%u, %%ntid.x;\nadd.s32 %%r%u, %%r%u, %%r%u;", at->ints, counter,
             counter, at->ints), at->ints++;
    else
        emit(at, "add.s32 %%r%u, %%r%u, %u;", counter, counter, kind);
}

/* for (i = start; i < bound; i += step): tested at the head, or before and at the foot. */
static void make_for(struct generator *at, unsigned depth)
{
    static const unsigned steps[] = {0, 0, 1, 1, 2, 3, 8, 32};
    unsigned counter = at->ints++, label = at->labels++, pool = at->pool_count;
    unsigned by = steps[below(at, 8)], p = at->predicates++, again = at->predicates++;
    char bound[24];
    bool at_foot = below(at, 2), guarded = below(at, 4);
    bool is_register = below(at, 2);
    snprintf(bound, sizeof(bound), is_register ? "%%r%u" : "%u",
             is_register ? pick(at) : small_constant(at));
    const char *sign = below(at, 4) ? "s32" : "u32";
    if (below(at, 2))
        emit(at, "mov.u32 %%r%u, %%r%u;", counter, pick(at));
    else
        emit(at, "mov.u32 %%r%u, %u;", counter, below(at, 2));
    if (!at_foot)
        emit(at, "$head%u:", label);
    if (!at_foot || guarded)
        emit(at, "setp.ge.%s %%p%u, %%r%u, %s;\n@%%p%u bra $out%u;", sign, p, counter, bound, p,
             label);
    if (at_foot)
        emit(at, "$head%u:", label);
    keep(at, counter);
    make_block(at, depth + 1);
    if (!at->plain && below(at, 8) == 0)
        emit(at, "@%%p%u bra $out%u;", make_predicate(at), label);
    step(at, counter, by);
    if (at_foot)
        emit(at, "setp.lt.%s %%p%u, %%r%u, %s;\n@%%p%u bra $head%u;", sign, again, counter, bound,
             again, label);
    else
        emit(at, "bra $head%u;", label);
    emit(at, "$out%u:", label);
    at->pool_count = pool;
    if (!at->plain && below(at, 3) == 0)
        keep(at, counter);
}

/* A count that goes down to 0, with a pointer and an index that walk along. */
static void make_walk(struct generator *at, unsigned depth)
{
    unsigned count = at->ints++, index = at->ints++, label = at->labels++, pool = at->pool_count;
    unsigned pointer = at->longs++, again = at->predicates++, by = 1 + below(at, 4);
    if (at->plain)
        emit(at, "mov.u32 %%r%u, %u;", count, 1 + below(at, 8));
    else
        emit(at, "and.b32 %%r%u, %%r%u, 7;\nadd.s32 %%r%u, %%r%u, 1;", count, pick(at), count,
             count);
    emit(at, "mov.u32 %%r%u, %%r%u;", index, pick(at));
    emit(at, "mul.wide.s32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", pointer, index,
         pointer, pointer, below(at, GENERATED_ROOTS));
    emit(at, "$walk%u:", label);
    keep(at, index);
    if (below(at, 2))
        make_block(at, depth + 1);
    if (below(at, 3))
        emit(at, "st.global.u32 [%%rd%u], %%r%u;", pointer, pick(at));
    else
        emit(at, "ld.global.u32 %%r%u, [%%rd%u];", at->ints, pointer), at->ints++;
    emit(at, "add.s64 %%rd%u, %%rd%u, %u;\nadd.s32 %%r%u, %%r%u, %u;", pointer, pointer, by * 4,
         index, index, by);
    emit(at, "add.s32 %%r%u, %%r%u, -1;\nsetp.ne.s32 %%p%u, %%r%u, 0;\n@%%p%u bra $walk%u;", count,
         count, again, count, again, label);
    at->pool_count = pool;
    if (!at->plain)
        keep(at, index);
}

/* for (i = tid; i < n; i += 32) p[row * n + i] = 0, as compilers unroll it by four. */
static void make_unrolled(struct generator *at)
{
    unsigned i = at->ints++, n = at->ints++, row = at->ints++, left = at->ints++, t = at->ints++;
    unsigned p = at->predicates, pointer = at->longs, label = at->labels++;
    unsigned base = below(at, GENERATED_ROOTS), by = below(at, 2) ? 32 : 1;
    at->predicates += 6;
    at->longs += 3;
    emit(at, "mov.u32 %%r%u, %%%s;\nld.param.u32 %%r%u, [m];", i, by == 32 ? "tid.x" : "tid.y", n);
    emit(at, "mov.u32 %%r%u, %%ctaid.x;\nsetp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra $un%u_end;",
         row, p, i, n, p, label);
    emit(at, "not.b32 %%r%u, %%r%u;\nadd.s32 %%r%u, %%r%u, %%r%u;", t, i, t, t, n);
    emit(at, "shr.u32 %%r%u, %%r%u, %d;\nadd.s32 %%r%u, %%r%u, 1;\nand.b32 %%r%u, %%r%u, 3;", left,
         t, by == 32 ? 5 : 0, left, left, left, left);
    emit(at, "setp.eq.s32 %%p%u, %%r%u, 0;\n@%%p%u bra $un%u_main;", p + 1, left, p + 1, label);
    emit(at, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;", at->ints, row, n, i);
    emit(at, "mul.wide.s32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", pointer,
         at->ints++, pointer, base, pointer);
    emit(at, "$un%u_first:\nst.global.u32 [%%rd%u], 0;\nadd.s32 %%r%u, %%r%u, %u;", label, pointer,
         i, i, by);
    emit(at, "add.s64 %%rd%u, %%rd%u, %u;\nadd.s32 %%r%u, %%r%u, -1;", pointer, pointer, by * 4,
         left, left);
    emit(at, "setp.ne.s32 %%p%u, %%r%u, 0;\n@%%p%u bra $un%u_first;", p + 2, left, p + 2, label);
    emit(at, "$un%u_main:\nsetp.lt.u32 %%p%u, %%r%u, %u;\n@%%p%u bra $un%u_end;", label, p + 3, t,
         by * 3, p + 3, label);
    emit(at, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;", at->ints, row, n, i);
    emit(at, "mul.wide.s32 %%rd%u, %%r%u, 4;\nmov.u64 %%rd%u, %%rd%u;", pointer + 1, at->ints++,
         pointer + 2, base);
    emit(at, "$un%u_loop:\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", label, pointer, pointer + 2,
         pointer + 1);
    for (unsigned j = 0; j < 4; j++)
        emit(at, "st.global.u32 [%%rd%u+%u], 0;", pointer, j * by * 4);
    emit(at, "add.s64 %%rd%u, %%rd%u, %u;\nadd.s32 %%r%u, %%r%u, %u;", pointer + 2, pointer + 2,
         by * 16, i, i, by * 4);
    emit(at, "setp.lt.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra $un%u_loop;\n$un%u_end:", p + 4, i, n,
         p + 4, label, label);
}

static void make_statement(struct generator *at, unsigned depth)
{
    at->statements--;
    unsigned kind = below(at, 16);
    switch (at->plain && (kind == 11 || kind == 12) ? 13 : kind) {
    case 0: case 1: case 2: case 3: make_access(at); break;
    case 4: case 5:
        if (depth < (at->plain ? 1 : 3))
            make_if(at, depth);
        break;
    case 6: case 7:
        if (depth < (at->plain ? 2 : 3))
            make_for(at, depth);
        break;
    case 8:
        if (depth < 2)
            make_walk(at, depth);
        break;
    case 9:
        if (depth < 2)
            make_unrolled(at);
        break;
    case 10: emit(at, "@%%p%u %s;", make_predicate(at), below(at, 2) ? "ret" : "exit"); break;
    case 11: { /* a guarded assignment */
        unsigned p = make_predicate(at), a = pick(at), b = pick(at);
        emit(at, "@%%p%u add.s32 %%r%u, %%r%u, %u;", p, a, b, small_constant(at));
        break;
    }
    case 12: {
        unsigned p = make_predicate(at), a = pick(at), b = pick(at), to = at->ints++;
        emit(at, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;", to, a, b, p);
        keep(at, to);
        break;
    }
    default: make_int(at);
    }
}

static void make_block(struct generator *at, unsigned depth)
{
    unsigned count = 1 + below(at, 4);
    for (unsigned i = 0; i < count && at->statements; i++)
        make_statement(at, depth);
    if (below(at, 2))
        make_access(at);
}

static void make_start(struct generator *at)
{
    static const char *const params[] = {"n", "m", "s"};
    for (unsigned i = 0; i < 3; i++)
        emit(at, "ld.param.u64 %%rd%u, [p%u];", i, i);
    emit(at, "ld.param.u64 %%rd3, [st+8];\nld.param.u64 %%rd4, [l];");
    at->longs = 5;
    emit(at, "mov.u32 %%r0, 0;");
    at->ints = 1;
    for (unsigned i = 0; i < 3; i++)
        emit(at, "ld.param.u32 %%r%u, [%s];", keep(at, at->ints++), params[i]);
    emit(at, "ld.param.u32 %%r%u, [st];", keep(at, at->ints++));
    unsigned index = make_global_index(at, 'x');
    if (below(at, 2))
        make_global_index(at, 'y');
    if (!at->plain && below(at, 4) == 0)
        emit(at, "mov.u32 %%r%u, %%laneid;", keep(at, at->ints++));
    if (below(at, 3)) { /* what nearly every kernel does */
        unsigned p = at->predicates++;
        emit(at, "setp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u ret;", p, index, 1 + below(at, 2), p);
    }
}

static void make_launch(struct generator *at, struct generated *out)
{
    static const uint32_t blocks[] = {1, 7, 16, 32, 33, 40, 64};
    uint32_t numbers[3] = {below(at, 300), 1 + below(at, 80), below(at, 9)};
    for (int i = 0; i < 3; i++) {
        out->grid[i] = i == 2 ? 1 : 1 + below(at, i ? 2 : 4);
        out->block[i] = i == 0 ? blocks[below(at, 7)] : i == 1 ? 1 + below(at, 3) % 2 : 1;
        out->roots[i] = UINT64_C(0x0100000000000000) * (uint64_t)(i + 1);
        memcpy(out->params + 8 * i, &out->roots[i], 8);
        if (!out->plain && below(at, 20) == 0)
            numbers[i] = (uint32_t)random_bits(at);
        memcpy(out->params + 24 + 4 * i, &numbers[i], 4);
    }
    out->roots[3] = UINT64_C(0x0500000000000000);
    uint64_t l = below(at, 2) ? 0 : below(at, 64);
    uint32_t field = below(at, 50);
    memcpy(out->params + 40, &l, 8);
    memcpy(out->params + 48, &field, 4);
    memcpy(out->params + 56, &out->roots[3], 8);
}

void generate(uint64_t seed, struct generated *out)
{
    struct generator at = {.state = seed * 2 + 1, .statements = 14};
    size_t length = 0;
    memset(out, 0, sizeof(*out));
    at.plain = out->plain = seed % 4 == 0;
    for (int i = 0; i < 8; i++)
        random_bits(&at);
    at.out = open_memstream(&out->text, &length);
    emit(&at, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p0, "
              ".param .u64 p1, .param .u64 p2,\n.param .u32 n, .param .u32 m, .param .u32 s, "
              ".param .u64 l, .param .align 8 .b8 st[24])\n{\n.reg .b32 %%r<2000>;\n"
              ".reg .b64 %%rd<1000>;\n.reg .pred %%p<1000>;");
    make_start(&at);
    while (at.statements)
        make_block(&at, 0);
    emit(&at, "ret;\n}");
    fclose(at.out);
    make_launch(&at, out);
}

void generate_launch(uint64_t seed, struct generated *out)
{
    struct generator at = {.state = seed * 2 + 1};
    for (int i = 0; i < 8; i++)
        random_bits(&at);
    make_launch(&at, out);
}
