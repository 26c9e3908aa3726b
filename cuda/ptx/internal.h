/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser's files share.
 *
 * One recursive-descent pass with one token of lookahead. An error leaves through
 * rp_ptx_fail, which jumps back into rp_ptx_parse: so no function below needs an error path,
 * and all memory belongs to the parser (scratch vectors) or to its arena (what the module
 * keeps). Text is hostile: it may lack a terminating zero, and recursion, registers and
 * memory are bounded by the limits below. */
#ifndef RP_CUDA_PTX_INTERNAL_H
#define RP_CUDA_PTX_INTERNAL_H

#include "cuda/ptx/ptx.h"

#include <setjmp.h>

#define RP_PTX_MAX_DEPTH 64                  /* nested scopes, expressions, initialisers */
#define RP_PTX_MAX_REGISTERS (1u << 20)      /* of one function */
#define RP_PTX_MAX_INITIAL (UINT64_C(1) << 28) /* bytes of one initialised variable */

enum rp_ptx_token_kind {
    RP_PTX_TOKEN_END,
    RP_PTX_TOKEN_IDENT,     /* add, %r1, $L__BB0_1, foo */
    RP_PTX_TOKEN_DIRECTIVE, /* .reg, .shared::cta, .2d: with its dot */
    RP_PTX_TOKEN_INTEGER,   /* `bits` */
    RP_PTX_TOKEN_FLOAT,     /* `bits`: of a double, or of a float with `is_f32` */
    RP_PTX_TOKEN_STRING,    /* without the quotes */
    RP_PTX_TOKEN_PUNCT      /* one character, or one of << >> <= >= == != && || */
};

struct rp_ptx_token {
    enum rp_ptx_token_kind kind;
    bool is_f32;
    bool is_unsigned; /* INTEGER with the U suffix, or too large for int64_t */
    bool glued;       /* nothing blank stands before it */
    const char *text; /* into the PTX text */
    size_t length;
    uint32_t line, column;
    uint64_t bits;
};

/* A growing array of `item`-sized things; rp_ptx_push gives a zeroed slot at its end, which
 * is valid until the next push. */
struct rp_ptx_vec {
    void *items;
    size_t count, capacity, item;
};

struct rp_ptx_arena {
    struct rp_ptx_chunk *chunks;
    char *at, *end;
    uint64_t total, limit;
};

enum rp_ptx_symbol_kind {
    RP_PTX_SYMBOL_REG,     /* `index` into the registers; count > 1 for .v2/.v4 */
    RP_PTX_SYMBOL_RANGE,   /* %r<count>: the name is the prefix */
    RP_PTX_SYMBOL_PARAM,   /* the four kinds of variable: `index` into their arrays */
    RP_PTX_SYMBOL_RETURN,
    RP_PTX_SYMBOL_LOCAL,
    RP_PTX_SYMBOL_GLOBAL,
    RP_PTX_SYMBOL_FUNCTION,
    RP_PTX_SYMBOL_LABEL,   /* `index` of an instruction */
    RP_PTX_SYMBOL_LIST     /* .branchtargets and the like */
};

struct rp_ptx_symbol {
    const char *name;
    size_t length;
    uint32_t hash;
    uint32_t next; /* in its bucket: index + 1 of an older symbol */
    enum rp_ptx_symbol_kind kind;
    uint32_t index, count;
};

/* Newer symbols stand before older ones in a bucket, so the innermost scope is found first
 * and leaving a scope is popping. */
struct rp_ptx_symbols {
    struct rp_ptx_vec entries; /* struct rp_ptx_symbol */
    uint32_t *buckets;
    uint32_t mask;
};

/* A name used before it was seen: a label, a list, or an operand that may be one. Until the
 * end of the function the operand's `target` is the index here (plus 1 in a FUNCTION). */
struct rp_ptx_pending {
    const char *name;
    size_t length;
    uint32_t line, column;
    bool must_be_label;
    bool resolved, is_label;
    uint32_t target; /* the label's instruction */
};

struct rp_ptx_scope {
    size_t symbols, pending;
};

struct rp_ptx_parser {
    const char *at, *end, *line_start;
    uint32_t line;
    struct rp_ptx_token token; /* the one token of lookahead */

    struct rp_ptx_arena arena;
    struct rp_ptx_vec interned; /* char *, an open-addressed table */
    size_t interned_count;
    struct rp_ptx_symbols symbols;

    struct rp_ptx_module *module;
    struct rp_ptx_vec globals, functions;
    struct rp_ptx_vec initial, relocs; /* of the initialiser being read */
    /* of the function being read */
    struct rp_ptx_vec code, regs, params, returns, locals, lists, pending;
    struct rp_ptx_vec names;    /* of the list being read */
    struct rp_ptx_vec operands; /* a stack: of instructions and the vectors inside them */
    struct rp_ptx_scope scopes[RP_PTX_MAX_DEPTH];
    uint32_t depth; /* scopes in use; 0 at module level */

    jmp_buf failed;
    enum rp_status status;
    char *message;
    size_t message_size;
};

