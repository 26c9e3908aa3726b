/* SPDX-License-Identifier: Apache-2.0 */
/* Names and short descriptions of the driver's results. */
#include "cuda/soft/api/soft.h"

#define ERRORS(X)                                                                                  \
    X(CUDA_SUCCESS, "no error")                                                                    \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                   \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                          \
    X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                            \
    X(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled while using external profiling tool")       \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized")                             \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started")                             \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped")                             \
    X(CUDA_ERROR_STUB_LIBRARY, "the loaded driver is a stub library")                              \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "call requires a newer driver")                       \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, "device is busy or unavailable")                              \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                  \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                         \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, "device is not licensed")                                    \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                  \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                        \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context is already current")                            \
    X(CUDA_ERROR_MAP_FAILED, "mapping of a resource failed")                                       \
    X(CUDA_ERROR_UNMAP_FAILED, "unmapping of a resource failed")                                   \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped")                                               \
    X(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped")                                        \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")    \
    X(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired")                                    \
    X(CUDA_ERROR_NOT_MAPPED, "resource not mapped")                                                \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array")                              \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer")                          \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable memory error encountered")                      \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this device")                       \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "context is in use by another thread")                    \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these devices")    \
    X(CUDA_ERROR_INVALID_PTX, "a PTX compilation failed")                                          \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid graphics context")                             \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable link error encountered")                     \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX compiler library not found")                         \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX was compiled with an unsupported toolchain")        \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX compilation was disabled")                         \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported")                 \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "unsupported synchronization in device code")           \
    X(CUDA_ERROR_CONTAINED, "contained memory error encountered")                                  \
    X(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid")                                 \
    X(CUDA_ERROR_FILE_NOT_FOUND, "file not found")                                                 \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found")                 \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed")                 \
    X(CUDA_ERROR_OPERATING_SYSTEM, "operating system call failed")                                 \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                        \
    X(CUDA_ERROR_ILLEGAL_STATE, "operation can't be performed in the present state")               \
    X(CUDA_ERROR_LOSSY_QUERY, "query would discard semantically important information")            \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                              \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                    \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                      \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")               \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                        \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses an incompatible texturing mode")      \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                    \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                      \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is already active")                  \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                     \
    X(CUDA_ERROR_ASSERT, "device-side assert triggered")                                           \
    X(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted")                               \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "host memory is already registered")              \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "host memory is not registered")                      \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error")                                     \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                    \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                         \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on this address space")           \
    X(CUDA_ERROR_INVALID_PC, "invalid program counter")                                            \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                      \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")            \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed")                         \
    X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                         \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                         \
    X(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized")                                   \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has mismatched driver parts")                     \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "compatibility mode unsupported on this device")  \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS client failed to connect")                            \
    X(CUDA_ERROR_MPS_RPC_FAILURE, "MPS call failed")                                               \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, "MPS server is not ready")                                  \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "MPS has no room for more clients")                      \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "MPS has no room for more connections")              \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, "MPS client was terminated")                               \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, "dynamic parallelism is not supported")                        \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, "dynamic parallelism versions differ")                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")   \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to an error during capture")    \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would merge separate capture sequences")         \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not begun in this stream")                 \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                    \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency on uncaptured work in another stream")      \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "operation would depend on a capturing blocking stream") \
    X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event recorded in a capture")      \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "capture must be ended by the thread that began it") \
    X(CUDA_ERROR_TIMEOUT, "wait operation timed out")                                              \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed")                  \
    X(CUDA_ERROR_EXTERNAL_DEVICE, "an external device failed")                                     \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size")                                     \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, "function is not loaded")                                    \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type")                                   \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration")                 \
    X(CUDA_ERROR_KEY_ROTATION, "key rotation event")                                               \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

struct error {
    CUresult code;
    const char *name, *text;
};

#define ROW(code, text) {code, #code, text},
static const struct error errors[] = {ERRORS(ROW)};
#undef ROW

static const struct error *find(CUresult code)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    const struct error *row = find(error);
    if (pStr == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = row != NULL ? row->name : NULL;
    return row != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    const struct error *row = find(error);
    if (pStr == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = row != NULL ? row->text : NULL;
    return row != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
