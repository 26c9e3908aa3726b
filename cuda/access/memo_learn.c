/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/memo_inside.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 640

/* ---- the key ---------------------------------------------------------------------- */

static void mark(struct rp_memo *memo, uint64_t offset, uint64_t bytes)
{
    for (uint64_t i = offset; i < offset + bytes && i < memo->proof->param_bytes; i++)
        memo->wanted[i] = 1;
}

/* Where there are too many stretches the last one has what lies in between, too. */
static void add_to_key(struct rp_memo *memo, uint32_t offset)
{
    uint32_t count = memo->stretch_count;
    struct rp_memo_stretch *last = &memo->stretches[count - (count > 0)];
    bool goes_on = count && last->offset + last->bytes == offset;
    if (goes_on || count == RP_MEMO_STRETCHES)
        last->bytes = (uint16_t)(offset + 1 - last->offset);
    else
        memo->stretches[memo->stretch_count++] = (struct rp_memo_stretch){(uint16_t)offset, 1};
}

/* From marks to stretches, so that a key is gathered in a few copies. */
static void plan_key(struct rp_memo *memo)
{
    const struct rp_proof *proof = memo->proof;
    memset(memo->wanted, 0, proof->param_bytes + 1);
    for (size_t i = 0; i < proof->op_count; i++)
        if (proof->ops[i].kind == RP_OP_PARAM && proof->ops[i].from != 64)
            mark(memo, (uint64_t)proof->ops[i].imm, proof->ops[i].from / 8u);
    for (size_t i = 0; i < proof->walk_op_count; i++)
        if (proof->walk_ops[i].kind == RP_OP_PARAM && proof->walk_ops[i].from != 64)
            mark(memo, (uint64_t)proof->walk_ops[i].imm, proof->walk_ops[i].from / 8u);
    for (size_t i = 0; i < proof->root_count; i++)
        if (memo->used[i] && proof->roots[i].param != RP_NONE)
            mark(memo, proof->roots[i].param, 8);
    memo->stretch_count = 0;
    uint32_t bytes = RP_MEMO_GEOMETRY;
    for (uint32_t i = 0; i < proof->param_bytes; i++)
        if (memo->wanted[i])
            add_to_key(memo, i);
    for (uint32_t i = 0; i < memo->stretch_count; i++)
        bytes += memo->stretches[i].bytes;
    memo->key_words = (bytes + 7) / 8;
}

/* ---- remembering ------------------------------------------------------------------ */

static void forget(struct rp_memo_slot *slot)
{
    if (slot->is)
        free(slot->is->told);
    free(slot->is);
    *slot = (struct rp_memo_slot){0};
}

static struct rp_memo_slot *oldest(struct rp_memo *memo, size_t first)
{
    struct rp_memo_slot *least = &memo->slots[first], *end = least + RP_MEMO_WAYS;
    for (struct rp_memo_slot *at = least; at < end && least->is; at++)
        if (!at->is || at->is->used < least->is->used)
            least = at;
    return least;
}

static struct rp_evaluation *make_evaluation(const struct rp_memo *memo,
                                             const struct rp_memo_key *key,
                                             const struct rp_launch *launch,
                                             const struct rp_access_set *set)
{
    size_t key_bytes = memo->key_words * sizeof *key->words;
    struct rp_evaluation *made =
        malloc(sizeof *made + key_bytes + set->count * sizeof(struct rp_access));
    if (!made)
        return NULL;
    struct rp_access *items = (void *)&made->key[memo->key_words];
    *made = (struct rp_evaluation){
        .what = {items, set->count, set->reads, set->writes, set->reason}, .used = memo->asked};
    memcpy(made->key, key->words, key_bytes);
    for (size_t i = 0; i < set->count; i++) {
        uint64_t pointer = rp_memo_pointer(&set->items[i], launch);
        items[i] = set->items[i];
        items[i].lo -= pointer;
        items[i].hi -= pointer;
    }
    return made;
}

static void remember(struct rp_memo *memo, const struct rp_launch *launch,
                     const struct rp_access_set *set)
{
    struct rp_memo_key key;
    if (memo->key_words > RP_MEMO_KEY_WORDS || set->count > MAX_ITEMS ||
        (memo->told && memo->told->overfull))
        return;
    rp_memo_gather(memo, launch, &key);
    struct rp_evaluation *made = make_evaluation(memo, &key, launch, set);
    if (!made)
        return;
    if (memo->told && memo->told->count && !(made->told = rp_told_keep(memo->told))) {
        free(made);
        return;
    }
    uint64_t hash = rp_memo_hash(memo, &key);
    struct rp_memo_slot *slot = oldest(memo, rp_memo_place(hash));
    forget(slot);
    *slot = (struct rp_memo_slot){hash, made};
    rp_memo_meet(memo, (size_t)(slot - memo->slots));
}

