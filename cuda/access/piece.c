/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a launch: the first is all of it, others come of requests. */
#include "cuda/access/run.h"

#include <string.h>

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

void rp_run_pieces(struct rp_run *run)
{
    struct rp_piece *pieces = run->pieces;
    unsigned count = 1, used = 1, restarts = 0;
    size_t marks = rp_root_limit(run->proof) + 1;
    first_piece(run, &pieces[0]);
    while (count) {
        struct rp_piece *piece = &pieces[count - 1];
        struct rp_findings before = run->found;
        memcpy(run->saved_marks, run->root_marks, marks);
        bool full = count >= RP_MOST_PIECES;
        run->no_requests = full || restarts >= RP_MAX_RESTARTS || used >= RP_MAX_PIECES;
        run->no_grains |= full;
        if (rp_run_piece(run, piece)) {
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
