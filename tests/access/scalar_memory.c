/* SPDX-License-Identifier: Apache-2.0 */
/* What loads bring and stores leave: in global memory, which has no contents but its tables; in the
 * parameters; and in what functions have declared. */
#include "tests/access/scalar_thread.h"

/* ---- variables ---------------------------------------------------------------------- */

struct seeking {
    const struct rp_ptx_var *var;
    size_t offset;
};

static bool seek(struct seeking *seeking, const struct rp_ptx_var *vars, size_t count)
{
    for (size_t i = 0; i < count; seeking->offset += (vars[i++].bytes + 7) / 8 * 8)
        if (&vars[i] == seeking->var)
            return true;
    return false;
}

/* Where in the stack; the kernel's own parameters are elsewhere. */
static size_t stack_offset(struct thread *at, const struct frame *frame,
                           const struct rp_ptx_var *var)
{
    const struct rp_ptx_function *of = frame->function;
    struct seeking seeking = {.var = var};
    at->failed |= !seek(&seeking, of->params, of->is_entry ? 0 : of->param_count) &&
                  !seek(&seeking, of->returns, of->return_count) &&
                  !seek(&seeking, of->locals, of->local_count);
    at->failed |= seeking.offset + var->bytes > SCALAR_STACK;
    return at->failed ? 0 : frame->depth * SCALAR_STACK + seeking.offset;
}

static bool is_kernel_param(const struct frame *frame, const struct rp_ptx_var *var)
{
    const struct rp_ptx_function *of = frame->function;
    return of->is_entry && var >= of->params && var < of->params + of->param_count;
}

uint64_t scalar_address_of(struct thread *at, const struct rp_ptx_var *var)
{
    return is_kernel_param(at->frame, var) ? SCALAR_PARAMS + var->offset
                                           : SCALAR_LOCALS + stack_offset(at, at->frame, var);
}

void scalar_pass(struct thread *at, struct frame *from, const struct rp_ptx_var *source,
                 struct frame *to, const struct rp_ptx_var *target)
{
    size_t here = stack_offset(at, from, source), there = stack_offset(at, to, target);
    memcpy(at->stack + there, at->stack + here, target->bytes);
    memcpy(at->stack_loaded + there, at->stack_loaded + here, target->bytes);
}

static uint64_t address(struct thread *at, const struct rp_ptx_operand *operand)
{
    uint64_t base = 0;
    if (operand->base == RP_PTX_OPERAND_REG)
        base = at->frame->regs[operand->reg];
    else if (operand->base == RP_PTX_OPERAND_VAR)
        base = scalar_address_of(at, operand->var);
    at->any_loaded = operand->base == RP_PTX_OPERAND_REG && at->frame->loaded[operand->reg];
    return base + (uint64_t)operand->imm;
}

/* ---- bytes -------------------------------------------------------------------------- */

static bool is_in_stack(const struct thread *at, uint64_t address, unsigned bytes)
{
    return address - SCALAR_LOCALS <= sizeof at->stack - bytes;
}

static uint64_t loaded_bits(struct thread *at)
{
    uint64_t any = scalar_random(&at->random);
    switch (at->contents) {
    case 1: return any & 15;
    case 2: return 0;
    case 3: return UINT64_MAX;
    default: return any;
    }
}

/* The byte of a table that lies there, or NULL. */
static unsigned char *table_byte(struct thread *at, uint64_t address)
{
    for (int i = 0; i < SCALAR_TABLES; i++) {
        struct scalar_table *table = &at->tables[i];
        if (table->address && address - table->address < sizeof table->bytes)
            return &table->bytes[address - table->address];
    }
    return NULL;
}

/* Of global memory. What is in tables was not loaded, as long as nobody has stored there. */
static uint64_t memory_bits(struct thread *at, uint64_t address, unsigned bytes)
{
    uint64_t bits = loaded_bits(at);
    unsigned known = 0;
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char *byte = table_byte(at, address + i);
        if (byte)
            memcpy((char *)&bits + i, byte, 1);
        known += byte != NULL;
    }
    at->any_loaded = known < bytes || at->tables_loaded;
    return bits;
}

static uint64_t bits_at(struct thread *at, uint64_t address, unsigned bytes)
{
    uint64_t bits = 0;
    if (is_in_stack(at, address, bytes)) {
        memcpy(&bits, at->stack + (address - SCALAR_LOCALS), bytes);
        at->any_loaded = at->stack_loaded[address - SCALAR_LOCALS];
    } else if (address - SCALAR_PARAMS <= at->launch->param_bytes - bytes) {
        memcpy(&bits, at->launch->params + (address - SCALAR_PARAMS), bytes);
        at->any_loaded = false;
    } else {
        bits = memory_bits(at, address, bytes);
    }
    return bits;
}

