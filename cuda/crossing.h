/* SPDX-License-Identifier: Apache-2.0 */
/* Crossings: streams that meet in the same bytes, as far as the layer knows, and do not by what the
 * job knows.
 *
 * A call may claim more than it writes. What lies between its writes another stream may write at
 * the same time, and nothing orders the two. To the layer one comes after the other, as they were
 * called; where it copies what a call claims, it has to make that true:
 *
 *     the copy waits for whoever may have written there before, and not just for the latest, which
 *     may have written other bytes than those before it;
 *     whoever may write there later waits for the copy.
 *
 * Both by events in the job's own streams. What a call certainly writes needs neither, for the job
 * orders who else writes that: so nobody waits but where claims cross, and are wider than what is
 * written, and the streams are two.
 *
 * A replay crosses what comes behind its forward: others were made to wait for that one, and know
 * nothing of the replay. Who in another stream is about to write what a replay's call has read or
 * written, or to read what it has written, waits for it.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_CROSSING_H
#define RP_CUDA_CROSSING_H

#include "cuda/order.h"
#include "tracker/version.h"

struct rp_crossing;

/* `order` and `versions`, those of the live bytes, outlive it. */
enum rp_status rp_crossing_create(struct rp_order *order, const struct rp_versions *versions,
                                  struct rp_crossing **out);
void rp_crossing_destroy(struct rp_crossing *crossing);

/* A call in `stream` may write [lo, hi), and is about to be named for the writer of all of it. */
void rp_crossing_claim(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo, uint64_t hi,
                       rp_stream stream);
/* `stream` waits for those who were named before others were, of [lo, hi). */
enum rp_status rp_crossing_after_writes(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                        uint64_t hi, rp_stream stream);

/* [lo, hi) was copied in `stream`, and more of it than the next call there certainly writes. */
enum rp_status rp_crossing_copied(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                  uint64_t hi, rp_stream stream);
/* `stream` waits for such copies of [lo, hi). */
enum rp_status rp_crossing_after_copies(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                        uint64_t hi, rp_stream stream);

/* Bytes that a call in `stream` meets, in a replay of this instance (its number's low bits), or in
 * none: 0. */
struct rp_crosser {
    rp_alloc_id id;
    uint64_t lo, hi;
    rp_stream stream;
    uint32_t instance;
    bool writes;
};
/* A replay's call has met them: it was given to its stream. */
void rp_crossing_replayed(struct rp_crossing *crossing, const struct rp_crosser *call);
/* A replay is over: who meets what its calls have met waits for no more than them. */
void rp_crossing_replay_over(struct rp_crossing *crossing);
/* Every stream waits for all that was noted of replays. */
void rp_crossing_released(struct rp_crossing *crossing);
/* The call is about to meet them: its stream waits for calls of replays. For those of its own
 * instance it need not: the replay orders them as its forward did. */
enum rp_status rp_crossing_after_replays(struct rp_crossing *crossing,
                                         const struct rp_crosser *call);

void rp_crossing_forget(struct rp_crossing *crossing, rp_alloc_id id); /* the allocation died */
/* The stream is new; its handle may be that of an older one. */
void rp_crossing_opened(struct rp_crossing *crossing, rp_stream stream);

#endif
