/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: a register file and a piece of local memory for the lanes that made a call.
 * The lanes of a frame may part inside it and return one group after the other; the last
 * one gives the frame back. */
#include "cuda/soft/simt/compact.h"
#include "cuda/soft/simt/machine.h"

#include <stdlib.h>
#include <string.h>

static struct simt_frame *take_frame(struct simt_worker *worker, uint32_t bytes)
{
    struct simt_frame **link = &worker->free_frames;
    while (*link && (*link)->capacity < bytes)
        link = &(*link)->next_free;
    struct simt_frame *frame = *link;
    if (frame) {
        *link = frame->next_free;
        return frame;
    }
    frame = calloc(1, sizeof *frame);
    const uint32_t capacity = (bytes + 4095) & ~4095u;
    char *rows = frame ? aligned_alloc(64, capacity) : NULL;
    if (!rows) {
        free(frame);
        return NULL;
    }
    frame->rows = rows;
    frame->capacity = capacity;
    frame->next_all = worker->all_frames;
    worker->all_frames = frame;
    return frame;
}

static void give_frame(struct simt_worker *worker, struct simt_frame *frame)
{
    frame->next_free = worker->free_frames;
    worker->free_frames = frame;
}

/* After a launch, also one that ended in a fault, no frame is in use. */
void simt_frames_reclaim(struct simt_worker *worker)
{
    worker->free_frames = NULL;
    for (struct simt_frame *frame = worker->all_frames; frame; frame = frame->next_all)
        give_frame(worker, frame);
}

void simt_frames_destroy(struct simt_worker *worker)
{
    for (struct simt_frame *frame = worker->all_frames, *next; frame; frame = next) {
        next = frame->next_all;
        free(frame->rows);
        free(frame);
    }
    worker->free_frames = worker->all_frames = NULL;
}

static uint32_t lane_local(const struct simt_warp *warp, uint32_t lane)
{
    const struct simt_block *block = warp->block;
    return block->local_lo + (warp->index * SIMT_LANES + lane) * block->local_stride;
}

/* Arguments and results: between a row and a row, or between bytes of local memory. */
static void copy_row(char *to, const char *from, uint32_t width, uint32_t mask)
{
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if (mask >> i & 1)
            memcpy(to + (size_t)i * width, from + (size_t)i * width, width);
    }
}

static void copy_local(const struct simt_warp *warp, uint32_t to, uint32_t from, uint32_t bytes,
                       uint32_t mask)
{
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if (mask >> i & 1) {
            const uintptr_t lane = lane_local(warp, i);
            memcpy((char *)(lane + to), (const char *)(lane + from), bytes);
        }
    }
}

static void pass(const struct simt_warp *warp, const struct simt_frame *to_frame,
                 bool to_register, uint32_t to, const struct simt_frame *from_frame, uint32_t from,
                 uint32_t width, uint32_t bytes, uint32_t mask)
{
    if (to_register && width)
        copy_row(to_frame->rows + to, from_frame->rows + from, width, mask);
    else if (to_register) { /* a predicate */
        uint32_t *word = (uint32_t *)(void *)(to_frame->rows + to);
        const uint32_t value = *(const uint32_t *)(const void *)(from_frame->rows + from);
        *word = (*word & ~mask) | (value & mask);
    } else
        copy_local(warp, to_frame->local + to, from_frame->local + from, bytes, mask);
}

/* An indirect call may reach a function of another shape: that is the program's error. */
static bool shapes_match(const struct simt_function *callee, const struct simt_call *call)
{
    if (callee->ptx->param_count != call->arg_count ||
        callee->ptx->return_count != call->return_count)
        return false;
    for (uint32_t k = 0; k < call->arg_count; k++) {
        if (callee->params[k].in_register != call->args[k].in_register ||
            callee->params[k].width != call->args[k].width)
            return false;
    }
    for (uint32_t k = 0; k < call->return_count; k++) {
        if (callee->returns[k].in_register != call->returns[k].in_register ||
            callee->returns[k].width != call->returns[k].width)
            return false;
    }
    return true;
}

