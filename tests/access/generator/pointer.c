/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/generator/generator.h"

unsigned generator_root(struct generator *at)
{
    bool has_tables = at->kind == GENERATED_POINTERS;
    return has_tables && below(at, 16) == 0 ? RD_TABLE + below(at, GENERATED_TABLES)
                                            : below(at, GENERATED_ROOTS);
}

static unsigned make_choice(struct generator *at)
{
    unsigned one = generator_root(at), other = generator_root(at);
    unsigned p = generator_predicate(at), to = at->longs++;
    emit(at, "selp.b64 %%rd%u, %%rd%u, %%rd%u, %%p%u;", to, one, other, p);
    return to;
}

/* One past the last of n words, or of m. */
static unsigned make_end(struct generator *at)
{
    unsigned length = at->longs++, to = at->longs++;
    emit(at, "mul.wide.u32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd%u, %%rd%u;", length,
         1 + below(at, 2), to, generator_root(at), length);
    return to;
}

unsigned generator_pointer(struct generator *at)
{
    if (!is_plain(at) && below(at, 12) == 0)
        return make_choice(at);
    if (at->kind != GENERATED_POINTERS)
        return generator_root(at);
    switch (below(at, 8)) {
    case 0: case 1: case 2: return generator_root(at);
    case 3: return make_end(at);
    default: return generator_detour(at);
    }
}
