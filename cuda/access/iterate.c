/* SPDX-License-Identifier: Apache-2.0 */
/* Trip counts. At its header a loop is tried out with a counter that runs over two values
 * only: so the operands of its exit test become affine, and the count follows. With the full
 * range of the counter everything is then evaluated again, and at the exit test it is
 * confirmed that the test is still the one that was solved. So a guess that was wrong (a
 * value that wraps around, say) is noticed, and the loop is not counted. */
#include "cuda/access/run.h"

#define ENDLESS (INT64_C(1) << 62)

static int64_t ceil_divide(int64_t a, int64_t b) /* b > 0 */
{
    return a / b + (a % b > 0);
}

/* The comparison that the exit test is, through negations; NULL when it is more than one. */
static const struct rp_op *find_comparison(const struct rp_run *run, const struct rp_loop *loop,
                                           bool *continues_if)
{
    uint32_t test = loop->test;
    *continues_if = loop->continues_if;
    for (unsigned depth = 0; test != RP_NONE && depth < 8; depth++) {
        const struct rp_op *op = &run->proof->ops[test];
        if (op->kind == RP_OP_COMPARE)
            return op;
        if (op->kind != RP_OP_PNOT)
            return NULL;
        *continues_if = !*continues_if;
        test = op->a;
    }
    return NULL;
}

static void solve_number(int64_t start, int64_t step, enum rp_compare compare,
                         struct rp_trip *trip)
{
    trip->kind = RP_TRIP_CONSTANT;
    if (compare == RP_LT && start >= 0)
        trip->last = 0;
    else if (compare == RP_LT && step > 0)
        trip->last = ceil_divide(-start, step);
    else if (compare == RP_NE && !start)
        trip->last = 0;
    else if (compare == RP_NE && step && start % step == 0 && -(start / step) > 0)
        trip->last = -(start / step);
    else if (compare == RP_EQ && (start || step))
        trip->last = !start;
    else
        trip->kind = RP_TRIP_UNKNOWN;
}

/* The difference at the start is another one for each thread. */
static void solve_range(struct rp_run *run, const struct rp_form *start, int64_t step,
                        enum rp_compare compare, struct rp_trip *trip)
{
    int64_t lo, hi;
    trip->kind = RP_TRIP_UNKNOWN;
    if (compare != RP_LT || step <= 0 || start->fuzz >= RP_HUGE_FUZZ ||
        !rp_run_range(run, start, &lo, &hi) ||
        lo < -ENDLESS / 2 || hi > ENDLESS / 2)
        return;
    int64_t most = lo >= 0 ? 0 : ceil_divide(-lo, step);
    int64_t least = hi >= 0 ? 0 : ceil_divide(-hi, step);
    trip->kind = most == least && !start->fuzz ? RP_TRIP_CONSTANT : RP_TRIP_BOUNDED;
    trip->last = most;
}

/* What is not known of the operands of the exit test is the same in each turn: in the loop nothing
 * is done but to count on by numbers. */
static bool is_steady(const struct rp_run *run, const struct rp_loop *loop)
{
    for (uint32_t i = 0; i < loop->test_op_count; i++) {
        const struct rp_op *op = &run->proof->ops[run->proof->test_ops[loop->first_test_op + i]];
        bool sum = op->kind == RP_OP_ADD || op->kind == RP_OP_SUB;
        bool counts = op->kind == RP_OP_INDUCTION && rp_form_is_number(&run->forms[op->b]);
        if (!sum && !counts && op->kind != RP_OP_COMPARE && op->kind != RP_OP_PNOT)
            return false;
    }
    return true;
}

/* What comes nearer to 0 by 1 in each turn, from another start for each thread, is above it, or
 * below, as long as it is another number: nobody leaps over 0. */
static void take_for_order(const struct rp_run *run, const struct rp_loop *loop,
                           struct rp_form *distance, enum rp_compare *compare)
{
    uint32_t counter = RP_VAR_LOOP + loop->depth;
    int64_t lo, hi, step = distance->mask >> counter & 1 ? distance->k[counter] : 0;
    struct rp_form start;
    rp_form_copy(&start, distance);
    start.mask &= ~(1u << counter);
    if (*compare != RP_NE || (step != 1 && step != -1) || !(start.mask || start.fuzz) ||
        (start.fuzz && !is_steady(run, loop)) || !rp_run_range(run, &start, &lo, &hi) ||
        (step < 0 ? lo < 0 : hi > 0))
        return;
    if (step < 0)
        rp_form_scale(distance, distance, -1);
    *compare = RP_LT;
}

