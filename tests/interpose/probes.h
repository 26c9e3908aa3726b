/* SPDX-License-Identifier: Apache-2.0 */
/* Calling any driver function with arguments from its argument structure. */
#ifndef RP_TESTS_INTERPOSE_PROBES_H
#define RP_TESTS_INTERPOSE_PROBES_H

#include "cuda/calls/stubs.h"

typedef CUresult (*probe_fn)(soft_entry function, const void *args);
extern const probe_fn probes[RP_CALL_COUNT];

#endif
