/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is written out of the layer's sight: by host code, by another process or device, by
 * a network card. A read of it proves nothing about what the next read will find.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_UNSEEN_H
#define RP_INTERPOSE_UNSEEN_H

#include "tracker/memory.h"

/* Others can write the allocation from now on; `why` lives as long as the process. */
void rp_unseen_share(rp_alloc_id id, const char *why);
/* A module's variable, at its address: the driver is asked whether it is managed. Nothing
 * happens where `id` is 0. */
void rp_unseen_ask(rp_alloc_id id, uint64_t address);
/* Why the allocation may change unseen, or NULL when it can't. */
const char *rp_unseen_why(const struct rp_alloc *alloc);
void rp_unseen_forget(rp_alloc_id id); /* it died */
/* After a fork. */
void rp_unseen_forget_all(void);

#endif
