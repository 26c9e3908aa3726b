/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of the slice, in order, for one piece of a launch. */
#include "cuda/access/run.h"

static void forget_ops(struct rp_run *run, const struct rp_basic_block *block)
{
    for (uint32_t i = 0; i < block->op_count; i++) {
        struct rp_form *form = &run->forms[block->first_op + i];
        rp_form_set(form, 2); /* of a predicate: unknown */
        if (run->proof->ops[block->first_op + i].bits > 1)
            form->flags = RP_FORM_TOP | RP_FORM_WILD;
    }
}

static void enter(struct rp_run *run, uint32_t index)
{
    const struct rp_basic_block *block = &run->proof->blocks[index];
    struct rp_context *context = &run->contexts[index];
    if (block->rule == RP_GUARD_ENTRY)
        return; /* made by the piece */
    *context = run->contexts[block->parent];
    context->owns_box = false;
    context->exact &= block->exact;
    run->now = context;
    if (!context->live)
        return;
    if (block->rule == RP_GUARD_EDGE)
        rp_run_assume(run, block->condition, block->sense, 0);
    else if (block->rule == RP_GUARD_HEADER)
        rp_run_header(run, block->loop);
}

static bool visit(struct rp_run *run, uint32_t index)
{
    const struct rp_basic_block *block = &run->proof->blocks[index];
    run->now = &run->contexts[index];
    enter(run, index);
    run->now = &run->contexts[index];
    if (!run->now->live) {
        forget_ops(run, block);
        return true;
    }
    run->work += block->op_count;
    for (uint32_t i = 0; i < block->op_count; i++)
        rp_run_op(run, block->first_op + i);
    if (run->request.kind != RP_REQUEST_NONE)
        return false;
    if (block->tests != RP_NONE && !rp_run_confirm(run, block->tests)) {
        run->given_up[block->tests] = true;
        run->request.kind = RP_REQUEST_AGAIN;
        return false;
    }
    for (uint32_t i = 0; i < block->touch_count; i++)
        rp_run_touch(run, &run->proof->touches[block->first_touch + i]);
    return run->request.kind == RP_REQUEST_NONE;
}

bool rp_run_piece(struct rp_run *run, struct rp_piece *piece)
{
    run->piece = piece;
    run->boxes[0] = piece->box;
    run->box_count = 1;
    run->fact_count = 0;
    run->last_touch = NULL;
    run->request.kind = RP_REQUEST_NONE;
    run->contexts[0] = (struct rp_context){.live = true, .exact = true, .facts = -1};
    for (uint32_t i = 0; i < run->proof->block_count; i++)
        if (!visit(run, i))
            return false;
    return true;
}
