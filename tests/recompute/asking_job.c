/* SPDX-License-Identifier: Apache-2.0 */
/* usage: asking_job. Asks the driver of what it has allocated, whole and inside, and prints every
 * answer that does not depend on where memory lies. Loads no kernel. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)                                                                                  \
    do {                                                                                          \
        CUresult result_ = (call);                                                                \
        if (result_ != CUDA_SUCCESS) {                                                            \
            printf(#call " failed with %d\n", (int)result_);                                      \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

static CUcontext context;
static CUmemoryPool pool;

static void ask_range(CUdeviceptr memory, size_t inside)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CU(cuMemGetAddressRange(&base, &bytes, memory + inside));
    printf("range at %zu: base %s, %zu bytes\n", inside, base == memory ? "right" : "wrong", bytes);
}

/* One answer must differ: a handle for other processes can't be had of the layer's memory. */
static void ask_one(CUdeviceptr memory, size_t inside, int which)
{
    if (which == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
        return;
    unsigned long long value[2] = {0, 0};
    CUresult result = cuPointerGetAttribute(value, (CUpointer_attribute)which, memory + inside);
    if (which == CU_POINTER_ATTRIBUTE_CONTEXT)
        value[0] = value[0] == (unsigned long long)(size_t)context;
    if (which == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        value[0] = value[0] == (unsigned long long)(size_t)pool;
    if (which == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
        which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
        which == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)
        value[0] -= memory;
    if (which == CU_POINTER_ATTRIBUTE_BUFFER_ID || which == CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)
        value[0] = value[0] != 0;
    printf("attribute %d at %zu: %d, %llu\n", which, inside, (int)result, value[0]);
}

static void ask_many(CUdeviceptr memory, size_t inside)
{
    unsigned type = 0;
    int ordinal = -1, managed = -1;
    size_t bytes = 0;
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *data[] = {&type, &ordinal, &managed, &bytes};
    CU(cuPointerGetAttributes(4, which, data, memory + inside));
    printf("attributes at %zu: %u %d %d %zu\n", inside, type, ordinal, managed, bytes);
}

/* None of these frees it. */
static void free_wrongly(CUdeviceptr memory)
{
    printf("free inside: %d\n", (int)cuMemFree(memory + 256));
    printf("unregister: %d\n", (int)cuMemHostUnregister((void *)(size_t)memory));
    printf("free as the host's: %d\n", (int)cuMemFreeHost((void *)(size_t)memory));
}

/* Several at a time are answered wherever the address leads. */
static void ask_many_of_nothing(CUdeviceptr address)
{
    unsigned type = 7;
    int ordinal = 7;
    size_t bytes = 7;
    CUdeviceptr base = 7, itself = 7, on_host = 7;
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *data[] = {&type, &ordinal, &bytes, &base, &itself, &on_host};
    CUresult result = cuPointerGetAttributes(6, which, data, address);
    printf("of nothing: %d, %u %d %zu %llu %llu %d\n", (int)result, type, ordinal, bytes, base,
           itself, on_host == address);
}

/* Where it ends with a granule another's memory may begin. */
static void ask_past(CUdeviceptr end)
{
    CUdeviceptr base;
    size_t size;
    unsigned type;
    if (end % 4096 == 0)
        return;
    printf("range: %d\n", (int)cuMemGetAddressRange(&base, &size, end));
    printf("type: %d\n",
           (int)cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, end));
    printf("set nowhere: %d\n", (int)cuMemsetD8(end, 1, 1));
    ask_many_of_nothing(end);
}

/* Past its end, where there may be memory all the same. */
static void go_past(CUdeviceptr memory, size_t bytes)
{
    unsigned char *host = calloc(2, bytes);
    CUdeviceptr other;
    CU(cuMemAlloc(&other, bytes));
    ask_past(memory + bytes);
    printf("set: %d\n", (int)cuMemsetD8(memory, 1, bytes + 1));
    printf("set later: %d\n", (int)cuMemsetD8Async(memory + 4, 1, bytes - 3, CU_STREAM_LEGACY));
    printf("set rows: %d\n", (int)cuMemsetD2D8(memory + bytes - 40, 16, 1, 9, 3));
    printf("set too many rows: %d\n", (int)cuMemsetD2D8(memory + bytes - 40, 16, 1, 9, 4));
    printf("read: %d\n", (int)cuMemcpyDtoH(host, memory, bytes + 1));
    printf("write: %d\n", (int)cuMemcpyHtoD(memory + 1, host, bytes));
    printf("copy: %d\n", (int)cuMemcpyDtoD(other + 1, memory, bytes));
    printf("copy all: %d\n", (int)cuMemcpyDtoD(other, memory, bytes));
    CU(cuMemFree(other));
    free(host);
}

/* Whether copies of it wait. */
static void set_waiting(CUdeviceptr memory, size_t bytes, unsigned on)
{
    const CUpointer_attribute which = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    unsigned first = 2, last = 2;
    CUresult result = cuPointerSetAttribute(&on, which, memory + 8);
    CU(cuPointerGetAttribute(&first, which, memory));
    CU(cuPointerGetAttribute(&last, which, memory + bytes - 1));
    printf("waiting %u: %d, %u %u\n", on, (int)result, first, last);
}

static void bind_to_multicast(CUdeviceptr memory)
{
    const CUmulticastObjectProp properties = {.numDevices = 1, .size = 4096};
    CUmemGenericAllocationHandle object;
    CU(cuMulticastCreate(&object, &properties));
    CU(cuMulticastAddDevice(object, 0));
    printf("bind: %d\n", (int)cuMulticastBindAddr(object, 0, memory, 4096, 0));
    CU(cuMemRelease(object));
}

/* It is not mapped by the job. */
static void ask_as_if_mapped(CUdeviceptr memory)
{
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    const CUmemAccessDesc access = {location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    unsigned long long flags = 0;
    printf("access: %d %llu\n", (int)cuMemGetAccess(&flags, &location, memory), flags);
    printf("set access: %d\n", (int)cuMemSetAccess(memory, 4096, &access, 1));
    printf("retain: %d\n", (int)cuMemRetainAllocationHandle(&handle, (void *)(size_t)memory));
    printf("unmap: %d\n", (int)cuMemUnmap(memory, 4096));
    bind_to_multicast(memory);
}

static void ask_all(CUdeviceptr memory, size_t bytes)
{
    for (unsigned i = 0; i < 3; i++)
        set_waiting(memory, bytes, i % 2);
    printf("set what can't be: %d\n",
           (int)cuPointerSetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory));
    for (size_t inside = 0; inside < bytes; inside += bytes / 2 + 1) {
        ask_range(memory, inside);
        for (int which = CU_POINTER_ATTRIBUTE_CONTEXT;
             which <= CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID; which++)
            ask_one(memory, inside, which);
        ask_many(memory, inside);
    }
    ask_as_if_mapped(memory);
}

/* One that reads the memory as bytes. The driver looks whether there is any. */
static void make_texture(CUdeviceptr memory, size_t bytes)
{
    CUtexObject texture;
    const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    const CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_LINEAR,
                                   .res.linear = {.devPtr = memory,
                                                  .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                  .numChannels = 1,
                                                  .sizeInBytes = bytes}};
    CUresult result = cuTexObjectCreate(&texture, &is, &how, NULL);
    printf("texture: %d\n", (int)result);
    if (result == CUDA_SUCCESS)
        CU(cuTexObjectDestroy(texture));
}

