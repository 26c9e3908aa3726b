/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread does at its workplace: it takes blocks of a run, one after the other, or keeps
 * several alive where they may wait for each other. */
#ifndef RP_SOFT_SIMT_WORKER_H
#define RP_SOFT_SIMT_WORKER_H

#include "cuda/soft/simt/machine.h"

/* Works until no block of the run is left, or it stops. What goes wrong, a lack of memory
 * included, is the run's fault and stops it. The worker can then work for another run. */
void simt_worker_work(struct simt_worker *worker, struct simt_run *run);

/* Of a worker (zeroed memory) that works no more; frees it too. */
void simt_worker_destroy(struct simt_worker *worker);

#endif
