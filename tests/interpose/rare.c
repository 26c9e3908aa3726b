/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls that the software device does not have, and says in order which allocations they must
 * be said to write, a line for each.
 *
 * With a second word it only gets a module's variable, which is managed.
 *
 * usage: rare CUBIN [variable], with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, POOLED = 8192 };

static struct door bare, layered;
static struct fake_state *state;
static char image[1 << 20];

/* The fake leaves handles and addresses as they are, so the job chooses them. */
static CUdeviceptr allocate(unsigned nth)
{
    CUdeviceptr memory = (CUdeviceptr)nth << 28;
    layered.calls.cuMemAlloc_v2(&memory, BYTES);
    return memory;
}

static void decompress(CUdeviceptr from, CUdeviceptr to, CUdeviceptr count)
{
    CUmemDecompressParams params = {.srcNumBytes = 64, .dstNumBytes = 256,
                                    .dstActBytes = (cuuint32_t *)(count + 8),
                                    .src = (const void *)from, .dst = (void *)to};
    layered.calls.cuMemBatchDecompressAsync(&params, 1, 0, NULL, NULL);
    puts("decompressed: 2 3");
}

/* The parameter is a structure whose content nobody but the driver can read. */
static void launch_with_map(CUfunction function, CUtensorMap *map, CUdeviceptr other)
{
    void *params[] = {map, &other};
    layered.calls.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static void launch_with_maps(CUdeviceptr first, CUdeviceptr second, CUdeviceptr other)
{
    CUmodule module = (CUmodule)0x1000;
    CUfunction function = (CUfunction)0x2000;
    _Alignas(128) CUtensorMap map;
    layered.calls.cuModuleLoadData(&module, image);
    layered.calls.cuModuleGetFunction(&function, module, "map_first");
    memset(&map, 0xa1, sizeof(map));
    layered.calls.cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, (void *)first,
                                         NULL, NULL, NULL, NULL, 0, 0, 0, 0);
    launch_with_map(function, &map, other);
    puts("encoded: 4 6");
    map.opaque[3] = 0xb2; /* as the driver would say it */
    layered.calls.cuTensorMapReplaceAddress(&map, (void *)second);
    launch_with_map(function, &map, other);
    puts("replaced: 5 6");
}

/* Of pools that are the device's, the host's, and whose it is in turn. */
static void take_from_pools(void)
{
    const CUmemPoolProps pools[] = {
        {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}},
        {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
         .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}},
        {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
         .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0}},
        {.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
    };
    for (unsigned i = 0; i < sizeof(pools) / sizeof(*pools); i++) {
        CUmemoryPool pool = (CUmemoryPool)(uintptr_t)(0x3000 + i);
        CUdeviceptr memory = (CUdeviceptr)(16 + i) << 28;
        layered.calls.cuMemPoolCreate(&pool, &pools[i]);
        layered.calls.cuMemAllocFromPoolAsync(&memory, POOLED, pool, NULL);
    }
    CUdeviceptr memory = state->on_host = (CUdeviceptr)24 << 28; /* by the host's default pool */
    layered.calls.cuMemAllocFromPoolAsync(&memory, POOLED, (CUmemoryPool)0x4000, NULL);
}

static void get_variable(void)
{
    CUmodule module = (CUmodule)0x1000;
    CUdeviceptr address;
    state->variable = (CUdeviceptr)25 << 28;
    state->variable_bytes = BYTES;
    layered.calls.cuModuleGetGlobal_v2(&address, NULL, module, "shared");
}

int main(int argc, char **argv)
{
    CUdeviceptr memory[6];
    FILE *file = argc >= 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(image, 1, sizeof(image), file) == 0)
        return 2;
    fclose(file);
    state = fake_job_doors(&bare, &layered);
    layered.calls.cuInit(0);
    if (argc > 2) {
        get_variable();
        return 0;
    }
    for (unsigned i = 0; i < 6; i++)
        memory[i] = allocate(i + 1);
    take_from_pools();
    decompress(memory[0], memory[1], memory[2]);
    launch_with_maps(memory[3], memory[4], memory[5]);
    return 0;
}
