/* SPDX-License-Identifier: Apache-2.0 */
/* Write versions: which write produced the bytes that now stand in a range.
 *
 * A version names a value by the write that produced it. The map of one allocation
 * divides it into ranges of one version each. Version 0 means "never written since the
 * allocation was born"; absence is a value like any other. The dirty regions since some
 * moment are the ranges whose version is younger than that moment's.
 *
 * Versions need not grow along the map's history: restoring bytes gives a range its old
 * version back, and a replayed write has the version of the write that it repeats.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_TRACKER_VERSION_H
#define RP_TRACKER_VERSION_H

#include "tracker/content.h"
#include "tracker/memory.h"
#include "tracker/span.h"

typedef uint64_t rp_version;

/* Who made a version. Kept by value in the map, so that a report can name the writer
 * long after the call. `call` and `kernel` index the owner's name tables. */
struct rp_writer {
    rp_version version;
    rp_version origin; /* the write whose value this one modified, or the version itself */
    rp_version source; /* the write that made these very bytes, which were copied since; 0: none */
    uint64_t seq;    /* sequence number of the driver call */
    uint64_t launch; /* index of the launch within its step, from 0 */
    uint64_t stream; /* the driver's handle */
    uint64_t place;  /* what an offset is less, to be that of a byte within what the call wrote
                      * that made it: `source`, or `version` where there is none */
    uint64_t deed;   /* equal for writes that made the same value; 0 where that can't be told */
    uint64_t value;  /* the same, which copies carry on: of bytes of equal places, see `place` */
    uint32_t step;   /* 0 before the first step */
    uint32_t name;   /* name id of the kernel, or of the call when it is no launch */
    uint32_t made_in; /* low bits of the segment instance that made it, 0 for none */
    bool settled;     /* it was over when its call returned */
    bool uploaded;    /* it came from the host, and whose bytes it is nobody knows */
    bool copied;      /* a copy has brought it; of what `source` says, or of nobody knows what */
    bool speculative; /* nothing proves that it was written at all */
};

/* The write that made the bytes: a copy of them has another version, and the same maker. */
static inline rp_version rp_writer_maker(const struct rp_writer *writer)
{
    return writer->source ? writer->source : writer->version;
}

/* True when bytes at one offset, of these two writers, are the same. */
static inline bool rp_writer_same_bytes(const struct rp_writer *a, const struct rp_writer *b)
{
    return a->version == b->version ||
           (rp_writer_maker(a) == rp_writer_maker(b) && a->place == b->place);
}

/* True when they are so because the same value was made once more. */
static inline bool rp_writer_same_value(const struct rp_writer *a, const struct rp_writer *b)
{
    return a->value && a->value == b->value && a->place == b->place;
}

struct rp_versions;

enum rp_status rp_versions_create(struct rp_versions **out);
void rp_versions_destroy(struct rp_versions *versions);
void rp_versions_clear(struct rp_versions *versions); /* as it was when it was created */

/* [lo, hi) of `id` was produced by `writer`. */
enum rp_status rp_versions_write(struct rp_versions *versions, rp_alloc_id id, uint64_t lo,
                                 uint64_t hi, const struct rp_writer *writer);

/* Walks the ranges of [lo, hi) in order, each with its writer (version 0, all zero, where
 * nothing was written). Returning anything but RP_OK stops the walk and is returned. */
typedef enum rp_status (*rp_versions_fn)(void *ctx, uint64_t lo, uint64_t hi,
                                         const struct rp_writer *writer);
enum rp_status rp_versions_read(const struct rp_versions *versions, rp_alloc_id id, uint64_t lo,
                                uint64_t hi, rp_versions_fn visit, void *ctx);

/* out = the parts of [lo, hi) whose seq is greater than `seq`: the dirty regions since then. */
enum rp_status rp_versions_dirty_since(const struct rp_versions *versions, rp_alloc_id id,
                                       uint64_t lo, uint64_t hi, uint64_t seq,
                                       struct rp_spans *out);

/* Bytes of two writes are the same: somebody has seen both. */
enum rp_status rp_versions_alike(struct rp_versions *versions, struct rp_provenance a,
                                 struct rp_provenance b);
/* True when the bytes at [lo, hi), of these two writers, are the same: of the same write, or seen
 * to be alike. */
bool rp_versions_same_bytes(const struct rp_versions *versions, uint64_t lo, uint64_t hi,
                            const struct rp_writer *a, const struct rp_writer *b);
/* Copies of what this write made need not hold it: from now on they are nobody's but their own. */
enum rp_status rp_versions_distrust(struct rp_versions *versions, rp_version maker);
bool rp_versions_trust(const struct rp_versions *versions, rp_version maker);
/* Visits the other writes that have made the same bytes as `writer` has at [lo, hi). */
enum rp_status rp_versions_each_alike(const struct rp_versions *versions, uint64_t lo, uint64_t hi,
                                      const struct rp_writer *writer, rp_content_fn visit,
                                      void *ctx);
/* True when some of these bytes, of this write, stand anywhere. */
bool rp_versions_have(const struct rp_versions *versions, struct rp_provenance made);

/* Others may write the allocation unseen from now on: what was copied there no longer counts as
 * what it was copied from. */
void rp_versions_disown(struct rp_versions *versions, rp_alloc_id id);

void rp_versions_forget(struct rp_versions *versions, rp_alloc_id id); /* the allocation died */
bool rp_versions_validate(const struct rp_versions *versions);

#endif
