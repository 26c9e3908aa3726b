/* SPDX-License-Identifier: Apache-2.0 */
/* Memory operations of streams: single values that a stream writes or waits for. */
#ifndef RP_INTERPOSE_VALUES_H
#define RP_INTERPOSE_VALUES_H

#include "interpose/run/footprint.h"

#include "cuda/calls/calls.h"

/* What a batch of them reads and writes. Wants the core's lock. */
enum rp_status rp_values_reach(struct rp_footprint *call, const CUstreamBatchMemOpParams *items,
                               size_t count);

#endif
