/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what a launch executes, for launches that ask for it.
 *
 * A worker keeps a tally a function: how often control entered and left a straight line at each
 * operation. Only when its part of the launch is over does that become counts, instruction by
 * instruction, so that the running itself pays two additions a line. */
#ifndef RP_SOFT_SIMT_COUNT_H
#define RP_SOFT_SIMT_COUNT_H

#include "cuda/soft/simt/machine.h"

struct simt_tally {
    const struct simt_function *function;
    int64_t *steps; /* at each operation, and past the last: lines begun less lines ended */
};

/* The warp ran the operations from `line` to `last`, both included. */
void simt_count_line(struct simt_warp *warp, const struct simt_op *line,
                     const struct simt_op *last);
/* Adds what the worker has tallied to the run's counts, and forgets it. Takes the run's lock. */
void simt_count_settle(struct simt_worker *worker);

#endif
