/* SPDX-License-Identifier: Apache-2.0 */
/* Walks: a small launch, thread by thread, to where it writes. Where addresses are not affine, and
 * threads leave by ways that no linear fact describes, every thread still has its own numbers: what
 * does not depend on data can be computed as the device does, in the order of the blocks. */
#ifndef RP_CUDA_ACCESS_WALK_H
#define RP_CUDA_ACCESS_WALK_H

#include "cuda/access/run.h"

#define RP_WALK_WORK 1000000 /* operations that one may take: some 5 to 15 ms */
#define RP_WALK_RANGES 400 /* more become fewer that are not exact */
#define RP_WALK_DEPTH 12 /* of ways aside from ways aside */
#define RP_WALK_STRETCHES 4096
#define RP_WALK_KINDS 128

/* What makes bytes of one root different from others. */
struct rp_walk_kind {
    int32_t root; /* index + 1, or 0 */
    bool atomic, updates, certain;
};

struct rp_walk_stretch {
    uint64_t lo, hi;
    uint32_t kind; /* index */
    bool joined;   /* over gaps that nobody writes */
};

/* What one touch has covered last, as long as that grows. */
struct rp_walk_trace {
    uint64_t lo, hi;
    int32_t root;
    bool unsure;
    bool lost; /* data are in the address */
};

struct rp_walk {
    struct rp_run *run;
    uint32_t tid[3], ctaid[3];
    uint64_t *values;  /* by operation, of no more bits than it has */
    bool *unknown;     /* by operation: data */
    int32_t *roots;    /* likewise: of the pointer that it is made of, index + 1, or 0 */
    uint64_t *arrived; /* what phis will be */
    int32_t *arrived_roots;
    bool *arrived_unknown;
    struct rp_walk_trace *traces; /* by touch of the walk */
    struct rp_walk_stretch *stretches;
    uint32_t count, kind_count;
    struct rp_walk_kind kinds[RP_WALK_KINDS];
    uint64_t left;     /* operations */
    unsigned depth;    /* of ways aside */
    bool forked;       /* data have decided something for the thread at hand */
    bool unsure;       /* data decide whether the thread is here at all */
};

/* walk_op.c: one operation */
void rp_walk_op(struct rp_walk *walk, uint32_t value);
/* A number is made of the pointer, not an address. */
void rp_walk_use(const struct rp_walk *walk, int32_t root);

/* walk.c: false when it takes too long, or data decide too much: then `walk` says nothing. Else
 * run->walked says of which touches it says all that there is. `scratch` has room for
 * rp_walk_bytes(proof). What it took is added to `operations`; one that gives up counts as the
 * longest. */
size_t rp_walk_bytes(const struct rp_proof *proof);
bool rp_walk_launch(struct rp_walk *walk, struct rp_run *run, char *scratch, uint64_t *operations);
/* Adds what it has found. */
enum rp_status rp_walk_emit(struct rp_walk *walk, struct rp_access_set *out);

#endif
