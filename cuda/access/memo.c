/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/memo.h"

#include "cuda/access/told.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS 64
#define WAYS 4            /* slots that a key may lie in; the new take the place of the oldest */
#define MAX_KEY_BYTES 512 /* of longer ones nothing is remembered */
#define MAX_ITEMS 640
#define HIGHEST_ADDRESS ((uint64_t)INT64_MAX / 2) /* of a range, as in a proof's evaluation */

/* Bytes of the parameter block that belong to the key. */
struct stretch {
    uint32_t offset, bytes;
};

/* One piece of memory, and small: between two launches a job's own work has emptied the caches.
 * Behind the items stands the key. */
struct evaluation {
    struct rp_remembered what;
    struct rp_told *told; /* what it rests on besides, or NULL */
    uint64_t used; /* when last, as the memo counts what it is asked */
    struct rp_access items[]; /* lo and hi from the pointer on, where that is a parameter */
};

struct rp_memo {
    const struct rp_proof *proof;
    struct stretch *stretches;
    size_t stretch_count, key_bytes;
    uint64_t param_bytes; /* a launch with less is not remembered */
    uint64_t asked, remembered, walked;
    uint64_t hashes[SLOTS]; /* 0: an empty slot; WAYS beside each other are one line */
    struct evaluation *slots[SLOTS];
    unsigned char key[MAX_KEY_BYTES];
    bool *used;          /* by root: its value counts, not only where it points */
    bool *used_now;      /* by the evaluation at hand */
    struct rp_told *told; /* ... and what else that rests on; NULL: the kernel loads nothing */
    unsigned char *wanted; /* by parameter byte: addresses or guards are made of it */
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
    for (size_t i = 0; i < proof->walk_op_count; i++)
        if (proof->walk_ops[i].kind == RP_OP_PARAM && proof->walk_ops[i].from != 64)
            mark(memo, (uint64_t)proof->walk_ops[i].imm, proof->walk_ops[i].from / 8u);
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

/* Gathers the launch's key, and says where in the memo it may lie: in any of the WAYS slots from
 * *first on. */
static uint64_t hash_of(struct rp_memo *memo, const struct rp_launch *launch, size_t *first)
{
    gather_key(memo, launch);
    uint64_t hash = XXH3_64bits(memo->key, memo->key_bytes);
    *first = hash % (SLOTS / WAYS) * WAYS;
    return hash ? hash : 1;
}

/* ---- finding ---------------------------------------------------------------------- */

static uint64_t pointer_of(const struct rp_access *access, const struct rp_launch *launch)
{
    uint64_t pointer = 0;
    if (access->root_param != UINT32_MAX)
        memcpy(&pointer, launch->params + access->root_param, sizeof pointer);
    return pointer;
}

/* False where the set would reach over the end of the address space, or where it is not what the
 * evaluation was told: then that says what this means. */
static bool holds(const struct evaluation *made, const struct rp_launch *launch)
{
    for (size_t i = 0; i < made->what.count; i++) {
        const struct rp_access *item = &made->what.items[i];
        uint64_t pointer = pointer_of(item, launch);
        bool absolute = item->root_param == UINT32_MAX;
        uint64_t lo = item->lo + pointer, hi = item->hi + pointer;
        if (!absolute && (lo > hi || hi > HIGHEST_ADDRESS))
            return false;
        if (made->told && item->effect == RP_WRITE && rp_told_meets(made->told, launch, lo, hi))
            return false;
    }
    return !made->told || rp_told_holds(made->told, launch);
}

/* The key is the one that was gathered. */
static struct evaluation *find(const struct rp_memo *memo, const struct rp_launch *launch,
                               uint64_t hash, size_t first)
{
    for (size_t i = first; i < first + WAYS; i++) {
        struct evaluation *at = memo->slots[i];
        if (memo->hashes[i] == hash &&
            memcmp(&at->items[at->what.count], memo->key, memo->key_bytes) == 0 &&
            holds(at, launch))
            return at;
    }
    return NULL;
}

const struct rp_remembered *rp_memo_find(struct rp_memo *memo, const struct rp_launch *launch)
{
    size_t first;
    memo->asked++;
    if (launch->param_bytes < memo->param_bytes || memo->key_bytes > MAX_KEY_BYTES)
        return NULL;
    uint64_t hash = hash_of(memo, launch, &first);
    struct evaluation *found = find(memo, launch, hash, first);
    if (!found)
        return NULL;
    found->used = memo->asked;
    memo->remembered++;
    return &found->what;
}

struct rp_access rp_remembered_access(const struct rp_access *item,
                                      const struct rp_launch *launch)
{
    struct rp_access access = *item;
    uint64_t pointer = pointer_of(item, launch);
    if (item->root_param != UINT32_MAX)
        access.root = pointer;
    access.lo += pointer;
    access.hi += pointer;
    return access;
}

/* ---- remembering ------------------------------------------------------------------ */

static void forget(struct rp_memo *memo, size_t slot)
{
    if (memo->slots[slot])
        free(memo->slots[slot]->told);
    free(memo->slots[slot]);
    memo->slots[slot] = NULL;
    memo->hashes[slot] = 0;
}

static size_t oldest(const struct rp_memo *memo, size_t first)
{
    size_t least = first;
    for (size_t i = first; i < first + WAYS && memo->slots[least]; i++)
        if (!memo->slots[i] || memo->slots[i]->used < memo->slots[least]->used)
            least = i;
    return least;
}

static struct evaluation *make_evaluation(const struct rp_memo *memo,
                                          const struct rp_launch *launch,
                                          const struct rp_access_set *set)
{
    struct evaluation *made =
        malloc(sizeof *made + set->count * sizeof *made->items + memo->key_bytes);
    if (!made)
        return NULL;
    *made = (struct evaluation){.what = {made->items, set->count, set->reads, set->writes,
                                         set->reason},
                                .used = memo->asked};
    for (size_t i = 0; i < set->count; i++) {
        uint64_t pointer = pointer_of(&set->items[i], launch);
        made->items[i] = set->items[i];
        made->items[i].lo -= pointer;
        made->items[i].hi -= pointer;
    }
    memcpy(&made->items[set->count], memo->key, memo->key_bytes);
    return made;
}

static void remember(struct rp_memo *memo, const struct rp_launch *launch,
                     const struct rp_access_set *set)
{
    size_t first;
    if (memo->key_bytes > MAX_KEY_BYTES || set->count > MAX_ITEMS ||
        (memo->told && memo->told->overfull))
        return;
    uint64_t hash = hash_of(memo, launch, &first);
    struct evaluation *made = make_evaluation(memo, launch, set);
    if (!made)
        return;
    if (memo->told && memo->told->count && !(made->told = rp_told_keep(memo->told))) {
        free(made);
        return;
    }
    size_t slot = oldest(memo, first);
    forget(memo, slot);
    memo->slots[slot] = made;
    memo->hashes[slot] = hash;
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
        forget(memo, i);
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
    memo->param_bytes = proof->refused ? UINT64_MAX : proof->param_bytes;
    memo->used = calloc(proof->root_count + 1, sizeof *memo->used);
    memo->used_now = calloc(proof->root_count + 1, sizeof *memo->used_now);
    memo->wanted = calloc(proof->param_bytes + 1, 1);
    memo->stretches = calloc(proof->param_bytes / 2 + 1, sizeof *memo->stretches);
    memo->told = proof->loads ? calloc(1, sizeof *memo->told) : NULL;
    bool has_told = memo->told || !proof->loads;
    if (memo->used && memo->used_now && memo->wanted && memo->stretches && has_told) {
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
        forget(memo, i);
    free(memo->used);
    free(memo->used_now);
    free(memo->wanted);
    free(memo->stretches);
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

void rp_memo_counts(const struct rp_memo *memo, uint64_t *asked, uint64_t *remembered)
{
    *asked = memo->asked;
    *remembered = memo->remembered;
}

uint64_t rp_memo_walked(const struct rp_memo *memo)
{
    return memo->walked;
}
