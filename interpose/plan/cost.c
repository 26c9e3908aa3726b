/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/cost.h"

#include "cuda/switches.h"
#include "cuda/timeline.h"
#include "interpose/plan/chain.h"
#include "interpose/plan/clock.h"
#include "interpose/plan/ledger.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/trial.h"
#include "interpose/plan/whole.h"
#include "interpose/run/budget.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "interpose/run/profiler.h"

#include <string.h>

enum { IN_FLIGHT = 4, HALVED_AFTER = 2, PLAIN_EVERY = 3, SUMS = 0 };

/* A step on its way: its calls go out, or its times have not come yet. */
struct flight {
    struct rp_step_cost cost;
    uint64_t first_tag; /* of the profiler's, see tag_of */
    struct rp_timeline *timeline;
    bool is_out; /* the step is over, the times are not here */
};

static struct {
    struct flight flights[IN_FLIGHT];
    struct flight *now;   /* the step that is running, if it is measured */
    struct flight *ended; /* the one before it */
    enum rp_phase phase;
    uint32_t place, last_replay;
    enum rp_copying told; /* the last copy's */
    rp_stream stream; /* the last mark's */
    uint32_t late; /* the segment that is to be replayed next, once copies were made after the last
                    * replay; UINT32_MAX before */
    uint32_t begun; /* by part */
    uint32_t alike; /* steps in a row by which copies can't be priced: all had one size */
    uint64_t peak, tagged_steps;
} costs;

/* A step's tags are its parts, numbered like the marks. */
#define MOST_TAGS ((uint64_t)RP_PROFILE_MAX_SEGMENTS * RP_COST_KINDS)

/* ---- a step --------------------------------------------------------------------------- */

static bool wants_parts(void)
{
    return rp_ledger_has_place() && !rp_policy_plan();
}

static struct flight *free_flight(void)
{
    for (size_t i = 0; i < IN_FLIGHT; i++)
        if (!costs.flights[i].is_out)
            return &costs.flights[i];
    return NULL; /* the job runs far ahead of the device: this step goes unmeasured */
}

void rp_cost_depart(const char *reason)
{
    if (costs.now && !costs.now->cost.departure)
        costs.now->cost.departure = reason;
}

/* Of the steps by part, by their number: neither the first, which loads and allocates, nor one that
 * is halved. A profiler knows the parts without marks. */
static bool is_plain(uint32_t number)
{
    return number && number % PLAIN_EVERY == 0 && !rp_profiler_runs() &&
           rp_core_guards() && rp_switch_on(RP_SWITCH_PLAIN_STEPS);
}

void rp_cost_step_begins(void)
{
    rp_cost_step_ends();
    struct flight *flight = free_flight();
    if (!flight || (!flight->timeline &&
                    rp_timeline_create(&rp_core.driver, &flight->timeline) != RP_OK))
        return;
    rp_step_cost_clear(&flight->cost);
    flight->cost.step = rp_core.step;
    flight->cost.plan = rp_policy_plan();
    flight->cost.by_part = wants_parts();
    if (flight->cost.by_part && rp_profiler_start())
        flight->first_tag = ++costs.tagged_steps * MOST_TAGS;
    flight->cost.plain = flight->cost.by_part && is_plain(costs.begun++);
    (void)rp_clock_device(); /* now, while there is a context to ask */
    rp_timeline_begin(flight->timeline);
    costs.now = flight;
    rp_core.bench.in_halves = flight->cost.by_part && !flight->cost.plain &&
                              costs.alike >= HALVED_AFTER && rp_switch_on(RP_SWITCH_HALVES);
    costs.last_replay = costs.late = UINT32_MAX;
    rp_cost_phase(RP_PHASE_OF_FORWARD, 0);
}

void rp_cost_step_ends(void)
{
    struct flight *flight = costs.now;
    if (!flight)
        return;
    rp_timeline_end(flight->timeline);
    rp_profiler_tag(0);
    if (rp_timeline_is_parallel(flight->timeline))
        rp_cost_depart("the steps use several streams");
    for (uint32_t i = 0; i < flight->cost.count && i < rp_chain_length(); i++)
        flight->cost.parts[i].name = rp_chain_name(i);
    if (flight->cost.count > rp_chain_length())
        flight->cost.count = rp_chain_length(); /* a first forward never came */
    flight->is_out = true;
    bool open = flight->cost.by_part && rp_price_is_open(&flight->cost);
    if (rp_core.bench.in_halves && rp_core_guards() &&
        (open || flight->cost.halved))
        rp_trial_make(&flight->cost, costs.stream);
    costs.alike = open ? costs.alike + 1 : 0;
    costs.ended = flight;
    costs.now = NULL;
    rp_core.bench.in_halves = false;
}

