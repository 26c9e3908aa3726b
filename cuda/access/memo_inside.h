/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a memo: memo.c looks up, on the way of every launch, memo_learn.c does all that is
 * rare. */
#ifndef RP_CUDA_ACCESS_MEMO_INSIDE_H
#define RP_CUDA_ACCESS_MEMO_INSIDE_H

#include "cuda/access/memo.h"
#include "cuda/access/told.h"

#include <stdalign.h>

#define RP_MEMO_LINE 64 /* bytes that the processor fetches at once */
#define RP_MEMO_SLOTS 64
#define RP_MEMO_WAYS 4       /* slots that a key may lie in; the new take the oldest's place */
#define RP_MEMO_KEY_WORDS 64 /* of longer ones nothing is remembered */
#define RP_MEMO_STRETCHES 32

/* Bytes of the parameter block that belong to the key. */
struct rp_memo_stretch {
    uint16_t offset, bytes;
};

/* Behind the key stand the items: lo and hi from the pointer on, where that is a parameter. */
struct rp_evaluation {
    struct rp_remembered what;
    struct rp_told *told; /* what it rests on besides, or NULL */
    uint64_t used; /* when last, as the memo counts what it is asked */
    uint64_t key[];
};

struct rp_memo_slot {
    uint64_t hash; /* 0: it is empty */
    struct rp_evaluation *is;
};

/* Between two launches a job's own work has emptied the caches, and to fetch one line after the
 * other takes longer than all the rest. Jobs go round in steps: which evaluation a launch is going
 * to find is guessed by what came after the latest one before, so that it is on its way early. */
struct rp_memo {
    alignas(RP_MEMO_LINE) const struct rp_proof *proof;
    uint32_t stretch_count, key_words;
    uint64_t param_bytes; /* a launch with less is not remembered */
    uint64_t asked, remembered, walked;
    uint8_t latest, expected; /* slots: any, what is there tells */
    alignas(RP_MEMO_LINE) struct rp_memo_stretch stretches[RP_MEMO_STRETCHES];
    alignas(RP_MEMO_LINE) uint8_t after[RP_MEMO_SLOTS]; /* by slot: which was found after it */
    struct rp_memo_slot slots[RP_MEMO_SLOTS];
    bool *used;          /* by root: its value counts, not only where it points */
    bool *used_now;      /* by the evaluation at hand */
    struct rp_told *told; /* ... and what else that rests on; NULL: the kernel loads nothing */
    unsigned char *wanted; /* by parameter byte: addresses or guards are made of it */
};

enum { RP_MEMO_GEOMETRY = 28 }; /* bytes of a key, before the parameters */

/* What a launch is known by. What is left of the last word is 0. */
struct rp_memo_key {
    uint64_t words[RP_MEMO_KEY_WORDS];
};

/* memo.c */
void rp_memo_gather(const struct rp_memo *memo, const struct rp_launch *launch,
                    struct rp_memo_key *key);
uint64_t rp_memo_hash(const struct rp_memo *memo, const struct rp_memo_key *key); /* never 0 */
/* The first of the RP_MEMO_WAYS slots that may hold it. */
size_t rp_memo_place(uint64_t hash);
/* The slot is what the latest launch was found in. */
void rp_memo_meet(struct rp_memo *memo, size_t slot);
/* What the item's lo and hi are counted from. */
uint64_t rp_memo_pointer(const struct rp_access *item, const struct rp_launch *launch);

#endif