/* memory.c */
void *rp_ptx_alloc(struct rp_ptx_parser *parser, uint64_t bytes); /* zeroed, never NULL */
void *rp_ptx_push(struct rp_ptx_parser *parser, struct rp_ptx_vec *vec);
void *rp_ptx_keep(struct rp_ptx_parser *parser, const struct rp_ptx_vec *vec); /* copy, or NULL */
char *rp_ptx_intern(struct rp_ptx_parser *parser, const char *text, size_t length);
void rp_ptx_arena_release(struct rp_ptx_arena *arena);
void rp_ptx_vec_release(struct rp_ptx_vec *vec);
uint32_t rp_ptx_hash(uint32_t seed, const char *text, size_t length);
#define RP_PTX_HASH_SEED 2166136261u

/* lexer.c */
void rp_ptx_next(struct rp_ptx_parser *parser); /* reads the next token into parser->token */
bool rp_ptx_is(const struct rp_ptx_parser *parser, const char *text);
bool rp_ptx_accept(struct rp_ptx_parser *parser, const char *text);
void rp_ptx_expect(struct rp_ptx_parser *parser, const char *text);
struct rp_ptx_token rp_ptx_take(struct rp_ptx_parser *parser, enum rp_ptx_token_kind kind,
                                const char *what);
_Noreturn void rp_ptx_fail(struct rp_ptx_parser *parser, uint32_t line, uint32_t column,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
_Noreturn void rp_ptx_fail_here(struct rp_ptx_parser *parser, const char *expected);

/* type.c */
enum rp_ptx_type rp_ptx_type_named(const char *text, size_t length);   /* without the dot */
enum rp_ptx_space rp_ptx_space_named(const char *text, size_t length); /* GENERIC: none */
/* True for a predefined name such as %tid.x, %laneid or %envreg3. */
bool rp_ptx_sreg_named(const char *text, size_t length, enum rp_ptx_sreg *sreg);

/* symbol.c */
void rp_ptx_scope_enter(struct rp_ptx_parser *parser);
void rp_ptx_scope_leave(struct rp_ptx_parser *parser);
void rp_ptx_declare(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                    enum rp_ptx_symbol_kind kind, uint32_t index, uint32_t count);
const struct rp_ptx_symbol *rp_ptx_lookup(const struct rp_ptx_parser *parser, const char *text,
                                          size_t length);
/* The register that `text` names, ranges included. */
bool rp_ptx_lookup_reg(const struct rp_ptx_parser *parser, const char *text, size_t length,
                       uint32_t *reg, uint32_t *count);
/* Returns the index in parser->pending. */
uint32_t rp_ptx_refer_later(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                            bool must_be_label);

/* constant.c */
struct rp_ptx_constant {
    uint64_t bits;
    bool is_float, is_f32, is_unsigned;
};
bool rp_ptx_starts_constant(const struct rp_ptx_parser *parser);
struct rp_ptx_constant rp_ptx_constant(struct rp_ptx_parser *parser);
uint64_t rp_ptx_integer(struct rp_ptx_parser *parser, uint64_t max, const char *what);
/* The bits of `value` as an element of `type`, in the low bytes. */
uint64_t rp_ptx_constant_as(struct rp_ptx_constant value, enum rp_ptx_type type);

/* variable.c */
struct rp_ptx_linkage {
    bool is_extern, is_visible, is_weak;
};
/* `.space .align 4 .b8 name[4], ...;`: from the space's token to the semicolon. */
void rp_ptx_variables(struct rp_ptx_parser *parser, struct rp_ptx_linkage linkage);
/* One parameter of a list, without its comma. */
void rp_ptx_parameter(struct rp_ptx_parser *parser, struct rp_ptx_vec *list,
                      enum rp_ptx_symbol_kind kind);

/* initial.c */
void rp_ptx_initialiser(struct rp_ptx_parser *parser, struct rp_ptx_var *var,
                        const uint64_t *dims, uint32_t dim_count);

/* operand.c. While a function is being read, variables and labels may still move: an operand
 * then holds (symbol kind in `target`, index in `reg`) for its variable. rp_ptx_settle turns
 * those of the given kinds into pointers. */
void rp_ptx_operand(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, bool is_branch);
/* Moves the operands above `first` from the stack into the module. */
struct rp_ptx_operand *rp_ptx_keep_operands(struct rp_ptx_parser *parser, size_t first);
void rp_ptx_settle_locals(struct rp_ptx_parser *parser, struct rp_ptx_function *function);
void rp_ptx_settle_globals(struct rp_ptx_module *module);

/* instruction.c: from the opcode (already taken) or the guard to the semicolon */
void rp_ptx_instruction(struct rp_ptx_parser *parser, const struct rp_ptx_token *op);

/* directive.c: what is skipped or only noted */
bool rp_ptx_skip_directive(struct rp_ptx_parser *parser);
void rp_ptx_skip_attribute(struct rp_ptx_parser *parser);
void rp_ptx_list(struct rp_ptx_parser *parser, const struct rp_ptx_token *name);

/* function.c: from .entry or .func to the closing brace or semicolon */
void rp_ptx_function(struct rp_ptx_parser *parser, struct rp_ptx_linkage linkage);

#endif
