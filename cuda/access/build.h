/* SPDX-License-Identifier: Apache-2.0 */
/* Building a proof: PTX to basic blocks (flow.c), to SSA values (ssa.c, translate.c), with
 * loops understood (loop.c), cut down to what matters (slice.c).
 *
 * An analysis that cannot go on leaves through rp_build_refuse: the proof then says
 * "everything" and why. Only lack of memory is an error. All memory of the builder lies in
 * one arena, whose ownership passes to the proof. */
#ifndef RP_CUDA_ACCESS_BUILD_H
#define RP_CUDA_ACCESS_BUILD_H

#include "cuda/access/program.h"

#include <setjmp.h>

#define RP_MAX_INSTRUCTIONS (1u << 16) /* of one kernel with its functions inlined */
#define RP_MAX_CALL_DEPTH 12
#define RP_MAX_NODES (1u << 14)
#define RP_MAX_LOOP_DEPTH 64
#define RP_ENTRY_NODE 0u
#define RP_EXIT_NODE 1u

struct rp_vec {
    void *items;
    size_t count, capacity;
};
#define RP_ITEMS(vec, type) ((type *)(vec).items)

/* One activation of a function that is inlined; frame 0 is the entry. */
struct rp_inline_frame {
    const struct rp_ptx_function *function;
    uint32_t parent;
    const struct rp_ptx_instruction *call; /* NULL for the entry */
    uint32_t first_reg;                    /* its registers as variables of the whole */
    uint32_t depth;
};

enum rp_step_kind {
    RP_STEP_PLAIN,
    RP_STEP_JUMP,   /* to `target`; conditional when guarded */
    RP_STEP_SWITCH, /* brx: to any of `list` */
    RP_STEP_STOP,   /* the thread ends; may be guarded */
    RP_STEP_COPY,   /* a parameter or result of an inlined call */
    RP_STEP_CALL,   /* what takes the results of an inlined call holds anything */
    RP_STEP_ENTER,  /* a function begins: its registers and local variables hold anything */
    RP_STEP_RETURN  /* what a call was given holds anything */
};

struct rp_indices {
    uint32_t *items;
    uint32_t count;
};

/* An instruction of the kernel after inlining. */
struct rp_step {
    const struct rp_ptx_instruction *ptx; /* NULL for what inlining adds */
    uint8_t kind;
    bool guarded, negated;
    uint32_t frame;
    uint32_t guard;            /* variable */
    uint32_t target;           /* JUMP: index of a step */
    struct rp_indices targets; /* SWITCH: likewise */
    const struct rp_ptx_operand *operand; /* COPY: from here, in frame `from`, */
    uint32_t from, source;                /* or from this variable */
    uint32_t variable;                    /* COPY: to here */
    uint8_t bits;
};

/* A .param variable of a function or of a call: one SSA variable for each element. */
struct rp_slot {
    uint32_t frame;
    const struct rp_ptx_var *var;
    uint32_t unit;  /* bytes of every access to it */
    bool messy;     /* accessed in different sizes, or by address: not tracked */
};

struct rp_tree_interval { /* of a node in a tree: a holds b when its interval does */
    uint32_t in, out;
};

struct rp_flow_node { /* a basic block while it is being built */
    uint32_t first, count; /* steps */
    struct rp_indices succ, pred;
    uint32_t order;        /* position in reverse post-order, RP_NONE if unreachable */
    uint32_t idom;
    struct rp_tree_interval dom, pdom;
    uint32_t loop;         /* innermost, or RP_NONE */
    uint32_t condition;    /* value that decides between succ[0] (true) and succ[1] */
    bool needed;
};

struct rp_natural_loop {
    uint32_t header, latch, preheader;
    uint32_t parent, depth;  /* the loop around it, or RP_NONE */
    struct rp_indices exits; /* nodes outside that it leaves to, */
    struct rp_indices exit_from; /* and the nodes inside that lead there */
    struct rp_loop out;
    bool needed;
};

struct rp_builder {
    jmp_buf failed;
    bool out_of_memory;
    const char *refused;
    const struct rp_ptx_module *module;
    const struct rp_ptx_function *entry;

