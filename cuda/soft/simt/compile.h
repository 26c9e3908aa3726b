/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler of one function: from PTX instructions to operations.
 *
 * Emitters look at one instruction each. They refuse by name what they don't know: every
 * modifier must be one that they expect, an operand must fit. A refusal does not end the
 * compilation of the module, only that function can't run. */
#ifndef RP_SOFT_SIMT_COMPILE_H
#define RP_SOFT_SIMT_COMPILE_H

#include "cuda/soft/simt/code.h"

/* Every frame starts with two rows that belong to nobody: row 0, which is scratch for
 * collective operations (see perform() in collective.c), and the place where results go
 * that nobody wants. */
#define SIMT_SINK_ROW 320 /* behind a slot, like every row */
#define SIMT_FIRST_ROW 576

/* An element of an array, by the instructions that lead to it (index.c). */
struct simt_indexed {
    const struct rp_ptx_operand *index, *array; /* 32-bit register, 64-bit register */
    int32_t more;   /* to add to the index, wrapping */
    uint16_t scale; /* bytes between elements */
    uint32_t used;  /* instructions, the load or store with them; 0: none */
};

/* Rows that no register needs any more, the latest last: it is still in the cache. */
struct simt_spare {
    uint32_t rows[256], count;
};

struct compiler {
    struct simt_module *module;
    struct simt_function *function;
    const struct rp_ptx_function *ptx;
    const struct rp_ptx_instruction *at; /* being compiled */
    uint32_t index;                      /* its number */

    struct simt_op *ops;
    uint32_t op_count, op_capacity;
    struct simt_row *rows;
    uint32_t row_count, row_capacity;
    uint32_t *place;       /* op of instruction i, past its JOIN */
    uint8_t *joins;        /* instruction i is the target of a forward jump */
    uint8_t *entries;      /* instruction i is the target of any jump */
    uint8_t *dropped;      /* instruction i is a copy of a register to its own row */
    uint32_t *lives_in;    /* register i has the row of register lives_in[i] - 1 */
    uint32_t *mentions;    /* times register i is read or written */
    uint32_t *ends;        /* number, from 1, of the instruction after which register i leaves */
    struct simt_spare spare[2]; /* its row to others; of 4 bytes a lane, of 8 */
    struct simt_indexed indexed; /* that the load or store at hand is about */
    uint32_t *reg_row;     /* row of register i, 0: none yet */
    uint8_t *reg_writes;   /* times register i is written: 0, 1, 2 for more */
    uint8_t *compact;      /* register i is written by tracked operations only */
    uint8_t *aliased;      /* register i stands for a constant row */
    bool lazy;             /* the operation being emitted reads compact rows as they are */
    uint32_t *local_at;    /* offset of ptx->locals[i] in local memory */
    uint32_t frame_end, predicate_end; /* next free row, next free predicate */
    uint32_t carry;        /* predicate row of CC.CF, 0: none yet */
    uint32_t temporaries[16]; /* rows for use within one instruction */
    uint32_t temporary_count;
    uint32_t next_site;
    uint32_t *callees;
    uint32_t callee_count, callee_capacity;
    uint32_t *shared;
    uint32_t shared_count, shared_capacity;
    bool guarded;          /* emitted operations get the instruction's guard */
    uint32_t guard_row;
    bool no_memory;
};

/* Compiles ptx into function (whose ptx and module are set). RP_OK also when it is refused. */
enum rp_status simt_compile_function(struct simt_function *function);

/* Refuses the function because of the current instruction: "line:column: opcode: why". Only
 * the first refusal counts. Always false. */
bool simt_refuse(struct compiler *c, const char *why, ...) __attribute__((format(printf, 2, 3)));

/* ---- operands ----------------------------------------------------------------- */

/* The row of an operand that is read. `width` is 2, 4 or 8 bytes; `type` says what an
 * immediate means. False after a refusal. */
bool simt_operand_value(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                        enum rp_ptx_type type, uint32_t *row);
/* The same at the register's own width, which `width` tells. Immediates get `fallback`. */
bool simt_operand_any(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t fallback,
                      enum rp_ptx_type type, uint32_t *row, uint32_t *width);
bool simt_operand_predicate(struct compiler *c, const struct rp_ptx_operand *operand,
                            uint32_t *row);
/* The row of a register that is written; the sink for `_`. */
bool simt_operand_target(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                         uint32_t *row);
bool simt_operand_target_any(struct compiler *c, const struct rp_ptx_operand *operand,
                             uint32_t *row, uint32_t *width);
