/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: which threads have streams that capture, and who waits for their end.
 *
 * While any stream captures nothing is dropped or made anew: the driver would take it for a part of
 * the graph, or give the capture up. A thread that needs what was dropped can wait for another
 * one's capture, which the host ends and no device has to; for its own it can't.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_CAPTURE_H
#define RP_INTERPOSE_CAPTURE_H

#include "cuda/driver.h"

/* The calling thread has `stream` capture; whoever ends it. Both count in rp_core.captures. */
void rp_capture_begun(rp_stream stream);
void rp_capture_ended(rp_stream stream);
/* True of a stream that began a capture which has not ended. */
bool rp_capture_is_in(rp_stream stream);
/* The context of this number is gone, and with it the captures in its streams: one of them has
 * ended. False when there is none left. */
bool rp_capture_lose_one(unsigned context);
/* True when streams of other threads capture, and none of this one's. */
bool rp_capture_is_others(void);
/* Waits until that is no longer so, without the lock meanwhile. False where that takes too long
 * (gate.h), and where it is not so, though a stream captures. */
bool rp_capture_let_pass(void);
/* After a fork. */
void rp_captures_forget(void);

#endif
