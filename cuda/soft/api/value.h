/* SPDX-License-Identifier: Apache-2.0 */
/* Words of memory that streams write and wait for, by themselves and in batches. Called with the
 * device's lock held. */
#ifndef RP_CUDA_SOFT_API_VALUE_H
#define RP_CUDA_SOFT_API_VALUE_H

#include "cuda/soft/api/work.h"

struct soft_value {
    bool is_wait;
    uint64_t address, value;
    unsigned bytes; /* 4 or 8 */
    unsigned flags; /* CUstreamWaitValue_flags or CUstreamWriteValue_flags */
};
CUresult soft_value_check(const struct soft_context *context, const struct soft_value *value);
struct soft_work *soft_value_work(const struct soft_value *value); /* NULL: no host memory */

#endif
