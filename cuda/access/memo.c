/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/memo.h"

#include "cuda/access/run.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS 64
#define WAYS 4            /* slots that a key may lie in; the new take the place of the oldest */
#define MAX_KEY_BYTES 512 /* of longer ones nothing is remembered */
#define MAX_ITEMS 96
#define HIGHEST_ADDRESS ((uint64_t)INT64_MAX / 2) /* of a range, as in a proof's evaluation */

/* Bytes of the parameter block that belong to the key. */
struct stretch {
    uint32_t offset, bytes;
};

struct evaluation {
    uint64_t hash;
    unsigned char *key;
    struct rp_access *items; /* lo and hi from the pointer on, where that is a parameter */
    size_t item_count;
    enum rp_verdict reads, writes;
    const char *reason;
    uint64_t used; /* when last, as the memo counts what it is asked */
};

struct rp_memo {
    const struct rp_proof *proof;
    bool *used;          /* by root: its value counts, not only where it points */
    bool *used_now;      /* by the evaluation at hand */
    unsigned char *wanted; /* by parameter byte: addresses or guards are made of it */
    struct stretch *stretches;
    size_t stretch_count, key_bytes;
    unsigned char key[MAX_KEY_BYTES];
    uint64_t asked, remembered;
    struct evaluation slots[SLOTS];
};

/* ---- the key ---------------------------------------------------------------------- */

static size_t geometry_key(const struct rp_launch *launch, unsigned char *key)
{
    memcpy(key, launch->grid, sizeof launch->grid);
    memcpy(key + 12, launch->block, sizeof launch->block);
    memcpy(key + 24, &launch->shared_bytes, 4);
    return 28;
}

static void mark(struct rp_memo *memo, uint64_t offset, uint64_t bytes)
{
    for (uint64_t i = offset; i < offset + bytes && i < memo->proof->param_bytes; i++)
        memo->wanted[i] = 1;
}

/* From marks to stretches, so that a key is gathered in a few copies. */
static void plan_key(struct rp_memo *memo)
{
    const struct rp_proof *proof = memo->proof;
    memset(memo->wanted, 0, proof->param_bytes + 1);
    for (size_t i = 0; i < proof->op_count; i++)
        if (proof->ops[i].kind == RP_OP_PARAM && proof->ops[i].from != 64)
            mark(memo, (uint64_t)proof->ops[i].imm, proof->ops[i].from / 8u);
    for (size_t i = 0; i < proof->root_count; i++)
        if (memo->used[i] && proof->roots[i].param != RP_NONE)
            mark(memo, proof->roots[i].param, 8);
    memo->stretch_count = 0;
    memo->key_bytes = 28;
    for (uint32_t i = 0; i < proof->param_bytes; i++) {
        memo->key_bytes += memo->wanted[i];
        if (memo->wanted[i] && i && memo->wanted[i - 1])
            memo->stretches[memo->stretch_count - 1].bytes++;
        else if (memo->wanted[i])
            memo->stretches[memo->stretch_count++] = (struct stretch){i, 1};
    }
}

static void gather_key(struct rp_memo *memo, const struct rp_launch *launch)
{
    size_t at = geometry_key(launch, memo->key);
    for (size_t i = 0; i < memo->stretch_count; i++) {
        const struct stretch *stretch = &memo->stretches[i];
        memcpy(memo->key + at, launch->params + stretch->offset, stretch->bytes);
        at += stretch->bytes;
    }
}

/* ---- remembering ------------------------------------------------------------------ */

static void forget(struct evaluation *slot)
{
    free(slot->key);
    free(slot->items);
    *slot = (struct evaluation){0};
}

static uint64_t pointer_of(const struct rp_access *access, const struct rp_launch *launch)
{
    uint64_t pointer = 0;
    if (access->root_param != UINT32_MAX)
        memcpy(&pointer, launch->params + access->root_param, sizeof pointer);
    return pointer;
}

/* Where an evaluation with this hash may lie: in any of the WAYS slots from here on. */
static struct evaluation *set_of(struct rp_memo *memo, uint64_t hash)
{
    return &memo->slots[hash % (SLOTS / WAYS) * WAYS];
}

/* The key is the one that was gathered. */
static struct evaluation *find(struct rp_memo *memo, uint64_t hash)
{
    struct evaluation *set = set_of(memo, hash);
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].key && set[i].hash == hash &&
            memcmp(set[i].key, memo->key, memo->key_bytes) == 0)
            return &set[i];
    return NULL;
}

static struct evaluation *oldest(struct rp_memo *memo, uint64_t hash)
{
    struct evaluation *set = set_of(memo, hash), *least = set;
    for (unsigned i = 1; i < WAYS; i++)
        if (set[i].used < least->used)
            least = &set[i];
    return least;
}

