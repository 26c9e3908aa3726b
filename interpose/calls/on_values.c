/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a stream writes to memory or waits for, alone or in batches. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/area.h"
#include "interpose/calls/values.h"
#include "interpose/run/remark.h"

static enum rp_status reach_value(struct rp_footprint *call, uint64_t address, uint64_t bytes,
                                  enum rp_effect effect, uint64_t value)
{
    const struct rp_area line = rp_area_line(address, bytes);
    if (effect == RP_WRITE)
        return rp_area_fill(call, &line, (unsigned)bytes, value);
    call->is_gate = true;
    call->signature = call->signature * 31 + bytes;
    call->values = call->values * 31 + value;
    return rp_area_reach(call, &line, RP_READ);
}

static enum rp_status reach_item(struct rp_footprint *call, const CUstreamBatchMemOpParams *item)
{
    const struct CUstreamMemOpWriteValueParams_st *write = &item->writeValue;
    const struct CUstreamMemOpWaitValueParams_st *wait = &item->waitValue;
    switch (item->operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return reach_value(call, write->address, 4, RP_WRITE, write->value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return reach_value(call, write->address, 8, RP_WRITE, write->value64);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return reach_value(call, wait->address, 4, RP_READ, wait->value);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return reach_value(call, wait->address, 8, RP_READ, wait->value64);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return RP_OK;
    default: break;
    }
    call->reason = "a memory operation that is not known";
    rp_remark(rp_name(call->name), call->reason);
    return rp_footprint_everything(call, RP_WRITE);
}

enum { MOST_ITEMS = 255 }; /* of more the driver reads none: cuda.h at cuStreamBatchMemOp */

enum rp_status rp_values_reach(struct rp_footprint *call, const CUstreamBatchMemOpParams *items,
                               size_t count)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; count <= MOST_ITEMS && status == RP_OK && i < count; i++)
        status = reach_item(call, &items[i]);
    return status;
}

static void track_value(struct rp_frame *frame, uint64_t address, uint64_t bytes,
                        enum rp_effect effect, uint64_t value)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_handler_track(frame, call, reach_value(call, address, bytes, effect, value));
    rp_core_unlock();
}

void rp_on_write_value32(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWriteValue32_v2 *args = frame->args;
    track_value(frame, args->addr, 4, RP_WRITE, args->value);
}

void rp_on_write_value64(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWriteValue64_v2 *args = frame->args;
    track_value(frame, args->addr, 8, RP_WRITE, args->value);
}

void rp_on_wait_value32(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWaitValue32_v2 *args = frame->args;
    track_value(frame, args->addr, 4, RP_READ, args->value);
}

void rp_on_wait_value64(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWaitValue64_v2 *args = frame->args;
    track_value(frame, args->addr, 8, RP_READ, args->value);
}

void rp_on_batch_mem_op(struct rp_frame *frame)
{
    const struct rp_args_cuStreamBatchMemOp_v2 *args = frame->args; /* the old form is alike */
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    enum rp_status status = RP_OK;
    if (args->paramArray)
        status = rp_values_reach(call, args->paramArray, args->count);
    rp_handler_track(frame, call, status);
    rp_core_unlock();
}
