/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_shape.h"
#include "tools/event_text.h"
#include "tools/filter.h"
#include "tools/source.h"
#include "tracker/text.h"

#include <stdlib.h>
#include <string.h>

static bool names(const struct rp_event *event, const char *field, const char *glob)
{
    char text[1024];
    return *rp_event_text(event, field, text, sizeof(text)) &&
           rp_glob_match(glob, text, NULL, 0);
}

/* A segment lasts from its beginning to its end; both belong to it. */
static bool in_segment(const struct rp_filter *filter, uint64_t *depth,
                       const struct rp_event *event)
{
    bool named = names(event, "segment", filter->segment), inside = *depth > 0;
    struct rp_segment_note note;

    if (named && rp_event_is(event, "note", "segment")) {
        rp_event_segment(event, &note);
        if (note.begins)
            ++*depth;
        else if (*depth > 0)
            --*depth;
    }
    return named || inside;
}

static bool remember_buffer(struct rp_filter_state *state, const struct rp_event *event)
{
    struct rp_filter_range *more =
        realloc(state->buffer, (state->buffer_count + 1) * sizeof(*more));
    if (!more)
        return false;
    state->buffer = more;
    uint64_t offset = rp_event_number(event, "offset");
    state->buffer[state->buffer_count++] = (struct rp_filter_range){
        rp_event_number(event, "allocation"), offset, offset + rp_event_number(event, "bytes")};
    return true;
}

/* The event names a buffer that is asked for, or bytes of one. */
static bool on_buffer(const struct rp_filter *filter, struct rp_filter_state *state,
                      const struct rp_event *event, bool *good)
{
    if (names(event, "buffer", filter->buffer)) {
        if (rp_event_is(event, "note", "buffer") && !remember_buffer(state, event))
            *good = false;
        return true;
    }
    if (!rp_event_field(event, "offset") || !rp_event_field(event, "allocation"))
        return false;
    uint64_t allocation = rp_event_number(event, "allocation");
    uint64_t first = rp_event_number(event, "offset");
    uint64_t end = first + rp_event_number(event, "bytes");
    for (size_t i = 0; i < state->buffer_count; i++)
        if (state->buffer[i].allocation == allocation && first < state->buffer[i].end &&
            end > state->buffer[i].first)
            return true;
    return false;
}

/* A hazard names the kernels that have a part in it. */
static bool on_kernel(const struct rp_event *event, const char *glob)
{
    return names(event, "kernel", glob) ||
           (rp_event_is(event, "note", "hazard") &&
            (names(event, "reader", glob) || names(event, "writer", glob) ||
             names(event, "other", glob)));
}

static bool is_call(const struct rp_event *event, const char *glob)
{
    return strcmp(event->def->class_, "note") != 0 &&
           rp_glob_match(glob, event->def->name, NULL, 0);
}

static bool on_allocation(const struct rp_event *event, uint64_t allocation)
{
    const union rp_value *value = rp_event_field(event, "allocation");
    return value && value->u == allocation;
}

static bool on_stream(const struct rp_event *event, uint64_t handle)
{
    uint64_t stream;
    return rp_event_stream(event, &stream) && stream != 0 &&
           (stream == handle || (handle == 0 && stream <= RP_STREAM_PER_THREAD));
}

static bool in_step(struct rp_filter_state *state, const struct rp_event *event, uint64_t step)
{
    if (rp_event_is(event, "note", "step") || rp_event_is(event, "note", "launch"))
        state->step = rp_event_number(event, "step");
    return state->step == step;
}

/* The kernel, which has the proof, and its launches, which have what came of it. */
static bool is_of_proof(const struct rp_event *event)
{
    return rp_event_is(event, "note", "kernel") || rp_event_is(event, "note", "launch");
}

unsigned rp_filter_match(const struct rp_filter *filter, struct rp_filter_state *state,
                         uint64_t *segment_depth, const struct rp_event *event, bool *good)
{
    unsigned asked = filter->facets, found = 0;

    if ((asked & RP_FACET_CALL) && is_call(event, filter->call))
        found |= RP_FACET_CALL;
    if ((asked & RP_FACET_KERNEL) && on_kernel(event, filter->kernel))
        found |= RP_FACET_KERNEL;
    if ((asked & RP_FACET_SEGMENT) && in_segment(filter, segment_depth, event))
        found |= RP_FACET_SEGMENT;
    if ((asked & RP_FACET_BUFFER) && on_buffer(filter, state, event, good))
        found |= RP_FACET_BUFFER;
    if ((asked & RP_FACET_ALLOCATION) && on_allocation(event, filter->allocation))
        found |= RP_FACET_ALLOCATION;
    if ((asked & RP_FACET_STREAM) && on_stream(event, filter->stream))
        found |= RP_FACET_STREAM;
    if ((asked & RP_FACET_STEP) && in_step(state, event, filter->step))
        found |= RP_FACET_STEP;
    if ((asked & RP_FACET_TIME) && event->time_ns >= filter->from_ns &&
        event->time_ns <= filter->to_ns)
        found |= RP_FACET_TIME;
    if ((asked & RP_FACET_VERDICT) && names(event, "verdict", filter->verdict))
        found |= RP_FACET_VERDICT;
    if ((asked & RP_FACET_PROOF) && is_of_proof(event) &&
        names(event, "kernel", filter->proof))
        found |= RP_FACET_PROOF;
    return found;
}

bool rp_filter_alone(const struct rp_filter *filter, const struct rp_event *event, bool *whole)
{
    const unsigned said = RP_FACET_KERNEL | RP_FACET_SEGMENT | RP_FACET_BUFFER |
                          RP_FACET_ALLOCATION | RP_FACET_STEP;
    struct rp_filter_state state = {.step = rp_event_number(event, "step")};
    struct rp_filter alone = *filter;
    bool repeats = rp_event_is(event, "note", "hazard") && rp_event_number(event, "count") > 1;
    uint64_t segment_depth = 0;
    bool good = true;

    if (repeats && filter->step > state.step) /* which step each repeat was in is not kept */
        state.step = filter->step;
    alone.facets &= said;
    unsigned found = rp_filter_match(&alone, &state, &segment_depth, event, &good);
    rp_filter_state_release(&state);
    *whole = alone.facets == filter->facets && !filter->by_id;
    return good && found == alone.facets;
}

bool rp_filter_later(const struct rp_filter *filter, unsigned found, const struct rp_event *event,
                     uint64_t id)
{
    const unsigned moments = RP_FACET_STEP | RP_FACET_TIME;

    if (filter->facets & ~found & ~moments)
        return false;
    if ((filter->facets & RP_FACET_STEP) && filter->step < rp_event_number(event, "step"))
        return false;
    if ((filter->facets & RP_FACET_TIME) && filter->to_ns < event->time_ns)
        return false;
    for (size_t i = 0; i < filter->range_count; i++)
        if (filter->ranges[i].last >= id)
            return true;
    return !filter->by_id;
}

void rp_filter_state_release(struct rp_filter_state *state)
{
    free(state->buffer);
    *state = (struct rp_filter_state){0};
}