static const struct simt_function *callee_of(struct simt_warp *warp, const struct simt_op *op,
                                             const struct simt_call *call, uint64_t pointer,
                                             int lane)
{
    if (call->callee)
        return call->callee;
    const struct simt_module *module = warp->root->function->module;
    const uint64_t index = pointer - SIMT_FUNCTION_BASE;
    const struct simt_function *callee =
        index < module->function_count ? &module->functions[index] : NULL;
    if (!callee || callee->refusal || !callee->ops || callee->ptx->is_entry ||
        !shapes_match(callee, call)) {
        simt_fault_raise(warp, op, lane, SIMT_FAULT_ADDRESS, pointer, false);
        return NULL;
    }
    return callee;
}

static bool enter(struct simt_warp *warp, const struct simt_op *op,
                  const struct simt_function *callee, uint32_t mask)
{
    const struct simt_call *call = op->data;
    struct simt_frame *caller = warp->now.frame;
    const uint32_t local = caller->local + caller->function->local_bytes;
    if (caller->depth >= SIMT_MAX_DEPTH ||
        local + callee->local_bytes > warp->block->local_stride) {
        simt_fault_raise(warp, op, __builtin_ctz(mask), SIMT_FAULT_STACK, 0, true);
        return false;
    }
    struct simt_frame *frame = take_frame(warp->worker, callee->frame_bytes);
    if (!frame) {
        simt_fault_raise(warp, op, __builtin_ctz(mask), SIMT_FAULT_NO_MEMORY, 0, true);
        return false;
    }
    frame->parent = caller;
    frame->function = callee;
    frame->back = op + 1;
    frame->call = call;
    frame->live = mask;
    frame->depth = caller->depth + 1;
    frame->local = local;
    memset(frame->rows, 0, callee->frame_bytes);
    simt_frame_fill(warp, frame, false);
    for (uint32_t k = 0; k < call->arg_count; k++) {
        const struct simt_formal *formal = &callee->params[k];
        const struct simt_actual *actual = &call->args[k];
        pass(warp, frame, formal->in_register, formal->offset, caller, actual->offset,
             formal->width, formal->bytes < actual->bytes ? formal->bytes : actual->bytes, mask);
    }
    const struct simt_split split = {
        .op = callee->ops, .frame = frame, .mask = mask, .stamp = warp->now.stamp};
    simt_warp_park(warp, &split);
    return true;
}

/* The lanes of `mask` enter the callee, or one callee for each address that they hold. */
bool simt_frame_call(struct simt_warp *warp, const struct simt_op *op, uint32_t mask)
{
    const struct simt_call *call = op->data;
    const uint64_t *pointer =
        (const uint64_t *)(const void *)(warp->now.frame->rows + call->pointer);
    while (mask) {
        const int first = __builtin_ctz(mask);
        uint32_t same = mask;
        if (!call->callee) {
            for (uint32_t i = 0; i < SIMT_LANES; i++) {
                if ((mask >> i & 1) && pointer[i] != pointer[first])
                    same &= ~(1u << i);
            }
        }
        const struct simt_function *callee =
            callee_of(warp, op, call, call->callee ? 0 : pointer[first], first);
        if (!callee || !enter(warp, op, callee, same))
            return false;
        mask &= ~same;
    }
    warp->now.mask = 0;
    return true;
}

void simt_frame_return(struct simt_warp *warp, uint32_t mask)
{
    struct simt_frame *frame = warp->now.frame;
    for (uint32_t k = 0; k < frame->call->return_count; k++) {
        const struct simt_formal *formal = &frame->function->returns[k];
        const struct simt_actual *actual = &frame->call->returns[k];
        pass(warp, frame->parent, formal->in_register, actual->offset, frame, formal->offset,
             formal->width, formal->bytes < actual->bytes ? formal->bytes : actual->bytes, mask);
    }
    warp->now.op = frame->back;
    warp->now.frame = frame->parent;
    warp->now.mask = mask;
    frame->live &= ~mask;
    if (!frame->live)
        give_frame(warp->worker, frame);
}

