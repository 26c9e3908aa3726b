/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/memo.h"

#include "cuda/access/told.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64 /* bytes that the processor fetches at once */
#define SLOTS 64
#define WAYS 4            /* slots that a key may lie in; the new take the place of the oldest */
#define MAX_KEY_WORDS 64  /* of longer ones nothing is remembered */
#define MAX_ITEMS 640
#define MOST_STRETCHES 32
#define LINES_EXPECTED 6 /* of an evaluation: its key and half a dozen items */
#define HIGHEST_ADDRESS ((uint64_t)INT64_MAX / 2) /* of a range, as in a proof's evaluation */

/* Bytes of the parameter block that belong to the key. */
struct stretch {
    uint16_t offset, bytes;
};

/* Behind the key stand the items: lo and hi from the pointer on, where that is a parameter. */
struct evaluation {
    struct rp_remembered what;
    struct rp_told *told; /* what it rests on besides, or NULL */
    uint64_t used; /* when last, as the memo counts what it is asked */
    uint64_t key[];
};

struct slot {
    uint64_t hash; /* 0: it is empty */
    struct evaluation *is;
};

/* Between two launches a job's own work has emptied the caches, and to fetch one line after the
 * other takes longer than all the rest. Jobs go round in steps: which evaluation a launch is going
 * to find is guessed by what came after the latest one before, so that it is on its way early. */
struct rp_memo {
    alignas(LINE) const struct rp_proof *proof;
    uint32_t stretch_count, key_words;
    uint64_t param_bytes; /* a launch with less is not remembered */
    uint64_t asked, remembered, walked;
    uint8_t latest, expected; /* slots: any, what is there tells */
    alignas(LINE) struct stretch stretches[MOST_STRETCHES];
    alignas(LINE) uint8_t after[SLOTS]; /* by slot: which was found after it */
    struct slot slots[SLOTS];
    bool *used;          /* by root: its value counts, not only where it points */
    bool *used_now;      /* by the evaluation at hand */
    struct rp_told *told; /* ... and what else that rests on; NULL: the kernel loads nothing */
    unsigned char *wanted; /* by parameter byte: addresses or guards are made of it */
};

/* ---- the key ---------------------------------------------------------------------- */

enum { GEOMETRY_BYTES = 28 };

static void mark(struct rp_memo *memo, uint64_t offset, uint64_t bytes)
{
    for (uint64_t i = offset; i < offset + bytes && i < memo->proof->param_bytes; i++)
        memo->wanted[i] = 1;
}

/* Where there are too many stretches the last one has what lies in between, too. */
static void add_to_key(struct rp_memo *memo, uint32_t offset)
{
    struct stretch *last = &memo->stretches[memo->stretch_count - (memo->stretch_count > 0)];
    bool goes_on = memo->stretch_count && last->offset + last->bytes == offset;
    if (goes_on || memo->stretch_count == MOST_STRETCHES)
        last->bytes = (uint16_t)(offset + 1 - last->offset);
    else
        memo->stretches[memo->stretch_count++] = (struct stretch){(uint16_t)offset, 1};
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
    uint32_t bytes = GEOMETRY_BYTES;
    for (uint32_t i = 0; i < proof->param_bytes; i++)
        if (memo->wanted[i])
            add_to_key(memo, i);
    for (uint32_t i = 0; i < memo->stretch_count; i++)
        bytes += memo->stretches[i].bytes;
    memo->key_words = (bytes + 7) / 8;
}

/* What a launch is known by. What is left of the last word is 0. */
struct key {
    uint64_t words[MAX_KEY_WORDS];
};

/* Most are numbers: for these a copy is no call. */
static void copy_stretch(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, bytes);
}

static void gather(const struct rp_memo *memo, const struct rp_launch *launch, struct key *key)
{
    unsigned char *to = (unsigned char *)key->words;
    memset(key->words + memo->key_words - 1, 0, 8);
    memcpy(to, launch->grid, sizeof launch->grid);
    memcpy(to + 12, launch->block, sizeof launch->block);
    memcpy(to + 24, &launch->shared_bytes, 4);
    to += GEOMETRY_BYTES;
    for (uint32_t i = 0; i < memo->stretch_count; to += memo->stretches[i++].bytes)
        copy_stretch(to, launch->params + memo->stretches[i].offset, memo->stretches[i].bytes);
}

