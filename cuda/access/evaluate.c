/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a proof at a launch: the pieces, and the walk over the blocks of each. */
#include "cuda/access/run.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* That wait to be done at a time, of both kinds of cuts. */
enum { MOST_PIECES = RP_MAX_PIECES + RP_GRAIN_DEPTH };

/* ---- scratch ------------------------------------------------------------------ */

struct layout {
    size_t forms, contexts, boxes, facts, trips, given_up, covers, stretches, numbers, known, used,
        marks, saved_marks, pieces, total;
};

static size_t place(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total = (at + bytes + 15) & ~(size_t)15;
    return at;
}

static struct layout lay_out(const struct rp_proof *proof)
{
    struct layout at = {0};
    at.forms = place(&at.total, (proof->op_count + 1) * sizeof(struct rp_form));
    at.contexts = place(&at.total, (proof->block_count + 1) * sizeof(struct rp_context));
    /* one a block, one a loop header, the piece's own and one for a touch at hand */
    at.boxes = place(&at.total, (2 * proof->block_count + 4) * sizeof(struct rp_box));
    at.facts = place(&at.total, RP_MAX_FACTS * sizeof(struct rp_fact));
    at.trips = place(&at.total, (proof->loop_count + 1) * sizeof(struct rp_trip));
    at.given_up = place(&at.total, (proof->loop_count + 1) * sizeof(bool));
    at.covers = place(&at.total, RP_MAX_SETS * sizeof(struct rp_cover));
    at.stretches = place(&at.total, RP_MAX_STRETCHES * sizeof(struct rp_stretch));
    at.numbers = place(&at.total, (proof->root_count + 1) * sizeof(int64_t));
    at.known = place(&at.total, proof->root_count + 1);
    at.used = place(&at.total, proof->root_count + 1);
    at.marks = place(&at.total, proof->root_count + 1);
    at.saved_marks = place(&at.total, proof->root_count + 1);
    at.pieces = place(&at.total, MOST_PIECES * sizeof(struct rp_piece));
    return at;
}

size_t rp_run_scratch_bytes(const struct rp_proof *proof)
{
    return lay_out(proof).total;
}

/* One for all proofs: what was just used lies in the processor's caches, and a kernel's first
 * launch finds it there. Who finds none, as another thread has it, makes another. */
struct scratch {
    size_t bytes;
    alignas(16) char data[];
};
static _Atomic(struct scratch *) spare;

static struct scratch *take_scratch(size_t bytes)
{
    struct scratch *scratch = atomic_exchange_explicit(&spare, NULL, memory_order_acquire);
    if (scratch && scratch->bytes >= bytes)
        return scratch;
    free(scratch);
    scratch = malloc(sizeof *scratch + bytes);
    if (scratch)
        scratch->bytes = bytes;
    return scratch;
}

static void give_scratch(struct scratch *scratch)
{
    free(atomic_exchange_explicit(&spare, scratch, memory_order_acq_rel));
}

static struct rp_piece *prepare(struct rp_run *run, const struct rp_proof *proof,
                                const struct rp_launch *launch, char *scratch)
{
    struct layout at = lay_out(proof);
    memset(run, 0, sizeof(*run));
    run->proof = proof;
    run->launch = launch;
    run->forms = (struct rp_form *)(scratch + at.forms);
    run->contexts = (struct rp_context *)(scratch + at.contexts);
    run->boxes = (struct rp_box *)(scratch + at.boxes);
    run->facts = (struct rp_fact *)(scratch + at.facts);
    run->trips = (struct rp_trip *)(scratch + at.trips);
    run->given_up = (bool *)(scratch + at.given_up);
    run->covers = (struct rp_cover *)(scratch + at.covers);
    run->stretches = (struct rp_stretch *)(scratch + at.stretches);
    run->root_numbers = (int64_t *)(scratch + at.numbers);
    run->root_known = (bool *)(scratch + at.known);
    run->root_used = (bool *)(scratch + at.used);
    run->root_marks = (uint8_t *)(scratch + at.marks);
    run->saved_marks = (uint8_t *)(scratch + at.saved_marks);
    memset(run->given_up, 0, proof->loop_count + 1);
    memset(scratch + at.known, 0, at.pieces - at.known);
    return (struct rp_piece *)(scratch + at.pieces);
}

