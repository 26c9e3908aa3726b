/* SPDX-License-Identifier: Apache-2.0 */
/* What a proof is made of: the part of a kernel that decides which addresses it touches.
 *
 * The kernel is cut down to the integer operations that lead to addresses, branches and trip
 * counts (its slice), in SSA form, block by block in reverse post-order. Nothing in it is
 * symbolic in parameters: at a launch they are numbers, and so are grid and block. Evaluation
 * runs the slice once over all threads together, with values that are affine in the thread's
 * coordinates and the loop counters (form.h). */
#ifndef RP_CUDA_ACCESS_PROGRAM_H
#define RP_CUDA_ACCESS_PROGRAM_H

#include "cuda/access/access.h"
#include "cuda/ptx/ptx.h"

#include <stdatomic.h>

#define RP_NONE UINT32_MAX /* no value, no block, no loop */

enum rp_op_kind {
    RP_OP_OPAQUE,    /* data: any value of `imm` bits (signed or not); of 64, maybe a pointer */
    RP_OP_CONST,     /* imm */
    RP_OP_PARAM,     /* imm: byte offset; `from` bits */
    RP_OP_SREG,      /* imm: enum rp_ptx_sreg */
    RP_OP_ROOT,      /* imm: index in roots */
    RP_OP_NEAR,      /* the address of a shared, local or param variable, or the grid's barrier; imm
                      * is an enum rp_near */
    RP_OP_LOAD,      /* `from` bits from memory at a + imm, which may be known at a launch */
    RP_OP_FIELD,     /* ... from the parameter block at a + imm, if that is in [b, c) */
    RP_OP_MAP,       /* where the tensor of the map is that the parameter block has at imm */
    RP_OP_ADD, RP_OP_SUB, RP_OP_MUL,
    RP_OP_MUL_WIDE,  /* operands of `from` bits */
    RP_OP_MUL_HI, RP_OP_SHL, RP_OP_SHR, RP_OP_AND, RP_OP_OR, RP_OP_XOR, RP_OP_NOT, RP_OP_DIV,
    RP_OP_REM, RP_OP_MIN, RP_OP_MAX, RP_OP_ABS,
    RP_OP_CONVERT,   /* from `from` bits with sign `is_signed` to `bits` */
    RP_OP_PACK,      /* two halves: a low, b high */
    RP_OP_HIGH,      /* the upper half of 64 bits */
    RP_OP_SELECT,    /* c ? a : b */
    RP_OP_PHI,       /* phi_args[a .. a+b) */
    RP_OP_INDUCTION, /* a + k * b, where k counts the iterations of loop c */
    RP_OP_EXIT,      /* a after loop c has ended */
    RP_OP_GRID,      /* a + b, which is ctaid * c + tid in dimension imm */
    RP_OP_COMPARE,   /* predicate: a `compare` b, of `from` bits */
    RP_OP_PAND, RP_OP_POR, RP_OP_PXOR, RP_OP_PNOT,
    RP_OP_PSELECT,   /* predicate: c ? a : b */
    RP_OP_PUNKNOWN,  /* a predicate that depends on data */
    /* what only walks know more of than that it is opaque (struct rp_walk_block) */
    RP_OP_CARRIED,   /* a phi of a loop that is neither this nor that */
    RP_OP_PEXIT      /* predicate a after its loop */
};

enum rp_near {
    RP_NEAR_ANY,
    RP_NEAR_PARAM, /* of a parameter of the kernel: bytes [b, c) of the block */
    RP_NEAR_LOCAL  /* of local variable b, see local.h */
};

enum rp_compare { RP_EQ, RP_NE, RP_LT, RP_LE, RP_GT, RP_GE };

struct rp_op {
    uint8_t kind; /* enum rp_op_kind */
    uint8_t bits; /* of the result: 8, 16, 32, 64; 1 for predicates */
    uint8_t from; /* bits of the operands where they differ */
    bool is_signed;
    uint8_t compare;
    bool fickle;  /* in a walk: another one where data have decided by which way */
    bool wanted;  /* worth dividing the launch into pieces for: leads to a write or a branch */
    uint8_t stage; /* order in its block: 0 phis, 1 exits, 2 its own, 3 exits, 4 loop steps */
    uint32_t a, b, c;
    uint32_t block;
    int64_t imm;
};

struct rp_phi_arg {
    uint32_t block; /* the predecessor */
    uint32_t value;
};

/* Under which condition a block runs, in terms of one that stands before it. */
enum rp_guard_rule {
    RP_GUARD_ENTRY,  /* always */
    RP_GUARD_SAME,   /* whenever `parent` does (or, inexact, at most then) */
    RP_GUARD_EDGE,   /* when `parent` does and `condition` has value `sense` */
    RP_GUARD_HEADER  /* whenever `parent` does, and then once each iteration of `loop` */
};

struct rp_basic_block {
    uint8_t rule; /* enum rp_guard_rule */
    bool exact;   /* the rule says exactly when the block runs, not just at most */
    bool sense;
    uint32_t parent, condition, loop;
    uint32_t first_op, op_count, first_touch, touch_count;
    uint32_t tests; /* the loop whose exit test ends this block, or RP_NONE */
};

