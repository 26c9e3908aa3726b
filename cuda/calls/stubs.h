/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver made from the call table consists of: the software device, and the fake
 * driver of the tests.
 *
 * The generated stubs define every entry point as a weak symbol that answers "not
 * supported". A driver implements a call by defining a function of the same name with the
 * same prototype (calls.h declares them all); the strong definition wins at link time. Link
 * with -Wl,-Bsymbolic-functions: the driver's own references must reach the driver, not the
 * wrappers of a preloaded layer. */
#ifndef RP_CUDA_CALLS_STUBS_H
#define RP_CUDA_CALLS_STUBS_H

#include "cuda/calls/calls.h"

typedef void (*soft_entry)(void);

/* Every entry point by id, stub or not: what a cuGetProcAddress answers with. */
extern const soft_entry soft_entries[RP_CALL_COUNT];

/* Called by each stub; its result is the call's. The driver defines it. */
CUresult soft_unsupported(enum rp_call_id id);

#endif