    void *arena; /* chain of blocks */
    struct rp_vec frames;  /* struct rp_inline_frame */
    struct rp_vec steps;   /* struct rp_step */
    uint32_t variable_count;
    uint32_t *writers;     /* by register, of the first variables: see rp_ssa_survey */
    uint32_t *begins;      /* likewise: the node that its function begins in, or RP_NONE */
    uint32_t register_count;
    struct rp_local *local; /* see local.h */
    struct rp_vec slots;   /* struct rp_slot */
    struct rp_map *slot_variables;

    struct rp_flow_node *nodes; /* 0 is the entry, 1 the exit; both are empty */
    uint32_t node_count, node_capacity;
    uint32_t *rpo; /* nodes that can be reached, in order */
    uint32_t rpo_count;
    bool irreducible;
    struct rp_vec loops; /* struct rp_natural_loop */

    struct rp_vec ops;      /* struct rp_op; a value is its index */
    struct rp_vec phi_args; /* struct rp_phi_arg */
    struct rp_vec phis;     /* struct rp_pending_phi */
    struct rp_vec forwards; /* uint32_t: what a value was found equal to */
    struct rp_vec touches;  /* struct rp_touch */
    struct rp_vec roots;    /* struct rp_root */
    struct rp_map *definitions, *constants, *exits;
    uint32_t guard;         /* the value under which the step at hand runs, or RP_NONE */
};