/* Lanes that exit inside calls leave all the frames they are in. */
void simt_frame_abandon(struct simt_warp *warp, struct simt_frame *frame, uint32_t mask)
{
    while (frame && frame->parent) {
        struct simt_frame *parent = frame->parent;
        frame->live &= ~mask;
        if (!frame->live)
            give_frame(warp->worker, frame);
        frame = parent;
    }
}

static uint32_t special(const struct simt_warp *warp, uint32_t lane, uint32_t which)
{
    const struct simt_block *block = warp->block;
    const struct simt_launch *launch = warp->worker->run->launch;
    const uint32_t thread = warp->index * SIMT_LANES + lane;
    const uint32_t *size = launch->block;
    switch ((enum rp_ptx_sreg)which) {
    case RP_PTX_TID_X: return thread % size[0];
    case RP_PTX_TID_Y: return thread / size[0] % size[1];
    case RP_PTX_TID_Z: return thread / size[0] / size[1];
    case RP_PTX_NTID_X: return size[0];
    case RP_PTX_NTID_Y: return size[1];
    case RP_PTX_NTID_Z: return size[2];
    case RP_PTX_CTAID_X: return block->id[0];
    case RP_PTX_CTAID_Y: return block->id[1];
    case RP_PTX_CTAID_Z: return block->id[2];
    case RP_PTX_NCTAID_X: return launch->grid[0];
    case RP_PTX_NCTAID_Y: return launch->grid[1];
    case RP_PTX_NCTAID_Z: return launch->grid[2];
    case RP_PTX_LANEID: return lane;
    case RP_PTX_WARPID: return warp->index;
    case RP_PTX_NWARPID: return block->warp_count;
    case RP_PTX_SMID: return (uint32_t)(block->linear % SIMT_MULTIPROCESSORS);
    case RP_PTX_NSMID: return SIMT_MULTIPROCESSORS;
    case RP_PTX_GRIDID: return (uint32_t)launch->grid_id;
    case RP_PTX_LANEMASK_EQ: return 1u << lane;
    case RP_PTX_LANEMASK_LT: return (1u << lane) - 1;
    case RP_PTX_LANEMASK_LE: return (2u << lane) - 1;
    case RP_PTX_LANEMASK_GT: return ~((2u << lane) - 1);
    case RP_PTX_LANEMASK_GE: return ~((1u << lane) - 1);
    case RP_PTX_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared_bytes;
    case RP_PTX_TOTAL_SMEM_SIZE: return block->shared_bytes;
    case RP_PTX_ENVREG1: return (uint32_t)(simt_run_workspace(warp->worker->run) >> 32);
    case RP_PTX_ENVREG2: return (uint32_t)simt_run_workspace(warp->worker->run);
    case RP_PTX_CLOCK:
    case RP_PTX_CLOCK_HI:
    case RP_PTX_CLOCK64:
    case RP_PTX_GLOBALTIMER:
    case RP_PTX_GLOBALTIMER_LO:
    case RP_PTX_GLOBALTIMER_HI:
    case RP_PTX_SREG_OTHER: break; /* not constants: the compiler makes no row of them */
    }
    return 0;
}

