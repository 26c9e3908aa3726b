/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance knows of each allocation, for tracker/instance*.c only. */
#ifndef RP_TRACKER_LIVE_H
#define RP_TRACKER_LIVE_H

#include "tracker/instance.h"

/* NULL when the instance never met the allocation. */
struct rp_live *rp_live_find(struct rp_instance *instance, rp_alloc_id id);
/* Makes the entry where there is none; NULL without memory. Entries move when one is made. */
struct rp_live *rp_live_get(struct rp_instance *instance, rp_alloc_id id);
void rp_lives_release(struct rp_instance *instance);

#endif
