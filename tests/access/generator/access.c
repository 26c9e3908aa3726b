/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/generator/generator.h"

static unsigned make_address(struct generator *at, unsigned width)
{
    unsigned index = at->longs++, to = at->longs++, base = generator_pointer(at);
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
    const char *way = at->kind == GENERATED_POINTERS && below(at, 4) == 0 ? "sub" : "add";
    emit(at, "%s.s64 %%rd%u, %%rd%u, %%rd%u;", way, to, base, index);
    if (below(at, 10) == 0) /* a 64-bit parameter that is no pointer */
        emit(at, "add.s64 %%rd%u, %%rd%u, %%rd%u;", to, to, (unsigned)RD_NUMBER);
    return to;
}

/* At a word of the thread's own array, or of global memory: the address tells. */
static void make_near_or_far(struct generator *at)
{
    unsigned near = at->longs++, index = at->ints++, wide = at->longs++;
    emit(at, "mov.b64 %%rd%u, array;\ncvta.local.u64 %%rd%u, %%rd%u;", near, near, near);
    emit(at, "selp.b64 %%rd%u, %%rd%u, %%rd%u, %%p%u;", near, near, generator_root(at),
         generator_predicate(at));
    emit(at, "and.b32 %%r%u, %%r%u, 3;\nmul.wide.u32 %%rd%u, %%r%u, 4;", index, pick(at), wide,
         index);
    emit(at, "add.s64 %%rd%u, %%rd%u, %%rd%u;", near, near, wide);
    if (below(at, 3))
        emit(at, "st.u32 [%%rd%u], %%r%u;", near, pick(at));
    else
        emit(at, "ld.u32 %%r%u, [%%rd%u];", index, near);
}

void generator_access(struct generator *at)
{
    if (at->kind == GENERATED_POINTERS && generator_is_near_or_far(at)) {
        make_near_or_far(at);
        return;
    }
    static const unsigned widths[] = {1, 2, 4, 4, 4, 4, 8};
    unsigned width = widths[below(at, 7)], address = make_address(at, width);
    unsigned kind = below(at, 9);
    int offset = below(at, 3) ? 0 : (int)(width * below(at, 4));
    char guard[24] = "";
    const char *space = below(at, 4) ? ".global" : "";
    if (below(at, 4) == 0)
        snprintf(guard, sizeof(guard), "@%s%%p%u ", below(at, 2) ? "" : "!",
                 generator_predicate(at));
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
             offset && !is_plain(at) ? "cas" : "exch", to, address, offset,
             offset && !is_plain(at) ? "%r0, " : "", pick(at));
    else if (kind == 6 && width == 4)
        emit(at, "%sred%s.add.u32 [%%rd%u+%d], %%r%u;", guard, space, address, offset, pick(at));
    else if (width < 8) {
        if (guard[0])
            emit(at, "mov.u32 %%r%u, 0;", to);
        emit(at, "%sld%s.%c%u %%r%u, [%%rd%u+%d];", guard, space, below(at, 2) ? 'u' : 's',
             width * 8, to, address, offset);
        if (!is_plain(at) && below(at, 2)) { /* an index from memory, perhaps made harmless */
            if (below(at, 2))
                emit(at, "and.b32 %%r%u, %%r%u, 15;", to, to);
            keep(at, to);
        }
    }
}
