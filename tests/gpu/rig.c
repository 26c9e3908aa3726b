/* SPDX-License-Identifier: Apache-2.0 */
/* The bench for kernels over a driver: what the conformance programs say of the software
 * device's interpreter is asked of a GPU. Buffers are pinned host memory, which has one address
 * on both sides. */
#include "tests/gpu/device.h"

#include "tests/soft/simt/rig.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static CUmodule module;

void rig_open(struct rig *rig, const char *ptx, unsigned workers)
{
    (void)workers;
    memset(rig, 0, sizeof(*rig));
    DO(cuModuleLoadData, &module, ptx);
}

void rig_open_file(struct rig *rig, const char *path, unsigned workers)
{
    char *text = device_text(path);
    rig_open(rig, text, workers);
    free(text);
}

void rig_close(struct rig *rig)
{
    for (size_t i = 0; i < rig->buffer_count; i++)
        DO(cuMemFreeHost, rig->buffers[i].at);
    DO(cuModuleUnload, module);
}

void *rig_buffer(struct rig *rig, size_t bytes)
{
    void *at = NULL;
    assert_true(rig->buffer_count < RIG_MAX_BUFFERS);
    DO(cuMemHostAlloc, &at, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
    memset(at, 0, bytes);
    rig->buffers[rig->buffer_count].bytes = bytes;
    rig->buffers[rig->buffer_count++].at = at;
    return at;
}

enum rp_status rig_try(struct rig *rig, const char *kernel, struct rig_size grid,
                       struct rig_size block, const void *const *args)
{
    CUfunction function;
    void **params; /* the driver only reads them */
    memcpy(&params, &args, sizeof(params));
    DO(cuModuleGetFunction, &function, module, kernel);
    CUresult result =
        device_open()->cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      rig->options.dynamic_shared_bytes, NULL, params, NULL);
    if (result == CUDA_SUCCESS)
        result = device_open()->cuCtxSynchronize();
    return result == CUDA_SUCCESS ? RP_OK : RP_INVALID;
}

void rig_run(struct rig *rig, const char *kernel, struct rig_size grid, struct rig_size block,
             const void *const *args)
{
    if (rig_try(rig, kernel, grid, block, args) != RP_OK)
        fail_msg("%s does not run", kernel);
}
