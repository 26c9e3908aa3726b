/* SPDX-License-Identifier: Apache-2.0 */
/* Preservation: copies of historical bytes, made before a write would destroy them.
 *
 * A `kept` belongs to one segment instance. It holds content, never a pointer or a handle,
 * together with the versions of that content. All copies are asynchronous, in the stream of
 * the write that would clobber; nothing here makes the host wait.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_PRESERVE_H
#define RP_CUDA_PRESERVE_H

#include "cuda/crossing.h"
#include "cuda/store.h"
#include "tracker/memory.h"
#include "tracker/version.h"

/* What a copy is for, to whoever measures. */
enum rp_copying {
    RP_COPYING_PRESERVE,
    RP_COPYING_STASH,
    RP_COPYING_RESTORE,
    RP_COPYING_REINSTATE,
    RP_COPYING_HALVES, /* a preservation by two copies in a row, see rp_bench */
    RP_COPYING_ABROAD, /* no copy of its own: the one told of last leads to host memory, or back */
    RP_COPYING_MOVE,   /* what was preserved or stashed goes to host memory */
    RP_COPYING_COUNT
};

/* Told of every copy that is about to be submitted to `stream`: `owner` is the execution's
 * number, rp_kept.owner. It may submit records of its own to the stream, and no more. */
typedef void (*rp_meter_fn)(uint32_t owner, enum rp_copying what, uint64_t bytes,
                            rp_stream stream);

/* To be asked where the store has no room for `bytes`: one that has, or NULL. */
typedef struct rp_store *(*rp_refuge_fn)(uint64_t bytes);

/* What preservation and transactions work on. All owned elsewhere. */
struct rp_workbench {
    const struct rp_driver *driver;
    struct rp_order *order;
    struct rp_crossing *crossing;
    struct rp_store *store;
    struct rp_memory *memory;
    struct rp_versions *versions; /* of the live bytes */
    rp_meter_fn meter;            /* may be NULL */
    rp_refuge_fn refuge; /* for what is preserved and stashed; may be NULL */
    bool in_halves; /* preserve by two copies in a row into the same block, where there are bytes
                     * enough: beside those made at once they tell the price of a copy */
};

/* One contiguous copy. */
struct rp_copy {
    rp_alloc_id id;
    uint64_t lo, hi;
    struct rp_block block;
    struct rp_store *store; /* that the block is of */
    rp_stream stream; /* of its last use: first the filling, then each copying back */
};

struct rp_copies {
    struct rp_copy *items;
    size_t count, capacity;
};

struct rp_kept {
    struct rp_copies copies;
    struct rp_versions *versions; /* of the bytes in the copies */
    uint32_t owner;               /* whose they are, for the meter */
};

enum rp_status rp_kept_create(struct rp_kept **out);
/* Gives the blocks back, each in the order of its own last use; clearing leaves an empty one. */
void rp_kept_destroy(struct rp_kept *kept);
void rp_kept_clear(struct rp_kept *kept);

/* Copies [lo, hi) of `id` as it stands after all work submitted to `stream` so far, and
 * after every write that the versions name or have named, whichever stream it is pending in. On
 * failure nothing is held. RP_NOT_FOUND when the bytes are mapped nowhere. */
enum rp_status rp_kept_preserve(struct rp_kept *kept, const struct rp_workbench *bench,
                                rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream);
/* The same from a copy that somebody else holds, whose bytes have these versions: [lo, hi) lies
 * inside it. */
enum rp_status rp_kept_adopt(struct rp_kept *kept, const struct rp_workbench *bench,
                             struct rp_copy *from, const struct rp_versions *versions,
                             uint64_t lo, uint64_t hi, rp_stream stream);
uint64_t rp_kept_bytes(const struct rp_kept *kept);

static inline void rp_meter(const struct rp_workbench *bench, uint32_t owner, enum rp_copying what,
                            uint64_t bytes, rp_stream stream)
{
    if (bench->meter && bytes)
        bench->meter(owner, what, bytes, stream);
}

/* For transactions: copies live bytes into a new block, respectively a part of a block back
 * over the live bytes; neither touches versions. rp_copy_aside takes refuge where it has to, and
 * tells the meter, as rp_copy_is_abroad tells of a copy that was made. */
enum rp_status rp_copy_aside(struct rp_copies *copies, const struct rp_workbench *bench,
                             uint32_t owner, rp_alloc_id id, uint64_t lo, uint64_t hi,
                             rp_stream stream);
enum rp_status rp_copy_out(struct rp_copies *copies, const struct rp_workbench *bench,
                           rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream);
enum rp_status rp_copy_in(struct rp_copy *copy, const struct rp_workbench *bench, uint64_t lo,
                          uint64_t hi, rp_stream stream);
/* The same to another place: [lo, hi) of `id` gets what the block holds from its byte `from` on. */
enum rp_status rp_copy_to(struct rp_copy *copy, const struct rp_workbench *bench, uint64_t from,
                          rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream);
/* Copies live bytes: [lo, hi) of `id` gets those of `source` from byte `from` on, as they stand
 * after every write that the versions name. The two may not overlap. */
enum rp_status rp_copy_across(const struct rp_workbench *bench, rp_alloc_id source, uint64_t from,
                              rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream);
static inline bool rp_copy_is_abroad(const struct rp_copy *copy, const struct rp_workbench *bench)
{
    return copy->store && copy->store != bench->store;
}

/* The content goes into a block of the bench's store, and the old block back to its own. On failure
 * nothing has changed. */
enum rp_status rp_copy_move(struct rp_copy *copy, const struct rp_workbench *bench);
void rp_copies_give(struct rp_copies *copies);

#endif
