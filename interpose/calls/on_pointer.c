/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that ask what is at an address: of memory that the layer made in the driver's place, the
 * layer answers. */
#include "interpose/calls/handlers.h"

#include "interpose/recompute/answer.h"
#include "interpose/recompute/recompute.h"

static void answer(struct rp_frame *frame, CUresult result)
{
    frame->result = result;
    frame->skip = true;
}

void rp_on_address_range(struct rp_frame *frame)
{
    const struct rp_args_cuMemGetAddressRange_v2 *args = frame->args;
    rp_core_lock();
    const struct rp_backed *backed = rp_answer_for(args->dptr);
    if (backed && args->pbase)
        *args->pbase = rp_backing_address(backed);
    if (backed && args->psize)
        *args->psize = rp_backing_bytes(backed);
    if (backed)
        answer(frame, CUDA_SUCCESS);
    else if (rp_answer_is_past(args->dptr))
        answer(frame, CUDA_ERROR_NOT_FOUND);
    rp_core_unlock();
}

void rp_on_pointer_attribute(struct rp_frame *frame)
{
    const struct rp_args_cuPointerGetAttribute *args = frame->args;
    rp_core_lock();
    const struct rp_backed *backed = rp_answer_for(args->ptr);
    if (backed && args->data)
        answer(frame, rp_answer_attribute(backed, args->ptr, args->attribute, args->data));
    else if (rp_answer_is_past(args->ptr))
        answer(frame, CUDA_ERROR_INVALID_VALUE);
    rp_core_unlock();
}

void rp_on_pointer_attributes(struct rp_frame *frame)
{
    const struct rp_args_cuPointerGetAttributes *args = frame->args;
    CUresult result = CUDA_SUCCESS;
    if (!args->attributes || !args->data)
        return;
    rp_core_lock();
    const struct rp_backed *backed = rp_answer_for(args->ptr);
    for (unsigned i = 0; backed && result == CUDA_SUCCESS && i < args->numAttributes; i++)
        result = rp_answer_one_of(backed, args->ptr, args->attributes[i], args->data[i]);
    if (backed)
        answer(frame, result);
    else if (rp_answer_is_past(args->ptr))
        answer(frame, rp_answer_of_nothing(args->ptr, args->numAttributes, args->attributes,
                                           args->data));
    rp_core_unlock();
}

void rp_on_pointer_set(struct rp_frame *frame)
{
    const struct rp_args_cuPointerSetAttribute *args = frame->args;
    rp_core_lock();
    if (rp_answer_for(args->ptr))
        rp_recompute_await_others(); /* without the lock: it may be gone by now */
    struct rp_backed *backed = rp_answer_for(args->ptr);
    if (backed)
        answer(frame, rp_answer_set(backed, args->attribute, args->value));
    else if (rp_answer_is_past(args->ptr))
        answer(frame, CUDA_ERROR_INVALID_VALUE);
    rp_core_unlock();
}
