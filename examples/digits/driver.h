/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver and one device of it. The driver is opened at run time, so that the
 * program builds and starts where there is none.
 *
 * A call that fails ends the program with one line, "CALL: CUDA_ERROR_...", and exit
 * status 1: a training run has no use for half a step. */
#ifndef DIGITS_DRIVER_H
#define DIGITS_DRIVER_H

#include <cuda.h>

#include <stddef.h>

/* cuda.h renames most calls to their current version; `cu##name` follows it. */
#define DRIVER_CALLS(X) \
    X(GetErrorName) \
    X(Init) \
    X(DeviceGet) \
    X(DevicePrimaryCtxRetain) \
    X(DevicePrimaryCtxRelease) \
    X(CtxSetCurrent) \
    X(ModuleLoadData) \
    X(ModuleUnload) \
    X(ModuleGetFunction) \
    X(StreamCreate) \
    X(StreamDestroy) \
    X(StreamSynchronize) \
    X(MemAlloc) \
    X(MemFree) \
    X(MemAllocAsync) \
    X(MemFreeAsync) \
    X(MemAllocHost) \
    X(MemFreeHost) \
    X(MemcpyHtoD) \
    X(MemcpyDtoH) \
    X(MemcpyDtoDAsync) \
    X(MemcpyHtoDAsync) \
    X(MemcpyDtoHAsync) \
    X(MemsetD8Async) \
    X(LaunchKernel)

#define DRIVER_MEMBER(name) __typeof__(cu##name) *name;
struct driver {
    DRIVER_CALLS(DRIVER_MEMBER)
};
#undef DRIVER_MEMBER

extern struct driver driver;

/* CU(MemFree, pointer): the call, checked. */
#define CU(name, ...) driver_check(driver.name(__VA_ARGS__), "cu" #name)

void driver_open(void);
void driver_check(CUresult result, const char *call);

/* From now on it comes from the device's pool, in the order of the default stream. */
void device_use_pool(void);
/* Device memory; never 0 bytes. */
CUdeviceptr device_alloc(size_t bytes);
/* Frees *memory and clears it; nothing happens when it is clear already. */
void device_free(CUdeviceptr *memory);

#endif
