/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the forwards that wait a replay is of, where several wait: the one whose values it reads
 * again, copied to and fro maybe, or else the one whose memory it works on. */
#include "tools/discover/finding.h"

#include "tracker/array.h"
#include "tracker/version.h"

#include <stdlib.h>
#include <string.h>

#define LITTLE 1e-9
enum { MOST_LOOKED_AT = 64 }; /* of the forwards that wait, the latest */

/* What a range reads that it has not written itself, and by which write it stands there. */
struct input {
    uint64_t origin, bytes;
};

struct inputs {
    struct input *items;
    size_t count, capacity;
};

/* How well the ranges pair under one rule: sums over the pairs. */
struct fit {
    size_t pairs;          /* that repeat each other */
    size_t against;        /* of them: the replay reads what another forward that waits has read */
    size_t unreplayed;     /* forwards */
    double inputs, memory; /* what of them comes again, 0 to 1 for each pair */
};

struct order {
    struct rp_finding *finding;
    struct rp_found_segment *segment;
    size_t *ranges;        /* of the two names, in the story's order */
    struct inputs *inputs; /* of each of them */
    size_t *waiting;       /* forwards, as places among the ranges: [first, end) of them wait */
    size_t first, end;
    size_t count;
    uint32_t forward;
};

/* ---- what ranges read ----------------------------------------------------------------- */

struct reading {
    struct inputs *inputs;
    uint64_t first; /* what the range itself has written has a later version */
};

static enum rp_status add_input(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct reading *reading = ctx;
    struct inputs *inputs = reading->inputs;
    if (writer->version > reading->first)
        return RP_OK;
    struct input *grown = rp_array_reserve(inputs->items, &inputs->capacity, inputs->count + 1,
                                           sizeof(*grown));
    if (!grown)
        return RP_NO_MEMORY;
    inputs->items = grown;
    grown[inputs->count++] = (struct input){writer->origin, hi - lo};
    return RP_OK;
}

struct copying {
    struct rp_versions *versions;
    const struct rp_story_access *from, *to;
    uint64_t version;
};

static enum rp_status copy_origin(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    const struct copying *copying = ctx;
    const struct rp_writer copied = {.version = copying->version, .origin = writer->origin};
    uint64_t shift = copying->to->lo - copying->from->lo;

    return rp_versions_write(copying->versions, copying->to->allocation, lo + shift, hi + shift,
                             &copied);
}

/* A call that is no launch, and reads as much as it writes elsewhere, copies. */
static bool is_copy(const struct rp_story_call *call, const struct rp_story_access *accesses)
{
    return !call->is_launch && call->access_count == 2 && !accesses[0].write && accesses[1].write &&
           accesses[0].allocation != accesses[1].allocation &&
           accesses[0].hi - accesses[0].lo == accesses[1].hi - accesses[1].lo;
}

static enum rp_status take_writes(const struct rp_story *story, size_t at,
                                  struct rp_versions *versions)
{
    const struct rp_story_call *call = &story->calls[at];
    const struct rp_story_access *accesses = &story->accesses[call->access];
    const struct rp_writer writer = {.version = at + 1, .origin = at + 1};
    enum rp_status status = RP_OK;

    if (is_copy(call, accesses)) {
        struct copying copying = {versions, &accesses[0], &accesses[1], at + 1};
        return rp_versions_read(versions, accesses[0].allocation, accesses[0].lo, accesses[0].hi,
                                copy_origin, &copying);
    }
    for (size_t i = 0; status == RP_OK && i < call->access_count; i++)
        if (accesses[i].write)
            status = rp_versions_write(versions, accesses[i].allocation, accesses[i].lo,
                                       accesses[i].hi, &writer);
    return status;
}

static enum rp_status take_reads(const struct rp_story *story, size_t at,
                                 const struct rp_versions *versions, size_t first,
                                 struct inputs *inputs)
{
    const struct rp_story_call *call = &story->calls[at];
    struct reading reading = {inputs, first};
    enum rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && i < call->access_count; i++) {
        const struct rp_story_access *access = &story->accesses[call->access + i];
        if (!access->write)
            status = rp_versions_read(versions, access->allocation, access->lo, access->hi,
                                      add_input, &reading);
    }
    return status;
}

