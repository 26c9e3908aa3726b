/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 20000 /* instructions of one thread */

struct thread {
    const struct rp_ptx_function *entry;
    const struct rp_launch *launch;
    uint32_t tid[3], ctaid[3];
    uint64_t *regs;
    bool *loaded; /* by register: made of what a load has brought */
    bool any_loaded; /* so was an operand of the instruction at hand */
    uint64_t *random;
    unsigned contents; /* of memory: any, small, zeros, ones */
    struct scalar_adrift *adrift;
    struct scalar_ranges *reads, *found, *writes;
    struct scalar_ranges own; /* what this thread has written */
    bool failed;
};

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* ---- ranges ------------------------------------------------------------------- */

static void add_range(struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    if (ranges->count && ranges->items[ranges->count - 1].hi == lo) {
        ranges->items[ranges->count - 1].hi = hi;
        return;
    }
    if (ranges->count == ranges->capacity) {
        ranges->capacity = ranges->capacity ? ranges->capacity * 2 : 256;
        ranges->items = realloc(ranges->items, ranges->capacity * sizeof(*ranges->items));
    }
    ranges->items[ranges->count++] = (struct scalar_range){lo, hi};
}

/* Ranges as they came. */
static bool holds(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < ranges->count && lo < hi; i++)
        if (ranges->items[i].lo <= lo && lo < ranges->items[i].hi) {
            lo = ranges->items[i].hi;
            i = (size_t)-1;
        }
    return lo >= hi;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct scalar_range *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static void tidy(struct scalar_ranges *ranges)
{
    size_t kept = 0;
    if (!ranges->count)
        return;
    qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
    for (size_t i = 1; i < ranges->count; i++) {
        if (ranges->items[i].lo > ranges->items[kept].hi)
            ranges->items[++kept] = ranges->items[i];
        else if (ranges->items[i].hi > ranges->items[kept].hi)
            ranges->items[kept].hi = ranges->items[i].hi;
    }
    ranges->count = kept + 1;
}

bool scalar_equal(const struct scalar_ranges *a, const struct scalar_ranges *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->items, b->items, a->count * sizeof(*a->items)));
}

bool scalar_covers(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->items[i].lo <= lo && ranges->items[i].hi >= hi)
            return true;
    return lo == hi;
}

void scalar_unite(struct scalar_ranges *ranges, const struct scalar_ranges *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_range(ranges, from->items[i].lo, from->items[i].hi);
    tidy(ranges);
}

void scalar_release(struct scalar_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct scalar_ranges){0};
}

/* ---- values ------------------------------------------------------------------- */

