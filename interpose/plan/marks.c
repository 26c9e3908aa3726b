/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/marks.h"

#include "interpose/plan/sample.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The median of the plain steps like this one; 0 where there are none. */
static uint64_t plain_time(const struct rp_step_cost *steps, size_t count,
                           const struct rp_step_cost *like)
{
    uint64_t times[RP_COST_STEPS];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].plain && steps[i].ns && rp_sample_same_chain(&steps[i], like))
            times[found++] = steps[i].ns;
    qsort(times, found, sizeof *times, compare);
    return found ? times[found / 2] : 0;
}

/* There is a call in it besides, which takes as long as a mark does. */
static double least_of(const struct rp_interval *interval)
{
    return interval->marks ? (double)interval->ns / 2 : (double)interval->ns;
}

static double without(const struct rp_interval *interval, double mark)
{
    double ns = (double)interval->ns - mark * interval->marks, least = least_of(interval);
    return ns > least ? ns : least;
}

/* What is left of the step when each mark took `mark`; how many marks could have taken more. */
static double left(const struct rp_step_cost *step, double mark, double *marks)
{
    double sum = 0;
    *marks = 0;
    for (size_t k = 0; k < step->count; k++)
        for (int kind = 0; kind < RP_COST_KINDS; kind++) {
            const struct rp_interval *interval = &step->parts[k].intervals[kind];
            double ns = without(interval, mark);
            sum += ns;
            *marks += ns > least_of(interval) ? interval->marks : 0;
        }
    return sum;
}

/* With which the parts add up to `ns`. What an interval can't give, the others do: in each round
 * there is one fewer of them, or it is the last. */
static double mark_for(const struct rp_step_cost *step, uint64_t ns)
{
    double mark = 0, marks;
    for (size_t round = 0; round <= step->count * RP_COST_KINDS; round++) {
        double more = left(step, mark, &marks) - (double)ns;
        if (more < 1 || marks < 1)
            break;
        mark += more / marks;
    }
    return mark;
}

static void take_off(struct rp_step_cost *step, double mark)
{
    for (size_t k = 0; k < step->count; k++) {
        struct rp_part *part = &step->parts[k];
        for (int kind = 0; kind < RP_COST_KINDS; kind++) {
            uint64_t ns = (uint64_t)(without(&part->intervals[kind], mark) + 0.5);
            if (kind < RP_PHASE_COUNT)
                part->ns[kind] = ns;
            else
                part->copy_ns[kind - RP_PHASE_COUNT] = ns;
        }
        /* Halves are preserved bytes too. */
        part->copy_ns[RP_COPYING_PRESERVE] += part->copy_ns[RP_COPYING_HALVES];
    }
}

/* The mean of the steps like it that took their marks longer than `ns`, and nothing else. */
static double usual_mark(const struct rp_step_cost *steps, size_t count,
                         const struct rp_step_cost *like, uint64_t ns)
{
    double sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (!steps[i].plain && !steps[i].halved && rp_sample_same_chain(&steps[i], like)) {
            sum += mark_for(&steps[i], ns);
            found++;
        }
    return found ? sum / (double)found : (double)like->own;
}

/* A halved step takes longer than a plain one for its copies too. */
void rp_marks_take_off(struct rp_step_cost *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rp_step_cost *step = &steps[i];
        uint64_t ns = plain_time(steps, count, step);
        if (!step->plain)
            take_off(step, !ns            ? (double)step->own
                           : step->halved ? usual_mark(steps, count, step, ns)
                                          : mark_for(step, ns));
    }
}
