/* SPDX-License-Identifier: Apache-2.0 */
/* Words of memory that streams write and wait for. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/races.h"
#include "cuda/soft/api/touched.h"
#include "cuda/soft/api/value.h"
#include "cuda/soft/api/watch.h"

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
    /* Who sees the word will ask who wrote it. */
    soft_touched_note(op, work->address, work->bytes, true);
    soft_watch_end(op);
    if (work->bytes == 4)
        __atomic_store_n((uint32_t *)soft_pointer(work->address), (uint32_t)work->value,
                         __ATOMIC_SEQ_CST);
    else
        __atomic_store_n((uint64_t *)soft_pointer(work->address), work->value, __ATOMIC_SEQ_CST);
    return CUDA_SUCCESS;
}

/* ---- waiting ----------------------------------------------------------------------- */

static bool holds(const struct value_work *work)
{
    uint64_t mask = work->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t seen =
        work->bytes == 4
            ? __atomic_load_n((const uint32_t *)soft_pointer(work->address), __ATOMIC_SEQ_CST)
            : __atomic_load_n((const uint64_t *)soft_pointer(work->address), __ATOMIC_SEQ_CST);
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

/* ---- works ------------------------------------------------------------------------- */

static const struct soft_work_type write_type = {
    .name = "value write", .class_ = SOFT_WORK_DEVICE, .run = write_run};
static const struct soft_work_type wait_type = {
    .name = "value wait", .class_ = SOFT_WORK_DEVICE, .run = wait_run, .ready = wait_ready};

CUresult soft_value_check(const struct soft_context *context, const struct soft_value *value)
{
    const unsigned known = value->is_wait ? 3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH
                                          : (unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (value->address % value->bytes != 0 || (value->flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (value->is_wait && (value->flags & (unsigned)CU_STREAM_WAIT_VALUE_FLUSH) != 0)
        return CUDA_ERROR_NOT_SUPPORTED; /* CAN_FLUSH_REMOTE_WRITES is 0 */
    return soft_memory_allows(context, value->address, value->bytes, !value->is_wait)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

struct soft_work *soft_value_work(const struct soft_value *value)
{
    struct value_work *work =
        soft_work_create(value->is_wait ? &wait_type : &write_type, sizeof *work);
    if (work == NULL)
        return NULL;
    work->address = value->address;
    work->value = value->value;
    work->bytes = value->bytes;
    work->flags = value->flags;
    return &work->base;
}
