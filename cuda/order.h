/* SPDX-License-Identifier: Apache-2.0 */
/* Order between streams, kept by events in the job's own streams; the host never waits.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_ORDER_H
#define RP_CUDA_ORDER_H

#include "cuda/driver.h"

struct rp_order;

enum rp_status rp_order_create(const struct rp_driver *driver, struct rp_order **out);
void rp_order_destroy(struct rp_order *order);
/* Without a driver call: the context of its events is gone. */
void rp_order_abandon(struct rp_order *order);

/* Later work in `stream` runs after all work that `earlier` holds now. Nothing to do when
 * they are one stream. When `earlier` was destroyed, after all that it held then. RP_UNSUPPORTED
 * where it captures, and was not sealed. */
enum rp_status rp_order_after(struct rp_order *order, rp_stream stream, rp_stream earlier);
/* `stream` is about to capture: until it is met again, others wait for what it holds now. */
enum rp_status rp_order_seal(struct rp_order *order, rp_stream stream);

/* The same of what `earlier` held at its latest mark, or of a little more. A mark costs an event
 * where there is another stream; where there is none yet, whoever comes waits for all of it, and
 * so it is where the stream captures. */
enum rp_status rp_order_mark(struct rp_order *order, rp_stream stream);
enum rp_status rp_order_after_mark(struct rp_order *order, rp_stream stream, rp_stream earlier);
/* No two streams are known. */
bool rp_order_is_alone(const struct rp_order *order);

/* `stream` is in use. The first time that it is seen it waits for the last rp_order_release:
 * what it is given next may look at what was released. */
enum rp_status rp_order_meet(struct rp_order *order, rp_stream stream);
/* True when it keeps an event of any stream that `is` says yes to. */
bool rp_order_knows(const struct rp_order *order, bool (*is)(rp_stream stream, uint64_t asked),
                    uint64_t asked);
/* `stream` waits for all that every other known stream holds now. */
enum rp_status rp_order_gather(struct rp_order *order, rp_stream stream);
/* While `stream` is the lone one, 0 for none, gathering makes it wait for nobody, and nothing makes
 * it wait for a shut one: who says so has seen to it that it has waited for what matters to it. */
rp_stream rp_order_lone(const struct rp_order *order);
void rp_order_set_lone(struct rp_order *order, rp_stream stream);
/* Every other known stream waits for all that `stream` holds now. Streams that are being
 * captured are left out of both, where they were not sealed: an event would drag the others into
 * the capture. They wait for what was released when they are met after it. */
enum rp_status rp_order_release(struct rp_order *order, rp_stream stream);
/* `stream` has just gathered, the last release included: who comes new may wait for it instead. */
void rp_order_take_over(struct rp_order *order, rp_stream stream);

/* What `stream` holds may never be over as long as somebody waits for it who is to open it: nobody
 * knows. Whoever is made to wait for it in here is shut from then on, too; until all are open.
 * `aside`, 0 for none, is not, and has waited for its calls up to number `seq`. */
void rp_order_shut(struct rp_order *order, rp_stream stream, rp_stream aside, uint64_t seq);
/* As rp_order_after, of what a call of this number has written in `writer`. */
enum rp_status rp_order_after_write(struct rp_order *order, rp_stream stream, rp_stream writer,
                                    uint64_t seq);
void rp_order_open(struct rp_order *order);
bool rp_order_is_shut(const struct rp_order *order, rp_stream stream);
bool rp_order_is_any_shut(const struct rp_order *order);

/* All that `stream`, which must be known, was given is done; an error, or a capture, counts as not
 * done. The host does not wait. Not to be asked while any stream captures. */
bool rp_order_is_done(struct rp_order *order, rp_stream stream);

/* The job is about to destroy `stream`: remembers its end for those who must wait for it. */
enum rp_status rp_order_retire(struct rp_order *order, rp_stream stream);
/* A stream was created; its handle may be that of a retired one, whose end it waits for then. */
void rp_order_revive(struct rp_order *order, rp_stream stream);

#endif