static void remember(struct rp_memo *memo, uint64_t hash, const struct rp_launch *launch,
                     const struct rp_access_set *set)
{
    struct evaluation *slot = oldest(memo, hash);
    forget(slot);
    if (set->count > MAX_ITEMS)
        return;
    struct evaluation made = {.hash = hash, .key = malloc(memo->key_bytes),
                              .items = malloc((set->count + 1) * sizeof *made.items),
                              .item_count = set->count, .reads = set->reads,
                              .writes = set->writes, .reason = set->reason};
    if (!made.key || !made.items) {
        forget(&made);
        return;
    }
    memcpy(made.key, memo->key, memo->key_bytes);
    for (size_t i = 0; i < set->count; i++) {
        uint64_t pointer = pointer_of(&set->items[i], launch);
        made.items[i] = set->items[i];
        made.items[i].lo -= pointer;
        made.items[i].hi -= pointer;
    }
    made.used = memo->asked;
    *slot = made;
}

/* False where the set would reach over the end of the address space: then the evaluation
 * says what that means. */
static bool place(const struct rp_access *relative, const struct rp_launch *launch,
                  struct rp_access *out)
{
    uint64_t pointer = pointer_of(relative, launch);
    *out = *relative;
    if (relative->root_param == UINT32_MAX)
        return true;
    out->root = pointer;
    out->lo += pointer;
    out->hi += pointer;
    return out->lo <= out->hi && out->hi <= HIGHEST_ADDRESS;
}

static enum rp_status recall(const struct evaluation *slot, const struct rp_launch *launch,
                             struct rp_access_set *out)
{
    rp_access_set_clear(out);
    for (size_t i = 0; i < slot->item_count; i++) {
        struct rp_access access;
        if (!place(&slot->items[i], launch, &access))
            return RP_NOT_FOUND;
        enum rp_status status = rp_access_set_add(out, &access);
        if (status != RP_OK)
            return status;
    }
    out->reads = slot->reads;
    out->writes = slot->writes;
    out->reason = slot->reason;
    return RP_OK;
}

/* A pointer that came to count as a number makes older keys too short. */
static void learn_use(struct rp_memo *memo)
{
    bool more = false;
    for (size_t i = 0; i < memo->proof->root_count; i++) {
        more |= memo->used_now[i] && !memo->used[i];
        memo->used[i] |= memo->used_now[i];
    }
    for (size_t i = 0; more && i < SLOTS; i++)
        forget(&memo->slots[i]);
    if (more)
        plan_key(memo);
}

/* ----------------------------------------------------------------------------------- */

enum rp_status rp_memo_create(const struct rp_proof *proof, struct rp_memo **out)
{
    struct rp_memo *memo = calloc(1, sizeof *memo);
    *out = memo;
    if (!memo)
        return RP_NO_MEMORY;
    memo->proof = proof;
    memo->used = calloc(proof->root_count + 1, sizeof *memo->used);
    memo->used_now = calloc(proof->root_count + 1, sizeof *memo->used_now);
    memo->wanted = calloc(proof->param_bytes + 1, 1);
    memo->stretches = calloc(proof->param_bytes / 2 + 1, sizeof *memo->stretches);
    if (memo->used && memo->used_now && memo->wanted && memo->stretches) {
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
    for (size_t i = 0; i < SLOTS; i++)
        forget(&memo->slots[i]);
    free(memo->used);
    free(memo->used_now);
    free(memo->wanted);
    free(memo->stretches);
    free(memo);
}

static enum rp_status evaluate_anew(struct rp_memo *memo, const struct rp_launch *launch,
                                    rp_symbol_fn symbols, void *ctx, struct rp_access_set *out)
{
    memset(memo->used_now, 0, memo->proof->root_count + 1);
    enum rp_status status =
        rp_run_evaluate(memo->proof, launch, symbols, ctx, memo->used_now, out);
    if (status != RP_OK)
        return status;
    learn_use(memo);
    if (memo->key_bytes <= MAX_KEY_BYTES) {
        gather_key(memo, launch);
        remember(memo, XXH3_64bits(memo->key, memo->key_bytes), launch, out);
    }
    return RP_OK;
}

enum rp_status rp_memo_evaluate(struct rp_memo *memo, const struct rp_launch *launch,
                                rp_symbol_fn symbols, void *symbols_ctx,
                                struct rp_access_set *out)
{
    const struct rp_proof *proof = memo->proof;
    memo->asked++;
    if (proof->refused || launch->param_bytes < proof->param_bytes ||
        memo->key_bytes > MAX_KEY_BYTES)
        return rp_proof_evaluate(proof, launch, symbols, symbols_ctx, out);
    gather_key(memo, launch);
    uint64_t hash = XXH3_64bits(memo->key, memo->key_bytes);
    struct evaluation *slot = find(memo, hash);
    if (slot) {
        slot->used = memo->asked;
        enum rp_status status = recall(slot, launch, out);
        memo->remembered += status == RP_OK;
        if (status != RP_NOT_FOUND)
            return status;
    }
    return evaluate_anew(memo, launch, symbols, symbols_ctx, out);
}

void rp_memo_counts(const struct rp_memo *memo, uint64_t *asked, uint64_t *remembered)
{
    *asked = memo->asked;
    *remembered = memo->remembered;
}
