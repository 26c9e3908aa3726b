/* SPDX-License-Identifier: Apache-2.0 */
/* Local memory: the variables that a thread has for itself.
 *
 * Nobody else sees them: what was stored at a known place is a value like any other, and what is
 * loaded there is that value. Each eight bytes are a variable of the kernel's (ssa.c), and so is
 * each half of them. A store whose place is not known may be to any of them, and nothing is known
 * of any from then on. So it is where a generic address may have come from local memory; which
 * registers may hold one, or part of one, is found first (local_hold.c). No bound of an array is
 * relied upon: an index that nobody knows goes anywhere. */
#ifndef RP_CUDA_ACCESS_LOCAL_H
#define RP_CUDA_ACCESS_LOCAL_H

#include "cuda/access/translate.h"

struct rp_local_variable {
    uint32_t frame;
    const struct rp_ptx_var *var;
    uint32_t first; /* of the variables of its words; RP_NONE: too large, its bytes may be any */
    uint32_t count; /* ... how many */
};

struct rp_local {
    struct rp_vec variables; /* struct rp_local_variable */
    uint32_t words;          /* in all */
    bool *holds;             /* by register: perhaps what an address in local memory is made of */
    bool memory_holds;       /* ... so does some byte in memory, */
    bool params_hold;        /* or a parameter of a function */
};

/* The variables of a word. */
enum { RP_LOCAL_WHOLE, RP_LOCAL_LOW, RP_LOCAL_HIGH, RP_LOCAL_PARTS };

enum rp_where {
    RP_ELSEWHERE, /* not in local memory */
    RP_ANYWHERE,
    RP_THERE      /* in a variable of the thread's, at an index that is known or not */
};

/* local.c */
/* After the graph, and before anything is translated: build->local, unless there is none. */
void rp_local_survey(struct rp_builder *build);
/* Its index, or RP_NONE. */
uint32_t rp_local_find(const struct rp_builder *build, uint32_t frame,
                       const struct rp_ptx_var *var);
/* The value is an address in one of them, at a place that may not be known. */
bool rp_local_names(struct rp_builder *build, uint32_t value);
/* Where the address of the instruction leads. */
enum rp_where rp_local_locate(const struct rp_translation *at,
                              const struct rp_ptx_operand *address, struct rp_place *out);

/* local_word.c */
/* The load is done: it was of local memory, and brought what had been stored there. */
bool rp_local_load(const struct rp_translation *at);
/* The store is done: it was to a known place in local memory. */
bool rp_local_store(const struct rp_translation *at);
/* Something is done at this address that is neither. */
void rp_local_change(const struct rp_translation *at, const struct rp_ptx_operand *address);

/* local_hold.c: fills in what holds addresses; false where something is done with them that is not
 * understood. */
bool rp_local_hold(struct rp_builder *build, struct rp_local *local);

#endif