struct rp_loop {
    uint32_t header, parent; /* the loop around it, or RP_NONE */
    uint32_t depth;          /* 0 is the outermost */
    uint32_t test;           /* predicate of the exit that bounds it, or RP_NONE */
    bool continues_if;       /* the value of `test` with which the loop goes on */
    bool single_exit;        /* nothing else leaves it */
    uint32_t test_block;
    uint32_t first_test_op, test_op_count; /* in test_ops: what `test` needs, in order */
};

struct rp_root {
    uint32_t param;     /* byte offset, or RP_NONE */
    char *symbol;       /* of a module global, or NULL */
    char *name;         /* for people */
};

/* Coordinates of a thread: x, and the two bits above for y and z; and what memory holds. */
enum { RP_DEPENDS_TID = 1, RP_DEPENDS_CTAID = 8, RP_DEPENDS_MEMORY = 64 };

struct rp_touch {
    uint8_t effect;     /* RP_READ or RP_WRITE */
    uint8_t verdict;    /* at least this, whatever the launch */
    uint8_t best;       /* and this, from what its address and guards are made of */
    bool atomic, certain;
    bool updates;       /* a write over what the same thread has read before */
    bool stored;        /* a write that is over when the thread goes on */
    bool by_map;        /* to the tensor of a map, or nobody knows where; of no bytes: of the map */
    bool walks;         /* a walk leads there */
    bool generic;       /* no state space was written: may turn out to be shared or local */
    bool told;          /* its address is made of what memory holds */
    bool sense;         /* of `guard` */
    uint8_t depends;    /* on which coordinates it does, and where */
    uint32_t address;   /* value, or RP_NONE when `verdict` says all */
    uint32_t guard;     /* predicate of the instruction itself, or RP_NONE */
    uint32_t block;
    int64_t offset;     /* added to the address */
    uint64_t width;     /* bytes from there */
    uint32_t line;
    const char *reason; /* why it cannot be better than `verdict` */
};

/* The way of one thread to its writes, for launches that are small enough to be walked thread by
 * thread (walk.c): the blocks on it, with those values and branches that decide where it writes.
 * Phis and inductions, which come first in a block, ask for the block that the thread comes from:
 * that of an argument, or (in `c`) the one before the loop.
 *
 * Where it turns out that data decide, both ways are walked: next[aside] and what follows until the
 * block where they meet, and then the other. What is written in between may be written; and what
 * is `fickle` is not known any more. In a loop the way aside is one that ends within its turn: the
 * other may go on round it. */
struct rp_walk_block {
    uint32_t first_op, op_count, phi_count, first_touch, touch_count;
    uint32_t condition; /* RP_NONE: the thread goes to next[0] */
    uint32_t next[2];   /* where the condition is true, and where not; RP_NONE: it ends */
    bool forks;         /* data may decide */
    uint8_t aside;
    uint32_t meets;     /* the block where the ways of a fork do; RP_NONE: nowhere */
};

struct rp_walk_touch {
    uint32_t touch, address, guard;
};

#define RP_MAX_DEPTH 4 /* nested loops with a counter of their own */

/* Why a kernel that is given the same again may do something else. */
enum rp_varies { RP_VARIES_NOT, RP_VARIES_PLACE, RP_VARIES_ORDER, RP_VARIES_DRIVER };

struct rp_proof {
    struct rp_op *ops;
    size_t op_count;
    struct rp_phi_arg *phi_args;
    size_t phi_arg_count;
    struct rp_basic_block *blocks; /* reverse post-order; only those that matter */
    size_t block_count;
    struct rp_loop *loops;
    size_t loop_count;
    uint32_t *test_ops;
    size_t test_op_count;
    struct rp_root *roots;
    size_t root_count;
    struct rp_touch *touches; /* by block */
    size_t touch_count;
    struct rp_op *walk_ops;  /* the first of them are the same for all threads */
    size_t walk_op_count;
    uint32_t walk_uniform;   /* how many */
    uint8_t walk_depends;    /* on which coordinates the others do (RP_DEPENDS_TID and so on) */
    struct rp_phi_arg *walk_args;
    size_t walk_arg_count;
    struct rp_walk_block *walk_blocks; /* none: no write can be walked to */
    size_t walk_block_count;
    struct rp_walk_touch *walk_touches;
    size_t walk_touch_count;
    bool grid[3];            /* tid and ctaid of this dimension meet in RP_OP_GRID only */
    uint32_t grid_scale[3];  /* the value that ctaid is multiplied with */
    uint64_t param_bytes;    /* that the slice reads */
    bool loads;              /* it has RP_OP_LOAD or RP_OP_FIELD */
    bool joins;              /* some value of 64 bits may be one of several */
    const char *refused;     /* not analysed at all: everything, and why */
    enum rp_verdict best_reads, best_writes;
    enum rp_varies varies;
    uint8_t *unread;         /* a bit for each byte of the parameters that nothing loads */
    size_t unread_bytes;     /* 0: every byte may be loaded */
    char *text;
    char *reasons;           /* storage of composed reasons */
    size_t scratch_bytes;    /* of one evaluation */
    void *arena;             /* what everything above lies in, the proof itself excepted */
};

#endif
