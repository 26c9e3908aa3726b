/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/scratch.h"

#include "cuda/access/walk.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct layout {
    size_t forms, contexts, boxes, facts, trips, given_up, covers, stretches, numbers, known, used,
        marks, saved_marks, walked, told, pieces, walk, total;
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
    at.numbers = place(&at.total, (rp_root_limit(proof) + 1) * sizeof(int64_t));
    at.known = place(&at.total, rp_root_limit(proof) + 1);
    at.used = place(&at.total, rp_root_limit(proof) + 1);
    at.marks = place(&at.total, rp_root_limit(proof) + 1);
    at.saved_marks = place(&at.total, rp_root_limit(proof) + 1);
    at.walked = place(&at.total, proof->touch_count + 1);
    at.told = place(&at.total, proof->loads ? RP_WINDOW_BYTES : 0);
    at.pieces = place(&at.total, RP_MOST_PIECES * sizeof(struct rp_piece));
    at.walk = place(&at.total, rp_walk_bytes(proof));
    return at;
}

size_t rp_run_scratch_bytes(const struct rp_proof *proof)
{
    return lay_out(proof).total;
}

/* One for all proofs: what was just used lies in the processor's caches, and a kernel's first
 * launch finds it there. Who finds none, as another thread has it, makes another. */
struct rp_scratch {
    size_t bytes;
    alignas(16) char data[];
};
static _Atomic(struct rp_scratch *) spare;

struct rp_scratch *rp_scratch_take(size_t bytes)
{
    struct rp_scratch *scratch = atomic_exchange_explicit(&spare, NULL, memory_order_acquire);
    if (scratch && scratch->bytes >= bytes)
        return scratch;
    free(scratch);
    scratch = malloc(sizeof *scratch + bytes);
    if (scratch)
        scratch->bytes = bytes;
    return scratch;
}

void rp_scratch_give(struct rp_scratch *scratch)
{
    free(atomic_exchange_explicit(&spare, scratch, memory_order_acq_rel));
}

void rp_scratch_prepare(struct rp_scratch *own, const struct rp_proof *proof,
                        const struct rp_launch *launch, struct rp_run *run)
{
    struct layout at = lay_out(proof);
    char *scratch = own->data;
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
    memset(scratch + at.known, 0, at.told - at.known);
    run->told = (unsigned char *)scratch + at.told;
    run->walked = (bool *)(scratch + at.walked);
    run->pieces = (struct rp_piece *)(scratch + at.pieces);
    run->walk_scratch = scratch + at.walk;
}
