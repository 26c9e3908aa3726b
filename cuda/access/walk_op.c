/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the slice on the numbers of one thread. */
#include "cuda/access/walk.h"

#include <string.h>

static uint64_t cut(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int64_t extend(uint64_t value, unsigned bits)
{
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

void rp_walk_use(const struct rp_walk *walk, int32_t root)
{
    if (root)
        walk->run->root_used[root - 1] = true;
}

/* ---- leaves ------------------------------------------------------------------- */

static uint64_t param(const struct rp_walk *walk, const struct rp_op *op)
{
    uint64_t bits = 0;
    memcpy(&bits, walk->run->launch->params + op->imm, op->from / 8);
    return op->is_signed ? (uint64_t)extend(bits, op->from) : bits;
}

static uint64_t special(const struct rp_walk *walk, int64_t sreg)
{
    const struct rp_launch *launch = walk->run->launch;
    const uint32_t *block = launch->block, *tid = walk->tid;
    if (sreg <= RP_PTX_TID_Z)
        return tid[sreg - RP_PTX_TID_X];
    if (sreg <= RP_PTX_NTID_Z)
        return block[sreg - RP_PTX_NTID_X];
    if (sreg <= RP_PTX_CTAID_Z)
        return walk->ctaid[sreg - RP_PTX_CTAID_X];
    if (sreg <= RP_PTX_NCTAID_Z)
        return launch->grid[sreg - RP_PTX_NCTAID_X];
    if (sreg == RP_PTX_LANEID)
        return (tid[0] + block[0] * (tid[1] + block[1] * tid[2])) % 32;
    return launch->shared_bytes;
}

/* ---- arithmetic --------------------------------------------------------------- */

static uint64_t multiply(const struct rp_op *op, uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide; /* two's complement: signs take care of it */
    unsigned bits = op->kind == RP_OP_MUL_WIDE ? op->from : op->bits;
    wide x = op->is_signed ? (wide)extend(a, bits) : (wide)cut(a, bits);
    wide y = op->is_signed ? (wide)extend(b, bits) : (wide)cut(b, bits);
    return op->kind == RP_OP_MUL_HI ? (uint64_t)((x * y) >> bits) : (uint64_t)(x * y);
}

static uint64_t shift_right(const struct rp_op *op, uint64_t a, uint64_t by)
{
    if (by >= op->bits)
        return op->is_signed && extend(a, op->bits) < 0 ? UINT64_MAX : 0;
    return op->is_signed ? (uint64_t)(extend(a, op->bits) >> by) : a >> by;
}

/* By zero, and where the quotient does not fit, the result is not defined. */
static bool divide(const struct rp_op *op, uint64_t a, uint64_t b, uint64_t *out)
{
    bool rest = op->kind == RP_OP_REM;
    if (!b)
        return false;
    if (!op->is_signed) {
        *out = rest ? a % b : a / b;
        return true;
    }
    int64_t x = extend(a, op->bits), y = extend(b, op->bits);
    if (y == -1)
        return false;
    *out = (uint64_t)(rest ? x % y : x / y);
    return true;
}

static uint64_t least_or_most(const struct rp_op *op, uint64_t a, uint64_t b)
{
    bool less = op->is_signed ? extend(a, op->bits) < extend(b, op->bits) : a < b;
    return less == (op->kind == RP_OP_MIN) ? a : b;
}

static bool compare(const struct rp_op *op, uint64_t a, uint64_t b)
{
    a = cut(a, op->from);
    b = cut(b, op->from);
    bool less = op->is_signed ? extend(a, op->from) < extend(b, op->from) : a < b;
    switch ((enum rp_compare)op->compare) {
    case RP_EQ: return a == b;
    case RP_NE: return a != b;
    case RP_LT: return less;
    case RP_LE: return less || a == b;
    case RP_GT: return !less && a != b;
    case RP_GE: return !less;
    }
    return false;
}

static bool calculate(const struct rp_op *op, uint64_t a, uint64_t b, uint64_t *out)
{
    switch ((int)op->kind) {
    case RP_OP_MUL: case RP_OP_MUL_WIDE: case RP_OP_MUL_HI: *out = multiply(op, a, b); break;
    case RP_OP_SHL: *out = b >= op->bits ? 0 : a << b; break;
    case RP_OP_SHR: *out = shift_right(op, a, b); break;
    case RP_OP_AND: *out = a & b; break;
    case RP_OP_OR: *out = a | b; break;
    case RP_OP_XOR: case RP_OP_PXOR: *out = a ^ b; break;
    case RP_OP_NOT: *out = ~a; break;
    case RP_OP_PNOT: *out = !a; break;
    case RP_OP_MIN: case RP_OP_MAX: *out = least_or_most(op, a, b); break;
    case RP_OP_ABS: *out = extend(a, op->bits) < 0 ? -a : a; break;
    case RP_OP_PACK: *out = a | b << 32; break;
    case RP_OP_HIGH: *out = a >> 32; break;
    case RP_OP_COMPARE: *out = compare(op, a, b); break;
    case RP_OP_DIV: case RP_OP_REM: return divide(op, a, b, out);
    default: return false;
    }
    return true;
}

/* ---- with roots ----------------------------------------------------------------- */

/* As rp_op_add and rp_op_subtract: a pointer keeps its root as long as it is the only one. */
static int32_t root_of_sum(const struct rp_walk *walk, int32_t a, int32_t b)
{
    if (!a || !b)
        return a | b;
    rp_walk_use(walk, a);
    rp_walk_use(walk, b);
    return 0;
}

static int32_t root_of_difference(const struct rp_walk *walk, int32_t a, int32_t b)
{
    if (!b || a == b) /* a distance within one allocation is a number */
        return b ? 0 : a;
    rp_walk_use(walk, a);
    rp_walk_use(walk, b);
    return 0;
}

static bool number(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out)
{
    bool one = op->kind == RP_OP_NOT || op->kind == RP_OP_PNOT || op->kind == RP_OP_ABS ||
               op->kind == RP_OP_HIGH;
    if (walk->unknown[op->a] || (!one && walk->unknown[op->b]))
        return false;
    rp_walk_use(walk, walk->roots[op->a]);
    if (!one)
        rp_walk_use(walk, walk->roots[op->b]);
    return calculate(op, walk->values[op->a], one ? 0 : walk->values[op->b], out);
}

/* One that is known may say it all. */
static bool both_or_either(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out)
{
    bool known_a = !walk->unknown[op->a], known_b = !walk->unknown[op->b];
    uint64_t a = walk->values[op->a], b = walk->values[op->b], decides = op->kind == RP_OP_POR;
    bool decided = (known_a && a == decides) || (known_b && b == decides);
    *out = decided ? decides : !decides;
    return decided || (known_a && known_b);
}

static uint64_t convert(const struct rp_op *op, uint64_t a)
{
    return op->is_signed ? (uint64_t)extend(a, op->from) : cut(a, op->from);
}

static bool copy(const struct rp_walk *walk, uint32_t from, uint64_t *out, int32_t *root)
{
    *out = walk->values[from];
    *root = walk->roots[from];
    return !walk->unknown[from];
}

static bool sum(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out, int32_t *root)
{
    uint64_t a = walk->values[op->a], b = walk->values[op->b];
    int32_t root_a = walk->roots[op->a], root_b = walk->roots[op->b];
    bool plus = op->kind != RP_OP_SUB;
    *out = plus ? a + b : a - b;
    if (walk->unknown[op->a] || walk->unknown[op->b])
        return false;
    *root = plus ? root_of_sum(walk, root_a, root_b) : root_of_difference(walk, root_a, root_b);
    return true;
}

static bool module_global(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out,
                          int32_t *root)
{
    *out = (uint64_t)walk->run->root_numbers[op->imm];
    *root = (int32_t)op->imm + 1;
    return walk->run->root_known[op->imm];
}

static bool converted(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out,
                      int32_t *root)
{
    *out = convert(op, walk->values[op->a]);
    *root = op->from >= 64 && op->bits >= 64 ? walk->roots[op->a] : 0;
    if (!*root)
        rp_walk_use(walk, walk->roots[op->a]);
    return !walk->unknown[op->a];
}

static bool load(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out, int32_t *root)
{
    int32_t from = walk->roots[op->a];
    if (walk->unknown[op->a])
        return false;
    if (op->kind == RP_OP_FIELD) {
        rp_walk_use(walk, from);
        from = 0;
    }
    return rp_run_told(walk->run, op, walk->values[op->a] + (uint64_t)op->imm, from, out, root);
}

/* False when it is not known, as data are in it, or not defined. */
static bool evaluate(const struct rp_walk *walk, const struct rp_op *op, uint64_t *out,
                     int32_t *root)
{
    const uint64_t *values = walk->values;
    switch ((int)op->kind) {
    case RP_OP_OPAQUE: case RP_OP_PUNKNOWN: return false;
    case RP_OP_CONST: *out = (uint64_t)op->imm; return true;
    case RP_OP_PARAM:
        *out = param(walk, op);
        *root = op->from == 64 ? (int32_t)op->a + 1 : 0;
        return true;
    case RP_OP_SREG: *out = special(walk, op->imm); return true;
    case RP_OP_ROOT: return module_global(walk, op, out, root);
    case RP_OP_LOAD: case RP_OP_FIELD: return load(walk, op, out, root);
    case RP_OP_ADD: case RP_OP_GRID: case RP_OP_SUB: return sum(walk, op, out, root);
    case RP_OP_SELECT: case RP_OP_PSELECT:
        return !walk->unknown[op->c] && copy(walk, values[op->c] ? op->a : op->b, out, root);
    case RP_OP_EXIT: case RP_OP_PEXIT: return copy(walk, op->a, out, root);
    case RP_OP_CONVERT: return converted(walk, op, out, root);
    case RP_OP_PAND: case RP_OP_POR: return both_or_either(walk, op, out);
    default: return number(walk, op, out);
    }
}

void rp_walk_op(struct rp_walk *walk, uint32_t value)
{
    const struct rp_op *op = &walk->run->proof->walk_ops[value];
    uint64_t out = 0;
    int32_t root = 0;
    bool known = evaluate(walk, op, &out, &root) && !(op->fickle && walk->forked);
    walk->values[value] = cut(out, op->bits);
    walk->roots[value] = root;
    walk->unknown[value] = !known;
}