/* ---- the blocks of one piece -------------------------------------------------- */

static void forget_ops(struct rp_run *run, const struct rp_block *block)
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
    const struct rp_block *block = &run->proof->blocks[index];
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
    const struct rp_block *block = &run->proof->blocks[index];
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

/* False when the piece has to be divided, or done again. */
static bool run_piece(struct rp_run *run, struct rp_piece *piece)
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

/* ---- pieces ------------------------------------------------------------------- */

static void set_coordinate(struct rp_piece *piece, struct rp_form *form, uint32_t variable,
                           int64_t count)
{
    rp_form_set(form, 0);
    piece->box.lo[variable] = 0;
    piece->box.hi[variable] = count - 1;
    if (count > 1) {
        form->mask = 1u << variable;
        form->k[variable] = 1;
    }
}

/* The factor of a common sum must be the block's extent, which only now is known. */
static bool merges(const struct rp_run *run, int dimension)
{
    if (!run->proof->grid[dimension])
        return false;
    const struct rp_op *factor = &run->proof->ops[run->proof->grid_scale[dimension]];
    uint32_t extent = run->launch->block[dimension];
    return factor->kind == RP_OP_CONST
               ? factor->imm == (int64_t)extent
               : factor->kind == RP_OP_SREG && factor->imm == RP_PTX_NTID_X + dimension;
}

static void first_piece(struct rp_run *run, struct rp_piece *piece)
{
    memset(&piece->box, 0, sizeof(piece->box));
    piece->parts = 0;
    for (int i = 0; i < 3; i++) {
        int64_t threads = run->launch->block[i], blocks = run->launch->grid[i];
        run->merged[i] = merges(run, i);
        if (run->merged[i]) {
            set_coordinate(piece, &piece->tid[i], RP_VAR_TID + (uint32_t)i, threads * blocks);
            rp_form_unknown(&piece->ctaid[i], 32); /* asked for by nobody */
            continue;
        }
        set_coordinate(piece, &piece->tid[i], RP_VAR_TID + (uint32_t)i, threads);
        set_coordinate(piece, &piece->ctaid[i], RP_VAR_CTAID + (uint32_t)i, blocks);
    }
}

/* v = by * q + r - shift in every coordinate; v's place is taken by r. */
static void split_form(struct rp_form *form, uint32_t v, uint32_t q, int64_t by, int64_t shift)
{
    if (!(form->mask >> v & 1))
        return;
    form->mask |= 1u << q;
    form->k[q] = form->k[v] * by;
    form->c -= form->k[v] * shift;
}

static void split(struct rp_piece *piece, const struct rp_request *request)
{
    uint32_t v = request->variable, q = RP_VAR_PART + piece->parts++;
    int64_t lo = piece->box.lo[v] + request->shift, hi = piece->box.hi[v] + request->shift;
    for (int i = 0; i < 3; i++) {
        split_form(&piece->tid[i], v, q, request->at, request->shift);
        split_form(&piece->ctaid[i], v, q, request->at, request->shift);
    }
    /* lo is a multiple of the divisor, perhaps a negative one: so is the floor */
    piece->box.lo[q] = lo / request->at;
    piece->box.hi[q] = (hi + 1) / request->at - 1;
    piece->box.lo[v] = 0;
    piece->box.hi[v] = request->at - 1;
}

/* What is left with one value is a number. */
static void settle(struct rp_piece *piece, uint32_t v)
{
    struct rp_form *const forms[] = {&piece->tid[0], &piece->tid[1], &piece->tid[2],
                                     &piece->ctaid[0], &piece->ctaid[1], &piece->ctaid[2]};
    if (piece->box.lo[v] != piece->box.hi[v])
        return;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i]->mask >> v & 1) {
            forms[i]->c += forms[i]->k[v] * piece->box.lo[v];
            forms[i]->mask &= ~(1u << v);
        }
}

