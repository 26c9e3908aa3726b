/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/generator/generator.h"

void generator_if(struct generator *at, unsigned depth)
{
    unsigned p = generator_predicate(at), label = at->labels++, pool = at->pool_count;
    bool otherwise = below(at, 3) == 0, assigns = below(at, 3) == 0 && !is_plain(at);
    unsigned victim = pick(at);
    emit(at, "@%s%%p%u bra $else%u;", below(at, 3) ? "!" : "", p, label);
    generator_block(at, depth + 1);
    if (assigns)
        emit(at, "mov.u32 %%r%u, %%r%u;", victim, pick(at));
    at->pool_count = pool;
    if (otherwise)
        emit(at, "bra $end%u;", label);
    emit(at, "$else%u:", label);
    if (otherwise) {
        generator_block(at, depth + 1);
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
void generator_for(struct generator *at, unsigned depth)
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
    generator_block(at, depth + 1);
    if (!is_plain(at) && below(at, 8) == 0)
        emit(at, "@%%p%u bra $out%u;", generator_predicate(at), label);
    step(at, counter, by);
    if (at_foot)
        emit(at, "setp.lt.%s %%p%u, %%r%u, %s;\n@%%p%u bra $head%u;", sign, again, counter, bound,
             again, label);
    else
        emit(at, "bra $head%u;", label);
    emit(at, "$out%u:", label);
    at->pool_count = pool;
    if (!is_plain(at) && below(at, 3) == 0)
        keep(at, counter);
}

/* A count that goes down to 0, with a pointer and an index that walk along. */
void generator_walk(struct generator *at, unsigned depth)
{
    unsigned count = at->ints++, index = at->ints++, label = at->labels++, pool = at->pool_count;
    unsigned pointer = at->longs++, again = at->predicates++, by = 1 + below(at, 4);
    bool back = at->kind == GENERATED_POINTERS && below(at, 2);
    if (is_plain(at))
        emit(at, "mov.u32 %%r%u, %u;", count, 1 + below(at, 8));
    else
        emit(at, "and.b32 %%r%u, %%r%u, 7;\nadd.s32 %%r%u, %%r%u, 1;", count, pick(at), count,
             count);
    emit(at, "mov.u32 %%r%u, %%r%u;", index, pick(at));
    emit(at, "mul.wide.s32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", pointer, index,
         pointer, pointer, generator_pointer(at));
    emit(at, "$walk%u:", label);
    keep(at, index);
    if (below(at, 2))
        generator_block(at, depth + 1);
    if (back) /* what comes before it, first */
        emit(at, "add.s64 %%rd%u, %%rd%u, -%u;", pointer, pointer, by * 4);
    if (below(at, 3))
        emit(at, "st.global.u32 [%%rd%u], %%r%u;", pointer, pick(at));
    else
        emit(at, "ld.global.u32 %%r%u, [%%rd%u];", at->ints, pointer), at->ints++;
    emit(at, "add.s64 %%rd%u, %%rd%u, %u;\nadd.s32 %%r%u, %%r%u, %u;", pointer, pointer,
         back ? 0 : by * 4, index, index, by);
    emit(at, "add.s32 %%r%u, %%r%u, -1;\nsetp.ne.s32 %%p%u, %%r%u, 0;\n@%%p%u bra $walk%u;", count,
         count, again, count, again, label);
    at->pool_count = pool;
    if (!is_plain(at))
        keep(at, index);
}

/* for (i = tid; i < n; i += 32) p[row * n + i] = 0, as compilers unroll it by four. */
void generator_unrolled(struct generator *at)
{
    unsigned i = at->ints++, n = at->ints++, row = at->ints++, left = at->ints++, t = at->ints++;
    unsigned p = at->predicates, pointer = at->longs, label = at->labels++;
    unsigned base = generator_root(at), by = below(at, 2) ? 32 : 1;
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
