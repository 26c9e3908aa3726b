/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/trial.h"

#include "cuda/switches.h"
#include "cuda/timeline.h"
#include "interpose/run/budget.h"
#include "interpose/run/core.h"

enum { FEW = RP_STORE_QUANTUM, MOST = 16 << 20 };

enum { OF_FEW, OF_MANY, SIZES };

static struct {
    struct rp_timeline *timeline;
    uint32_t step; /* after which it was made, while its times have not come */
    uint64_t many; /* bytes */
    uint64_t ns[SIZES];
    bool known;
    double rate;
} trial;

static uint64_t larger_piece(uint64_t bytes, const struct rp_amount *amount)
{
    uint64_t piece = amount->pieces ? amount->bytes / amount->pieces : 0;
    return piece > bytes ? piece : bytes;
}

/* What a plan could have copied instead, in pieces of so many bytes. */
static uint64_t bytes_for(const struct rp_step_cost *step)
{
    uint64_t bytes = 2 * FEW;
    for (size_t k = 0; k < step->count; k++) {
        bytes = larger_piece(bytes, &step->parts[k].whole);
        bytes = larger_piece(bytes, &step->parts[k].outputs.all);
        bytes = larger_piece(bytes, &step->parts[k].served);
    }
    return rp_store_block_bytes(bytes < MOST ? bytes : MOST);
}

static bool has_room(uint64_t bytes)
{
    uint64_t used = rp_budget_used(), budget = rp_core.config.budget;
    return rp_core.bench.store && used <= budget && bytes <= budget - used;
}

static bool copy(uint64_t bytes, const struct rp_block *to, const struct rp_block *from,
                 rp_stream stream)
{
    return rp_core.driver.copy(rp_core.driver.self, to->at, from->at, bytes, stream) == RP_OK;
}

/* A first copy, which is not timed: the others find the host and the device as it leaves them. */
static void run(const struct rp_block *to, const struct rp_block *from, rp_stream stream)
{
    struct rp_timeline *timeline = trial.timeline;
    rp_timeline_begin(timeline);
    bool good = copy(trial.many, to, from, stream);
    rp_timeline_mark(timeline, OF_FEW, stream);
    good = good && copy(FEW, to, from, stream);
    rp_timeline_mark(timeline, OF_MANY, stream);
    good = good && copy(trial.many, to, from, stream);
    rp_timeline_end(timeline);
    if (!good)
        rp_timeline_spoil(timeline, "a copy was refused");
}

void rp_trial_make(const struct rp_step_cost *step, rp_stream stream)
{
    struct rp_store *store = rp_core.bench.store;
    struct rp_block to, from;
    uint64_t bytes = bytes_for(step);
    if (!rp_switch_on(RP_SWITCH_TRIALS) || trial.step || rp_core.captures || !has_room(2 * bytes) ||
        (!trial.timeline && rp_timeline_create(&rp_core.driver, &trial.timeline) != RP_OK) ||
        rp_store_take(store, bytes, stream, &from) != RP_OK)
        return;
    if (rp_store_take(store, bytes, stream, &to) == RP_OK) {
        trial.step = step->step;
        trial.many = bytes;
        run(&to, &from, stream);
        rp_store_give(store, &to, stream);
    }
    rp_store_give(store, &from, stream);
}

uint32_t rp_trial_awaited(void)
{
    return trial.step;
}

static void take_interval(void *ctx, uint64_t what, uint64_t ns)
{
    (void)ctx;
    trial.ns[what] = ns;
}

void rp_trial_collect(void)
{
    if (!trial.step || !rp_timeline_is_over(trial.timeline))
        return;
    trial.step = 0;
    if (rp_timeline_each(trial.timeline, take_interval, NULL) != RP_OK)
        return;
    double more = (double)trial.ns[OF_MANY] - (double)trial.ns[OF_FEW];
    trial.rate = more > 0 ? more / (double)(trial.many - FEW) : 0;
    trial.known = true;
}

bool rp_trial_rate(double *ns)
{
    *ns = trial.rate;
    return trial.known;
}

void rp_trial_lost(void)
{
    rp_timeline_abandon(trial.timeline);
    trial.timeline = NULL;
    trial.step = 0;
}
