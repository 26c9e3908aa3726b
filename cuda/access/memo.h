/* SPDX-License-Identifier: Apache-2.0 */
/* The latest evaluations of one proof, remembered.
 *
 * What a launch touches follows from its geometry, from the parameters that addresses and
 * guards are made of, and from where its pointers point. Of most pointers nothing but the
 * last is true: the set then lies in the same way around each of them, wherever that is. So
 * launches that differ in such pointers only, as those of the next step do, have been
 * evaluated before.
 *
 * A memo belongs to one kernel of one loaded module: the symbols that its proof asks for must
 * stand where they stood. Not for several threads at a time. */
#ifndef RP_CUDA_ACCESS_MEMO_H
#define RP_CUDA_ACCESS_MEMO_H

#include "cuda/access/access.h"

struct rp_memo;

enum rp_status rp_memo_create(const struct rp_proof *proof, struct rp_memo **out);
void rp_memo_destroy(struct rp_memo *memo);

/* What is remembered of a launch. The lo and hi of an item with a root_param are counted from that
 * parameter's value on, modulo 2^64; its `root` says nothing. Reads come before writes. */
struct rp_remembered {
    const struct rp_access *items;
    size_t count;
    enum rp_verdict reads, writes;
    const char *reason;
};

/* The memo is going to be asked: what it will probably look at is fetched meanwhile. */
void rp_memo_expect(const struct rp_memo *memo);

/* What rp_proof_evaluate would find, or NULL where that is not known. It stands until the memo is
 * asked for anything else. Nothing is allocated. */
const struct rp_remembered *rp_memo_find(struct rp_memo *memo, const struct rp_launch *launch);

/* One of its items, in addresses. */
struct rp_access rp_remembered_access(const struct rp_access *item,
                                      const struct rp_launch *launch);

/* As rp_proof_evaluate, and with the same result; or with one that claims more:
 *  - after RP_MEMO_PATIENCE launches that were none of those remembered, where few are;
 *  - when walks (walk.h) have taken more than RP_MEMO_WALKS operations, and RP_MEMO_WALKS_EACH for
 *    every launch that was asked for: the longest take milliseconds;
 *  - when nobody knew what stood in more than RP_TOLD_REFUSED stretches of memory that the kernel
 *    loads from, and one that is not among the first of them has come to be known (told.h). */
enum { RP_MEMO_PATIENCE = 32, RP_MEMO_WALKS = 8000000, RP_MEMO_WALKS_EACH = 500 };
enum rp_status rp_memo_evaluate(struct rp_memo *memo, const struct rp_launch *launch,
                                rp_symbol_fn symbols, void *symbols_ctx,
                                struct rp_access_set *out);

/* How many launches were asked for, and how many of them were remembered. */
void rp_memo_counts(const struct rp_memo *memo, uint64_t *asked, uint64_t *remembered);
/* The operations of all walks. */
uint64_t rp_memo_walked(const struct rp_memo *memo);

#endif