static void put_bits(struct thread *at, uint64_t address, unsigned bytes, uint64_t bits)
{
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char *byte = table_byte(at, address + i);
        if (byte)
            *byte = (unsigned char)(bits >> 8 * i);
        at->tables_loaded |= byte != NULL;
    }
}

static bool is_global(const struct thread *at, const struct rp_ptx_instruction *ptx,
                      uint64_t address, unsigned bytes)
{
    return ptx->space == RP_PTX_GLOBAL ||
           (ptx->space == RP_PTX_GENERIC && !is_in_stack(at, address, bytes));
}

/* ---- loads -------------------------------------------------------------------------- */

static void note_read(struct thread *at, uint64_t start, uint64_t bytes)
{
    scalar_add(&at->trace->reads, start, start + bytes);
    if (!scalar_holds(&at->own, start, start + bytes))
        scalar_add(&at->trace->found, start, start + bytes);
}

void scalar_load(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *to = &ptx->operands[0];
    unsigned bytes = rp_ptx_type_bytes(ptx->type[0]);
    uint64_t start = address(at, &ptx->operands[1]);
    if (is_global(at, ptx, start, bytes * ptx->vector))
        note_read(at, start, bytes * ptx->vector);
    for (unsigned i = 0; i < ptx->vector; i++) {
        uint64_t bits = bits_at(at, start + i * bytes, bytes);
        bits = is_signed(ptx->type[0]) ? (uint64_t)extend(bits, bytes * 8) : cut(bits, bytes * 8);
        scalar_set(at, to->kind == RP_PTX_OPERAND_VECTOR ? &to->items[i] : to, bits);
    }
}

/* ---- stores ------------------------------------------------------------------------- */

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

static void store(struct thread *at, const struct rp_ptx_instruction *ptx, uint64_t start)
{
    const struct rp_ptx_operand *from = &ptx->operands[1];
    unsigned bytes = rp_ptx_type_bytes(ptx->type[0]);
    for (unsigned i = 0; i < ptx->vector; i++) {
        at->any_loaded = false;
        uint64_t bits = scalar_value(
            at, from->kind == RP_PTX_OPERAND_VECTOR ? &from->items[i] : from);
        uint64_t place = start + i * bytes;
        if (!is_in_stack(at, place, bytes)) {
            put_bits(at, place, bytes, bits);
            continue;
        }
        memcpy(at->stack + (place - SCALAR_LOCALS), &bits, bytes);
        memset(at->stack_loaded + (place - SCALAR_LOCALS), at->any_loaded, bytes);
    }
}

/* The next value, of what was there and the operand. */
static uint64_t modify(struct thread *at, const struct rp_ptx_instruction *ptx, uint64_t old)
{
    uint64_t operand = scalar_value(at, &ptx->operands[ptx->operand_count - 1]);
    return rp_ptx_has(ptx, "add") ? old + operand : operand;
}

static void note_write(struct thread *at, uint64_t start, uint64_t bytes)
{
    scalar_add(&at->trace->writes, start, start + bytes);
    scalar_add(&at->own, start, start + bytes);
}

/* atom.cas may fail, but where it is known what stands there it does as it must. */
static bool fails(struct thread *at, const struct rp_ptx_instruction *ptx, uint64_t old, bool known)
{
    if (!rp_ptx_has(ptx, "cas"))
        return false;
    uint64_t chance = scalar_random(&at->random);
    bool any_loaded = at->any_loaded;
    bool differs = cut(scalar_value(at, &ptx->operands[2]), 32) != cut(old, 32);
    at->any_loaded = any_loaded;
    return known ? differs : chance % 2;
}

static void run_atomic(struct thread *at, const struct rp_ptx_instruction *ptx, uint64_t start)
{
    unsigned bytes = rp_ptx_type_bytes(ptx->type[0]);
    note_read(at, start, bytes);
    uint64_t old = bits_at(at, start, bytes);
    bool any_loaded = at->any_loaded;
    if (!fails(at, ptx, old, table_byte(at, start) && table_byte(at, start + bytes - 1))) {
        note_write(at, start, bytes);
        put_bits(at, start, bytes, modify(at, ptx, old));
    }
    at->any_loaded = any_loaded;
    if (is(ptx, "atom"))
        scalar_set(at, &ptx->operands[0], old);
}

void scalar_access(struct thread *at, const struct rp_ptx_instruction *ptx)
{
    uint64_t start = address(at, &ptx->operands[is(ptx, "atom") ? 1 : 0]);
    unsigned bytes = rp_ptx_type_bytes(ptx->type[0]) * ptx->vector;
    if (ptx->space == RP_PTX_SHARED)
        return;
    bool global = is_global(at, ptx, start, bytes);
    if (global && at->any_loaded)
        set_adrift(&at->trace->adrift, start);
    if (!is(ptx, "st")) {
        run_atomic(at, ptx, start);
        return;
    }
    if (global)
        note_write(at, start, bytes);
    store(at, ptx, start);
}
