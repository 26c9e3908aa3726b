/* SPDX-License-Identifier: Apache-2.0 */
/* The driver as jobs of the end-to-end suites use it: looked up at run time, as a framework does
 * it. A call that fails ends the job with exit code 1. One thread opens; any thread calls after
 * that. */
#ifndef RP_TESTS_LAWS_DRIVER_H
#define RP_TESTS_LAWS_DRIVER_H

#include <cuda.h>

#include <stddef.h>

#define CALLS(X)                                                                                 \
    X(Init) X(DeviceGet) X(CtxCreate) X(ModuleLoadData) X(ModuleGetFunction) X(MemAlloc)         \
    X(MemFree) X(MemcpyHtoD) X(MemcpyDtoH) X(MemsetD8) X(LaunchKernel) X(StreamCreate)           \
    X(StreamDestroy) X(StreamSynchronize) X(CtxSynchronize) X(EventCreate) X(EventRecord)        \
    X(StreamWaitEvent) X(MemAddressReserve) X(MemCreate) X(MemMap) X(MemSetAccess)               \
    X(MemGetAllocationGranularity) X(CtxDestroy) X(CtxSetCurrent) X(ModuleLoad)                  \
    X(ModuleGetGlobal) X(MemcpyHtoDAsync) X(MemcpyDtoDAsync) X(MemsetD8Async)                    \
    X(StreamBeginCapture) X(StreamEndCapture) X(GraphInstantiate) X(GraphLaunch)                 \
    X(GraphExecDestroy) X(GraphDestroy) X(MemHostAlloc) X(MemFreeHost) X(MemcpyDtoHAsync)        \
    X(LaunchHostFunc) X(DeviceGetCount) X(CtxEnablePeerAccess) X(StreamWaitValue32)              \
    X(Memcpy2DAsync) X(Memcpy2D) X(MemcpyBatchAsync) X(MemAllocManaged) X(Memcpy)                \
    X(MemAllocAsync) X(MemFreeAsync) X(GraphCreate) X(GraphAddEventRecordNode)                   \
    X(GraphAddKernelNode) X(GraphExecKernelNodeSetParams) X(MemsetD32Async)                      \
    X(DeviceGetDefaultMemPool) X(MemPoolSetAttribute) X(DevicePrimaryCtxReset)                   \
    X(LaunchKernelEx) X(CtxRecordEvent)
#define MEMBER(name) __typeof__(cu##name) *name;
struct driver { CALLS(MEMBER) };

extern struct driver driver;
extern const char *kernels; /* the path of their PTX; set before open_driver */
extern CUcontext context;
extern CUmodule module;

void check_call(CUresult result, const char *call);
void synchronize(void); /* the device */
#define CU(name, ...) check_call(driver.name(__VA_ARGS__), "cu" #name)

void open_driver(void);  /* and a context */
void open_context(void); /* creates `context` on device 0 and loads `module` into it */
void open_context_on(int ordinal);
CUdeviceptr allocate(size_t bytes); /* zeroed */
void launch_in(CUstream stream, const char *name, int threads, void **params);
void launch_of(CUmodule from, CUstream stream, const char *name, int threads, void **params);
#define LAUNCH_IN(stream, kernel, threads, ...)                                                  \
    launch_in(stream, kernel, threads, (void *[]){__VA_ARGS__})
#define LAUNCH(kernel, threads, ...) LAUNCH_IN(NULL, kernel, threads, __VA_ARGS__)

#endif
