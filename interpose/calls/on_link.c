/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the driver's linker. */
#include "interpose/calls/handlers.h"

#include "cuda/image/fatbin.h"
#include "interpose/calls/file.h"
#include "interpose/run/linker.h"

static void add(CUlinkState state, CUjitInputType type, const void *data, size_t bytes)
{
    bool is_text = data && type == CU_JIT_INPUT_PTX && bytes > 4 &&
                   rp_image_kind(data) == RP_IMAGE_PTX;
    rp_core_lock();
    rp_link_add(RP_HANDLE(state), is_text ? data : NULL, bytes);
    rp_core_unlock();
}

void rp_on_link_data(struct rp_frame *frame)
{
    const struct rp_args_cuLinkAddData_v2 *args = frame->args;
    if (frame->result == CUDA_SUCCESS)
        add(args->state, args->type, args->data, args->size);
}

void rp_on_link_file(struct rp_frame *frame)
{
    const struct rp_args_cuLinkAddFile_v2 *args = frame->args;
    frame->scratch[0] = args->path ? rp_file_read(args->path) : NULL;
}

void rp_on_link_file_done(struct rp_frame *frame)
{
    const struct rp_args_cuLinkAddFile_v2 *args = frame->args;
    struct rp_file *file = frame->scratch[0];
    bool same = file && rp_file_is_unchanged(file, args->path);
    if (frame->result == CUDA_SUCCESS)
        add(args->state, args->type, same ? file->bytes : NULL, same ? file->size : 0);
    rp_file_release(file);
}

void rp_on_link_complete(struct rp_frame *frame)
{
    const struct rp_args_cuLinkComplete *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->cubinOut || !*args->cubinOut || !args->sizeOut)
        return;
    rp_core_lock();
    rp_link_complete(RP_HANDLE(args->state), *args->cubinOut, *args->sizeOut);
    rp_core_unlock();
}

void rp_on_link_destroy(struct rp_frame *frame)
{
    const struct rp_args_cuLinkDestroy *args = frame->args;
    rp_core_lock();
    if (frame->result == CUDA_SUCCESS)
        rp_link_destroy(RP_HANDLE(args->state));
    rp_core_unlock();
}
