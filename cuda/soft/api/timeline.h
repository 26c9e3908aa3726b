/* SPDX-License-Identifier: Apache-2.0 */
/* Model time: when each operation would begin and end on the device that the clock models.
 *
 * An operation begins when all that it comes after has ended, the program has submitted it, and
 * its engine is free; engines serve in the order of submission. The program's own time passes
 * only in driver calls: submissions cost what the figures say, and a call that waits takes the
 * thread to the end of what it waited for. All this is a function of the calls and of what
 * operations move and execute, whatever the host is doing, so the same program gets the same
 * times. Where threads race to submit, their order is the host's.
 *
 * Operations end in any real order, and some not for a long time. So times are worked out late:
 * moments stand in a queue in the order of submission, and each gets its time once it and all
 * before it are known. Everything here is called with the device's lock, and does nothing
 * where no clock was asked for. */
#ifndef RP_CUDA_SOFT_API_TIMELINE_H
#define RP_CUDA_SOFT_API_TIMELINE_H

#include "cuda/soft/api/work.h"

struct soft_moment;
struct soft_demand;

bool soft_timeline_enter(struct soft_op *op); /* gives it a moment; false: no host memory */
void soft_timeline_drop(struct soft_moment *moment); /* a reference; NULL is fine */

void soft_timeline_after(struct soft_op *op, const struct soft_op *earlier);
void soft_timeline_submit(struct soft_op *op);
void soft_timeline_done(struct soft_op *op);
/* What the operation asks of the device, filled in while it runs; NULL without a clock. */
struct soft_demand *soft_timeline_demand(const struct soft_op *op);

/* The calling thread has learnt that `op` is done. */
void soft_timeline_met(const struct soft_op *op);
/* The calling thread launches a graph: its submissions are nodes until it ends. */
void soft_timeline_begin_graph(void);
void soft_timeline_end_graph(void);

/* When `op`, which is done, ended, in ns; false without a clock. Waits, without the lock, for
 * what was submitted earlier and goes on by itself, so that engines have their order. */
bool soft_timeline_tell(const struct soft_op *op, uint64_t *ns);

#endif
