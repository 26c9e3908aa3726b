/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled form: what the compiler makes of a PTX function and the dispatchers run.
 *
 * A function is one array of operations. An operation names its operands as byte offsets
 * into a frame: the register file of the 32 lanes of a warp in one activation of a
 * function. A register is a row of 32 lanes (64, 128 or 256 bytes), a predicate one 32-bit
 * mask. Constants, special registers and addresses of variables are rows too, filled when
 * the frame is made, so that a lane loop never asks what kind of operand it has.
 *
 * Everything here is immutable once the module is made, and shared by all workers. */
#ifndef RP_SOFT_SIMT_CODE_H
#define RP_SOFT_SIMT_CODE_H

#include "cuda/soft/simt.h"

#define SIMT_LANES 32
#define SIMT_FULL 0xffffffffu

struct simt_warp;
struct simt_op;

/* A lane loop: computes `op` for the lanes of `mask` in the frame at `rows`. With a full
 * mask every lane is written, dead ones included; nobody reads those. */
typedef void simt_lanes_fn(struct simt_warp *warp, char *rows, const struct simt_op *op,
                           uint32_t mask);

/* What the dispatcher does with an operation. The lane loops proper are LOOP (cannot
 * fail) and CHECKED (may raise a fault in the warp); the rest is control flow. */
#define SIMT_CONTROL(X)                                                                         \
    X(LOOP) X(CHECKED) X(EXPAND) X(GUARD) X(JOIN) X(JUMP) X(JUMP_BACK) X(BRANCH) X(BRANCH_BACK) \
    X(BRANCH_INDEX) X(CALL) X(RETURN) X(EXIT) X(TRAP) X(BARRIER) X(COLLECTIVE) X(YIELD)

enum simt_control {
#define X(name) SIMT_##name,
    SIMT_CONTROL(X)
#undef X
    SIMT_CONTROL_COUNT
};

/* Flags of tracked operations (see compact.h): which operands have slots, by width. */
#define SIMT_TRACKED 0x8000
#define SIMT_WIDE_D 1
#define SIMT_WIDE_A 2
#define SIMT_WIDE_B 4
#define SIMT_WIDE_C 8
#define SIMT_HAS_B 16
#define SIMT_HAS_C 32
#define SIMT_HAS_D 64 /* not a comparison */

/* Flags of accesses that can't leave the launch's own memory, as those to shared and local memory
 * do not: by what they read, and by what they write. Below them may be an element's scale. */
#define SIMT_OWN_FROM 0x2000
#define SIMT_OWN_TO 0x4000
#define SIMT_SCALE 0x1fff

/* One operation: a cache line. The meaning of the fields is the handler's; in lane loops
 * d is the destination and a, b, c the sources, vectors go on in e and f. */
struct simt_op {
    const void *label; /* in the dispatch function that was chosen */
    simt_lanes_fn *lanes;
    union {
        int64_t imm;
        const void *data; /* tables of BRANCH_INDEX, CALL and the like */
    };
    uint32_t d, a, b, c, e, f;
    uint32_t target; /* operation jumped to, or the index of an access site's range cache */
    uint32_t line;   /* of the PTX instruction */
    uint16_t opcode; /* enum simt_opcode; >= SIMT_CONTROL_COUNT for lane loops */
    uint16_t flags;
};

/* How a constant row of a frame is filled. */
enum simt_fill {
    SIMT_FILL_VALUE,       /* value */
    SIMT_FILL_PARAM,       /* `bytes` of the launch's parameters at value, sign-extended if told */
    SIMT_FILL_PARAM_BASE,  /* address of the parameter copy + value */
    SIMT_FILL_SHARED,      /* address of shared variable number `symbol` + value */
    SIMT_FILL_LOCAL,       /* each lane's frame in local memory + value */
    SIMT_FILL_FUNCTION,    /* address of function number `symbol` */
    SIMT_FILL_SPECIAL,     /* special register `symbol` (enum rp_ptx_sreg) */
    SIMT_FILL_REGISTER,    /* no constant: a register that can be compact */
};

struct simt_row {
    uint32_t offset;
    uint8_t width; /* bytes a lane: 2, 4 or 8; 0 for a predicate mask */
    uint8_t fill;  /* enum simt_fill */
    uint8_t bytes;
    bool sign, per_block; /* per_block: depends on %ctaid, so filled anew for each block */
    uint32_t symbol;
    int64_t value;
};

/* A formal parameter or a return value of a .func: a register row or bytes in local memory. */
struct simt_formal {
    bool in_register;
    uint8_t width;      /* in_register */
    uint32_t offset;    /* of the row, or in the frame's local memory */
    uint32_t bytes;
};

struct simt_function {
    const struct rp_ptx_function *ptx;
    struct simt_module *module;
    char *refusal; /* NULL when it can run */
    struct simt_op *ops;
    uint32_t op_count;
    uint32_t frame_bytes;   /* of the register file */
    uint32_t local_bytes;   /* of one activation, for one thread */
    uint32_t site_count;
    uint32_t *place;        /* of each PTX instruction and of the end: its first operation */
    struct simt_row *rows;
    uint32_t row_count;
    struct simt_formal *params, *returns;
    /* Everything that it may call or whose address it takes, for reachability. */
    uint32_t *callees;
    uint32_t callee_count;
    bool calls_unknown; /* an indirect call: any function whose address is taken */
    bool address_taken;
    uint32_t *shared;   /* indices of shared variables it names */
    uint32_t shared_count;
};

/* The static layout of an entry: what its call graph needs. */
struct simt_kernel {
    struct simt_function *function;
    char *refusal;
    uint32_t *shared_offset; /* by index of the shared variable */
    uint32_t static_shared_bytes, dynamic_offset;
    uint32_t local_bytes;    /* one activation of all it reaches, and room for recursion */
};

struct simt_module {
    const struct rp_ptx_module *ptx;
    struct simt_function *functions; /* as in ptx->functions */
    uint32_t function_count;
    struct simt_kernel *kernels; /* one a function; unused for .func */
    const struct rp_ptx_var **shared;
    uint32_t shared_count;
    simt_storage_fn storage;
    void *storage_ctx;
    uint32_t site_count; /* of all functions: a worker's range cache has so many entries */
};

/* An argument or result of a call site. */
struct simt_actual {
    bool in_register;
    uint8_t width;
    uint32_t offset;
    uint32_t bytes;
};

struct simt_call {
    const struct simt_function *callee; /* NULL: `pointer` has addresses of functions */
    uint32_t pointer;
    uint32_t arg_count, return_count;
    struct simt_actual *args, *returns;
};

/* Function pointers are indices into the module's table, in a range no memory has. */
#define SIMT_FUNCTION_BASE UINT64_C(0x7f00000000000000)

#endif
