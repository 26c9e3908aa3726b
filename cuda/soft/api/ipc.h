/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes share: each has a page in which every process counts its records. Called
 * with the device's lock. */
#ifndef RP_CUDA_SOFT_API_IPC_H
#define RP_CUDA_SOFT_API_IPC_H

#include "cuda/soft/api/stream.h"

bool soft_ipc_make_event(struct soft_event *event); /* false: no memory or no descriptor */
void soft_ipc_drop_event(struct soft_event *event);
/* Whoever recorded it last, in any process: is that done? */
bool soft_ipc_is_done(const struct soft_event *event);
/* Works for a stream, or NULL: they count a record, and wait for the last one so far. */
struct soft_work *soft_ipc_record_work(const struct soft_event *event);
struct soft_work *soft_ipc_wait_work(const struct soft_event *event);

#endif