static void ask_of_texture(size_t bytes)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, bytes));
    CU(cuMemsetD8(memory, 7, bytes));
    CU(cuCtxSynchronize());
    make_texture(memory, bytes);
    CU(cuMemFree(memory));
}

static void ask(size_t bytes)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, bytes));
    ask_all(memory, bytes);
    free_wrongly(memory);
    go_past(memory, bytes);
    unsigned char *host = calloc(1, bytes);
    CU(cuMemsetD8(memory, 7, bytes));
    CU(cuMemcpyDtoH(host, memory, bytes));
    printf("bytes: %d %d\n", host[0], host[bytes - 1]);
    free(host);
    CU(cuMemFree(memory));
    printf("free twice: %d\n", (int)cuMemFree(memory));
}

/* ---- pools ----------------------------------------------------------------------------- */

static void ask_pool(const char *when)
{
    static const CUmemPool_attribute which[] = {
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH};
    printf("pool %s:", when);
    for (int i = 0; i < 4; i++) {
        cuuint64_t value = 0;
        CU(cuMemPoolGetAttribute(pool, which[i], &value));
        printf(" %llu", (unsigned long long)value);
    }
    printf("\n");
}

static void set(CUmemPool_attribute which, cuuint64_t value)
{
    CU(cuMemPoolSetAttribute(pool, which, &value));
}

/* What was given back may come again at once in its stream; elsewhere once that has come so far. */
static void take_in_turn(CUstream stream, size_t bytes)
{
    CUdeviceptr first, second, third;
    CU(cuMemAllocFromPoolAsync(&first, bytes, pool, stream));
    CU(cuMemAllocFromPoolAsync(&second, 1000, pool, stream));
    ask_pool("with two");
    CU(cuMemFreeAsync(first, stream));
    CU(cuMemAllocFromPoolAsync(&third, bytes, pool, stream));
    printf("again: %s\n", third == first ? "the same" : "another");
    CU(cuStreamSynchronize(stream));
    ask_pool("with another");
    CU(cuMemFreeAsync(second, stream));
    CU(cuMemFreeAsync(third, stream));
    printf("twice: %d\n", (int)cuMemFreeAsync(third, stream));
    CU(cuStreamSynchronize(stream));
    ask_pool("with none");
}

static void ask_of_pool(size_t bytes)
{
    CUdeviceptr memory;
    CUstream stream;
    unsigned char *host = calloc(1, bytes);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAllocFromPoolAsync(&memory, bytes, pool, stream));
    ask_all(memory, bytes);
    printf("free inside: %d\n", (int)cuMemFreeAsync(memory + 256, stream));
    CU(cuMemsetD8Async(memory, 7, bytes, stream));
    CU(cuMemcpyDtoHAsync(host, memory, bytes, stream));
    CU(cuMemFreeAsync(memory, stream));
    CU(cuStreamSynchronize(stream));
    printf("bytes: %d %d\n", host[0], host[bytes - 1]);
    take_in_turn(stream, bytes);
    set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
    take_in_turn(stream, bytes);
    CU(cuMemPoolTrimTo(pool, 0));
    ask_pool("trimmed");
    set(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
    ask_pool("set back");
    set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
    CU(cuMemAllocFromPoolAsync(&memory, bytes, pool, stream));
    CU(cuMemFree(memory));
    ask_pool("freed at once");
    CU(cuStreamDestroy(stream));
    free(host);
}

static void ask_of_own_pool(size_t bytes)
{
    const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CU(cuMemPoolCreate(&pool, &properties));
    ask_of_pool(bytes);
    CU(cuMemPoolDestroy(pool));
}

int main(void)
{
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    ask_of_texture(65536);
    ask(1000);
    ask(65536);
    ask(100001);
    CU(cuDeviceGetDefaultMemPool(&pool, 0));
    ask_of_pool(100001);
    ask_of_own_pool(65536);
    return 0;
}
