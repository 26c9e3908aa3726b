/* SPDX-License-Identifier: Apache-2.0 */
/* What a pointer goes through between the parameters and an access: halves of 32 bits, masks,
 * tables in memory and in structs by value, local memory, functions. Each other kernel has detours
 * of one kind only, so that it can be told which of them the analysis loses how often. */
#include "tests/access/generator/generator.h"

static void note(struct generator *at, enum generated_detour detour)
{
    at->detours |= 1u << detour;
}

/* ---- halves and bits -------------------------------------------------------------- */

/* A sum in the low half: a carry is lost, as it is on the device. */
static void step_half(struct generator *at, unsigned low)
{
    unsigned kind = below(at, 5);
    note(at, kind < 3 ? GENERATED_BY_SUMS : GENERATED_BY_HALVES);
    switch (kind) {
    case 0: emit(at, "add.u32 %%r%u, %%r%u, %u;", low, low, 4 * small_constant(at)); break;
    case 1: emit(at, "and.b32 %%r%u, %%r%u, %d;", low, low, -(8 << below(at, 6))); break;
    case 2: emit(at, "or.b32 %%r%u, %%r%u, %u;", low, low, 4 << below(at, 4)); break;
    default: break;
    }
}

static unsigned join_halves(struct generator *at, unsigned low, unsigned high)
{
    unsigned to = at->longs++, top = at->longs++;
    step_half(at, low);
    if (below(at, 2)) {
        emit(at, "mov.b64 %%rd%u, {%%r%u, %%r%u};", to, low, high);
        return to;
    }
    emit(at, "cvt.u64.u32 %%rd%u, %%r%u;\ncvt.u64.u32 %%rd%u, %%r%u;", to, low, top, high);
    emit(at, "shl.b64 %%rd%u, %%rd%u, 32;\n%s %%rd%u, %%rd%u, %%rd%u;", top, top,
         below(at, 2) ? "or.b64" : "add.s64", to, to, top);
    return to;
}

static unsigned by_halves(struct generator *at)
{
    unsigned low = at->ints++, high = at->ints++, wide = at->longs++, from = generator_root(at);
    switch (below(at, 3)) {
    case 0: emit(at, "mov.b64 {%%r%u, %%r%u}, %%rd%u;", low, high, from); break;
    case 1:
        emit(at, "cvt.u32.u64 %%r%u, %%rd%u;\nshr.u64 %%rd%u, %%rd%u, 32;", low, from, wide, from);
        emit(at, "cvt.u32.u64 %%r%u, %%rd%u;", high, wide);
        break;
    default: { /* as it was passed */
        unsigned p = below(at, 3);
        emit(at, "ld.param.u32 %%r%u, [p%u];\nld.param.u32 %%r%u, [p%u+4];", low, p, high, p);
    }
    }
    return join_halves(at, low, high);
}

static unsigned by_bits(struct generator *at)
{
    unsigned from = generator_root(at), to = at->longs++;
    unsigned by = 8u << below(at, 6), kind = below(at, 5);
    note(at, kind == 2 || kind == 3 ? GENERATED_BY_TAGS : GENERATED_BY_BITS);
    switch (kind) {
    case 0: emit(at, "and.b64 %%rd%u, %%rd%u, %d;", to, from, -(int)by); break;
    case 1: /* rounded up */
        emit(at, "add.s64 %%rd%u, %%rd%u, %u;\nand.b64 %%rd%u, %%rd%u, %d;", to, from, by - 1, to,
             to, -(int)by);
        break;
    case 2: emit(at, "or.b64 %%rd%u, %%rd%u, %u;", to, from, by); break;
    case 3: emit(at, "xor.b64 %%rd%u, %%rd%u, %u;", to, from, by); break;
    default:
        emit(at, "shr.u64 %%rd%u, %%rd%u, 3;\nshl.b64 %%rd%u, %%rd%u, 3;", to, from, to, to);
    }
    return to;
}

