/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher: runs the splits of one warp until it is done, blocked, at the end of its turn
 * or at fault. Built once for each instruction set, since compilers clone no function with
 * computed gotos, and one long function, since labels can't leave theirs: it has one for each
 * kind of operation, and no more. What a turn is and how it goes on is in turn.h. */
#ifndef __clang__
/* Every operation is to have its own jump to the next. */
#pragma GCC optimize("no-crossjumping", "no-gcse")
#endif
#define LANE_LOOP_NAME(id) static inline __attribute__((always_inline)) void inlined_##id
#include "cuda/soft/simt/access.h"
#include "cuda/soft/simt/chain.h"
#include "cuda/soft/simt/convert.h"
#include "cuda/soft/simt/table.h"
#include "cuda/soft/simt/turn.h"

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

/* The parts of the turn that every label uses. */
#define OP turn.op
#define ARGUMENTS warp, turn.rows, OP, turn.active
#define GO goto *OP->label
#define NEXT                                                                                    \
    do {                                                                                        \
        turn.active = turn.base;                                                                \
        OP++;                                                                                   \
        GO;                                                                                     \
    } while (0)

/* A load or store whose short way stands here; what has none goes on as CHECKED. */
#define HOT_ACCESS(id, ELEMENT, M, R, N, A)                                                     \
    hot_##id:                                                                                   \
    if ((turn.active & turn.live) == SIMT_FULL) {                                               \
        char *const rows = turn.rows;                                                           \
        const struct simt_op *const op = OP;                                                    \
        struct access access;                                                                   \
        const enum shape shape = shape_##A(warp, rows, op, (uint32_t)sizeof(M) * N, &access);   \
        if (shape != SHAPE_SCATTERED) {                                                         \
            EACH_ELEMENT_##N(ELEMENT, M, R)                                                     \
            NEXT;                                                                               \
        }                                                                                       \
    }                                                                                           \
    goto do_CHECKED;

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
    };
    static const void *const tracked[SIMT_OP_END] = {
#define TRACKED(id, ...) [SIMT_OP_##id] = &&track_##id,
#include "cuda/soft/simt/tracked.def"
    };
    static const void *const chained[SIMT_OP_END] = {[SIMT_OP_fma_rn_f32] = &&do_chain};
    if (!warp) {
        const uint32_t opcode = wanted->opcode;
        if (opcode < SIMT_CONTROL_COUNT)
            return control[opcode];
        if (chained[opcode] && chain_goes_on(wanted))
            return chained[opcode];
        if (wanted->flags & SIMT_TRACKED)
            return tracked[opcode] ? tracked[opcode] : &&untracked;
        return hot[opcode] ? hot[opcode]
                           : control[simt_signatures[opcode - SIMT_CONTROL_COUNT].control];
    }
    struct turn turn = {.warp = warp, .counted = warp->worker->run->launch->counts != NULL};

reschedule:
    if (!turn_take_split(&turn)) {
        *stop = warp->live ? SIMT_BLOCKED : SIMT_DONE;
        goto leave;
    }
    GO;

do_LOOP:
    OP->lanes(ARGUMENTS);
    NEXT;

do_CHECKED:
    OP->lanes(warp, turn.rows, OP, turn.active & turn.live);
    if (__builtin_expect(warp->faulted, 0))
        goto fault;
    NEXT;

do_EXPAND: /* the row is about to be read by somebody who does not know slots */
    if (simt_slot_of(turn.rows + OP->a)->state & SIMT_STALE)
        expand_slot(turn.rows + OP->a, OP->flags & SIMT_WIDE_A);
    NEXT;

#define HOT(id)                                                                                 \
    hot_##id:                                                                                   \
    inlined_##id(ARGUMENTS);                                                                    \
    NEXT;
#define HOT_LOAD(M, R, N, A) HOT_ACCESS(ld_##M##_##R##_v##N##_##A, LOAD_ELEMENT, M, R, N, A)
#define HOT_STORE(M, R, N, A) HOT_ACCESS(st_##M##_##R##_v##N##_##A, STORE_ELEMENT, M, R, N, A)
#include "cuda/soft/simt/hot.def"