/* Solves the exit test, whose operands have just been evaluated. */
static void solve(struct rp_run *run, uint32_t index, struct rp_trip *trip)
{
    const struct rp_loop *loop = &run->proof->loops[index];
    uint32_t counter = RP_VAR_LOOP + loop->depth;
    bool continues_if;
    const struct rp_op *op = find_comparison(run, loop, &continues_if);
    enum rp_compare compare;
    trip->kind = RP_TRIP_UNKNOWN;
    if (!op || !rp_run_difference(run, op, continues_if, &trip->distance, &compare))
        return;
    const struct rp_form *distance = &trip->distance;
    take_for_order(run, loop, &trip->distance, &compare);
    int64_t step = distance->mask >> counter & 1 ? distance->k[counter] : 0;
    if (distance->c < -ENDLESS / 2 || distance->c > ENDLESS / 2 || step < -ENDLESS / 2)
        return;
    struct rp_form start;
    rp_form_copy(&start, distance);
    start.mask &= ~(1u << counter);
    trip->compare = (uint8_t)compare;
    if (start.mask || start.fuzz)
        solve_range(run, &start, step, compare, trip);
    else
        solve_number(start.c, step, compare, trip);
}

/* What threads the k-th iteration has: those whose test passed before it, in the iteration
 * k - 1. That says nothing of k = 0: but when it would have passed before the first one too
 * (compilers test before such loops), it is true of all. */
static void assume_earlier(struct rp_run *run, const struct rp_trip *trip, uint32_t counter)
{
    struct rp_form earlier, start;
    int64_t lo, hi, limit = -1;
    rp_form_copy(&earlier, &trip->distance);
    earlier.c -= trip->distance.k[counter];
    rp_form_copy(&start, &earlier);
    start.mask &= ~(1u << counter);
    if (!rp_run_range(run, &start, &lo, &hi)) {
        run->now->exact = false;
        return;
    }
    if (hi > limit) {
        run->now->exact = false;
        limit = hi;
    }
    rp_run_fact(run, &earlier, INT64_MIN, limit);
}

static void set_counter(struct rp_run *run, uint32_t counter, int64_t last)
{
    rp_run_box(run)->lo[counter] = 0;
    rp_run_box(run)->hi[counter] = last;
}

void rp_run_header(struct rp_run *run, uint32_t index)
{
    const struct rp_loop *loop = &run->proof->loops[index];
    struct rp_trip *trip = &run->trips[index];
    uint32_t counter = RP_VAR_LOOP + loop->depth;
    trip->kind = RP_TRIP_UNKNOWN;
    if (loop->depth >= RP_MAX_DEPTH) { /* no counter: whatever changes in it is opaque */
        run->now->exact = false;
        return;
    }
    run->boxes[run->box_count] = *rp_run_box(run);
    run->now->box = run->box_count++;
    run->now->owns_box = true;
    set_counter(run, counter, 1);
    if (loop->test != RP_NONE && !run->given_up[index]) {
        for (uint32_t i = 0; i < loop->test_op_count; i++)
            rp_run_op(run, run->proof->test_ops[loop->first_test_op + i]);
        solve(run, index, trip);
    }
    set_counter(run, counter, trip->kind == RP_TRIP_UNKNOWN ? ENDLESS : trip->last);
    run->now->exact &= loop->single_exit && trip->kind != RP_TRIP_UNKNOWN;
    if (trip->kind == RP_TRIP_BOUNDED)
        assume_earlier(run, trip, counter);
}

bool rp_run_confirm(struct rp_run *run, uint32_t index)
{
    const struct rp_trip *trip = &run->trips[index];
    struct rp_trip again;
    bool continues_if;
    if (trip->kind == RP_TRIP_UNKNOWN)
        return true;
    const struct rp_loop *loop = &run->proof->loops[index];
    const struct rp_op *op = find_comparison(run, loop, &continues_if);
    enum rp_compare compare;
    if (!op || !rp_run_difference(run, op, continues_if, &again.distance, &compare))
        return false;
    take_for_order(run, loop, &again.distance, &compare);
    return compare == trip->compare && rp_form_equal(&again.distance, &trip->distance);
}

/* A value after its loops: their counters stand at the last iteration. */
void rp_run_leave(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form value;
    rp_form_copy(&value, &run->forms[op->a]);
    for (uint32_t index = op->b;; index = run->proof->loops[index].parent) {
        const struct rp_loop *loop = &run->proof->loops[index];
        const struct rp_trip *trip = &run->trips[index];
        uint32_t counter = RP_VAR_LOOP + loop->depth;
        if (loop->depth < RP_MAX_DEPTH && (value.mask >> counter & 1)) {
            struct rp_form part;
            int64_t reach = 0;
            bool known = trip->kind != RP_TRIP_UNKNOWN &&
                         !__builtin_mul_overflow(value.k[counter], trip->last, &reach);
            int32_t root = value.root;
            value.mask &= ~(1u << counter);
            if (!known)
                rp_form_unknown(&part, op->bits);
            else if (trip->kind == RP_TRIP_CONSTANT && loop->single_exit)
                rp_form_set(&part, reach);
            else
                rp_form_interval(&part, reach < 0 ? reach : 0, reach < 0 ? 0 : reach);
            rp_form_add(&value, &value, &part);
            value.root = root;
        }
        if (index == op->c)
            break;
    }
    rp_form_copy(out, &value);
}