static uint64_t hash_of(const struct rp_memo *memo, const struct key *key)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < memo->key_words; i++) {
        hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

/* The first of the WAYS slots that may hold it. */
static size_t place_of(uint64_t hash)
{
    return hash % (SLOTS / WAYS) * WAYS;
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

static bool is_at(const struct rp_memo *memo, size_t slot, const struct rp_launch *launch,
                  const struct key *key)
{
    const struct evaluation *at = memo->slots[slot].is;
    bool same = at != NULL;
    for (uint32_t i = 0; same && i < memo->key_words; i++)
        same = at->key[i] == key->words[i];
    return same && holds(at, launch);
}

/* The slot that has it, or SLOTS. */
static size_t find(const struct rp_memo *memo, const struct rp_launch *launch,
                   const struct key *key)
{
    if (is_at(memo, memo->expected, launch, key))
        return memo->expected;
    uint64_t hash = hash_of(memo, key);
    size_t first = place_of(hash);
    for (size_t i = first; i < first + WAYS; i++)
        if (memo->slots[i].hash == hash && is_at(memo, i, launch, key))
            return i;
    return SLOTS;
}

static void meet(struct rp_memo *memo, size_t slot)
{
    memo->after[memo->latest] = (uint8_t)slot;
    memo->latest = (uint8_t)slot;
    memo->expected = memo->after[slot];
    memo->slots[slot].is->used = memo->asked;
}

void rp_memo_expect(const struct rp_memo *memo)
{
    const char *expected = (const char *)memo->slots[memo->expected].is;
    for (int i = 0; i < LINES_EXPECTED; i++)
        __builtin_prefetch(expected + i * LINE);
    __builtin_prefetch(memo->stretches);
    __builtin_prefetch(memo->after);
}

const struct rp_remembered *rp_memo_find(struct rp_memo *memo, const struct rp_launch *launch)
{
    struct key key;
    memo->asked++;
    if (launch->param_bytes < memo->param_bytes || memo->key_words > MAX_KEY_WORDS)
        return NULL;
    gather(memo, launch, &key);
    size_t slot = find(memo, launch, &key);
    if (slot == SLOTS)
        return NULL;
    meet(memo, slot);
    memo->remembered++;
    return &memo->slots[slot].is->what;
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

static void forget(struct slot *slot)
{
    if (slot->is)
        free(slot->is->told);
    free(slot->is);
    *slot = (struct slot){0};
}

static struct slot *oldest(struct rp_memo *memo, size_t first)
{
    struct slot *least = &memo->slots[first];
    for (struct slot *at = least; at < &memo->slots[first + WAYS] && least->is; at++)
        if (!at->is || at->is->used < least->is->used)
            least = at;
    return least;
}

static struct evaluation *make_evaluation(const struct rp_memo *memo, const struct key *key,
                                          const struct rp_launch *launch,
                                          const struct rp_access_set *set)
{
    size_t key_bytes = memo->key_words * sizeof *key->words;
    struct evaluation *made =
        malloc(sizeof *made + key_bytes + set->count * sizeof(struct rp_access));
    if (!made)
        return NULL;
    struct rp_access *items = (void *)&made->key[memo->key_words];
    *made = (struct evaluation){.what = {items, set->count, set->reads, set->writes, set->reason},
                                .used = memo->asked};
    memcpy(made->key, key->words, key_bytes);
    for (size_t i = 0; i < set->count; i++) {
        uint64_t pointer = pointer_of(&set->items[i], launch);
        items[i] = set->items[i];
        items[i].lo -= pointer;
        items[i].hi -= pointer;
    }
    return made;
}

static void remember(struct rp_memo *memo, const struct rp_launch *launch,
                     const struct rp_access_set *set)
{
    struct key key;
    if (memo->key_words > MAX_KEY_WORDS || set->count > MAX_ITEMS ||
        (memo->told && memo->told->overfull))
        return;
    gather(memo, launch, &key);
    struct evaluation *made = make_evaluation(memo, &key, launch, set);
    if (!made)
        return;
    if (memo->told && memo->told->count && !(made->told = rp_told_keep(memo->told))) {
        free(made);
        return;
    }
    uint64_t hash = hash_of(memo, &key);
    struct slot *slot = oldest(memo, place_of(hash));
    forget(slot);
    *slot = (struct slot){hash, made};
    meet(memo, (size_t)(slot - memo->slots));
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
    struct rp_memo *memo = aligned_alloc(LINE, sizeof *memo);
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
    for (size_t i = 0; i < SLOTS; i++)
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

void rp_memo_counts(const struct rp_memo *memo, uint64_t *asked, uint64_t *remembered)
{
    *asked = memo->asked;
    *remembered = memo->remembered;
}

uint64_t rp_memo_walked(const struct rp_memo *memo)
{
    return memo->walked;
}
