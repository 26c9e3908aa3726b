/* SPDX-License-Identifier: Apache-2.0 */
/* Words of memory that streams write and wait for. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/races.h"
#include "cuda/soft/api/stream.h"
#include "cuda/soft/api/touched.h"

#include <stdlib.h>

struct value_work {
    struct soft_work base;
    uint64_t address, value;
    unsigned bytes; /* 4 or 8 */
    unsigned flags;
};

static bool is_reachable(const struct value_work *work, const struct soft_op *op, bool write)
{
    return soft_memory_allows(op->context, work->address, work->bytes, write);
}

static CUresult gone(const struct value_work *work)
{
    soft_say("stream value at %#llx: the memory is gone", (unsigned long long)work->address);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* ---- writing ----------------------------------------------------------------------- */

static CUresult write_run(const struct soft_work *base, struct soft_op *op)
{
    const struct value_work *work = (const struct value_work *)base;

    pthread_mutex_lock(&soft.lock);
    bool good = is_reachable(work, op, true);
    pthread_mutex_unlock(&soft.lock);
    if (!good)
        return gone(work);
    if (work->bytes == 4)
        __atomic_store_n((uint32_t *)soft_pointer(work->address), (uint32_t)work->value,
                         __ATOMIC_SEQ_CST);
    else
        __atomic_store_n((uint64_t *)soft_pointer(work->address), work->value, __ATOMIC_SEQ_CST);
    soft_touched_note(op, work->address, work->bytes, true);
    return CUDA_SUCCESS;
}

/* ---- waiting ----------------------------------------------------------------------- */

static bool holds(const struct value_work *work)
{
    uint64_t mask = work->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t seen = work->bytes == 4
                        ? __atomic_load_n((const uint32_t *)soft_pointer(work->address),
                                          __ATOMIC_SEQ_CST)
                        : __atomic_load_n((const uint64_t *)soft_pointer(work->address),
                                          __ATOMIC_SEQ_CST);
    uint64_t value = work->value & mask;

    switch (work->flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ: return seen == value;
    case CU_STREAM_WAIT_VALUE_AND: return (seen & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return (~(seen | value) & mask) != 0;
    default: /* GEQ is cyclic: the difference is not negative */
        return work->bytes == 4 ? (int32_t)((uint32_t)seen - (uint32_t)value) >= 0
                                : (int64_t)(seen - value) >= 0;
    }
}

static bool wait_ready(const struct soft_work *base, const struct soft_op *op)
{
    const struct value_work *work = (const struct value_work *)base;
    return !is_reachable(work, op, false) || holds(work);
}

static CUresult wait_run(const struct soft_work *base, struct soft_op *op)
{
    const struct value_work *work = (const struct value_work *)base;
    pthread_mutex_lock(&soft.lock);
    bool good = is_reachable(work, op, false);
    if (good)
        soft_races_witness(op, work->address);
    pthread_mutex_unlock(&soft.lock);
    if (!good)
        return gone(work);
    soft_touched_note(op, work->address, work->bytes, false);
    return CUDA_SUCCESS;
}

/* ---- submitting -------------------------------------------------------------------- */

static const struct soft_work_type write_type = {
    .name = "value write",
    .class_ = SOFT_WORK_DEVICE,
    .node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    .capturable = true,
    .run = write_run,
};
static const struct soft_work_type wait_type = {
    .name = "value wait",
    .class_ = SOFT_WORK_DEVICE,
    .node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    .capturable = true,
    .run = wait_run,
    .ready = wait_ready,
};

struct value {
    const struct soft_work_type *type;
    uint64_t address, value;
    unsigned bytes, flags;
};

static CUresult check(const struct soft_context *context, const struct value *value)
{
    const unsigned known = value->type == &wait_type
                               ? 3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH
                               : (unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (value->address % value->bytes != 0 || (value->flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((value->flags & (unsigned)CU_STREAM_WAIT_VALUE_FLUSH) != 0)
        return CUDA_ERROR_NOT_SUPPORTED; /* CAN_FLUSH_REMOTE_WRITES is 0 */
    return soft_memory_allows(context, value->address, value->bytes, value->type == &write_type)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult submit(struct soft_stream *stream, const struct value *value)
{
    struct value_work *work = soft_work_create(value->type, sizeof *work);
    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->address = value->address;
    work->value = value->value;
    work->bytes = value->bytes;
    work->flags = value->flags;
    return soft_stream_submit(stream, &work->base, NULL);
}

/* All are checked before the first is submitted. */
static CUresult submit_all(CUstream handle, const struct value *values, unsigned count)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_stream_find(context, handle, &stream);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = check(stream->context, &values[i]);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = submit(stream, &values[i]);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return submit_all(stream, &(struct value){&write_type, addr, value, 4, flags}, 1);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return submit_all(stream, &(struct value){&write_type, addr, value, 8, flags}, 1);
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags)
{
    return submit_all(stream, &(struct value){&wait_type, addr, value, 4, flags}, 1);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return submit_all(stream, &(struct value){&wait_type, addr, value, 8, flags}, 1);
}

/* The first version of these four calls differs in nothing that shows here. */
CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue32_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue64_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue32_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue64_v2(stream, addr, value, flags);
}

/* ---- batches ----------------------------------------------------------------------- */

static CUresult read_batch(const CUstreamBatchMemOpParams *source, struct value *out)
{
    switch (source->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        *out = (struct value){&wait_type, source->waitValue.address, source->waitValue.value, 4,
                              source->waitValue.flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *out = (struct value){&wait_type, source->waitValue.address, source->waitValue.value64, 8,
                              source->waitValue.flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *out = (struct value){&write_type, source->writeValue.address, source->writeValue.value, 4,
                              source->writeValue.flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *out = (struct value){&write_type, source->writeValue.address, source->writeValue.value64,
                              8, source->writeValue.flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    const unsigned most = 256; /* the limit that cuda.h names */
    unsigned values = 0;
    CUresult result = CUDA_SUCCESS;

    if (paramArray == NULL || count == 0 || count > most || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct value *list = calloc(count, sizeof *list);
    if (list == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        /* Operations of a stream are in order, and all of memory sees them in that order. */
        if (paramArray[i].operation == CU_STREAM_MEM_OP_BARRIER)
            continue;
        result = read_batch(&paramArray[i], &list[values++]);
    }
    if (result == CUDA_SUCCESS)
        result = submit_all(stream, list, values);
    free(list);
    return result;
}

CUresult CUDAAPI cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return cuStreamBatchMemOp_v2(stream, count, paramArray, flags);
}