bool rp_cost_by_part(void)
{
    return costs.now && costs.now->cost.by_part;
}

struct rp_part *rp_cost_part(uint32_t place)
{
    return costs.now ? rp_step_cost_part(&costs.now->cost, place) : NULL;
}

void rp_cost_replay(const struct rp_execution *execution)
{
    if (execution->instance->step != rp_core.step) {
        rp_cost_depart("a segment is replayed in a later step");
        return;
    }
    if (execution->place >= costs.last_replay)
        rp_cost_depart("the replays do not come in the reverse order of their forwards");
    costs.last_replay = execution->place;
    rp_cost_phase(RP_PHASE_OF_REPLAY, execution->place);
    struct rp_part *part = rp_cost_part(execution->place);
    if (!part)
        return;
    part->replayed = true;
    part->choice = execution->choice;
    if (rp_whole_size(execution, &part->whole) != RP_OK)
        rp_cost_depart("the host is out of memory");
}

void rp_cost_forward_ends(uint32_t place)
{
    struct rp_part *part = rp_cost_part(place);
    if (part)
        part->forward_over = true;
}

/* ---- state ---------------------------------------------------------------------------- */

static void note(const struct rp_execution *execution, struct rp_note note)
{
    if (rp_cost_by_part() && execution->instance->step == rp_core.step)
        rp_notes_add(&costs.now->cost.notes, note);
}

void rp_cost_kept(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    note(execution, (struct rp_note){.place = execution->place, .by = costs.place,
                                     .backward = costs.phase != RP_PHASE_OF_FORWARD, .id = id,
                                     .lo = lo, .hi = hi});
}

void rp_cost_stashed(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                     uint64_t hi)
{
    const struct rp_live *live = rp_instance_live(execution->instance, id);
    static const struct rp_spans none;
    struct rp_spans written = {0};
    /* What was kept is known, and who wrote it. */
    if (rp_spans_missing(live ? &live->kept : &none, lo, hi, &written) != RP_OK)
        rp_cost_depart("the host is out of memory");
    for (size_t i = 0; i < written.count; i++)
        note(execution, (struct rp_note){.place = execution->place, .written = true, .id = id,
                                         .lo = written.items[i].lo, .hi = written.items[i].hi});
    rp_spans_release(&written);
}

/* ---- memory --------------------------------------------------------------------------- */