/* An address: its row, that row's width (4 or 8), and the offset to add. */
bool simt_operand_address(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t *row,
                          uint32_t *width, int64_t *offset);
/* [parameter + constant] of a kernel: a constant of the launch. */
bool simt_is_entry_parameter(const struct compiler *c, const struct rp_ptx_operand *operand);
/* A variable's address as a constant row: what to fill it with. */
bool simt_operand_variable(struct compiler *c, const struct rp_ptx_var *var, int64_t offset,
                           struct simt_row *row);

uint32_t simt_constant_row(struct compiler *c, struct simt_row row);
/* At the end: lists the registers that can be compact among the function's rows. */
void simt_list_compact(struct compiler *c);
uint32_t simt_value_row(struct compiler *c, uint32_t width, int64_t value);
uint32_t simt_new_row(struct compiler *c, uint32_t width); /* width 0: a predicate */
uint32_t simt_temporary(struct compiler *c, uint32_t width);
uint32_t simt_register_row(struct compiler *c, uint32_t reg);
uint32_t simt_register_width(const struct compiler *c, uint32_t reg); /* 0: a predicate */

/* ---- operations --------------------------------------------------------------- */

/* Appends an operation, behind a GUARD when the instruction has one. */
struct simt_op *simt_emit(struct compiler *c, int opcode);
/* Appends it without a guard, e.g. for temporaries and control flow. */
struct simt_op *simt_emit_always(struct compiler *c, int opcode);
/* Of an access that its instruction says to be of shared or local memory. */
static inline uint16_t simt_own_flags(const struct compiler *c)
{
    const enum rp_ptx_space space = c->at->space;
    return space == RP_PTX_SHARED || space == RP_PTX_LOCAL ? SIMT_OWN_FROM | SIMT_OWN_TO : 0;
}
/* Makes register `operand` stand for the constant row, when it is written here only and
 * always; otherwise emits a copy. */
bool simt_emit_constant(struct compiler *c, const struct rp_ptx_operand *operand,
                        uint32_t width, uint32_t row);
/* Operations that move lanes about have no GUARD: a branch goes around them, from what the
 * first answers to the second. */
uint32_t simt_branch_around(struct compiler *c);
void simt_end_around(struct compiler *c, uint32_t branch);
/* A lane loop whose operands are the instruction's own, one after the other. */
bool simt_emit_by_signature(struct compiler *c, int opcode);

/* rows.c: finds registers that can have the same row. Behind an instruction: the rows that are
 * not needed from there on. */
void simt_plan_rows(struct compiler *c);
void simt_release_rows(struct compiler *c, uint32_t instruction);
/* index.c: do the instructions from `first` on lead to an element of an array, and load or
 * store it? */
bool simt_find_indexed(const struct compiler *c, uint32_t first, struct simt_indexed *element);

/* track.c: is this an instruction whose operation is tracked (see compact.h)? */
bool simt_is_tracked(const struct compiler *c, const struct rp_ptx_instruction *instruction);
/* Marks the registers that can be compact. */
void simt_find_compact(struct compiler *c);
bool simt_compares_compact(int opcode);
/* After `op` with all its operands: makes it tracked. */
void simt_track(struct simt_op *op);

/* ---- emitters ----------------------------------------------------------------- */

typedef bool simt_emitter(struct compiler *c);
simt_emitter simt_emit_plain, simt_emit_setp, simt_emit_set, simt_emit_slct, simt_emit_mov,
    simt_emit_cvta, simt_emit_cvt, simt_emit_lop3, simt_emit_carry, simt_emit_testp,
    simt_emit_isspacep, simt_emit_load, simt_emit_store, simt_emit_atom, simt_emit_red,
    simt_emit_nothing, simt_emit_fence, simt_emit_cp, simt_emit_bra, simt_emit_brx,
    simt_emit_call, simt_emit_ret, simt_emit_exit, simt_emit_trap, simt_emit_bar,
    simt_emit_shfl, simt_emit_vote, simt_emit_match, simt_emit_redux, simt_emit_activemask,
    simt_emit_elect, simt_emit_nanosleep, simt_emit_mbarrier,
    simt_emit_copy_arrival, simt_emit_mma, simt_emit_wmma, simt_emit_ldmatrix,
    simt_emit_stmatrix, simt_emit_movmatrix;

/* "op.mod.mod" of the instruction, into a buffer. */
#define SIMT_SPELLING 128
void simt_spell(const struct rp_ptx_instruction *instruction, char text[SIMT_SPELLING]);
/* Is every modifier one of `known` (NULL-terminated), a type, or a space? */
bool simt_modifiers_known(struct compiler *c, const char *const *known);

#endif