static uint64_t parameter(const struct simt_run *run, const struct simt_row *row)
{
    uint64_t value = 0;
    if ((uint64_t)row->value + row->bytes <= run->param_bytes)
        memcpy(&value, run->params + row->value, row->bytes);
    if (row->sign && row->bytes < 8) {
        const uint32_t shift = 64 - 8u * row->bytes;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static uint64_t value_of(const struct simt_warp *warp, const struct simt_frame *frame,
                         const struct simt_row *row, uint32_t lane)
{
    const struct simt_run *run = warp->worker->run;
    switch ((enum simt_fill)row->fill) {
    case SIMT_FILL_VALUE: return (uint64_t)row->value;
    case SIMT_FILL_PARAM: return parameter(run, row);
    case SIMT_FILL_PARAM_BASE: return (uintptr_t)run->params + (uint64_t)row->value;
    case SIMT_FILL_SHARED:
        return warp->block->shared_lo + run->kernel->shared_offset[row->symbol] +
               (uint64_t)row->value;
    case SIMT_FILL_LOCAL: return lane_local(warp, lane) + frame->local + (uint64_t)row->value;
    case SIMT_FILL_REGISTER: break;
    case SIMT_FILL_FUNCTION: return SIMT_FUNCTION_BASE + row->symbol;
    case SIMT_FILL_SPECIAL:
        return row->symbol == RP_PTX_GRIDID ? run->launch->grid_id
                                            : special(warp, lane, row->symbol);
    }
    return 0;
}

static bool is_uniform(const struct simt_row *row)
{
    if (row->fill == SIMT_FILL_LOCAL)
        return false;
    if (row->fill != SIMT_FILL_SPECIAL)
        return true;
    switch ((int)row->symbol) {
    case RP_PTX_TID_X: case RP_PTX_TID_Y: case RP_PTX_TID_Z: case RP_PTX_LANEID:
    case RP_PTX_LANEMASK_EQ: case RP_PTX_LANEMASK_LT: case RP_PTX_LANEMASK_LE:
    case RP_PTX_LANEMASK_GT: case RP_PTX_LANEMASK_GE: return false;
    default: return true;
    }
}

#define COMPRESS(name, T)                                                                       \
    static bool name(const char *from, struct simt_slot *slot)                                  \
    {                                                                                           \
        T row[SIMT_LANES], lane[SIMT_LANES], odd = 0, steep = 0;                                \
        memcpy(row, from, sizeof row);                                                          \
        if (row[3] - row[2] != row[1] - row[0]) /* most of those that are not show it here */   \
            return false;                                                                       \
        lane[0] = row[0];                                                                       \
        for (uint32_t k = 0; k < SIMT_LANE_BITS; k++) {                                         \
            const T step = row[1u << k] - row[0];                                               \
            steep |= step;                                                                      \
            for (uint32_t i = 0; i < 1u << k; i++)                                              \
                lane[i + (1u << k)] = lane[i] + step;                                           \
        }                                                                                       \
        for (uint32_t i = 0; i < SIMT_LANES; i++)                                               \
            odd |= lane[i] ^ row[i];                                                            \
        if (odd)                                                                                \
            return false;                                                                       \
        for (uint32_t k = 0; k < SIMT_LANE_BITS; k++)                                           \
            slot->step[k] = (T)(row[1u << k] - row[0]);                                         \
        slot->base = row[0];                                                                    \
        slot->state = (slot->state & SIMT_MAYBE) | SIMT_COMPACT | (steep ? 0 : SIMT_UNIFORM);   \
        return true;                                                                            \
    }
COMPRESS(compress, uint32_t)
COMPRESS(compress_wide, uint64_t)

bool simt_slot_compress(char *row, uint32_t width)
{
    return width == 4 ? compress(row, simt_slot_of(row)) : compress_wide(row, simt_slot_of(row));
}

static void fill_row(struct simt_warp *warp, const struct simt_frame *frame,
                     const struct simt_row *row)
{
    char *to = frame->rows + row->offset;
    const bool uniform = is_uniform(row);
    uint64_t value = value_of(warp, frame, row, 0);
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if (!uniform)
            value = value_of(warp, frame, row, i);
        memcpy(to + (size_t)i * row->width, &value, row->width);
    }
    if (row->width >= 4 && !simt_slot_compress(to, row->width))
        simt_slot_of(to)->state = 0;
}

void simt_frame_fill(struct simt_warp *warp, struct simt_frame *frame, bool per_block_only)
{
    const struct simt_function *function = frame->function;
    for (uint32_t k = 0; k < function->row_count; k++) {
        const struct simt_row *row = &function->rows[k];
        if (per_block_only && !row->per_block)
            continue;
        if (row->fill == SIMT_FILL_REGISTER) {
            struct simt_slot *slot = simt_slot_of(frame->rows + row->offset);
            slot->state = SIMT_MAYBE;
            slot->looks = 0; /* what another block held there says nothing about this one */
            continue;
        }
        if (row->width) {
            fill_row(warp, frame, row);
            continue;
        }
        const uint32_t mask = value_of(warp, frame, row, 0) ? SIMT_FULL : 0;
        memcpy(frame->rows + row->offset, &mask, sizeof mask);
    }
}
