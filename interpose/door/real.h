/* SPDX-License-Identifier: Apache-2.0 */
/* The real driver: where it is, and its entry points.
 *
 * All of it works on any thread at any time, holds no lock and allocates nothing itself. */
#ifndef RP_INTERPOSE_REAL_H
#define RP_INTERPOSE_REAL_H

#include "cuda/calls/calls.h"

/* Without it the compiler takes data of another file for another object's, and goes round
 * by the global offset table. */
#define RP_HIDDEN __attribute__((visibility("hidden")))

/* The driver's entry points. After rp_real_open none is NULL: without a driver every call
 * answers CUDA_ERROR_NO_DEVICE, and one that the driver is too old for answers
 * CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER. Never a wrapper. */
extern struct rp_real rp_real RP_HIDDEN;

/* Finds and opens the driver, by absolute path; says on stderr when there is none, once.
 * Cheap when done already. Two threads may do it at the same time: they come to the same
 * end. False: this thread is in the middle of it, in a constructor of the driver's. */
bool rp_real_open(void);

/* After rp_real_open: */
bool rp_real_found(void);
const char *rp_real_path(void); /* "" without a driver */
void *rp_real_handle(void);     /* for dlsym; NULL without a driver */
/* False for the software device, which compiles PTX and nothing else. */
bool rp_real_runs_machine_code(void);
/* False when the driver does not export this call. */
bool rp_real_has(enum rp_call_id id);

/* The call that starts at `pointer` in the driver, or RP_CALL_NONE. Drivers let several
 * symbols share one function: among those `wanted` is preferred. */
enum rp_call_id rp_real_identify(void *pointer, enum rp_call_id wanted);

/* True when cuGetProcAddress hands out the very pointers that the driver exports. Measured
 * once; nothing documents it. */
bool rp_real_hands_out_exports(void);

#endif
