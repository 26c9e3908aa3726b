/* SPDX-License-Identifier: Apache-2.0 */
/* A job in host memory, whose streams run in every legal order, and what guards its replays. */
#ifndef RP_TESTS_CUDA_WORLD_H
#define RP_TESTS_CUDA_WORLD_H

#include "tests/tracker/check.h"

#include "cuda/driver_host.h"
#include "cuda/transaction.h"

enum { BYTES = 64, SEEDS = 200 };

struct world {
    struct rp_host *host;
    struct rp_driver driver;
    struct rp_workbench bench;
    struct rp_kept *kept;
    rp_alloc_id id;
    unsigned char *live;
    rp_version version;
};

struct world begin_world(void); /* its bytes are all 'a' */
/* The bench points into the world, so it is finished where the world stands. */
void settle(struct world *world);
void end_world(struct world *world);

/* ---- the job's own work ----------------------------------------------------------- */

struct fill {
    unsigned char *at;
    size_t bytes;
    unsigned char value;
};

void run_fill(void *fill); /* for rp_host_submit, which frees it */
/* A write by the job: bytes when its turn comes, versions at once. */
void job_writes(struct world *world, rp_stream stream, size_t lo, size_t hi, unsigned char value);
/* What a kernel of the job would see in its turn. */
void job_reads(struct world *world, rp_stream stream, unsigned char *out);

/* ---- the guard's ------------------------------------------------------------------ */

void preserve(struct world *world, size_t lo, size_t hi, rp_stream stream);
struct rp_transaction *begin_replay(struct world *world, rp_stream stream);
void end_replay(struct rp_transaction *transaction);

void assert_bytes(const unsigned char *bytes, size_t lo, size_t hi, unsigned char value);
rp_version version_at(const struct world *world, uint64_t at);

#endif
