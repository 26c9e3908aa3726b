/* SPDX-License-Identifier: Apache-2.0 */
/* PTX, read once: the one parser that serves the software device's interpreter and the
 * access analysis.
 *
 * Source of the grammar: PTX ISA 9.0 (CUDA 13.0). The parser keeps every instruction with
 * its opcode, modifiers and operands; it does not judge whether an opcode is known: that is
 * for its users, of whom the interpreter refuses what it cannot run and the analysis
 * moves a verdict up. A parsed module is immutable and may be read by many threads. */
#ifndef RP_CUDA_PTX_PTX_H
#define RP_CUDA_PTX_PTX_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rp_ptx_type {
    RP_PTX_NONE,
    RP_PTX_B8, RP_PTX_B16, RP_PTX_B32, RP_PTX_B64, RP_PTX_B128,
    RP_PTX_U8, RP_PTX_U16, RP_PTX_U32, RP_PTX_U64,
    RP_PTX_S8, RP_PTX_S16, RP_PTX_S32, RP_PTX_S64,
    RP_PTX_F16, RP_PTX_F16X2, RP_PTX_BF16, RP_PTX_BF16X2, RP_PTX_TF32,
    RP_PTX_E4M3X2, RP_PTX_E5M2X2, RP_PTX_F32, RP_PTX_F64, RP_PTX_PRED,
    RP_PTX_S8X4, RP_PTX_U8X4, RP_PTX_TYPE_COUNT
};

enum rp_ptx_space {
    RP_PTX_GENERIC, RP_PTX_REG, RP_PTX_PARAM, RP_PTX_GLOBAL, RP_PTX_CONST, RP_PTX_SHARED,
    RP_PTX_LOCAL, RP_PTX_SREG
};

/* A declared variable: a register, a parameter, a module global, a shared or local array. */
struct rp_ptx_var {
    char *name;
    enum rp_ptx_space space;
    enum rp_ptx_type type;   /* element type; .v2/.v4 declarations multiply `elements` */
    uint32_t align;          /* bytes, at least the element's size */
    uint64_t elements;       /* 1 for a scalar; 0 for `.extern .shared x[]` */
    uint64_t bytes;          /* elements * element size, 0 for registers' purposes of .pred */
    uint64_t offset;         /* PARAM of an entry: byte offset in the parameter block */
    bool is_array, is_extern, is_visible, is_pointer /* .ptr on a parameter */;
    enum rp_ptx_space pointee; /* with is_pointer: .ptr .global etc., else GENERIC */
    unsigned char *initial;  /* module globals: `bytes` of initial contents, or NULL for zeros */
    /* Initialisers that are addresses of other variables or functions. */
    struct rp_ptx_reloc { uint64_t offset; char *symbol; int64_t addend; bool generic; } *relocs;
    size_t reloc_count;
};

enum rp_ptx_operand_kind {
    RP_PTX_OPERAND_REG,      /* `reg`: index into function->regs */
    RP_PTX_OPERAND_IMM,      /* `imm`: bits of an integer or float literal (see `is_float`) */
    RP_PTX_OPERAND_SREG,     /* `sreg`: %tid.x and friends */
    RP_PTX_OPERAND_VAR,      /* the address of a variable, or a param used by name: `var` (+ imm) */
    RP_PTX_OPERAND_ADDRESS,  /* [base + imm]: base is a REG, a VAR or absent (see `base`) */
    RP_PTX_OPERAND_LABEL,    /* `target`: index of the instruction jumped to */
    RP_PTX_OPERAND_VECTOR,   /* {a, b, ...}: `items`, `item_count` */
    RP_PTX_OPERAND_FUNCTION, /* a callee, a .callprototype or a .branchtargets list by `name` */
    RP_PTX_OPERAND_SINK      /* `_` */
};

enum rp_ptx_sreg {
    RP_PTX_TID_X, RP_PTX_TID_Y, RP_PTX_TID_Z, RP_PTX_NTID_X, RP_PTX_NTID_Y, RP_PTX_NTID_Z,
    RP_PTX_CTAID_X, RP_PTX_CTAID_Y, RP_PTX_CTAID_Z, RP_PTX_NCTAID_X, RP_PTX_NCTAID_Y,
    RP_PTX_NCTAID_Z, RP_PTX_LANEID, RP_PTX_WARPID, RP_PTX_NWARPID, RP_PTX_SMID, RP_PTX_NSMID,
    RP_PTX_GRIDID, RP_PTX_CLOCK, RP_PTX_CLOCK_HI, RP_PTX_CLOCK64, RP_PTX_GLOBALTIMER,
    RP_PTX_GLOBALTIMER_LO, RP_PTX_GLOBALTIMER_HI, RP_PTX_LANEMASK_EQ, RP_PTX_LANEMASK_LT,
    RP_PTX_LANEMASK_LE, RP_PTX_LANEMASK_GT, RP_PTX_LANEMASK_GE, RP_PTX_DYNAMIC_SMEM_SIZE,
    RP_PTX_TOTAL_SMEM_SIZE, RP_PTX_ENVREG1, RP_PTX_ENVREG2,
    RP_PTX_SREG_OTHER /* `name` tells which */
};

