/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline: what the device did when, measured by events in the job's own streams.
 *
 * A mark says what the work that follows it is for. The time from one mark to the next counts
 * for the first of the two; the last mark only ends. Nothing waits: marks are records in stream
 * order, and whoever wants the times asks from time to time whether they have come.
 *
 * Marks take time themselves where the host is the bottleneck and not the device. It is part of the
 * intervals; how much it was at the end, is measured too.
 *
 * A timeline can be used again and again. It measures nothing where something was amiss: a
 * record that failed, a stream under capture, marks in more streams than one that did not pass
 * in the order in which they were made. Not thread-safe; the owner holds one lock around all
 * calls. */
#ifndef RP_CUDA_TIMELINE_H
#define RP_CUDA_TIMELINE_H

#include "cuda/driver.h"

#include <stddef.h>

struct rp_timeline;

enum rp_status rp_timeline_create(const struct rp_driver *driver, struct rp_timeline **out);
void rp_timeline_destroy(struct rp_timeline *timeline);
/* Without a driver call: the context of its events is gone. */
void rp_timeline_abandon(struct rp_timeline *timeline);

/* Forgets the marks, keeps the events. */
void rp_timeline_begin(struct rp_timeline *timeline);
/* What `stream` is given from here on is for `what`. Nothing to do where that is so already. */
void rp_timeline_mark(struct rp_timeline *timeline, uint64_t what, rp_stream stream);
/* The last mark of all, in the stream of the one before it. */
void rp_timeline_end(struct rp_timeline *timeline);
/* It will not do: something happened that the marks can't tell. `why` lives for ever. */
void rp_timeline_spoil(struct rp_timeline *timeline, const char *why);

/* True when there is nothing left to wait for: all marks have passed, or it was spoilt. */
bool rp_timeline_is_over(const struct rp_timeline *timeline);
/* Why it measured nothing, or NULL. After it is over. */
const char *rp_timeline_spoilt(const struct rp_timeline *timeline);
/* True when marks stand in several streams. */
bool rp_timeline_is_parallel(const struct rp_timeline *timeline);

/* All intervals in order; RP_INVALID, and none is visited, when it was spoilt. */
typedef void (*rp_interval_fn)(void *ctx, uint64_t what, uint64_t ns);
enum rp_status rp_timeline_each(struct rp_timeline *timeline, rp_interval_fn visit, void *ctx);
/* What the last mark took by itself, in ns; 0 before it is over, or when it was spoilt. */
uint64_t rp_timeline_own(const struct rp_timeline *timeline);

#endif