/* From one to the other by their distance. */
static unsigned by_distance(struct generator *at)
{
    unsigned one = generator_root(at), other = generator_root(at), to = at->longs++;
    note(at, GENERATED_BY_DISTANCE);
    emit(at, "sub.s64 %%rd%u, %%rd%u, %%rd%u;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", to, one, other, to,
         to, other);
    return to;
}

/* ---- tables ----------------------------------------------------------------------- */

/* Words from `base` on, by an index that is one of `count`, mostly. */
static unsigned make_place(struct generator *at, unsigned base, unsigned count)
{
    unsigned index = at->ints++, wide = at->longs++, to = at->longs++;
    switch (below(at, 8)) {
    case 0: emit(at, "mov.u32 %%r%u, %%r%u;", index, pick(at)); break; /* or any */
    case 1: emit(at, "mov.u32 %%r%u, %u;", index, below(at, count)); break;
    case 2: emit(at, "rem.u32 %%r%u, %%r%u, %u;", index, pick(at), count); break;
    case 3:
        emit(at, "mov.u32 %%r%u, %%ctaid.x;\nand.b32 %%r%u, %%r%u, %u;", index, index, index,
             count - 1);
        break;
    default: emit(at, "and.b32 %%r%u, %%r%u, %u;", index, pick(at), count - 1); break;
    }
    emit(at, "mul.wide.u32 %%rd%u, %%r%u, 8;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", wide, index, to,
         base, wide);
    return to;
}

static unsigned from_table(struct generator *at)
{
    unsigned table = RD_TABLE + below(at, GENERATED_TABLES), to = at->longs++;
    unsigned place = make_place(at, table, GENERATED_WORDS / 2);
    note(at, GENERATED_BY_TABLE);
    if (below(at, 6) == 0) {
        unsigned second = at->longs++;
        emit(at, "ld.global.v2.u64 {%%rd%u, %%rd%u}, [%%rd%u];", to, second, place);
        return below(at, 2) ? to : second;
    }
    emit(at, "ld%s.u64 %%rd%u, [%%rd%u+%u];", below(at, 4) ? ".global" : "", to, place,
         8 * below(at, 3));
    if (below(at, 6) == 0) /* what lies in the table may be a table */
        emit(at, "ld.global.u64 %%rd%u, [%%rd%u+%u];", to, to, 8 * below(at, 4));
    return to;
}

static unsigned from_struct(struct generator *at)
{
    unsigned start = at->longs++, to = at->longs++;
    note(at, GENERATED_BY_STRUCT);
    emit(at, "mov.b64 %%rd%u, v;", start);
    emit(at, "ld.param.u64 %%rd%u, [%%rd%u+4];", to, make_place(at, start, 4));
    return to;
}

/* ---- local memory and functions --------------------------------------------------- */

/* Two pointers lie in an array of the thread's own, and an index picks one. */
static unsigned from_array(struct generator *at)
{
    unsigned start = at->longs++, to = at->longs++, one = generator_root(at);
    note(at, GENERATED_BY_ARRAY);
    emit(at, "st.local.u64 [array], %%rd%u;\nst.local.u64 [array+8], %%rd%u;", one,
         generator_root(at));
    if (below(at, 2)) {
        emit(at, "ld.local.u64 %%rd%u, [array+%u];", to, 8 * below(at, 2));
        return to;
    }
    emit(at, "mov.b64 %%rd%u, array;", start);
    emit(at, "ld.local.u64 %%rd%u, [%%rd%u];", to, make_place(at, start, 2));
    return to;
}

static unsigned by_function(struct generator *at)
{
    unsigned to = at->longs++;
    note(at, GENERATED_BY_FUNCTION);
    emit(at, "{\n.param .b64 a;\nst.param.b64 [a], %%rd%u;", generator_root(at));
    emit(at, ".param .b64 b;\nst.param.b64 [b], %%rd%u;", generator_root(at));
    emit(at, ".param .b32 i;\nst.param.b32 [i], %%r%u;\n.param .b64 out;", pick(at));
    emit(at, "call.uni (out), %s, (a, b, i);\nld.param.b64 %%rd%u, [out];\n}",
         below(at, 2) ? "choose" : "choose_inside", to);
    return to;
}

