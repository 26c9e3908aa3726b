/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: a small GPU whose architecture can be chosen. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"
#include "cuda/soft/api/soft.h"

#include <stdio.h>
#include <string.h>

#define NAME "reprise software device"
#define KIB 1024

struct attribute {
    CUdevice_attribute attribute;
    int value;
};

/* What does not depend on the architecture. Sources: the limits that the CUDA programming
 * guide gives for all compute capabilities from 5.0; the rest is what this device can do. */
static const struct attribute constants[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, SOFT_MAX_THREADS_PER_BLOCK},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, SOFT_MAX_BLOCK_X},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, SOFT_MAX_BLOCK_Y},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, SOFT_MAX_BLOCK_Z},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, SOFT_MAX_GRID_X},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, SOFT_MAX_GRID_YZ},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, SOFT_MAX_GRID_YZ},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SOFT_SHARED_PER_BLOCK},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 * KIB},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, SOFT_REGISTERS},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, SOFT_REGISTERS},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, SOFT_MULTIPROCESSORS},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 128},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4096 * KIB},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 1},
    /* Textures and surfaces are not read: their sizes stay 0, like every attribute not named here.
     */
};

struct architecture {
    uint64_t capability; /* from this one on */
    int threads, blocks, shared_kib, shared_optin_kib;
};

/* Threads, blocks and shared memory of a multiprocessor, and shared memory that a block can opt in
 * to: table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide
 * (docs.nvidia.com/cuda). From 8.0 on the system takes 1 KiB of each block's. */
static const struct architecture architectures[] = {
    {50, 2048, 32, 64, 48},   {52, 2048, 32, 96, 48},   {60, 2048, 32, 64, 48},
    {61, 2048, 32, 96, 48},   {70, 2048, 32, 96, 96},   {75, 1024, 16, 64, 64},
    {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},  {87, 1536, 16, 164, 163},
    {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227},
    {120, 1536, 24, 100, 99},
};
#define FIRST_WITH_RESERVED_SHARED 80

static const struct architecture *architecture(void)
{
    const struct architecture *found = architectures;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (architectures[i].capability <= soft.options.capability)
            found = &architectures[i];
    return found;
}

int soft_device_attribute(const struct soft_device *device, CUdevice_attribute attribute,
                          bool *known)
{
    int number = (int)attribute;

    *known = number >= 1 && number < (int)CU_DEVICE_ATTRIBUTE_MAX;
    if (number == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        return (int)(soft.options.capability / 10);
    if (number == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        return (int)(soft.options.capability % 10);
    if (number == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
        return architecture()->threads;
    if (number == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
        return architecture()->shared_kib * KIB;
    if (number == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        return architecture()->shared_optin_kib * KIB;
    if (number == CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)
        return architecture()->blocks;
    if (number == CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)
        return soft.options.capability >= FIRST_WITH_RESERVED_SHARED ? KIB : 0;
    if (number == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
        return device->ordinal + 1;
    if (number == CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT)
        return soft.options.timeout_ms != 0;
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (constants[i].attribute == attribute)
            return constants[i].value;
    return 0;
}

struct soft_device *soft_device_find(CUdevice ordinal)
{
    return ordinal >= 0 && (uint64_t)ordinal < soft.options.devices ? &soft.devices[ordinal] : NULL;
}

/* Device queries need no context and no lock: what they read never changes after cuInit. */
static CUresult device_query(CUdevice ordinal, const void *output, struct soft_device **device)
{
    if (soft.life == SOFT_OFF || soft.life == SOFT_FORKED)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (soft_thread.in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    if (output == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device = soft_device_find(ordinal);
    return *device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    struct soft_device *found;
    CUresult result = device_query(ordinal, device, &found);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return result;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    struct soft_device *first;
    CUresult result = device_query(0, count, &first);
    if (result == CUDA_SUCCESS)
        *count = (int)soft.options.devices;
    return result;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, name, &device);
    if (result == CUDA_SUCCESS && len <= 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)len, "%s", NAME);
    return result;
}

static CUresult device_uuid(CUuuid *uuid, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, uuid, &device);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(uuid->bytes, "reprise-soft-dev", sizeof uuid->bytes);
    uuid->bytes[15] = (char)('0' + device->ordinal);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return device_uuid(uuid, dev);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return device_uuid(uuid, dev);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, bytes, &device);
    if (result == CUDA_SUCCESS)
        *bytes = device->memory_limit;
    return result;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct soft_device *device;
    bool known;
    CUresult result = device_query(dev, pi, &device);
    if (result != CUDA_SUCCESS)
        return result;
    int value = soft_device_attribute(device, attrib, &known);
    if (!known)
        return CUDA_ERROR_INVALID_VALUE;
    *pi = value;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, major, &device);
    if (result == CUDA_SUCCESS && minor == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *major = (int)(soft.options.capability / 10);
    *minor = (int)(soft.options.capability % 10);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, prop, &device);
    if (result != CUDA_SUCCESS)
        return result;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = SOFT_MAX_THREADS_PER_BLOCK,
        .maxThreadsDim = {SOFT_MAX_BLOCK_X, SOFT_MAX_BLOCK_Y, SOFT_MAX_BLOCK_Z},
        .maxGridSize = {SOFT_MAX_GRID_X, SOFT_MAX_GRID_YZ, SOFT_MAX_GRID_YZ},
        .sharedMemPerBlock = SOFT_SHARED_PER_BLOCK,
        .totalConstantMemory = 64 * KIB,
        .SIMDWidth = 32,
        .memPitch = 0x7fffffff,
        .regsPerBlock = SOFT_REGISTERS,
        .clockRate = 1000000,
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, pciBusId, &device);
    if (result == CUDA_SUCCESS && len < 13)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device->ordinal + 1);
    return result;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    struct soft_device *first;
    unsigned domain = 0, bus, slot;
    CUresult result = device_query(0, dev, &first);
    if (result != CUDA_SUCCESS)
        return result;
    if (pciBusId == NULL || (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3 &&
                             sscanf(pciBusId, "%x:%x", &bus, &slot) != 2))
        return CUDA_ERROR_INVALID_VALUE;
    if (domain != 0 || slot != 0 || bus < 1 || bus > soft.options.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *dev = (CUdevice)bus - 1;
    return CUDA_SUCCESS;
}

/* Every device reaches every other's memory. */
CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct soft_device *device, *peer;
    CUresult result = device_query(dev, canAccessPeer, &device);
    if (result == CUDA_SUCCESS)
        result = device_query(peerDev, canAccessPeer, &peer);
    if (result == CUDA_SUCCESS)
        *canAccessPeer = dev != peerDev;
    return result;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    struct soft_device *source, *target;
    CUresult result = device_query(srcDevice, value, &source);
    if (result == CUDA_SUCCESS)
        result = device_query(dstDevice, value, &target);
    if (result != CUDA_SUCCESS)
        return result;
    if (source == target)
        return CUDA_ERROR_INVALID_DEVICE;
    if (attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attrib > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
             attrib == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = device_query(dev, pi, &device);
    if (result == CUDA_SUCCESS && type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *pi = 0;
    return result;
}
