/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/driver.h over the real entry points. */
#ifndef RP_CUDA_DRIVER_REAL_H
#define RP_CUDA_DRIVER_REAL_H

#include "cuda/driver.h"

struct rp_real;

/* `real` must stay valid as long as the driver is used. */
struct rp_driver rp_driver_real(const struct rp_real *real);
/* The same, but what it allocates is pinned host memory that every context reaches. */
struct rp_driver rp_driver_real_pinned(const struct rp_real *real);

/* The per-thread default streams of several threads are several streams with one handle. Here each
 * has a number of its own; this is the calling thread's. For the first thread that asks it is the
 * handle itself. Another thread's stream can't be named to the driver: waiting for it, or making
 * it wait, goes through the legacy default stream, which comes after all blocking streams and
 * before what they are given next. */
rp_stream rp_driver_thread_stream(void);

/* A default stream is one in each context, and an event is of use to the streams of its own context
 * only. In a job with several contexts each has a number, and streams are marked with it; number 0
 * marks nothing. Contexts are unknown until they are told, and then changed to for what has to do
 * with their streams; of one that is gone there is nothing left to wait for. One thread at a time.
 */
enum { RP_DRIVER_CONTEXTS = 64 };
rp_stream rp_driver_stream_in(rp_stream stream, unsigned number);
void rp_driver_context_known(unsigned number, uint64_t handle);
void rp_driver_context_gone(unsigned number);
/* The one to work in where a thread has none and no other is known; 0: there is none. */
void rp_driver_context_usual(uint64_t handle);
void rp_driver_contexts_forget(void);

/* The legacy default stream of the stream's context, which blocking streams wait for. */
rp_stream rp_driver_legacy_of(rp_stream stream);
/* The number of the context that a stream is in. */
unsigned rp_driver_context_of(rp_stream stream);
/* The handle by which the driver knows a stream of the layer's. */
struct CUstream_st *rp_driver_stream(rp_stream stream);

#endif