/* The piece in two: the lower one comes first. */
static void cut(struct rp_piece *piece, const struct rp_request *request)
{
    uint32_t v = request->variable;
    piece[1] = *piece;
    piece[1].box.hi[v] = request->at - 1;
    piece[0].box.lo[v] = request->at;
    settle(&piece[0], v);
    settle(&piece[1], v);
}

static void run_pieces(struct rp_run *run, struct rp_piece *pieces)
{
    unsigned count = 1, used = 1, restarts = 0;
    size_t marks = run->proof->root_count + 1;
    first_piece(run, &pieces[0]);
    while (count) {
        struct rp_piece *piece = &pieces[count - 1];
        struct rp_findings before = run->found;
        memcpy(run->saved_marks, run->root_marks, marks);
        bool full = count >= MOST_PIECES;
        run->no_requests = full || restarts >= RP_MAX_RESTARTS || used >= RP_MAX_PIECES;
        run->no_grains |= full;
        if (run_piece(run, piece)) {
            rp_run_join(run, before.cover_count);
            count--;
            continue;
        }
        run->found = before; /* what was found so far will be found again, or better */
        memcpy(run->root_marks, run->saved_marks, marks);
        const struct rp_request request = run->request;
        restarts += request.kind != RP_REQUEST_HALVE;
        if (request.kind == RP_REQUEST_SPLIT) {
            split(piece, &request);
        } else if (request.kind == RP_REQUEST_CUT || request.kind == RP_REQUEST_HALVE) {
            cut(piece, &request);
            count++;
            used += request.kind == RP_REQUEST_CUT;
        }
    }
}

/* ------------------------------------------------------------------------------- */

static enum rp_status give_up(struct rp_access_set *out, const char *reason)
{
    struct rp_access access = {.lo = 0, .hi = UINT64_MAX, .root_param = UINT32_MAX,
                               .effect = RP_READ, .verdict = RP_VERDICT_EVERYTHING};
    enum rp_status status = rp_access_set_add(out, &access);
    access.effect = RP_WRITE;
    if (status == RP_OK)
        status = rp_access_set_add(out, &access);
    out->reason = reason;
    return status;
}

static void find_roots(struct rp_run *run, rp_symbol_fn symbols, void *ctx)
{
    for (size_t i = 0; i < run->proof->root_count; i++) {
        const struct rp_root *root = &run->proof->roots[i];
        uint64_t number = 0, bytes = 0;
        if (root->param != RP_NONE)
            memcpy(&number, run->launch->params + root->param, sizeof(number));
        else if (symbols)
            number = symbols(ctx, root->symbol, &bytes);
        run->root_numbers[i] = (int64_t)number;
        run->root_known[i] = root->param != RP_NONE || number;
    }
}

enum rp_status rp_run_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                               rp_symbol_fn symbols, void *symbols_ctx, bool fine, bool *used,
                               struct rp_access_set *out)
{
    rp_access_set_clear(out);
    if (proof->refused)
        return give_up(out, proof->refused);
    if (launch->param_bytes < proof->param_bytes)
        return give_up(out, "the parameters are shorter than the kernel declares");
    for (int i = 0; i < 3; i++)
        if (!launch->grid[i] || !launch->block[i])
            return RP_OK; /* nobody runs */
    struct scratch *scratch = take_scratch(proof->scratch_bytes);
    if (!scratch)
        return RP_NO_MEMORY;
    struct rp_run run;
    struct rp_piece *pieces = prepare(&run, proof, launch, scratch->data);
    run.no_grains = !fine;
    find_roots(&run, symbols, symbols_ctx);
    run_pieces(&run, pieces);
    enum rp_status status = rp_run_emit(&run, out);
    if (used)
        memcpy(used, run.root_used, proof->root_count);
    give_scratch(scratch);
    return status;
}

enum rp_status rp_proof_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                                 rp_symbol_fn symbols, void *symbols_ctx,
                                 struct rp_access_set *out)
{
    return rp_run_evaluate(proof, launch, symbols, symbols_ctx, true, NULL, out);
}