static void raise(uint64_t *most, uint64_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

void rp_cost_memory(void)
{
    if (!costs.now)
        return;
    uint64_t job = rp_core.device_bytes, all = rp_budget_used();
    struct rp_part *part = rp_cost_part(costs.place);
    if (part)
        raise(&part->job[costs.phase], job);
    part = costs.late != UINT32_MAX ? rp_cost_part(costs.late) : NULL;
    if (part)
        raise(&part->job[RP_PHASE_OF_REPLAY], job);
    raise(&costs.now->cost.peak, all);
    raise(&costs.peak, all);
}

/* When what the job has begins to count beside a copy that is made now: a backward makes it of what
 * those that wait keep, at its end as a rule, and what comes then counts for the next replay. */
static struct rp_kept_from kept_from_now(void)
{
    bool backward = costs.phase != RP_PHASE_OF_FORWARD;
    uint32_t next = costs.phase == RP_PHASE_OF_BACKWARD ? costs.place - 1 : costs.place;
    return (struct rp_kept_from){.backward = backward, .place = next};
}

void rp_cost_keep(struct rp_keeping *keeping, uint32_t place, bool early, uint64_t bytes)
{
    const struct rp_kept_from from = kept_from_now();
    rp_keeping_add(keeping, place, early, from, bytes);
    if (costs.phase == RP_PHASE_OF_BACKWARD && costs.place > 0)
        costs.late = from.place;
    rp_cost_memory(); /* what is copied stands beside its copy, if only for now */
}

/* ---- marks ---------------------------------------------------------------------------- */

static void mark(unsigned kind, uint32_t place, rp_stream stream)
{
    struct flight *flight = costs.now;
    if (rp_core.captures)
        rp_timeline_spoil(flight->timeline, "a stream was captured meanwhile");
    costs.stream = stream;
    bool within = flight->cost.by_part && !flight->cost.plain;
    uint64_t what = within ? (uint64_t)place * RP_COST_KINDS + kind : SUMS;
    rp_timeline_mark(flight->timeline, what, stream);
    if (within)
        rp_profiler_tag(flight->first_tag + what);
}

void rp_cost_phase(enum rp_phase phase, uint32_t place)
{
    costs.phase = phase;
    costs.place = place;
    if (phase == RP_PHASE_OF_REPLAY)
        costs.late = UINT32_MAX;
    rp_cost_memory();
}

void rp_cost_call(rp_stream stream, bool repeats)
{
    if (!costs.now)
        return;
    bool intrudes = costs.phase == RP_PHASE_OF_REPLAY && !repeats;
    mark(intrudes ? RP_PHASE_OF_BACKWARD : costs.phase, costs.place, stream);
    rp_cost_memory();
}

static void count_copy(struct rp_part *part, uint32_t place, enum rp_copying what, uint64_t bytes)
{
    if (what == RP_COPYING_ABROAD) {
        rp_amounts_add(part->abroad, costs.told, bytes);
    } else if (what != RP_COPYING_MOVE) {
        rp_amounts_add(part->copies, what, bytes);
        costs.told = what;
        costs.now->cost.halved |= what == RP_COPYING_HALVES;
    }
    if (what == RP_COPYING_PRESERVE || what == RP_COPYING_HALVES)
        rp_cost_keep(&part->state, place, !part->forward_over, bytes);
}

void rp_cost_meter(uint32_t place, enum rp_copying what, uint64_t bytes, rp_stream stream)
{
    struct rp_part *part = rp_cost_part(place);
    if (!part)
        return;
    count_copy(part, place, what, bytes);
    mark(RP_PHASE_COUNT + what, place, stream);
    rp_cost_memory();
}

/* ---- what has come -------------------------------------------------------------------- */

static void add_to_part(struct rp_step_cost *cost, uint64_t what, struct rp_interval interval)
{
    size_t place = what / RP_COST_KINDS, kind = what % RP_COST_KINDS;
    if (!cost->by_part || cost->plain || place >= cost->count)
        return;
    struct rp_interval *sum = &cost->parts[place].intervals[kind];
    sum->ns += interval.ns;
    sum->marks += interval.marks;
}

static void add_interval(void *ctx, uint64_t what, uint64_t ns)
{
    struct rp_step_cost *cost = ctx;
    cost->ns += ns > cost->own ? ns - cost->own : 0;
    add_to_part(cost, what, (struct rp_interval){ns, 1});
}

struct activity {
    struct rp_step_cost *cost;
    uint64_t first_tag;
};

static void add_activity(void *ctx, uint64_t tag, uint64_t ns)
{
    const struct activity *activity = ctx;
    add_to_part(activity->cost, tag - activity->first_tag, (struct rp_interval){.ns = ns});
}

/* The profiler knows the time of each kernel and copy itself, without the gaps between them. */
static void take_activity(struct flight *flight)
{
    struct rp_step_cost *cost = &flight->cost;
    if (!rp_profiler_runs() || !cost->by_part)
        return;
    for (size_t i = 0; i < cost->count; i++)
        memset(cost->parts[i].intervals, 0, sizeof cost->parts[i].intervals);
    struct activity activity = {cost, flight->first_tag};
    rp_profiler_take(flight->first_tag, flight->first_tag + MOST_TAGS - 1, add_activity,
                     &activity);
}

static void take_in(struct flight *flight)
{
    struct rp_step_cost *cost = &flight->cost;
    flight->is_out = false;
    cost->own = rp_timeline_own(flight->timeline);
    if (rp_timeline_each(flight->timeline, add_interval, cost) != RP_OK) {
        cost->departure = cost->departure ? cost->departure
                                          : rp_timeline_spoilt(flight->timeline);
        cost->ns = 0;
    }
    take_activity(flight);
    rp_policy_measured(cost);
    cost->by_part = cost->by_part && !rp_policy_plan(); /* which may have come since it began */
    rp_ledger_take(cost);
}

void rp_cost_collect(bool all)
{
    if (rp_core.captures)
        return; /* even asking for an event may break a capture */
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct flight *flight = &costs.flights[i];
        if (flight->is_out && (all || flight != costs.ended) &&
            rp_timeline_is_over(flight->timeline))
            take_in(flight);
    }
    if (all || !costs.ended || costs.ended->cost.step != rp_trial_awaited())
        rp_trial_collect();
}

uint64_t rp_cost_peak(void)
{
    return costs.peak;
}

void rp_cost_restart(void)
{
    rp_ledger_restart();
    costs.begun = 0;
    for (size_t i = 0; i < IN_FLIGHT; i++)
        costs.flights[i].cost.by_part = false; /* begun under what no longer holds */
}

void rp_cost_lost(void)
{
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        rp_timeline_abandon(costs.flights[i].timeline);
        costs.flights[i].timeline = NULL;
        costs.flights[i].is_out = false;
    }
    rp_trial_lost();
    costs.now = costs.ended = NULL;
    rp_core.bench.in_halves = false;
}

void rp_cost_forget(void)
{
    rp_cost_lost();
    rp_ledger_forget();
    for (size_t i = 0; i < IN_FLIGHT; i++)
        rp_step_cost_release(&costs.flights[i].cost);
    costs.alike = costs.begun = 0;
    costs.peak = 0;
}