/* memory.c */
void *rp_build_alloc(struct rp_builder *build, size_t bytes); /* zeroed, never NULL */
void *rp_build_push(struct rp_builder *build, struct rp_vec *vec, size_t item);
char *rp_build_format(struct rp_builder *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void rp_build_refuse(struct rp_builder *build, const char *reason);
/* Adds a copy to the arena, as a block of its own; NULL when the host is out of memory. */
void *rp_arena_copy(void **arena, const void *bytes, size_t size);
void rp_arena_release(void *arena);
struct rp_map *rp_map_create(struct rp_builder *build);
uint32_t rp_map_get(const struct rp_map *map, uint64_t key); /* RP_NONE when absent */
void rp_map_set(struct rp_builder *build, struct rp_map *map, uint64_t key, uint32_t value);

/* flow.c */
void rp_flow_build(struct rp_builder *build);

/* slot.c */
void rp_slot_survey(struct rp_builder *build); /* when all steps are there, and before any other */
/* The variable that holds `bytes` bytes at `offset` of a .param variable as seen in `frame`,
 * or RP_NONE when it cannot be tracked. */
uint32_t rp_slot_variable(struct rp_builder *build, uint32_t frame, const struct rp_ptx_var *var,
                          int64_t offset, uint32_t bytes);
bool rp_slot_is_kernel_param(const struct rp_builder *build, uint32_t frame,
                             const struct rp_ptx_var *var);
/* What a step of a call leaves in its .param variables: before it, anything in those that take its
 * results; behind it, in those that it was given. The next turn of a loop finds nothing there. */
void rp_slot_forget(struct rp_builder *build, uint32_t node, const struct rp_step *step);

/* graph.c: shape of the nodes' graph */
void rp_graph_build(struct rp_builder *build); /* order, both trees, loops, split edges */
bool rp_graph_dominates(const struct rp_builder *build, uint32_t a, uint32_t b);
bool rp_graph_postdominates(const struct rp_builder *build, uint32_t a, uint32_t b);
bool rp_graph_in_loop(const struct rp_builder *build, uint32_t node, uint32_t loop);
/* The outermost loop that holds `node` and not `other`, or RP_NONE. */
uint32_t rp_graph_left_loop(const struct rp_builder *build, uint32_t node, uint32_t other);

/* ssa.c */
void rp_ssa_survey(struct rp_builder *build); /* before the first read: which registers are written
                                               * in one node only, and need no phis */
uint32_t rp_ssa_op(struct rp_builder *build, struct rp_op op);
uint32_t rp_ssa_constant(struct rp_builder *build, int64_t value, unsigned bits);
uint32_t rp_ssa_opaque(struct rp_builder *build, uint32_t node, unsigned bits, unsigned type_bits,
                       bool is_signed);
uint32_t rp_ssa_read(struct rp_builder *build, uint32_t node, uint32_t variable, unsigned bits);
void rp_ssa_write(struct rp_builder *build, uint32_t node, uint32_t variable, uint32_t value);
void rp_ssa_finish(struct rp_builder *build); /* fills phis, drops those that say nothing */
uint32_t rp_ssa_find(struct rp_builder *build, uint32_t value);

/* opcode.c */
enum rp_opcode_class {
    RP_CLASS_UNKNOWN, /* not on the list: may write anything */
    RP_CLASS_PURE,    /* computes its first operand(s) from the others */
    RP_CLASS_SYNC,    /* has no result and touches no memory of ours */
    RP_CLASS_LOAD, RP_CLASS_STORE, RP_CLASS_ATOMIC, RP_CLASS_REDUCE, RP_CLASS_COPY_ASYNC,
    RP_CLASS_BULK, RP_CLASS_TEXTURE, RP_CLASS_MATRIX_LOAD, RP_CLASS_MATRIX_STORE,
    RP_CLASS_SHARED,  /* touches shared memory only; may have a result */
    RP_CLASS_EVERYTHING, /* a known writer whose target cannot be told */
    RP_CLASS_FLOW,
    /* understood by value */
    RP_CLASS_MOVE, RP_CLASS_ADD, RP_CLASS_SUB, RP_CLASS_MUL, RP_CLASS_MAD, RP_CLASS_SHL,
    RP_CLASS_SHR, RP_CLASS_AND, RP_CLASS_OR, RP_CLASS_XOR, RP_CLASS_NOT, RP_CLASS_NEG,
    RP_CLASS_DIV, RP_CLASS_REM, RP_CLASS_MIN, RP_CLASS_MAX, RP_CLASS_ABS, RP_CLASS_CONVERT,
    RP_CLASS_CVTA, RP_CLASS_SELECT, RP_CLASS_COMPARE, RP_CLASS_BFE, RP_CLASS_BFI
};
enum rp_opcode_class rp_opcode_class(const struct rp_ptx_instruction *ptx);

/* translate.c, value.c and touch.c: one step into values and touches (translate.h, touch.h) */
void rp_translate(struct rp_builder *build, uint32_t node, const struct rp_step *step);
/* `value` into a variable, or under the step's guard: that or what was there. */
void rp_translate_assign(struct rp_builder *build, uint32_t node, uint32_t variable,
                         unsigned bits, uint32_t value);
uint32_t rp_translate_operand(struct rp_builder *build, uint32_t node, uint32_t frame,
                              const struct rp_ptx_operand *operand, unsigned bits);
void rp_translate_results(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                          unsigned type_bits, bool is_signed);
uint32_t rp_translate_root(struct rp_builder *build, const struct rp_ptx_var *var, uint32_t param);

/* load.c */
/* The parameter that byte `offset` of the block belongs to, or NULL. */
const struct rp_ptx_var *rp_param_at(const struct rp_builder *build, uint64_t offset);
/* An address as what it is counted from (an RP_OP_NEAR with a name), an index, and a constant. */
struct rp_place {
    uint32_t base, index; /* RP_NONE: there is none */
    int64_t offset;
};
/* False where it is not one of each. */
bool rp_place_find(struct rp_builder *build, uint32_t value, struct rp_place *out);
/* The results of a load at `address` + `offset`; RP_NONE: it is not known where. */
void rp_load_results(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                     uint32_t address, int64_t offset);
/* Tells the loads apart, as soon as all values are there. */
void rp_loads_settle(struct rp_builder *build);

/* loop.c */
void rp_loop_understand(struct rp_builder *build);
/* Which of a, b, c are values; false when none is. The arguments of a phi are apart. */
bool rp_op_operands(const struct rp_op *op, bool used[3]);

/* slice.c */
void rp_slice(struct rp_builder *build, struct rp_proof *proof);

/* best.c */
void rp_best_verdicts(struct rp_builder *build, struct rp_proof *proof);

/* depend.c */
uint8_t rp_depends_on_register(int64_t sreg); /* on which coordinates it does */
void rp_depends_find(struct rp_builder *build, struct rp_proof *proof);

/* varies.c */
enum rp_varies rp_varies_find(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry);

/* unread.c */
void rp_unread_find(struct rp_builder *build, struct rp_proof *proof);

/* text.c */
void rp_text_build(struct rp_builder *build, struct rp_proof *proof);

#endif
