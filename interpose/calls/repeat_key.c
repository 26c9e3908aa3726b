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
    const unsigned *shape; /* grid, block and shared bytes: seven numbers */
    void **params, **extra;
};

static bool read_launch(const struct rp_frame *frame, struct launch *launch)
{
    const struct rp_args_cuLaunchKernel *plain = frame->args;
    const struct rp_args_cuLaunchKernelEx *ex = frame->args;
    switch ((int)frame->id) {
    case RP_CALL_cuLaunchKernel:
    case RP_CALL_cuLaunchKernel_ptsz:
        *launch = (struct launch){plain->f, plain->hStream, &plain->gridDimX, plain->kernelParams,
                                  plain->extra};
        return true;
    case RP_CALL_cuLaunchCooperativeKernel: /* which starts alike */
    case RP_CALL_cuLaunchCooperativeKernel_ptsz:
        *launch = (struct launch){plain->f, plain->hStream, &plain->gridDimX, plain->kernelParams,
                                  NULL};
        return true;
    case RP_CALL_cuLaunchKernelEx:
    case RP_CALL_cuLaunchKernelEx_ptsz:
        if (!ex->config)
            return false;
        *launch = (struct launch){ex->f, ex->config->hStream, &ex->config->gridDimX,
                                  ex->kernelParams, ex->extra};
        return true;
    }
    return false;
}

/* In whole words: what has just been written in halves the processor can't read as one without
 * waiting for both. */
enum { HEAD_WORDS = 6 };
static void put_head(uint64_t words[HEAD_WORDS], const struct launch *launch)
{
    const unsigned *shape = launch->shape;
    uint64_t in_one_block = launch->extra != NULL;
    words[0] = (uintptr_t)launch->function;
    words[1] = (uintptr_t)launch->stream;
    words[2] = shape[0] | (uint64_t)shape[1] << 32;
    words[3] = shape[2] | (uint64_t)shape[3] << 32;
    words[4] = shape[4] | (uint64_t)shape[5] << 32;
    words[5] = shape[6] | in_one_block << 32;
}

static bool launch_key(const struct rp_frame *frame, struct rp_repeat_shape *shapes,
                       struct rp_repeat_key *key)
{
    struct launch launch;
    unsigned char *block = (unsigned char *)(key->words + HEAD_WORDS);
    if (!read_launch(frame, &launch))
        return false;
    const struct rp_repeat_shape *shape = rp_repeat_shape(shapes, (uintptr_t)launch.function);
    const struct rp_kernel_layout *layout = &shape->layout;
    size_t room = sizeof key->words - HEAD_WORDS * sizeof *key->words;
    if (shape->function != (uintptr_t)launch.function || shape->changes != rp_repeat_changes() ||
        layout->bytes > room || (launch.extra && !shape->packed_alike))
        return false;
    if (shape->has_gaps)
        memset(block, 0, layout->bytes);
    size_t bytes = rp_launched_params(layout, launch.params, launch.extra, block, room);
    if (bytes < layout->bytes)
        return false;
    put_head(key->words, &launch);
    key->bytes = (uint32_t)(HEAD_WORDS * sizeof *key->words + bytes);
    return true;
}

/* ---- all others ------------------------------------------------------------------- */

/* Their arguments one by one: between them there may be gaps. */
static bool plain_key(const struct rp_frame *frame, struct rp_repeat_key *key)
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct rp_arg_info *arg = &info->args[i];
        if (arg->size > sizeof key->words[i] || i == RP_KEY_MOST_WORDS)
            return false;
        key->words[i] = rp_given_load((const char *)frame->args + arg->offset, arg->size);
    }
    key->bytes = (uint32_t)(info->arg_count * sizeof *key->words);
    return true;
}

bool rp_repeat_key(const struct rp_frame *frame, struct rp_repeat_shape shapes[RP_REPEAT_SHAPES],
                   struct rp_repeat_key *key)
{
    key->call = frame->id;
    return rp_repeat_is_launch(frame->id) ? launch_key(frame, shapes, key)
                                          : plain_key(frame, key);
}
