/* SPDX-License-Identifier: Apache-2.0 */
/* Shelves: host memory that holds what was moved there in one piece, until the last part of it has
 * come back or is wanted no more.
 *
 * Sizes are bytes. All functions want the core's lock. */
#ifndef RP_INTERPOSE_SHELF_H
#define RP_INTERPOSE_SHELF_H

#include "cuda/preserve.h"

struct rp_shelf;

/* Copies `bytes` at `address` there, in `line`: one part. The bench is the refuge's. */
enum rp_status rp_shelf_fill(const struct rp_workbench *bench, uint64_t address, uint64_t bytes,
                             rp_stream line, struct rp_shelf **out);
/* What was one part is two from now on. */
void rp_shelf_divide(struct rp_shelf *shelf);
/* Copies `bytes` from `offset` on to `address`, in `stream`. */
enum rp_status rp_shelf_copy(struct rp_shelf *shelf, uint64_t offset, uint64_t bytes,
                             uint64_t address, rp_stream stream);
/* A part is needed no more. With NULL the memory went with its context. */
void rp_shelf_give(struct rp_shelf *shelf, const struct rp_workbench *bench);

#endif
