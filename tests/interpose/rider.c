/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked against the driver. */
#include "cuda/calls/calls.h"

__attribute__((visibility("default"))) CUresult rider_call(void);
CUresult rider_call(void)
{
    return cuCtxResetPersistingL2Cache();
}
