/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/generator/generator.h"

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

unsigned generator_int(struct generator *at)
{
    if (is_plain(at))
        return make_affine(at);
    char text[24];
    unsigned a = pick(at), b = pick(at), to = at->ints++;
    const char *sign = below(at, 2) ? "s32" : "u32";
    switch (below(at, 27)) {
    case 22: emit(at, "mul.hi.%s %%r%u, %%r%u, %s;", sign, to, a, source(at, text)); break;
    case 23:
        emit(at, "bfe.u32 %%r%u, %%r%u, %u, %u;", to, a, below(at, 6), 1 + below(at, 8));
        break;
    case 24: emit(at, "abs.s32 %%r%u, %%r%u;", to, a); break;
    case 25: { /* there and back by 64 bits */
        unsigned wide = at->longs++;
        emit(at, "cvt.%s %%rd%u, %%r%u;\n%s %%rd%u, %%rd%u, %u;",
             below(at, 2) ? "s64.s32" : "u64.u32",
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
unsigned generator_index(struct generator *at, char d)
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

unsigned generator_predicate(struct generator *at)
{
    if (is_plain(at))
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
             below(at, 3) == 0 ? "xor" : below(at, 2) ? "and" : "or", q, r, pick(at),
             source(at, text),
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
