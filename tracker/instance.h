/* SPDX-License-Identifier: Apache-2.0 */
/* Segment instances: the contract of one forward execution, in versions.
 *
 * While the forward runs, the instance collects its live-in (what it reads before it has
 * certainly written it) with the version of each byte. From then until its replay ends, every
 * write by anyone is held against the live-in: what it would clobber and what is not kept
 * yet is exposed, and must be kept (copied) before the write. During the replay each read is
 * held against the versions that the forward saw.
 *
 * Pure bookkeeping: no driver, no copies. Not thread-safe; one lock is held around all calls. */
#ifndef RP_TRACKER_INSTANCE_H
#define RP_TRACKER_INSTANCE_H

#include "tracker/memory.h"
#include "tracker/span.h"
#include "tracker/version.h"

/* What an instance knows of one allocation. */
struct rp_live {
    rp_alloc_id id;
    struct rp_spans live_in;  /* read before certainly written; versions in `expected` */
    struct rp_spans doubtful; /* the part of live_in whose read is only possible */
    struct rp_spans torn;     /* the part of live_in that nobody read: see rp_instance_tear */
    struct rp_spans written;  /* certainly written by the forward */
    struct rp_spans touched;  /* possibly written by the forward, `written` included */
    struct rp_spans kept;     /* live-in with a copy held elsewhere */
    struct rp_spans replayed; /* possibly written by the replay so far, and by nobody since */
    struct rp_spans made;     /* possibly written by the replay so far */
    struct rp_spans extra;    /* possibly written by its calls that the forward did not make */
    struct rp_spans first;    /* written, then read; versions in `first_read` */
    struct rp_spans recalled; /* the part of `first` with a copy held elsewhere */
};

struct rp_instance {
    uint64_t id;       /* 1, 2, 3, ... in the order of the forwards */
    uint32_t segment;  /* index of the contract's segment rule */
    uint32_t step;
    uint64_t since;    /* what was written by calls up to this one stood before the forward */
    uint64_t before;   /* `since` of the segment's forward before this one; 0 for the first */
    struct rp_live *lives;
    size_t live_count, live_capacity;
    struct rp_versions *expected; /* versions of the live-in */
    struct rp_versions *first_read; /* versions of what it read first after its own write */
};

enum rp_status rp_instance_create(uint64_t id, uint32_t segment, uint32_t step, uint64_t since,
                                  struct rp_instance **out);
void rp_instance_destroy(struct rp_instance *instance);

/* ---- forward ---- */

/* A call of the forward reads [lo, hi): what it has not certainly written itself becomes
 * live-in at the versions of `now`. `certain` is false when the call only may read it. */
enum rp_status rp_instance_read(struct rp_instance *instance, const struct rp_versions *now,
                                rp_alloc_id id, uint64_t lo, uint64_t hi, bool certain);
/* A call of the forward, told of its reads, writes [lo, hi) in one piece and has read most of it
 * before anybody of the forward wrote it: a history that is rolled, say, and gets a new head. The
 * rest belongs with what was read, and becomes live-in too. */
enum rp_status rp_instance_tear(struct rp_instance *instance, const struct rp_versions *now,
                                rp_alloc_id id, uint64_t lo, uint64_t hi);
/* A call of the forward reads [lo, hi), where a replay may find ready what the forward made for
 * itself, as a first run does: notes the versions of what is certainly its own and now read. */
enum rp_status rp_instance_read_own(struct rp_instance *instance, const struct rp_versions *now,
                                    rp_alloc_id id, uint64_t lo, uint64_t hi);
/* A call of the forward writes [lo, hi); to be told after the call's reads, before the
 * versions change. `certain` is false when it may leave bytes as they were. */
enum rp_status rp_instance_write(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                 uint64_t hi, bool certain);
/* True when a read of [lo, hi) now could see a possible, not certain, write of the forward. */
bool rp_instance_is_ambiguous(const struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                              uint64_t hi);

/* ---- until the replay ends ---- */

/* exposed = live-in bytes of [lo, hi) that no copy is kept of and that stand there `now`: a
 * write would destroy them. */
enum rp_status rp_instance_exposed(const struct rp_instance *instance,
                                   const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi, struct rp_spans *exposed);
/* displaced = live-in bytes of [lo, hi) that no copy is kept of and that do not stand there
 * `now`: unless somebody else holds them, they are lost. */
enum rp_status rp_instance_displaced(const struct rp_instance *instance,
                                     const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                     uint64_t hi, struct rp_spans *displaced);
/* A copy of [lo, hi) with the expected versions is held now. */
enum rp_status rp_instance_keep(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                uint64_t hi);

/* As exposed and keep, for what the forward first read of its own writes. */
enum rp_status rp_instance_first_exposed(const struct rp_instance *instance,
                                         const struct rp_versions *now, rp_alloc_id id,
                                         uint64_t lo, uint64_t hi, struct rp_spans *exposed);
enum rp_status rp_instance_recall(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                  uint64_t hi);
/* missed = what a replay's read of [lo, hi) needs of it: it has not made the bytes itself, they
 * do not stand there `now`, and a copy is held. */
enum rp_status rp_instance_first_missed(const struct rp_instance *instance,
                                        const struct rp_versions *now, rp_alloc_id id,
                                        uint64_t lo, uint64_t hi, struct rp_spans *missed);

/* The copies are gone. */
void rp_instance_lose(struct rp_instance *instance);

/* ---- replay ---- */

/* One stretch of a replay's read that is not what the forward read. `expected` is NULL when
 * the forward did not read these bytes at all. */
typedef enum rp_status (*rp_instance_mismatch_fn)(void *ctx, rp_alloc_id id, uint64_t lo,
                                                  uint64_t hi, const struct rp_writer *found,
                                                  const struct rp_writer *expected);
/* A call of the replay reads [lo, hi): visits each stretch whose version in `now` is not the
 * forward's, leaving out what the replay wrote itself. */
enum rp_status rp_instance_check(const struct rp_instance *instance, const struct rp_versions *now,
                                 rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 rp_instance_mismatch_fn visit, void *ctx);
/* As rp_instance_check, of what calls of the replay that the forward did not make have put where it
 * has read; but where a write of the same value stands, all is well. */
enum rp_status rp_instance_check_extra(const struct rp_instance *instance,
                                       const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                       uint64_t hi, rp_instance_mismatch_fn visit, void *ctx);
/* overlaid = what such calls have written of [lo, hi) where the forward has read other bytes, of
 * which a copy is held; but for where the replay has been itself before. */
enum rp_status rp_instance_overlaid(const struct rp_instance *instance,
                                    const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                    uint64_t hi, struct rp_spans *overlaid);
/* A call of the replay writes [lo, hi). */
enum rp_status rp_instance_rewrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi);
/* A call of the replay that the forward did not make writes [lo, hi), from nothing but what is
 * historic. */
enum rp_status rp_instance_write_extra(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                       uint64_t hi);
/* Somebody else wrote [lo, hi) during the replay: what stands there is not the replay's. */
enum rp_status rp_instance_unwrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi);
/* True when [lo, hi) holds what it held when the forward ran: what the forward read, what was
 * not written since it began, or what the replay has written itself. */
bool rp_instance_is_historic(const struct rp_instance *instance, const struct rp_versions *now,
                             rp_alloc_id id, uint64_t lo, uint64_t hi);
/* Forgets the replay's own writes: the instance may be replayed once more. */
void rp_instance_replay_again(struct rp_instance *instance);

/* NULL when the instance never met the allocation. */
const struct rp_live *rp_instance_live(const struct rp_instance *instance, rp_alloc_id id);

#endif