struct rp_ptx_operand {
    enum rp_ptx_operand_kind kind;
    enum rp_ptx_operand_kind base; /* of ADDRESS: REG, VAR, or IMM for an absolute address */
    bool negated;                  /* `!%p`, `-%r` in the few places where PTX allows it */
    bool is_float;                 /* IMM written as a float: `imm` holds IEEE double bits, */
    bool is_f32;                   /* unless written 0f........: then f32 bits in the low half */
    uint32_t reg;                  /* REG, and the base of an ADDRESS */
    uint32_t paired;               /* `%p|%q` destinations: second register + 1, else 0 */
    enum rp_ptx_sreg sreg;
    const struct rp_ptx_var *var;
    int64_t imm;                   /* IMM value, or byte offset of an ADDRESS or VAR */
    uint32_t target;               /* LABEL */
    const char *name;              /* FUNCTION, SREG_OTHER, and labels as written */
    struct rp_ptx_operand *items;  /* VECTOR; and of an ADDRESS what follows a comma inside the */
    uint32_t item_count;           /* brackets: `[texture, {%f1, %f2}]`, `[map, {%r1, %r2}]` */
};

#define RP_PTX_MAX_OPERANDS 16 /* of anything but a call, which has at most 255 */
#define RP_PTX_MAX_MODIFIERS 16

/* `op.mod.mod.type d, a, b` keeps op = "op", the dotted words in order in `modifiers`
 * (types included, without the dot), and in type[] the words that are types, in order.
 * `call` has its return operands first (`returns` says how many), then the callee, then the
 * arguments, and last, where it is written, the prototype or target list: a FUNCTION, which
 * an argument never is. */
struct rp_ptx_instruction {
    const char *op;      /* interned per module: compare by text */
    const char *modifiers[RP_PTX_MAX_MODIFIERS];
    uint8_t modifier_count;
    uint8_t operand_count;
    uint8_t type_count;
    uint8_t returns;
    uint8_t vector;      /* 1, 2, 4 or 8 from .v2/.v4/.v8 */
    bool guarded;        /* @%p or @!%p */
    bool guard_negated;
    uint32_t guard;      /* register index */
    enum rp_ptx_type type[4];
    enum rp_ptx_space space; /* from .global/.shared/...; GENERIC when none is written */
    uint32_t line, column;   /* from 1, in the PTX text */
    struct rp_ptx_operand *operands;
};

struct rp_ptx_function {
    char *name;
    bool is_entry, is_extern, is_visible, is_weak;
    bool is_defined; /* has a body */
    struct rp_ptx_var *params;  size_t param_count;  /* entry: with offsets by PTX alignment */
    struct rp_ptx_var *returns; size_t return_count; /* .func only */
    uint64_t param_bytes;       /* without tail padding */
    struct rp_ptx_var *regs;    size_t reg_count;    /* all registers, scopes renamed apart */
    struct rp_ptx_var *locals;  size_t local_count;  /* .local, .shared and .param in the body */
    struct rp_ptx_instruction *code;
    size_t code_count;               /* `code_count` is a valid target: the end */
    uint32_t maxntid[3], reqntid[3]; /* 0 when absent */
    uint32_t line;
    /* .branchtargets / .calltargets / .callprototype by name, kept as text */
    struct rp_ptx_list { char *name; char *kind; char **items; size_t item_count;
                         uint32_t *targets; } *lists;
    size_t list_count;
};

struct rp_ptx_module {
    int version_major, version_minor; /* .version */
    char *target;                     /* "sm_75" */
    int sm;                           /* 75 */
    int address_size;                 /* 64 */
    struct rp_ptx_var *globals; size_t global_count;      /* .global, .const and module .shared */
    struct rp_ptx_function *functions; size_t function_count;
};

/* Reads PTX text. On failure *out is NULL and `message` is "LINE:COLUMN: what is wrong".
 * Several compilation units in one text (what cuLink gets) are separate calls. */
enum rp_status rp_ptx_parse(const char *text, size_t length, struct rp_ptx_module **out,
                            char *message, size_t message_size);
void rp_ptx_destroy(struct rp_ptx_module *module);

const struct rp_ptx_function *rp_ptx_find(const struct rp_ptx_module *module, const char *name);
bool rp_ptx_has(const struct rp_ptx_instruction *instruction, const char *modifier);
uint32_t rp_ptx_type_bytes(enum rp_ptx_type type); /* 0 for NONE and PRED */
const char *rp_ptx_type_name(enum rp_ptx_type type);

#endif
