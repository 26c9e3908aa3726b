/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/memo_inside.h"

#include <string.h>

#define LINES_EXPECTED 6 /* of an evaluation: its key and half a dozen items */
#define HIGHEST_ADDRESS ((uint64_t)INT64_MAX / 2) /* of a range, as in a proof's evaluation */

/* ---- the key ---------------------------------------------------------------------- */

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

void rp_memo_gather(const struct rp_memo *memo, const struct rp_launch *launch,
                    struct rp_memo_key *key)
{
    unsigned char *to = (unsigned char *)key->words;
    memset(key->words + memo->key_words - 1, 0, 8);
    memcpy(to, launch->grid, sizeof launch->grid);
    memcpy(to + 12, launch->block, sizeof launch->block);
    memcpy(to + 24, &launch->shared_bytes, 4);
    to += RP_MEMO_GEOMETRY;
    for (uint32_t i = 0; i < memo->stretch_count; to += memo->stretches[i++].bytes)
        copy_stretch(to, launch->params + memo->stretches[i].offset, memo->stretches[i].bytes);
}

uint64_t rp_memo_hash(const struct rp_memo *memo, const struct rp_memo_key *key)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < memo->key_words; i++) {
        hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

size_t rp_memo_place(uint64_t hash)
{
    return hash % (RP_MEMO_SLOTS / RP_MEMO_WAYS) * RP_MEMO_WAYS;
}

/* ---- finding ---------------------------------------------------------------------- */

uint64_t rp_memo_pointer(const struct rp_access *access, const struct rp_launch *launch)
{
    uint64_t pointer = 0;
    if (access->root_param != UINT32_MAX)
        memcpy(&pointer, launch->params + access->root_param, sizeof pointer);
    return pointer;
}

/* False where it would reach over the end of the address space, or where all about a pointer is all
 * about a number now. */
static bool fits(const struct rp_access *item, const struct rp_launch *launch)
{
    if (item->root_param == UINT32_MAX)
        return true;
    uint64_t pointer = rp_memo_pointer(item, launch);
    uint64_t lo = item->lo + pointer, hi = item->hi + pointer;
    return lo <= hi && hi <= HIGHEST_ADDRESS &&
           (item->verdict != RP_VERDICT_ROOT || !rp_is_offset(pointer));
}

/* What it was told stands there now, and the launch does not write there itself. */
static bool is_told_the_same(const struct rp_evaluation *made, const struct rp_launch *launch)
{
    for (size_t i = 0; i < made->what.count && !made->told->unheard; i++) {
        const struct rp_access *item = &made->what.items[i];
        uint64_t pointer = rp_memo_pointer(item, launch);
        if (item->effect == RP_WRITE &&
            rp_told_meets(made->told, launch, item->lo + pointer, item->hi + pointer))
            return false;
    }
    return rp_told_holds(made->told, launch);
}

/* False: what the launch means is to be evaluated. */
static bool holds(const struct rp_evaluation *made, const struct rp_launch *launch)
{
    for (size_t i = 0; i < made->what.count; i++)
        if (!fits(&made->what.items[i], launch))
            return false;
    return !made->told || is_told_the_same(made, launch);
}

static bool is_at(const struct rp_memo *memo, size_t slot, const struct rp_launch *launch,
                  const struct rp_memo_key *key)
{
    const struct rp_evaluation *at = memo->slots[slot].is;
    bool same = at != NULL;
    for (uint32_t i = 0; same && i < memo->key_words; i++)
        same = at->key[i] == key->words[i];
    return same && holds(at, launch);
}

/* The slot that has it, or RP_MEMO_SLOTS. */
static size_t find(const struct rp_memo *memo, const struct rp_launch *launch,
                   const struct rp_memo_key *key)
{
    if (is_at(memo, memo->expected, launch, key))
        return memo->expected;
    uint64_t hash = rp_memo_hash(memo, key);
    size_t first = rp_memo_place(hash);
    for (size_t i = first; i < first + RP_MEMO_WAYS; i++)
        if (memo->slots[i].hash == hash && is_at(memo, i, launch, key))
            return i;
    return RP_MEMO_SLOTS;
}

void rp_memo_meet(struct rp_memo *memo, size_t slot)
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
        __builtin_prefetch(expected + i * RP_MEMO_LINE);
    __builtin_prefetch(memo->stretches);
    __builtin_prefetch(memo->after);
}

const struct rp_remembered *rp_memo_find(struct rp_memo *memo, const struct rp_launch *launch)
{
    struct rp_memo_key key;
    memo->asked++;
    if (launch->param_bytes < memo->param_bytes || memo->key_words > RP_MEMO_KEY_WORDS)
        return NULL;
    rp_memo_gather(memo, launch, &key);
    size_t slot = find(memo, launch, &key);
    if (slot == RP_MEMO_SLOTS)
        return NULL;
    rp_memo_meet(memo, slot);
    memo->remembered++;
    return &memo->slots[slot].is->what;
}

struct rp_access rp_remembered_access(const struct rp_access *item,
                                      const struct rp_launch *launch)
{
    struct rp_access access = *item;
    uint64_t pointer = rp_memo_pointer(item, launch);
    if (item->root_param != UINT32_MAX)
        access.root = pointer;
    access.lo += pointer;
    access.hi += pointer;
    return access;
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