static int compare_inputs(const void *a, const void *b)
{
    const struct input *x = a, *y = b;
    if (x->origin != y->origin)
        return x->origin < y->origin ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Goes through the story once, past the ranges in their order; they do not overlap. */
static void read_inputs(struct order *order)
{
    const struct rp_story *story = order->finding->story;
    struct rp_versions *versions = NULL;
    enum rp_status status = rp_versions_create(&versions);
    size_t next = 0;

    for (size_t at = 0; status == RP_OK && next < order->count && at < story->call_count; at++) {
        const struct rp_story_range *range = &story->ranges[order->ranges[next]];
        if (at >= range->first && at < range->end && story->calls[at].thread == range->thread)
            status = take_reads(story, at, versions, range->first, &order->inputs[next]);
        if (status == RP_OK)
            status = take_writes(story, at, versions);
        while (next < order->count && story->ranges[order->ranges[next]].end <= at + 1)
            next++;
    }
    rp_versions_destroy(versions);
    order->finding->no_memory |= status != RP_OK;
    for (size_t i = 0; i < order->count; i++)
        if (order->inputs[i].count)
            qsort(order->inputs[i].items, order->inputs[i].count, sizeof(struct input),
                  compare_inputs);
}

/* ---- how well a pair fits ---------------------------------------------------------------- */

static double shared_inputs(const struct inputs *forward, const struct inputs *replay)
{
    size_t at = 0;
    double found = 0, all = 0;

    for (size_t i = 0; i < forward->count; i++) {
        const struct input *input = &forward->items[i];
        while (at < replay->count && compare_inputs(&replay->items[at], input) < 0)
            at++;
        bool again = at < replay->count && compare_inputs(&replay->items[at], input) == 0;
        at += again;
        found += again ? (double)input->bytes : 0;
        all += (double)input->bytes;
    }
    return all > 0 ? found / all : 1.0;
}

static bool repeats(const struct rp_story *story, const struct rp_story_range *forward,
                    const struct rp_story_range *replay)
{
    return rp_find_repetition(story, forward, replay, true) > 0 ||
           rp_find_repetition(story, forward, replay, false) > 0;
}

/* Another that waits fits better than the one that was taken. */
static bool is_against(const struct order *order, double taken, size_t replay)
{
    size_t from = order->end - order->first > MOST_LOOKED_AT ? order->end - MOST_LOOKED_AT
                                                             : order->first;
    for (size_t i = from; i < order->end; i++)
        if (shared_inputs(&order->inputs[order->waiting[i]], &order->inputs[replay]) >
            taken + LITTLE)
            return true;
    return false;
}

static void take_pair(struct order *order, size_t forward, size_t replay, struct fit *fit,
                      bool settle)
{
    const struct rp_story *story = order->finding->story;
    const struct rp_story_range *range = &story->ranges[order->ranges[forward]];
    const struct rp_story_range *later = &story->ranges[order->ranges[replay]];

    if (!repeats(story, range, later))
        return;
    fit->pairs++;
    double inputs = shared_inputs(&order->inputs[forward], &order->inputs[replay]);
    fit->inputs += inputs;
    fit->against += is_against(order, inputs, replay);
    fit->memory += rp_find_shared_memory(story, range, later);
    if (settle)
        rp_find_occurrence(order->finding, order->segment,
                           (struct rp_occurrence){range->first, range->end, later->first,
                                                  later->end});
}

/* ---- the two orders ----------------------------------------------------------------------- */

/* Pairs every replay as the layer will. Forwards wait no longer than their step. */
static struct fit pair_all(struct order *order, bool fifo, bool settle)
{
    const struct rp_story *story = order->finding->story;
    struct fit fit = {0};
    size_t step = SIZE_MAX;

    order->first = order->end = 0;
    for (size_t i = 0; i < order->count; i++) {
        const struct rp_story_range *range = &story->ranges[order->ranges[i]];
        size_t now = rp_find_step_of(order->finding, range->first);
        if (now != step)
            order->first = order->end = 0;
        step = now;
        fit.unreplayed += range->name == order->forward;
        if (range->name == order->forward)
            order->waiting[order->end++] = i;
        else if (order->first < order->end)
            take_pair(order, order->waiting[fifo ? order->first++ : --order->end], i, &fit, settle);
    }
    fit.unreplayed -= fit.pairs;
    return fit;
}

/* Forwards that nobody replays, as an evaluation makes them, may look like a queue where they come
 * before a replay: then all that it explains has to fit. */
static bool is_better(const struct fit *fifo, const struct fit *lifo)
{
    if (fifo->unreplayed && fifo->against)
        return false;
    if (fifo->pairs != lifo->pairs)
        return fifo->pairs > lifo->pairs;
    if (fifo->against != lifo->against)
        return fifo->against < lifo->against;
    if (fifo->inputs > lifo->inputs + LITTLE || fifo->inputs < lifo->inputs - LITTLE)
        return fifo->inputs > lifo->inputs;
    return fifo->memory > lifo->memory + LITTLE;
}

/* Two forwards wait at once: only then there is a choice. */
static bool list_ranges(struct order *order, uint32_t replay)
{
    const struct rp_story *story = order->finding->story;
    size_t waiting = 0, most = 0, step = SIZE_MAX, end = 0;

    for (size_t i = 0; i < story->range_count; i++) {
        const struct rp_story_range *range = &story->ranges[i];
        if ((range->name != order->forward && range->name != replay) ||
            range->first >= range->end || range->first < end)
            continue;
        size_t now = rp_find_step_of(order->finding, range->first);
        waiting = now == step ? waiting : 0;
        step = now;
        end = range->end;
        order->ranges[order->count++] = i;
        if (range->name == order->forward)
            waiting++;
        else if (waiting)
            waiting--;
        most = waiting > most ? waiting : most;
    }
    return most > 1;
}

void rp_find_order(struct rp_finding *finding, struct rp_found_segment *segment, uint32_t forward,
                   uint32_t replay)
{
    size_t room = finding->story->range_count + 1;
    struct order order = {.finding = finding, .segment = segment, .forward = forward,
                          .ranges = calloc(room, sizeof(*order.ranges)),
                          .inputs = calloc(room, sizeof(*order.inputs)),
                          .waiting = calloc(room, sizeof(*order.waiting))};

    finding->no_memory |= !order.ranges || !order.inputs || !order.waiting;
    if (!finding->no_memory && list_ranges(&order, replay)) {
        read_inputs(&order);
        struct fit lifo = pair_all(&order, false, false), fifo = pair_all(&order, true, false);
        segment->fifo = is_better(&fifo, &lifo);
        segment->against = segment->fifo ? fifo.against : lifo.against;
        segment->unreplayed = segment->fifo ? fifo.unreplayed : lifo.unreplayed;
        if (segment->fifo) {
            segment->count = 0;
            pair_all(&order, true, true);
        }
    }
    for (size_t i = 0; order.inputs && i < order.count; i++)
        free(order.inputs[i].items);
    free(order.ranges);
    free(order.inputs);
    free(order.waiting);
}