static uint64_t cut(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int64_t extend(uint64_t value, unsigned bits)
{
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static unsigned bits_of(enum rp_ptx_type type)
{
    return type == RP_PTX_PRED ? 1 : rp_ptx_type_bytes(type) * 8;
}

static bool is_signed(enum rp_ptx_type type)
{
    return type >= RP_PTX_S8 && type <= RP_PTX_S64;
}

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
    return next_random(at->random);
}

static uint64_t value(struct thread *at, const struct rp_ptx_operand *operand)
{
    uint64_t result = 0;
    switch ((int)operand->kind) {
    case RP_PTX_OPERAND_REG:
        result = at->regs[operand->reg];
        at->any_loaded |= at->loaded[operand->reg];
        break;
    case RP_PTX_OPERAND_IMM: result = (uint64_t)operand->imm; break;
    case RP_PTX_OPERAND_SREG: result = special(at, operand->sreg); break;
    default: at->failed = true;
    }
    return operand->negated ? !result : result;
}

static void set(struct thread *at, const struct rp_ptx_operand *to, uint64_t result)
{
    if (to->kind == RP_PTX_OPERAND_REG) {
        at->regs[to->reg] = cut(result, bits_of(at->entry->regs[to->reg].type));
        at->loaded[to->reg] = at->any_loaded;
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
    bool result = compare(ptx->modifiers[0], value(at, &ptx->operands[1]),
                          value(at, &ptx->operands[2]), bits_of(ptx->type[0]), by_sign);
    bool opposite = !result;
    if (ptx->operand_count > 3) {
        bool other = value(at, &ptx->operands[3]);
        bool and = rp_ptx_has(ptx, "and"), or = rp_ptx_has(ptx, "or");
        result = and ? result && other : or ? result || other : result != other;
        opposite = and ? opposite && other : or ? opposite || other : opposite != other;
    }
    set(at, &ptx->operands[0], result);
    if (ptx->operands[0].paired) {
        at->regs[ptx->operands[0].paired - 1] = opposite;
        at->loaded[ptx->operands[0].paired - 1] = at->any_loaded;
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
        return next_random(at->random); /* unspecified */
    } else if (!by_sign) {
        return remainder ? cut(a, bits) % cut(b, bits) : cut(a, bits) / cut(b, bits);
    } else if (extend(b, bits) == -1) {
        return remainder ? 0 : -a;
    }
    return (uint64_t)(remainder ? extend(a, bits) % extend(b, bits)
                                : extend(a, bits) / extend(b, bits));
}

static bool is(const struct rp_ptx_instruction *ptx, const char *op)
{
    return !strcmp(ptx->op, op);
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
    uint64_t a = value(at, &ptx->operands[1]), r = 0;
    uint64_t b = ptx->operand_count > 2 ? value(at, &ptx->operands[2]) : 0;
    uint64_t c = ptx->operand_count > 3 ? value(at, &ptx->operands[3]) : 0;
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
    set(at, &ptx->operands[0], r);
    return true;
}

static void run_cvt(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    unsigned to = bits_of(ptx->type[0]), from = bits_of(ptx->type[1]);
    uint64_t a = value(at, &ptx->operands[1]);
    a = is_signed(ptx->type[1]) ? (uint64_t)extend(a, from) : cut(a, from);
    set(at, &ptx->operands[0], is_signed(ptx->type[0]) ? (uint64_t)extend(a, to) : cut(a, to));
}

static uint64_t address(struct thread *at, const struct rp_ptx_operand *operand)
{
    uint64_t base = operand->base == RP_PTX_OPERAND_REG ? at->regs[operand->reg] : 0;
    at->any_loaded = operand->base == RP_PTX_OPERAND_REG && at->loaded[operand->reg];
    if (operand->base == RP_PTX_OPERAND_VAR)
        at->failed = true;
    return base + (uint64_t)operand->imm;
}

static uint64_t loaded_bits(struct thread *at)
{
    uint64_t any = next_random(at->random);
    switch (at->contents) {
    case 1: return any & 15;
    case 2: return 0;
    case 3: return UINT64_MAX;
    default: return any;
    }
}

static void run_load(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *to = &ptx->operands[0], *from = &ptx->operands[1];
    unsigned bytes = rp_ptx_type_bytes(ptx->type[0]);
    uint64_t start = 0;
    if (ptx->space != RP_PTX_PARAM) {
        start = address(at, from);
        add_range(at->reads, start, start + bytes * ptx->vector);
        if (!holds(&at->own, start, start + bytes * ptx->vector))
            add_range(at->found, start, start + bytes * ptx->vector);
    }
    at->any_loaded = ptx->space != RP_PTX_PARAM;
    for (unsigned i = 0; i < ptx->vector; i++) {
        uint64_t bits = loaded_bits(at);
        if (ptx->space == RP_PTX_PARAM) {
            bits = 0;
            memcpy(&bits, at->launch->params + from->var->offset + from->imm + i * bytes, bytes);
        }
        bits = is_signed(ptx->type[0]) ? (uint64_t)extend(bits, bytes * 8) : cut(bits, bytes * 8);
        set(at, to->kind == RP_PTX_OPERAND_VECTOR ? &to->items[i] : to, bits);
    }
}

static unsigned nearest_multiple(uint64_t address)
{
    return (unsigned)((address + (UINT64_C(1) << 55)) >> 56);
}

static void set_adrift(struct scalar_adrift *adrift, uint64_t address)
{
    unsigned at = nearest_multiple(address);
    adrift->bits[at / 64] |= UINT64_C(1) << at % 64;
}

bool scalar_is_adrift(const struct scalar_adrift *adrift, uint64_t address)
{
    unsigned at = nearest_multiple(address);
    return adrift->bits[at / 64] >> at % 64 & 1;
}

static void run_access(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    bool atom = is(ptx, "atom"), store = is(ptx, "st");
    uint64_t start = address(at, &ptx->operands[atom ? 1 : 0]);
    uint64_t bytes = (uint64_t)rp_ptx_type_bytes(ptx->type[0]) * ptx->vector;
    if (ptx->space == RP_PTX_SHARED)
        return;
    if (at->any_loaded && at->adrift)
        set_adrift(at->adrift, start);
    at->any_loaded = true;
    if (!store) {
        add_range(at->reads, start, start + bytes);
        add_range(at->found, start, start + bytes);
    }
    bool cas_fails = rp_ptx_has(ptx, "cas") && next_random(at->random) % 2;
    if (!cas_fails) {
        add_range(at->writes, start, start + bytes);
        add_range(&at->own, start, start + bytes);
    }
    if (atom)
        set(at, &ptx->operands[0], loaded_bits(at));
}

static void run_move(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *to = &ptx->operands[0], *from = &ptx->operands[1];
    if (to->kind == RP_PTX_OPERAND_VECTOR) {
        uint64_t whole = value(at, from);
        set(at, &to->items[0], cut(whole, 32));
        set(at, &to->items[1], whole >> 32);
    } else if (from->kind == RP_PTX_OPERAND_VECTOR) {
        set(at, to, cut(value(at, &from->items[0]), 32) | value(at, &from->items[1]) << 32);
    } else {
        set(at, to, value(at, from));
    }
}

static void run_plain(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    if (run_arithmetic(at, ptx))
        return;
    if (is(ptx, "mov"))
        run_move(at, ptx);
    else if (is(ptx, "cvta"))
        set(at, &ptx->operands[0], value(at, &ptx->operands[1]));
    else if (is(ptx, "setp"))
        run_setp(at, ptx);
    else if (is(ptx, "cvt"))
        run_cvt(at, ptx);
    else if (is(ptx, "ld"))
        run_load(at, ptx);
    else if (is(ptx, "st") || is(ptx, "atom") || is(ptx, "red"))
        run_access(at, ptx);
    else if (!is(ptx, "bar") && !is(ptx, "membar"))
        at->failed = true;
}

/* Returns false when the thread did not come to its end. */
static bool run_thread(struct thread *at, const struct rp_ptx_instruction **last)
{
    size_t pc = 0;
    for (unsigned steps = 0; steps < BUDGET; steps++) {
        if (pc >= at->entry->code_count)
            return true;
        const struct rp_ptx_instruction *ptx = *last = &at->entry->code[pc++];
        if (ptx->guarded && (at->regs[ptx->guard] != 0) == ptx->guard_negated)
            continue;
        at->any_loaded = false;
        if (is(ptx, "ret") || is(ptx, "exit"))
            return true;
        if (is(ptx, "bra"))
            pc = ptx->operands[0].target;
        else
            run_plain(at, ptx);
        if (at->failed)
            return true;
    }
    return false;
}

enum scalar_result scalar_run(const struct rp_ptx_function *entry, const struct rp_launch *launch,
                              uint64_t seed, struct scalar_ranges *reads,
                              struct scalar_ranges *found, struct scalar_ranges *writes,
                              struct scalar_adrift *adrift, char message[128])
{
    enum scalar_result result = SCALAR_DONE;
    uint64_t random = seed;
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    struct thread at = {.entry = entry, .launch = launch, .random = &random, .reads = reads,
                        .found = found, .writes = writes, .adrift = adrift,
                        .contents = (unsigned)(seed / 4 % 4)};
    at.regs = calloc(entry->reg_count + 1, sizeof(*at.regs));
    at.loaded = calloc(entry->reg_count + 1, sizeof(*at.loaded));
    reads->count = found->count = writes->count = 0;
    for (uint64_t i = 0; i < threads * blocks && result == SCALAR_DONE; i++) {
        uint64_t t = i % threads, b = i / threads;
        const struct rp_ptx_instruction *last = NULL;
        at.own.count = 0;
        memset(at.regs, 0, entry->reg_count * sizeof(*at.regs));
        memset(at.loaded, 0, entry->reg_count * sizeof(*at.loaded));
        for (int d = 0; d < 3; t /= block[d], b /= grid[d], d++) {
            at.tid[d] = (uint32_t)(t % block[d]);
            at.ctaid[d] = (uint32_t)(b % grid[d]);
        }
        if (!run_thread(&at, &last))
            result = SCALAR_ENDLESS;
        if (at.failed) {
            result = SCALAR_UNKNOWN;
            snprintf(message, 128, "line %u: %s", last->line, last->op);
        }
    }
    free(at.regs);
    free(at.loaded);
    scalar_release(&at.own);
    tidy(reads);
    tidy(found);
    tidy(writes);
    return result;
}