/* The function moves the pointer on in its caller's memory. */
static unsigned by_reference(struct generator *at)
{
    unsigned near = at->longs++, to = at->longs++;
    note(at, GENERATED_BY_REFERENCE);
    emit(at, "st.local.u64 [array], %%rd%u;", generator_root(at));
    emit(at, "mov.b64 %%rd%u, array;\ncvta.local.u64 %%rd%u, %%rd%u;", near, near, near);
    emit(at, "{\n.param .b64 a;\nst.param.b64 [a], %%rd%u;", near);
    emit(at, ".param .b32 i;\nst.param.b32 [i], %%r%u;\ncall.uni move_on, (a, i);\n}", pick(at));
    emit(at, "ld.local.u64 %%rd%u, [array];", to);
    return to;
}

void generator_functions(struct generator *at)
{
    emit(at, ".func (.param .b64 out) choose(.param .b64 a, .param .b64 b, .param .b32 i)\n{\n"
             ".reg .b64 %%rd<3>;\n.reg .b32 %%r<3>;\n.reg .pred %%p<2>;\n"
             "ld.param.u64 %%rd1, [a];\nld.param.u64 %%rd2, [b];\nld.param.u32 %%r1, [i];\n"
             "and.b32 %%r2, %%r1, 1;\nsetp.eq.s32 %%p1, %%r2, 0;\n@%%p1 bra $second;\n"
             "st.param.b64 [out], %%rd1;\nbra $end;\n$second:\nst.param.b64 [out], %%rd2;\n"
             "$end:\nret;\n}");
    emit(at, ".func (.param .b64 out) choose_inside(.param .b64 a, .param .b64 b, .param .b32 i)\n"
             "{\n.reg .b64 %%rd<5>;\n.reg .b32 %%r<3>;\n"
             "ld.param.u64 %%rd1, [b];\nld.param.u64 %%rd2, [a];\nld.param.u32 %%r1, [i];\n"
             "{\n.param .b64 x;\nst.param.b64 [x], %%rd1;\n.param .b64 y;\n"
             "st.param.b64 [y], %%rd2;\n.param .b32 j;\nst.param.b32 [j], %%r1;\n"
             ".param .b64 which;\ncall.uni (which), choose, (x, y, j);\n"
             "ld.param.b64 %%rd3, [which];\n}\nand.b32 %%r2, %%r1, 7;\n"
             "mad.wide.u32 %%rd4, %%r2, 4, %%rd3;\nst.param.b64 [out], %%rd4;\nret;\n}");
    emit(at, ".func move_on(.param .b64 a, .param .b32 i)\n{\n"
             ".reg .b64 %%rd<5>;\n.reg .b32 %%r<3>;\n"
             "ld.param.u64 %%rd1, [a];\nld.param.u32 %%r1, [i];\nand.b32 %%r2, %%r1, 15;\n"
             "mul.wide.u32 %%rd2, %%r2, 4;\nld.u64 %%rd3, [%%rd1];\n"
             "add.s64 %%rd4, %%rd3, %%rd2;\nst.u64 [%%rd1], %%rd4;\nret;\n}");
}

/* ----------------------------------------------------------------------------------- */

enum { WAYS = 12 }; /* and one more, which is no pointer's but an access's */

bool generator_is_near_or_far(struct generator *at)
{
    bool is = below(at, 12) == 0;
    if (at->only)
        is = at->only % (WAYS + 1) == WAYS && below(at, 3) == 0;
    if (is)
        note(at, GENERATED_NEAR_OR_FAR);
    return is;
}

unsigned generator_detour(struct generator *at)
{
    unsigned any = below(at, WAYS);
    switch (at->only ? at->only % (WAYS + 1) : any) {
    case 0: case 1: return by_halves(at);
    case 2: return by_bits(at);
    case 3: return by_distance(at);
    case 4: case 5: case 6: return from_table(at);
    case 7: case 8: return from_struct(at);
    case 9: return from_array(at);
    case 10: return by_function(at);
    case WAYS: return generator_root(at);
    default: return by_reference(at);
    }
}