/* A pointer that came to count as a number makes older keys too short. */
static void learn_use(struct rp_memo *memo)
{
    bool more = false;
    for (size_t i = 0; i < memo->proof->root_count; i++) {
        more |= memo->used_now[i] && !memo->used[i];
        memo->used[i] |= memo->used_now[i];
    }
    for (size_t i = 0; more && i < RP_MEMO_SLOTS; i++)
        forget(&memo->slots[i]);
    if (more)
        plan_key(memo);
}

/* ----------------------------------------------------------------------------------- */

enum rp_status rp_memo_create(const struct rp_proof *proof, struct rp_memo **out)
{
    struct rp_memo *memo = aligned_alloc(RP_MEMO_LINE, sizeof *memo);
    *out = memo;
    if (!memo)
        return RP_NO_MEMORY;
    *memo = (struct rp_memo){.proof = proof};
    memo->param_bytes =
        proof->refused || proof->param_bytes > UINT16_MAX ? UINT64_MAX : proof->param_bytes;
    memo->used = calloc(proof->root_count + 1, sizeof *memo->used);
    memo->used_now = calloc(proof->root_count + 1, sizeof *memo->used_now);
    memo->wanted = calloc(proof->param_bytes + 1, 1);
    memo->told = proof->loads ? calloc(1, sizeof *memo->told) : NULL;
    bool has_told = memo->told || !proof->loads;
    if (memo->used && memo->used_now && memo->wanted && has_told) {
        plan_key(memo);
        return RP_OK;
    }
    rp_memo_destroy(memo);
    *out = NULL;
    return RP_NO_MEMORY;
}

void rp_memo_destroy(struct rp_memo *memo)
{
    if (!memo)
        return;
    for (size_t i = 0; i < RP_MEMO_SLOTS; i++)
        forget(&memo->slots[i]);
    free(memo->used);
    free(memo->used_now);
    free(memo->wanted);
    free(memo->told);
    free(memo);
}

/* Cutting a launch up fine takes as long as many launches do: that is worth it for what comes
 * again, and not for a kernel that is always given other numbers. */
static bool is_patient(const struct rp_memo *memo)
{
    return memo->asked - memo->remembered <= RP_MEMO_PATIENCE + memo->remembered / 16;
}

static struct rp_effort effort_for(const struct rp_memo *memo)
{
    uint64_t allowed = RP_MEMO_WALKS + memo->asked * RP_MEMO_WALKS_EACH;
    bool is_worth_it = is_patient(memo);
    return (struct rp_effort){.grains = is_worth_it,
                              .walks = is_worth_it && memo->walked < allowed};
}

static enum rp_status evaluate_anew(struct rp_memo *memo, const struct rp_launch *launch,
                                    rp_symbol_fn symbols, void *ctx, struct rp_access_set *out)
{
    if (launch->param_bytes < memo->param_bytes)
        return rp_proof_evaluate(memo->proof, launch, symbols, ctx, out);
    memset(memo->used_now, 0, memo->proof->root_count + 1);
    struct rp_effort effort = effort_for(memo);
    enum rp_status status = rp_run_evaluate(memo->proof, launch, symbols, ctx, &effort,
                                            memo->used_now, memo->told, out);
    memo->walked += effort.walked;
    if (status != RP_OK)
        return status;
    learn_use(memo);
    remember(memo, launch, out);
    return RP_OK;
}

/* To where the launch's pointers point. */
static enum rp_status place(const struct rp_remembered *what, const struct rp_launch *launch,
                            struct rp_access_set *out)
{
    enum rp_status status = RP_OK;
    rp_access_set_clear(out);
    for (size_t i = 0; status == RP_OK && i < what->count; i++) {
        struct rp_access access = rp_remembered_access(&what->items[i], launch);
        status = rp_access_set_add(out, &access);
    }
    out->reads = what->reads;
    out->writes = what->writes;
    out->reason = what->reason;
    return status;
}

enum rp_status rp_memo_evaluate(struct rp_memo *memo, const struct rp_launch *launch,
                                rp_symbol_fn symbols, void *symbols_ctx,
                                struct rp_access_set *out)
{
    const struct rp_remembered *known = rp_memo_find(memo, launch);
    return known ? place(known, launch, out)
                 : evaluate_anew(memo, launch, symbols, symbols_ctx, out);
}
