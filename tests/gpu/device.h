/* SPDX-License-Identifier: Apache-2.0 */
/* The driver as the programs for a GPU use it: a GPU's or the software device, whichever
 * libcuda.so.1 the loader finds. A call that fails ends the program with exit code 1. */
#ifndef RP_TESTS_GPU_DEVICE_H
#define RP_TESTS_GPU_DEVICE_H

#include "cuda/calls/calls.h"

/* Device 0 with its primary context current. What this driver does not have is NULL. */
struct rp_real *device_open(void);
/* Major times ten plus minor. */
int device_capability(void);
void device_check(CUresult result, const char *what);
#define DO(call, ...) device_check(device_open()->call(__VA_ARGS__), #call)

/* A whole file with a zero behind it; the caller frees. */
char *device_text(const char *path);

#endif
