/* SPDX-License-Identifier: Apache-2.0 */
/* Around the run of an operation: keeping what it touches, where somebody wants to know, and
 * telling them. Without the lock, on the thread that runs it. */
#ifndef RP_CUDA_SOFT_API_WATCH_H
#define RP_CUDA_SOFT_API_WATCH_H

#include "cuda/soft/api/work.h"

void soft_watch_begin(struct soft_op *op);
void soft_watch_end(struct soft_op *op);

#endif
