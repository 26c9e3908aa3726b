/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: stash the live bytes, restore the historical ones, let the replay run,
 * reinstate.
 *
 *     begin      stash what the kept copies cover, then restore the copies over it
 *     stash      before a replayed call writes state: stash that too
 *     live_write a call outside the replay writes: its bytes are the live ones now
 *     end        reinstate every stashed byte that no live write has replaced
 *
 * Everything is ordered in the job's own streams. From the moment when the first bytes are
 * rewound, nobody looks at bytes that are not live but the replay: the rewinding waits for what
 * every stream holds, and every stream waits for the reinstatement. (To let streams go that
 * touch none of the bytes, one would have to know all that they will be given until the end.) What
 * is stashed later waits for them once more: until then they could look at it. A
 * replay that needs nothing rewound, and writes no state, makes nobody wait. A replay that uses
 * several streams joins each of them with `join` before its first call there. Versions follow
 * the bytes: restored ranges carry their historical versions, reinstated ones their live
 * versions.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_TRANSACTION_H
#define RP_CUDA_TRANSACTION_H

#include "cuda/preserve.h"

struct rp_transaction;

/* out = the part of [lo, hi) that the replay is to see as it is kept. */
typedef enum rp_status (*rp_transaction_wanted_fn)(void *ctx, rp_alloc_id id, uint64_t lo,
                                                   uint64_t hi, struct rp_spans *out);

/* Stashes and restores what is wanted of what is kept, or all of it with `wanted` NULL. Rolled
 * back in full on failure: the live bytes stand as they were, unless it is RP_IO. `kept` must
 * outlive the transaction. */
enum rp_status rp_transaction_begin(const struct rp_workbench *bench, struct rp_kept *kept,
                                    rp_transaction_wanted_fn wanted, void *ctx, rp_stream stream,
                                    struct rp_transaction **out);
/* The replay is about to use `stream` too. */
enum rp_status rp_transaction_join(struct rp_transaction *transaction, rp_stream stream);
/* A call outside the replay is about to write rewound bytes in `stream`: after the restoring copy,
 * and after all that the replay was given so far, which reads them as they were. */
enum rp_status rp_transaction_outside(struct rp_transaction *transaction, rp_stream stream);
/* `stream` is about to be destroyed, and was retired: the transaction leaves it, and goes on in
 * another of the replay's or, where there is none, in `heir`. Fails where that can't be made to
 * wait for what the destroyed one held; the end waits for that all the same. */
enum rp_status rp_transaction_leave(struct rp_transaction *transaction, rp_stream stream,
                                    rp_stream heir);
enum rp_status rp_transaction_stash(struct rp_transaction *transaction, rp_alloc_id id,
                                    uint64_t lo, uint64_t hi, rp_stream stream);
enum rp_status rp_transaction_live_write(struct rp_transaction *transaction, rp_alloc_id id,
                                         uint64_t lo, uint64_t hi);

/* The part of [lo, hi) whose live bytes are stashed now, and so are not what a call outside
 * the replay expects to find. */
enum rp_status rp_transaction_rewound(const struct rp_transaction *transaction, rp_alloc_id id,
                                      uint64_t lo, uint64_t hi, struct rp_spans *out);

/* Restores [lo, hi), as far as `kept` holds it, in the middle of the transaction; every stream
 * that has joined waits for it. */
enum rp_status rp_transaction_restore(struct rp_transaction *transaction, struct rp_kept *kept,
                                      rp_alloc_id id, uint64_t lo, uint64_t hi);

/* out = the stashed part of [lo, hi) whose live bytes are the expected ones. */
enum rp_status rp_transaction_holds(const struct rp_transaction *transaction,
                                    const struct rp_versions *expected, rp_alloc_id id,
                                    uint64_t lo, uint64_t hi, struct rp_spans *out);

/* Versions of what is stashed. */
const struct rp_versions *rp_transaction_live(const struct rp_transaction *transaction);

/* [lo, hi) is wanted at the versions that are stashed, by another instance: copies into `kept`
 * what is stashed of it at those of `expected`; *handed = the bytes that were. */
enum rp_status rp_transaction_hand_on(struct rp_transaction *transaction, struct rp_kept *kept,
                                      const struct rp_versions *expected, rp_alloc_id id,
                                      uint64_t lo, uint64_t hi, rp_stream stream,
                                      struct rp_spans *handed);

/* What is stashed, for whoever moves it to another store. */
struct rp_copies *rp_transaction_stash_copies(struct rp_transaction *transaction);

/* Visits all that is stashed now. */
typedef void (*rp_transaction_fn)(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi);
void rp_transaction_each(const struct rp_transaction *transaction, rp_transaction_fn visit,
                         void *ctx);

/* Reinstates in the stream of the transaction's beginning, which waits for all known
 * streams, and makes those wait for the reinstatement. Frees the transaction in any case. */
enum rp_status rp_transaction_end(struct rp_transaction *transaction, uint64_t *reinstated_bytes);
/* Frees it without that, where what it has stashed is about to go with a context. True when bytes
 * that are not live are left. */
bool rp_transaction_abandon(struct rp_transaction *transaction);

rp_stream rp_transaction_stream(const struct rp_transaction *transaction);
uint64_t rp_transaction_restored_bytes(const struct rp_transaction *transaction);

#endif
