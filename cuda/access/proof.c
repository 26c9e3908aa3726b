/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/local.h"
#include "cuda/access/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void translate_nodes(struct rp_builder *build)
{
    const struct rp_step *steps = build->steps.items;
    for (uint32_t i = 0; i < build->node_count; i++)
        build->nodes[i].condition = RP_NONE;
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        const struct rp_flow_node *node = &build->nodes[build->rpo[i]];
        for (uint32_t j = 0; j < node->count; j++)
            rp_translate(build, build->rpo[i], &steps[node->first + j]);
    }
}

/* Returns false when the builder gave up or ran out of memory. A function of its own, so
 * that no local of the caller is touched between setjmp and longjmp. */
static bool build_program(struct rp_builder *build, struct rp_proof *proof)
{
    if (setjmp(build->failed))
        return false;
    if (build->module->address_size != 64)
        rp_build_refuse(build, "addresses have 32 bits");
    build->definitions = rp_map_create(build);
    build->constants = rp_map_create(build);
    rp_flow_build(build);
    rp_graph_build(build);
    rp_local_survey(build);
    rp_ssa_survey(build);
    translate_nodes(build);
    rp_ssa_finish(build);
    rp_loads_settle(build);
    rp_loop_understand(build);
    rp_slice(build, proof);
    rp_best_verdicts(build, proof);
    rp_depends_find(build, proof);
    rp_text_build(build, proof);
    return true;
}

static void *keep(struct rp_builder *build, const void *items, size_t bytes)
{
    void *copy = rp_build_alloc(build, bytes + 1);
    if (bytes)
        memcpy(copy, items, bytes);
    return copy;
}

static char *keep_text(struct rp_builder *build, const char *text)
{
    return text ? keep(build, text, strlen(text)) : NULL;
}

static void keep_walk(struct rp_builder *build, struct rp_proof *proof)
{
    proof->walk_ops = keep(build, proof->walk_ops, proof->walk_op_count * sizeof(*proof->walk_ops));
    proof->walk_args = keep(build, proof->walk_args,
                            proof->walk_arg_count * sizeof(*proof->walk_args));
    proof->walk_blocks = keep(build, proof->walk_blocks,
                              proof->walk_block_count * sizeof(*proof->walk_blocks));
    proof->walk_touches = keep(build, proof->walk_touches,
                               proof->walk_touch_count * sizeof(*proof->walk_touches));
}

/* Copies what the proof needs into an arena of its own: the module and most of what the
 * builder made may go. */
static bool keep_program(struct rp_builder *build, struct rp_proof *proof)
{
    if (setjmp(build->failed))
        return false;
    proof->ops = keep(build, proof->ops, proof->op_count * sizeof(*proof->ops));
    proof->phi_args = keep(build, proof->phi_args,
                           proof->phi_arg_count * sizeof(*proof->phi_args));
    proof->blocks = keep(build, proof->blocks, proof->block_count * sizeof(*proof->blocks));
    proof->loops = keep(build, proof->loops, proof->loop_count * sizeof(*proof->loops));
    proof->test_ops = keep(build, proof->test_ops,
                           proof->test_op_count * sizeof(*proof->test_ops));
    keep_walk(build, proof);
    proof->roots = keep(build, proof->roots, proof->root_count * sizeof(*proof->roots));
    proof->touches = keep(build, proof->touches, proof->touch_count * sizeof(*proof->touches));
    for (size_t i = 0; i < proof->root_count; i++) {
        proof->roots[i].name = keep_text(build, proof->roots[i].name);
        proof->roots[i].symbol = proof->roots[i].symbol ? proof->roots[i].name : NULL;
    }
    for (size_t i = 0; i < proof->touch_count; i++)
        proof->touches[i].reason = keep_text(build, proof->touches[i].reason);
    rp_unread_find(build, proof);
    proof->text = keep_text(build, proof->text);
    proof->refused = keep_text(build, proof->refused);
    return true;
}

static void forget_program(struct rp_proof *proof, const char *reason)
{
    *proof = (struct rp_proof){.refused = reason, .best_reads = RP_VERDICT_EVERYTHING,
                               .best_writes = RP_VERDICT_EVERYTHING};
}

static enum rp_status build_proof(struct rp_builder *build, struct rp_proof *proof)
{
    char text[512];
    if (!build_program(build, proof)) {
        if (build->out_of_memory)
            return RP_NO_MEMORY;
        forget_program(proof, build->refused);
        snprintf(text, sizeof(text), "reads and writes everything: %s\n", build->refused);
        proof->text = text;
    }
    void *scaffold = build->arena;
    build->arena = NULL;
    bool kept = keep_program(build, proof);
    rp_arena_release(scaffold);
    proof->arena = build->arena;
    if (!kept)
        return RP_NO_MEMORY;
    proof->scratch_bytes = rp_run_scratch_bytes(proof);
    return RP_OK;
}

enum rp_status rp_proof_build(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry, struct rp_proof **out)
{
    *out = NULL;
    struct rp_proof *proof = calloc(1, sizeof(*proof));
    struct rp_builder *build = calloc(1, sizeof(*build));
    enum rp_status status = RP_NO_MEMORY;
    if (proof && build) {
        build->module = module;
        build->entry = entry;
        build->guard = RP_NONE;
        status = build_proof(build, proof);
        if (status != RP_OK && build->arena != proof->arena)
            rp_arena_release(build->arena);
    }
    free(build);
    if (status == RP_OK)
        proof->varies = rp_varies_find(module, entry);
    if (status == RP_OK)
        *out = proof;
    else
        rp_proof_destroy(proof);
    return status;
}

void rp_proof_destroy(struct rp_proof *proof)
{
    if (!proof)
        return;
    rp_arena_release(proof->arena);
    free(proof);
}

enum rp_verdict rp_proof_reads(const struct rp_proof *proof)
{
    return proof->best_reads;
}

enum rp_verdict rp_proof_writes(const struct rp_proof *proof)
{
    return proof->best_writes;
}

const char *rp_proof_text(const struct rp_proof *proof)
{
    return proof->text;
}
