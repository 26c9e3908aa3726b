/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/driver.h over plain host memory, for unit tests: pointers are host pointers.
 *
 * Streams are queues that stand still until rp_host_run, which then executes their work in
 * a random order that respects the streams and the events. A missing event thus shows as
 * wrong bytes under some seed, and the seed repeats it. Its clock knows copies only, at a
 * nanosecond a byte. One thread only. */
#ifndef RP_CUDA_DRIVER_HOST_H
#define RP_CUDA_DRIVER_HOST_H

#include "cuda/driver.h"

struct rp_host;

/* `limit`: bytes that alloc may hand out in all. */
enum rp_status rp_host_create(uint64_t limit, struct rp_host **out);
void rp_host_destroy(struct rp_host *host);
struct rp_driver rp_host_driver(struct rp_host *host);

/* The test's own work in a stream: `run` is called in its turn. `ctx` is freed after it. */
enum rp_status rp_host_submit(struct rp_host *host, rp_stream stream, void (*run)(void *ctx),
                              void *ctx);
/* Executes all that was submitted, in an order drawn from `seed`. False when something is
 * left that waits for what never comes. */
bool rp_host_run(struct rp_host *host, uint64_t seed);

/* From now on `capturing` answers true for this stream; 0 ends it. */
void rp_host_capture(struct rp_host *host, rp_stream stream);

#endif