do_chain:
    if (turn.active != SIMT_FULL)
        goto hot_fma_rn_f32;
    OP = chain_fma_f32(turn.rows, OP);
    GO;

#define TRACKED(id, ...)                                                                        \
    track_##id:                                                                                 \
    if (turn.active == SIMT_FULL && compact_##id(turn.rows, OP))                                \
        NEXT;                                                                                   \
    goto untracked;
#include "cuda/soft/simt/tracked.def"

untracked:
    if (fall_back(ARGUMENTS))
        GO;
    if (hot[OP->opcode])
        goto *hot[OP->opcode];
    OP->lanes(ARGUMENTS);
    NEXT;

do_GUARD: /* @p on the next operation: imm turns @!p */
    turn.active = turn.base & ((*(u32 *)(turn.rows + OP->a) ^ (uint32_t)OP->imm) | ~turn.live);
    OP++;
    if ((turn.active & turn.live) == 0)
        NEXT;
    GO;

do_JOIN: /* before a label, which jumps go past: lanes may be waiting there */
    if (warp->parked_count) {
        turn_count_line(&turn);
        warp->now.op = OP + 1;
        goto reschedule;
    }
    NEXT;

do_JUMP_BACK:
    turn.waits += (uint64_t)OP->imm;
do_JUMP:
    turn_count_line(&turn);
    turn_go_to(&turn, OP + (int32_t)OP->target);
    if (turn_is_spent(&turn))
        goto turn_over;
    if (turn_meets(&turn))
        goto reschedule;
    GO;

do_BRANCH_BACK:
    turn.waits += (uint64_t)OP->imm;
    if (turn_ends_here(&turn))
        goto turn_over;
do_BRANCH:
    if (turn_branch(&turn))
        goto reschedule;
    GO;

do_BRANCH_INDEX: /* brx.idx */
    if (turn_ends_here(&turn))
        goto turn_over;
    if (!turn_branch_index(&turn))
        goto fault;
    goto reschedule;

do_CALL:
    if (turn_ends_here(&turn))
        goto turn_over;
    turn_count_line(&turn);
    warp->now.op = OP;
    if (!simt_frame_call(warp, OP, turn_mask(&turn)))
        goto fault;
    goto reschedule;

do_RETURN:
    turn_count_line(&turn);
    simt_frame_return(warp, turn_mask(&turn));
    goto reschedule;

do_EXIT:
    turn_count_line(&turn);
    turn_exit(&turn);
    goto reschedule;

do_TRAP:
    turn_count_line(&turn);
    simt_fault_raise(warp, OP, __builtin_ctz(turn_mask(&turn)), SIMT_FAULT_TRAP, 0, false);
    goto fault;

do_BARRIER:
    warp->now.op = OP;
    if (simt_barrier_arrive(warp, OP, turn_mask(&turn)))
        NEXT;
    turn_count_line(&turn);
    goto parked;

do_COLLECTIVE:
    warp->now.op = OP;
    if (!simt_collective_ready(warp, turn.rows, OP, turn_mask(&turn))) {
        turn_count_line(&turn);
        simt_collective_wait(warp);
        goto parked;
    }
    warp->participants = turn_mask(&turn);
    OP->lanes(warp, turn.rows, OP, turn_mask(&turn));
    if (__builtin_expect(warp->faulted, 0))
        goto fault;
    NEXT;

do_YIELD: /* nanosleep: let the others run */
    turn_count_line(&turn);
    turn_go_to(&turn, OP + 1);
    goto turn_over;

parked: /* the split waits already */
    if (!warp->faulted)
        goto reschedule;
fault:
    *stop = SIMT_FAULTED;
    goto leave;
turn_over:
    turn_hand_over(&turn);
    *stop = SIMT_TURN_OVER;
leave:
    warp->worker->operations += turn.operations;
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
