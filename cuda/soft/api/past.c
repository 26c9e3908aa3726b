/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/past.h"

#include <stdlib.h>
#include <string.h>

struct soft_past {
    unsigned references;
    uint64_t *upto; /* by chain: how much of it came before */
    size_t count;
    uint64_t chain, index; /* the operation's own place, index from 1 */
};

static struct {
    bool kept, said;
    uint64_t *length; /* of each chain */
    size_t count, capacity;
    struct soft_past program; /* what it has waited for */
} chains;

static void complain(void)
{
    if (!chains.said)
        soft_say("races: no host memory; order is lost, and races that are none may be told");
    chains.said = true;
}

void soft_past_keep(void)
{
    chains.kept = true;
}

bool soft_past_is_kept(void)
{
    return chains.kept;
}

/* ---- vectors ----------------------------------------------------------------------- */

static bool reserve(struct soft_past *past, size_t count)
{
    if (count <= past->count)
        return true;
    uint64_t *upto = realloc(past->upto, count * sizeof *upto);
    if (upto == NULL) {
        complain();
        return false;
    }
    memset(upto + past->count, 0, (count - past->count) * sizeof *upto);
    past->upto = upto;
    past->count = count;
    return true;
}

static void join(struct soft_past *past, const struct soft_past *other)
{
    if (!reserve(past, other->count))
        return;
    for (size_t i = 0; i < other->count; i++)
        if (other->upto[i] > past->upto[i])
            past->upto[i] = other->upto[i];
}

/* ---- the lives of operations ------------------------------------------------------- */

bool soft_past_enter(struct soft_op *op)
{
    if (!chains.kept)
        return true;
    op->past = calloc(1, sizeof *op->past);
    if (op->past != NULL)
        op->past->references = 1;
    return op->past != NULL;
}

struct soft_past *soft_past_retain(struct soft_past *past)
{
    past->references++;
    return past;
}

void soft_past_release(struct soft_past *past)
{
    if (past == NULL || --past->references > 0)
        return;
    free(past->upto);
    free(past);
}

void soft_past_join(struct soft_op *op, const struct soft_op *earlier)
{
    if (op->past != NULL)
        join(op->past, earlier->past);
}

void soft_past_join_program(struct soft_op *op)
{
    if (op->past != NULL)
        join(op->past, &chains.program);
}

void soft_past_met(const struct soft_op *op)
{
    if (op != NULL && op->past != NULL)
        join(&chains.program, op->past);
}

void soft_past_witness(struct soft_past *past, const struct soft_past *other)
{
    join(past, other);
}

static bool add_chain(void)
{
    if (chains.count == chains.capacity) {
        size_t capacity = chains.capacity ? 2 * chains.capacity : 16;
        uint64_t *length = realloc(chains.length, capacity * sizeof *length);
        if (length == NULL)
            return false;
        chains.length = length;
        chains.capacity = capacity;
    }
    chains.length[chains.count++] = 0;
    return true;
}

/* A chain that is in the past from end to end, or a new one. */
static size_t choose_chain(const struct soft_past *past)
{
    for (size_t i = 0; i < past->count; i++)
        if (past->upto[i] == chains.length[i])
            return i;
    return add_chain() ? chains.count - 1 : SIZE_MAX;
}

void soft_past_begin(struct soft_op *op)
{
    struct soft_past *past = op->past;
    if (past == NULL || past->index != 0)
        return;
    size_t chain = choose_chain(past);
    if (chain == SIZE_MAX || !reserve(past, chain + 1)) {
        complain();
        return;
    }
    past->upto[chain] = ++chains.length[chain];
    past->chain = chain;
    past->index = past->upto[chain];
}

bool soft_past_contains(const struct soft_past *past, const struct soft_past *other)
{
    return other->chain < past->count && past->upto[other->chain] >= other->index;
}
