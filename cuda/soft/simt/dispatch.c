/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher: runs the splits of one warp until it is done, blocked, at the end of its
 * turn or at fault. Built once for each instruction set (a function with computed gotos
 * can't be cloned by the compiler), with the lane loops that it calls.
 *
 * `base` is the running split's mask with all lanes that have exited added: when that is
 * full, a lane loop needs no blending. Operations that reach outside the registers get the
 * true mask. `active` is `base`, but for the one operation after a GUARD. */
#ifndef __clang__
/* Every operation is to have its own jump to the next. */
#pragma GCC optimize("no-crossjumping", "no-gcse")
#endif
#define LANE_LOOP_NAME(id) static inline __attribute__((always_inline)) void inlined_##id
#include "cuda/soft/simt/access.h"
#include "cuda/soft/simt/chain.h"
#include "cuda/soft/simt/convert.h"
#include "cuda/soft/simt/count.h"
#include "cuda/soft/simt/table.h"

#include "cuda/soft/simt/loops.h"

#include "cuda/soft/simt/integer.def"
#include "cuda/soft/simt/real.def"
#include "cuda/soft/simt/convert.def"
#undef OP1
#undef OP2
#undef OP3
#undef OP4
#undef COLD1
#undef COLD2
#undef COLD3
#undef SELECT
#undef COMPARE
#undef PREDICATE
#undef CUSTOM
#undef SCALAR
#undef KEY

#pragma GCC diagnostic ignored "-Wpedantic" /* labels as values */

static simt_lanes_fn *const lane_loops[] = {
#define OP1(id, ...) ISA(id),
#define OP2(id, ...) ISA(id),
#define OP3(id, ...) ISA(id),
#define OP4(id, ...) ISA(id),
#define COLD1(id, ...) simt_scalar_##id,
#define COLD2(id, ...) simt_scalar_##id,
#define COLD3(id, ...) simt_scalar_##id,
#define SELECT(id, T) ISA(id),
#define COMPARE(id, ...) ISA(id),
#define PREDICATE(id, ...) ISA(id),
#define CUSTOM(id, control) ISA(id),
#define SCALAR(id, control) simt_scalar_##id,
#define KEY(text, id)
#include "cuda/soft/simt/all.def"
};

#define GO goto *op->label
#define NEXT                                                                                    \
    do {                                                                                        \
        active = base;                                                                          \
        op++;                                                                                   \
        GO;                                                                                     \
    } while (0)
/* Operations are counted where control leaves a straight line. */
#define COUNT_LINE                                                                              \
    do {                                                                                        \
        operations += (uint64_t)(op + 1 - line) * lanes;                                        \
        if (__builtin_expect(counted, 0))                                                       \
            simt_count_line(warp, line, op);                                                    \
    } while (0)
#define TURN_TO(where)                                                                          \
    do {                                                                                        \
        op = (where);                                                                           \
        line = op;                                                                              \
        active = base;                                                                          \
    } while (0)
/* Where lanes may come by again, a turn that is used up ends; `op` itself runs in the next. */
#define SPENT __builtin_expect(operations + waits > SIMT_TURN, 0)
#define END_SPENT_TURN                                                                          \
    do {                                                                                        \
        if (SPENT) {                                                                            \
            COUNT_LINE;                                                                         \
            TURN_TO(op);                                                                        \
            goto turn_over;                                                                     \
        }                                                                                       \
    } while (0)
#define PARK_SELF(where)                                                                        \
    do {                                                                                        \
        warp->now.op = (where);                                                                 \
        goto reschedule;                                                                        \
    } while (0)

/* With an operation: tells the label that handles it. With a warp: runs it. */
static const void *dispatch(const struct simt_op *wanted, struct simt_warp *warp,
                            enum simt_stop *stop)
{
    static const void *const control[] = {
#define X(name) &&do_##name,
        SIMT_CONTROL(X)
#undef X
    };
    static const void *const hot[SIMT_OP_END] = {
#define HOT(id) [SIMT_OP_##id] = &&hot_##id,
#define HOT_LOAD(M, R, N, A) HOT(ld_##M##_##R##_v##N##_##A)
#define HOT_STORE(M, R, N, A) HOT(st_##M##_##R##_v##N##_##A)
#include "cuda/soft/simt/hot.def"
        [SIMT_OP_fma_rn_f32] = &&hot_fma_rn_f32,
    };
    static const void *const tracked[SIMT_OP_END] = {
#define TRACKED(id, ...) [SIMT_OP_##id] = &&track_##id,
#include "cuda/soft/simt/tracked.def"
    };
    if (!warp) {
        const uint32_t opcode = wanted->opcode;
        if (opcode < SIMT_CONTROL_COUNT)
            return control[opcode];
        if (wanted->flags & SIMT_TRACKED)
            return tracked[opcode] ? tracked[opcode] : &&untracked;
        return hot[opcode] ? hot[opcode]
                           : control[simt_signatures[opcode - SIMT_CONTROL_COUNT].control];
    }

    const struct simt_op *op, *line;
    char *rows;
    uint32_t base, active, live, lanes;
    uint64_t operations = 0, waits = 0;
    const bool counted = warp->worker->run->launch->counts != NULL;

reschedule:
    if (!simt_warp_switch(warp)) {
        *stop = warp->live ? SIMT_BLOCKED : SIMT_DONE;
        goto leave;
    }
    op = line = warp->now.op;
    rows = warp->now.frame->rows;
    live = warp->live;
    base = active = warp->now.mask | ~live;
    lanes = (uint32_t)__builtin_popcount(warp->now.mask);
    warp->reunions += warp->parted && base == SIMT_FULL;
    warp->parted = base != SIMT_FULL;
    GO;

do_LOOP:
    op->lanes(warp, rows, op, active);
    NEXT;

do_CHECKED:
    op->lanes(warp, rows, op, active & live);
    if (__builtin_expect(warp->faulted, 0))
        goto fault;
    NEXT;

do_EXPAND: /* the row is about to be read by somebody who does not know slots */
    if (SLOT(op->a)->state & SIMT_STALE)
        expand_slot(rows + op->a, op->flags & SIMT_WIDE_A);
    NEXT;

#define HOT(id)                                                                                 \
    hot_##id:                                                                                   \
    inlined_##id(warp, rows, op, active);                                                       \
    NEXT;
#define HOT_ACCESS(id, ELEMENT, M, R, N, A)                                                     \
    hot_##id:                                                                                   \
    if ((active & live) == SIMT_FULL) {                                                         \
        struct access access;                                                                   \
        const enum shape shape = shape_##A(warp, rows, op, (uint32_t)sizeof(M) * N, &access);   \
        if (shape != SHAPE_SCATTERED) {                                                         \
            EACH_ELEMENT_##N(ELEMENT, M, R)                                                     \
            NEXT;                                                                               \
        }                                                                                       \
    }                                                                                           \
    goto do_CHECKED;
#define HOT_LOAD(M, R, N, A) HOT_ACCESS(ld_##M##_##R##_v##N##_##A, LOAD_ELEMENT, M, R, N, A)
#define HOT_STORE(M, R, N, A) HOT_ACCESS(st_##M##_##R##_v##N##_##A, STORE_ELEMENT, M, R, N, A)
#include "cuda/soft/simt/hot.def"

hot_fma_rn_f32:
#ifdef CHAIN_FMA_F32
    if (active == SIMT_FULL) {
        op = chain_fma_f32(rows, op);
        GO;
    }
#endif
    inlined_fma_rn_f32(warp, rows, op, active);
    NEXT;

#define TRACKED(id, ...)                                                                        \
    track_##id:                                                                                 \
    if (active == SIMT_FULL && compact_##id(rows, op))                                          \
        NEXT;                                                                                   \
    goto untracked;
#include "cuda/soft/simt/tracked.def"

untracked:
    if (fall_back(warp, rows, op, active))
        GO;
    if (hot[op->opcode])
        goto *hot[op->opcode];
    op->lanes(warp, rows, op, active);
    NEXT;

do_GUARD: /* @p on the next operation: imm turns @!p */
    active = base & ((MASK(op->a) ^ (uint32_t)op->imm) | ~live);
    op++;
    if ((active & live) == 0)
        NEXT;
    GO;

do_JOIN: /* before a label, which jumps go past: lanes may be waiting there */
    if (warp->parked_count) {
        COUNT_LINE;
        PARK_SELF(op + 1);
    }
    NEXT;

do_JUMP:
    COUNT_LINE;
    TURN_TO(op + (int32_t)op->target);
    if (warp->parked_count)
        PARK_SELF(op);
    GO;

do_JUMP_BACK:
    COUNT_LINE;
    waits += (uint64_t)op->imm;
    TURN_TO(op + (int32_t)op->target);
    if (SPENT)
        goto turn_over;
    if (warp->parked_count)
        PARK_SELF(op);
    GO;

do_BRANCH_BACK:
    waits += (uint64_t)op->imm;
    END_SPENT_TURN;
    /* fallthrough */
do_BRANCH: {
    const uint32_t mask = base & live, taken = (MASK(op->a) ^ op->flags * SIMT_FULL) & mask;
    COUNT_LINE;
    if (taken == 0) {
        TURN_TO(op + 1);
    } else if (taken == mask) {
        TURN_TO(op + (int32_t)op->target);
    } else {
        struct simt_split other = warp->now;
        other.op = op + (int32_t)op->target;
        other.mask = taken;
        simt_warp_park(warp, &other);
        warp->now.mask = mask & ~taken;
        PARK_SELF(op + 1);
    }
    if (warp->parked_count)
        PARK_SELF(op);
    GO;
}

do_BRANCH_INDEX: { /* brx.idx: a jump for each value of the index */
    const u32 *index = ROW(u32, op->a);
    const int32_t *targets = op->data;
    uint32_t left = base & live;
    END_SPENT_TURN;
    COUNT_LINE;
    while (left) {
        const uint32_t value = index[__builtin_ctz(left)];
        struct simt_split part = warp->now;
        part.mask = 0;
        EACH_LANE(left, i) part.mask |= index[i] == value ? lane_bit32[i] : 0;
        left &= ~part.mask;
        if (value >= op->b) {
            simt_fault_raise(warp, op, __builtin_ctz(part.mask), SIMT_FAULT_TRAP, value, false);
            goto fault;
        }
        part.op = op + targets[value];
        simt_warp_park(warp, &part);
    }
    warp->now.mask = 0;
    goto reschedule;
}

do_CALL:
    END_SPENT_TURN;
    COUNT_LINE;
    warp->now.op = op;
    if (!simt_frame_call(warp, op, base & live))
        goto fault;
    goto reschedule;

do_RETURN:
    COUNT_LINE;
    simt_frame_return(warp, base & live);
    goto reschedule;

do_EXIT:
    COUNT_LINE;
    warp->now.mask = 0;
    simt_frame_abandon(warp, warp->now.frame, base & live);
    simt_warp_exit(warp, base & live);
    goto reschedule;

do_TRAP:
    COUNT_LINE;
    simt_fault_raise(warp, op, __builtin_ctz(base & live), SIMT_FAULT_TRAP, 0, false);
    goto fault;

do_BARRIER:
    warp->now.op = op;
    if (!simt_barrier_arrive(warp, op, base & live)) {
        COUNT_LINE;
        if (warp->faulted)
            goto fault;
        goto reschedule;
    }
    NEXT;

do_COLLECTIVE:
    warp->now.op = op;
    if (!simt_collective_ready(warp, rows, op, base & live)) {
        COUNT_LINE;
        simt_collective_wait(warp);
        if (__builtin_expect(warp->faulted, 0))
            goto fault;
        goto reschedule;
    }
    warp->participants = base & live;
    op->lanes(warp, rows, op, base & live);
    if (__builtin_expect(warp->faulted, 0))
        goto fault;
    NEXT;

do_YIELD: /* nanosleep: let the others run */
    COUNT_LINE;
    TURN_TO(op + 1);
    goto turn_over;

turn_over:
    warp->now.op = op;
    simt_warp_park(warp, &warp->now);
    warp->now.mask = 0;
    warp->rotate = true;
    *stop = SIMT_TURN_OVER;
    goto leave;

fault:
    *stop = SIMT_FAULTED;
leave:
    warp->worker->operations += operations;
    return NULL;
}

static const void *label(const struct simt_op *op)
{
    return dispatch(op, NULL, NULL);
}

static enum simt_stop run(struct simt_warp *warp)
{
    enum simt_stop stop = SIMT_DONE;
    dispatch(NULL, warp, &stop);
    return stop;
}

#define NAME_OF(isa) #isa
#define NAME(isa) NAME_OF(isa)

const struct simt_isa ISA(isa);
const struct simt_isa ISA(isa) = {
    .name = NAME(SIMT_ISA), .run = run, .label = label, .lanes = lane_loops};
