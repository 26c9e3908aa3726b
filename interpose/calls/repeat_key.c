/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/repeat_key.h"

#include "interpose/calls/launch.h"

#include <string.h>

/* ---- kernels ---------------------------------------------------------------------- */

struct rp_repeat_shape *rp_repeat_shape(struct rp_repeat_shape shapes[RP_REPEAT_SHAPES],
                                        uint64_t function)
{
    return &shapes[(function * 0x9e3779b97f4a7c15u >> 32) % RP_REPEAT_SHAPES];
}

static bool has_gaps(const struct rp_kernel_layout *layout)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < layout->count; i++)
        bytes += layout->params[i].bytes;
    return bytes != layout->bytes;
}

struct rp_repeat_shape rp_repeat_shape_of(const struct rp_kernel *kernel)
{
    if (!kernel->layout.known)
        return (struct rp_repeat_shape){0};
    return (struct rp_repeat_shape){rp_repeat_changes(), kernel->function, kernel->layout,
                                    kernel->packed_alike, has_gaps(&kernel->layout)};
}

/* ---- launches --------------------------------------------------------------------- */

struct launch {
    CUfunction function;
    CUstream stream;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t in_one_block; /* the parameters came as `extra` */
};

static void set_shape(struct launch *launch, const unsigned *numbers)
{
    memcpy(launch->grid, numbers, sizeof launch->grid);
    memcpy(launch->block, numbers + 3, sizeof launch->block);
    launch->shared_bytes = numbers[6];
}

static bool read_launch(const struct rp_frame *frame, struct launch *launch, void ***params,
                        void ***extra)
{
    const struct rp_args_cuLaunchKernel *plain = frame->args;
    const struct rp_args_cuLaunchKernelEx *ex = frame->args;
    *extra = NULL;
    switch ((int)frame->id) {
    case RP_CALL_cuLaunchKernel:
    case RP_CALL_cuLaunchKernel_ptsz: *extra = plain->extra; /* fall through */
    case RP_CALL_cuLaunchCooperativeKernel: /* which starts alike */
    case RP_CALL_cuLaunchCooperativeKernel_ptsz:
        launch->function = plain->f;
        launch->stream = plain->hStream;
        set_shape(launch, &plain->gridDimX);
        *params = plain->kernelParams;
        return true;
    case RP_CALL_cuLaunchKernelEx:
    case RP_CALL_cuLaunchKernelEx_ptsz:
        if (!ex->config)
            return false;
        launch->function = ex->f;
        launch->stream = ex->config->hStream;
        set_shape(launch, &ex->config->gridDimX);
        *params = ex->kernelParams;
        *extra = ex->extra;
        return true;
    }
    return false;
}

static bool launch_key(const struct rp_frame *frame, struct rp_repeat_shape *shapes,
                       struct rp_repeat_key *key)
{
    struct launch launch;
    void **params, **extra;
    unsigned char *block = key->data + sizeof launch;
    if (!read_launch(frame, &launch, &params, &extra))
        return false;
    const struct rp_repeat_shape *shape = rp_repeat_shape(shapes, (uintptr_t)launch.function);
    const struct rp_kernel_layout *layout = &shape->layout;
    size_t room = sizeof key->data - sizeof launch;
    if (shape->function != (uintptr_t)launch.function || shape->changes != rp_repeat_changes() ||
        layout->bytes > room || (extra && !shape->packed_alike))
        return false;
    if (shape->has_gaps)
        memset(block, 0, layout->bytes);
    size_t bytes = rp_launched_params(layout, params, extra, block, room);
    if (bytes < layout->bytes)
        return false;
    launch.in_one_block = extra != NULL;
    memcpy(key->data, &launch, sizeof launch);
    key->bytes = (uint32_t)(sizeof launch + bytes);
    return true;
}

/* ---- all others ------------------------------------------------------------------- */

/* Their arguments one by one: between them there may be gaps. */
static bool plain_key(const struct rp_frame *frame, struct rp_repeat_key *key)
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    key->bytes = 0;
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct rp_arg_info *arg = &info->args[i];
        uint64_t value = 0;
        if (arg->size > sizeof value || key->bytes + sizeof value > sizeof key->data)
            return false;
        memcpy(&value, (const char *)frame->args + arg->offset, arg->size);
        memcpy(key->data + key->bytes, &value, sizeof value);
        key->bytes += sizeof value;
    }
    return true;
}

bool rp_repeat_key(const struct rp_frame *frame, struct rp_repeat_shape shapes[RP_REPEAT_SHAPES],
                   struct rp_repeat_key *key)
{
    key->call = frame->id;
    return rp_repeat_is_launch(frame->id) ? launch_key(frame, shapes, key)
                                          : plain_key(frame, key);
}
