/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels are made of what compilers and people write: indices from tid and ctaid, bounds
 * checks in all their forms, early returns, counted loops (also unrolled), strided loops,
 * pointers that walk, structs by value, atomics; and of things that must not be believed:
 * wrapping sums, masks, divisions, indices from memory, loops that break. Plain kernels have none
 * of these: their addresses and bounds are affine, as those of most kernels are. A fourth gets its
 * pointers by detours, too (generator/detour.c). */
#include "tests/access/generator/generator.h"

#include <stdlib.h>
#include <string.h>

static void make_statement(struct generator *at, unsigned depth)
{
    at->statements--;
    unsigned kind = below(at, 16);
    switch (is_plain(at) && (kind == 11 || kind == 12) ? 13 : kind) {
    case 0: case 1: case 2: case 3: generator_access(at); break;
    case 4: case 5:
        if (depth < (is_plain(at) ? 1 : 3))
            generator_if(at, depth);
        break;
    case 6: case 7:
        if (depth < (is_plain(at) ? 2 : 3))
            generator_for(at, depth);
        break;
    case 8:
        if (depth < 2)
            generator_walk(at, depth);
        break;
    case 9:
        if (depth < 2)
            generator_unrolled(at);
        break;
    case 10: emit(at, "@%%p%u %s;", generator_predicate(at), below(at, 2) ? "ret" : "exit"); break;
    case 11: { /* a guarded assignment */
        unsigned p = generator_predicate(at), a = pick(at), b = pick(at);
        emit(at, "@%%p%u add.s32 %%r%u, %%r%u, %u;", p, a, b, small_constant(at));
        break;
    }
    case 12: {
        unsigned p = generator_predicate(at), a = pick(at), b = pick(at), to = at->ints++;
        emit(at, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;", to, a, b, p);
        keep(at, to);
        break;
    }
    default: generator_int(at);
    }
}

void generator_block(struct generator *at, unsigned depth)
{
    unsigned count = 1 + below(at, 4);
    for (unsigned i = 0; i < count && at->statements; i++)
        make_statement(at, depth);
    if (below(at, 2))
        generator_access(at);
}

static void make_start(struct generator *at)
{
    static const char *const params[] = {"n", "m", "s"};
    for (unsigned i = 0; i < 3; i++)
        emit(at, "ld.param.u64 %%rd%u, [p%u];", i, i);
    emit(at, "ld.param.u64 %%rd3, [st+8];\nld.param.u64 %%rd%u, [l];", (unsigned)RD_NUMBER);
    if (at->kind == GENERATED_POINTERS)
        emit(at, "ld.param.u64 %%rd%u, [t0];\nld.param.u64 %%rd%u, [t1];", (unsigned)RD_TABLE,
             (unsigned)RD_OTHER_TABLE);
    at->longs = RD_FREE;
    emit(at, "mov.u32 %%r0, 0;");
    at->ints = 1;
    for (unsigned i = 0; i < 3; i++)
        emit(at, "ld.param.u32 %%r%u, [%s];", keep(at, at->ints++), params[i]);
    emit(at, "ld.param.u32 %%r%u, [st];", keep(at, at->ints++));
    unsigned index = generator_index(at, 'x');
    if (below(at, 2))
        generator_index(at, 'y');
    if (!is_plain(at) && below(at, 4) == 0)
        emit(at, "mov.u32 %%r%u, %%laneid;", keep(at, at->ints++));
    if (below(at, 3)) { /* what nearly every kernel does */
        unsigned p = at->predicates++;
        emit(at, "setp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u ret;", p, index, 1 + below(at, 2), p);
    }
}

static const enum generated_kind kinds[] = {GENERATED_PLAIN, GENERATED_POINTERS, GENERATED_OTHER,
                                            GENERATED_OTHER};

static struct generator start(uint64_t seed)
{
    struct generator at = {.state = seed * 2 + 1, .statements = 14};
    for (int i = 0; i < 8; i++)
        random_bits(&at);
    return at;
}

static void make_head(struct generator *at)
{
    emit(at, ".version 7.0\n.target sm_75\n.address_size 64");
    if (at->kind == GENERATED_POINTERS)
        generator_functions(at);
    emit(at, ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2,\n.param .u32 n, "
             ".param .u32 m, .param .u32 s, .param .u64 l, .param .align 8 .b8 st[24],\n"
             ".param .u64 t0, .param .u64 t1, .param .u32 w, .param .align 4 .b8 v[36])\n{\n"
             ".reg .b32 %%r<2000>;\n.reg .b64 %%rd<1000>;\n.reg .pred %%p<1000>;");
    if (at->kind == GENERATED_POINTERS)
        emit(at, ".local .align 8 .b8 array[16];");
}

void generate(uint64_t seed, struct generated *out)
{
    struct generator at = start(seed);
    size_t length = 0;
    memset(out, 0, sizeof(*out));
    at.kind = out->kind = kinds[seed % 4];
    at.only = seed / 4 % 2 ? (unsigned)(seed / 8 % 1000) + 1 : 0;
    at.out = open_memstream(&out->text, &length);
    make_head(&at);
    make_start(&at);
    while (at.statements)
        generator_block(&at, 0);
    emit(&at, "ret;\n}");
    fclose(at.out);
    out->detours = at.detours;
    generator_launch(&at, out);
}

void generate_launch(uint64_t seed, struct generated *out)
{
    struct generator at = start(seed);
    generator_launch(&at, out);
}
