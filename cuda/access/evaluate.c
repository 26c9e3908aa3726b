/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a proof at a launch. */
#include "cuda/access/scratch.h"
#include "cuda/access/told.h"
#include "cuda/access/walk.h"

#include <string.h>

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
        bool given = root->param != RP_NONE &&
                     root->param + sizeof number <= run->launch->param_bytes;
        if (given)
            memcpy(&number, run->launch->params + root->param, sizeof(number));
        else if (root->param == RP_NONE && symbols)
            number = symbols(ctx, root->symbol, &bytes);
        run->root_numbers[i] = (int64_t)number;
        run->root_known[i] = given || number;
    }
}

static enum rp_status run_once(struct rp_run *run, bool grains, struct rp_access_set *out)
{
    rp_access_set_clear(out);
    memset(&run->found, 0, sizeof run->found);
    memset(run->root_marks, 0, rp_root_limit(run->proof));
    run->no_grains = !grains;
    rp_run_pieces(run);
    return rp_run_emit(run, out);
}

/* Where all threads together are not seen well enough, each is looked at for itself, or few at a
 * time; and the others together again, without what is known by then. */
static enum rp_status run_all(struct rp_run *run, struct rp_effort *effort,
                              struct rp_access_set *out)
{
    struct rp_walk walk;
    enum rp_status status = run_once(run, false, out);
    if (status != RP_OK)
        return status;
    bool walked = run->lacks_walk && effort->walks &&
                  rp_walk_launch(&walk, run, run->walk_scratch, &effort->walked);
    if (!walked && !(run->lacks_grains && effort->grains))
        return status;
    status = run_once(run, effort->grains, out);
    return status == RP_OK && walked ? rp_walk_emit(&walk, out) : status;
}

static void take_used(const struct rp_run *run, bool *used)
{
    for (size_t i = 0; used && i < run->proof->root_count; i++)
        used[i] |= run->root_used[i];
}

/* Of a launch that may load what it has written: without what was told of memory. */
static enum rp_status run_untold(struct rp_scratch *scratch, struct rp_run *run,
                                 rp_symbol_fn symbols, void *ctx, struct rp_effort *effort,
                                 struct rp_access_set *out)
{
    struct rp_launch untold = *run->launch;
    untold.known = NULL;
    rp_scratch_prepare(scratch, run->proof, &untold, run);
    find_roots(run, symbols, ctx);
    return run_all(run, effort, out);
}

enum rp_status rp_run_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                               rp_symbol_fn symbols, void *symbols_ctx, struct rp_effort *effort,
                               bool *used, struct rp_told *told, struct rp_access_set *out)
{
    rp_access_set_clear(out);
    if (proof->refused)
        return give_up(out, proof->refused);
    if (launch->param_bytes < proof->param_bytes)
        return give_up(out, "the parameters are shorter than the kernel declares");
    for (int i = 0; i < 3; i++)
        if (!launch->grid[i] || !launch->block[i])
            return RP_OK; /* nobody runs */
    struct rp_scratch *scratch = rp_scratch_take(proof->scratch_bytes);
    if (!scratch)
        return RP_NO_MEMORY;
    struct rp_run run;
    rp_scratch_prepare(scratch, proof, launch, &run);
    find_roots(&run, symbols, symbols_ctx);
    enum rp_status status = run_all(&run, effort, out);
    take_used(&run, used);
    if (told)
        rp_told_take(&run, told);
    if (status == RP_OK && rp_run_contradicts(&run, out)) {
        if (used && out->writes < RP_VERDICT_ROOT) /* where all of it lies tells whether it does */
            memset(used, true, proof->root_count);
        status = run_untold(scratch, &run, symbols, symbols_ctx, effort, out);
        take_used(&run, used);
        if (told)
            rp_told_dismiss(&run, told);
    }
    rp_scratch_give(scratch);
    return status;
}

enum rp_status rp_proof_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                                 rp_symbol_fn symbols, void *symbols_ctx,
                                 struct rp_access_set *out)
{
    struct rp_effort all = {.grains = true, .walks = true};
    return rp_run_evaluate(proof, launch, symbols, symbols_ctx, &all, NULL, NULL, out);
}
