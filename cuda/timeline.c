/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/timeline.h"

#include <stdlib.h>

enum { MOST_MARKS = 1 << 16 }; /* a step of 4,096 segments, each with all that may happen to it */

struct mark {
    rp_event_handle event; /* created once, recorded again by each use of the timeline */
    rp_stream stream;
    uint64_t what;
};

struct rp_timeline {
    const struct rp_driver *driver;
    struct mark *marks;
    size_t count, made, capacity; /* in use; with an event; with room */
    const char *spoilt;
    bool ended, parallel;
};

enum rp_status rp_timeline_create(const struct rp_driver *driver, struct rp_timeline **out)
{
    struct rp_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return RP_NO_MEMORY;
    timeline->driver = driver;
    *out = timeline;
    return RP_OK;
}

void rp_timeline_abandon(struct rp_timeline *timeline)
{
    if (timeline)
        free(timeline->marks);
    free(timeline);
}

void rp_timeline_destroy(struct rp_timeline *timeline)
{
    for (size_t i = 0; timeline && i < timeline->made; i++)
        (void)timeline->driver->event_destroy(timeline->driver->self, timeline->marks[i].event);
    rp_timeline_abandon(timeline);
}

void rp_timeline_begin(struct rp_timeline *timeline)
{
    timeline->count = 0;
    timeline->spoilt = NULL;
    timeline->ended = timeline->parallel = false;
}

void rp_timeline_spoil(struct rp_timeline *timeline, const char *why)
{
    if (!timeline->spoilt)
        timeline->spoilt = why;
}

static bool make_mark(struct rp_timeline *timeline, rp_stream stream)
{
    if (timeline->made == timeline->capacity) {
        size_t capacity = timeline->capacity ? timeline->capacity * 2 : 64;
        struct mark *bigger = realloc(timeline->marks, capacity * sizeof *bigger);
        if (!bigger)
            return false;
        timeline->marks = bigger;
        timeline->capacity = capacity;
    }
    struct mark *mark = &timeline->marks[timeline->made];
    if (timeline->driver->timer_create(timeline->driver->self, stream, &mark->event) != RP_OK)
        return false;
    timeline->made++;
    return true;
}

static void record(struct rp_timeline *timeline, uint64_t what, rp_stream stream)
{
    const struct rp_driver *driver = timeline->driver;
    if (timeline->count == MOST_MARKS) {
        rp_timeline_spoil(timeline, "a step has more parts than can be timed");
        return;
    }
    if (timeline->count == timeline->made && !make_mark(timeline, stream)) {
        rp_timeline_spoil(timeline, "an event could not be made");
        return;
    }
    struct mark *mark = &timeline->marks[timeline->count];
    mark->stream = stream;
    mark->what = what;
    if (driver->event_record(driver->self, mark->event, stream) != RP_OK) {
        rp_timeline_spoil(timeline, "an event could not be recorded");
        return;
    }
    if (timeline->count && timeline->marks[timeline->count - 1].stream != stream)
        timeline->parallel = true;
    timeline->count++;
}

static bool goes_on(const struct rp_timeline *timeline, uint64_t what, rp_stream stream)
{
    if (timeline->count == 0)
        return false;
    const struct mark *last = &timeline->marks[timeline->count - 1];
    return last->what == what && last->stream == stream;
}

void rp_timeline_mark(struct rp_timeline *timeline, uint64_t what, rp_stream stream)
{
    if (!timeline->spoilt && !timeline->ended && !goes_on(timeline, what, stream))
        record(timeline, what, stream);
}

/* Twice: between the two is nothing but the second mark itself. */
void rp_timeline_end(struct rp_timeline *timeline)
{
    for (int i = 0; i < 2 && timeline->count && !timeline->spoilt && !timeline->ended; i++)
        record(timeline, UINT64_MAX, timeline->marks[timeline->count - 1].stream);
    timeline->ended = true;
}

bool rp_timeline_is_over(const struct rp_timeline *timeline)
{
    const struct rp_driver *driver = timeline->driver;
    if (timeline->spoilt)
        return true;
    if (!timeline->ended)
        return false;
    /* Streams don't end in order: the latest mark of each has to have passed. */
    for (size_t i = timeline->count; i-- > 0;) {
        if (!driver->event_done(driver->self, timeline->marks[i].event))
            return false;
        if (!timeline->parallel)
            break;
    }
    return true;
}

const char *rp_timeline_spoilt(const struct rp_timeline *timeline)
{
    return timeline->spoilt;
}

bool rp_timeline_is_parallel(const struct rp_timeline *timeline)
{
    return timeline->parallel;
}

static enum rp_status interval(const struct rp_timeline *timeline, size_t at, int64_t *ns)
{
    const struct rp_driver *driver = timeline->driver;
    enum rp_status status = driver->elapsed(driver->self, timeline->marks[at].event,
                                            timeline->marks[at + 1].event, ns);
    return status == RP_OK && *ns < 0 ? RP_INVALID : status;
}

enum rp_status rp_timeline_each(struct rp_timeline *timeline, rp_interval_fn visit, void *ctx)
{
    int64_t ns;
    for (size_t i = 0; !timeline->spoilt && i + 1 < timeline->count; i++)
        if (interval(timeline, i, &ns) != RP_OK)
            rp_timeline_spoil(timeline, "what its streams did cannot be put in one order");
    if (timeline->spoilt)
        return RP_INVALID;
    for (size_t i = 0; i + 2 < timeline->count; i++)
        if (interval(timeline, i, &ns) == RP_OK)
            visit(ctx, timeline->marks[i].what, (uint64_t)ns);
    return RP_OK;
}

uint64_t rp_timeline_own(const struct rp_timeline *timeline)
{
    int64_t ns = 0;
    bool known = timeline->count > 2 && rp_timeline_is_over(timeline) && !timeline->spoilt &&
                 interval(timeline, timeline->count - 2, &ns) == RP_OK;
    return known ? (uint64_t)ns : 0;
}
