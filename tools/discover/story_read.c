/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/story.h"

#include "tools/discover/moment.h"
#include "tools/discover/settle.h"
#include "tools/group.h"
#include "tools/say.h"
#include "tracker/array.h"
#include "tracker/text.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct rp_story *best; /* the story with the most launches so far */
    struct rp_story now;
    uint64_t launches, most;
    struct rp_moments moments;
    uint64_t until;  /* from there on a thread's calls are not all there */
    bool is_untold;  /* ranges do not say when they began */
    struct open {
        uint64_t thread;
        uint64_t domain; /* a thread's ranges nest in each domain */
        uint32_t range;
    } open[256]; /* ranges that are open, of all threads */
    size_t open_count;
    char mode[16]; /* of a trace that was not only observed */
};

/* Room for one more in a list; false when the host is out of memory. */
static bool grow(struct rp_story *story, void **items, size_t count, size_t *capacity, size_t size)
{
    void *grown = rp_array_reserve(*items, capacity, count + 1, size);
    if (grown)
        *items = grown;
    story->no_memory |= !grown;
    return grown != NULL;
}

#define ROOM(story, list, count, capacity)                                                       \
    grow(story, (void **)&(story)->list, (story)->count, &(story)->capacity,                     \
         sizeof(*(story)->list))

/* ---- calls ------------------------------------------------------------------------ */

static uint32_t innermost(const struct reading *reading, uint64_t thread)
{
    for (size_t i = reading->open_count; i-- > 0;)
        if (reading->open[i].thread == thread)
            return reading->open[i].range;
    return RP_STORY_NONE;
}

/* The call with this number in the group that began with call `first`; a new one if need be. */
static struct rp_story_call *call_of(struct reading *reading, size_t first, uint64_t seq,
                                     struct rp_thread_moment *thread)
{
    struct rp_story *story = &reading->now;

    for (size_t i = first; i < story->call_count; i++)
        if (story->calls[i].seq == seq)
            return &story->calls[i];
    if (!ROOM(story, calls, call_count, call_capacity))
        return NULL;
    struct rp_story_call *call = &story->calls[story->call_count++];
    *call = (struct rp_story_call){.seq = seq, .thread = thread->thread,
                                   .moment = rp_moment_of_call(thread, seq),
                                   .range = innermost(reading, thread->thread), .proved = true,
                                   .access = story->access_count,
                                   .argument = story->argument_count};
    return call;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) ^ hash >> 29;
}

static void take_launch(struct reading *reading, struct rp_story_call *call,
                        const struct rp_event *event)
{
    static const char *const geometry[] = {"grid_x",  "grid_y",  "grid_z", "block_x",
                                           "block_y", "block_z", "shared"};
    char name[1024];

    call->is_launch = true;
    call->name = rp_roster_number(&reading->now.names,
                                  rp_event_text(event, "kernel", name, sizeof(name)));
    call->shape = mix(1, call->name);
    for (size_t i = 0; i < sizeof(geometry) / sizeof(geometry[0]); i++)
        call->shape = mix(call->shape, rp_event_number(event, geometry[i]));
    reading->launches++;
}

/* The accesses of one call must stand together: they do, but for the nodes of a graph, whose
 * notes come call by call too. */
static void take_access(struct reading *reading, struct rp_story_call *call,
                        const struct rp_event *event)
{
    struct rp_story *story = &reading->now;
    char effect[16], verdict[16];

    if (!ROOM(story, accesses, access_count, access_capacity))
        return;
    if (call->access_count == 0)
        call->access = story->access_count;
    rp_event_text(event, "effect", effect, sizeof(effect));
    rp_event_text(event, "verdict", verdict, sizeof(verdict));
    uint64_t lo = rp_event_number(event, "offset");
    bool proved = strcmp(verdict, "reachable") != 0 && strcmp(verdict, "everything") != 0;
    story->accesses[story->access_count++] = (struct rp_story_access){
        rp_event_number(event, "allocation"), lo, lo + rp_event_number(event, "bytes"),
        strcmp(effect, "read") != 0, strcmp(verdict, "exact") == 0, proved};
    call->access_count++;
    call->proved = call->proved && proved;
}

static void take_argument(struct reading *reading, struct rp_story_call *call,
                          const struct rp_event *event)
{
    struct rp_story *story = &reading->now;

    if (!ROOM(story, arguments, argument_count, argument_capacity))
        return;
    if (call->argument_count == 0)
        call->argument = story->argument_count;
    story->arguments[story->argument_count++] = (struct rp_story_argument){
        rp_event_number(event, "allocation"), rp_event_number(event, "offset"),
        (uint32_t)rp_event_number(event, "param")};
    call->argument_count++;
}

/* ---- ranges and allocations --------------------------------------------------------- */

static void open_range(struct reading *reading, const struct rp_event *event, uint64_t moment)
{
    struct rp_story *story = &reading->now;
    char name[1024];

    if (reading->open_count == sizeof(reading->open) / sizeof(reading->open[0]) ||
        !ROOM(story, ranges, range_count, range_capacity))
        return;
    story->ranges[story->range_count] = (struct rp_story_range){
        .name = rp_roster_number(&story->names, rp_event_text(event, "range", name, sizeof(name))),
        .parent = innermost(reading, event->thread),
        .first = story->range_count,
        .thread = event->thread,
        .begun = moment,
        .ended = UINT64_MAX};
    reading->open[reading->open_count++] = (struct open){
        .thread = event->thread, .domain = rp_event_number(event, "domain"),
        .range = (uint32_t)story->range_count++};
}

static void close_range(struct reading *reading, const struct rp_event *event, uint64_t moment)
{
    uint64_t domain = rp_event_number(event, "domain");
    for (size_t i = reading->open_count; i-- > 0;) {
        if (reading->open[i].thread != event->thread || reading->open[i].domain != domain)
            continue;
        reading->now.ranges[reading->open[i].range].ended = moment;
        memmove(&reading->open[i], &reading->open[i + 1],
                (--reading->open_count - i) * sizeof(reading->open[0]));
        return;
    }
}

/* Older traces do not. */
static bool tells_seq(const struct rp_event *event)
{
    bool found = false;
    for (uint32_t i = 0; i < event->def->field_count; i++)
        found |= strcmp(event->def->fields[i].name, "seq") == 0;
    return found;
}

static void take_range(struct reading *reading, const struct rp_event *event, uint64_t moment)
{
    char phase[16];
    reading->is_untold |= !tells_seq(event);
    if (strcmp(rp_event_text(event, "phase", phase, sizeof(phase)), "begins") == 0)
        open_range(reading, event, moment);
    else
        close_range(reading, event, moment);
}

static void take_allocation(struct rp_story *story, const struct rp_event *event, uint64_t made,
                            uint64_t freed)
{
    if (!ROOM(story, allocations, allocation_count, allocation_capacity))
        return;
    story->allocations[story->allocation_count++] = (struct rp_story_allocation){
        .id = rp_event_number(event, "allocation"),
        .bytes = rp_event_number(event, "bytes"),
        .made = made,
        .freed = freed};
}

/* ---- the trace ------------------------------------------------------------------------ */

static void take_call_note(struct reading *reading, const struct rp_event *event, size_t first,
                           struct rp_thread_moment *thread)
{
    const char *name = event->def->name;
    struct rp_story_call *call =
        call_of(reading, first, rp_event_number(event, "seq"), thread);

    if (call && *name == 'l')
        take_launch(reading, call, event);
    else if (call && name[1] == 'c')
        take_access(reading, call, event);
    else if (call)
        take_argument(reading, call, event);
}

static void take_note(struct reading *reading, const struct rp_event *event, size_t first,
                      struct rp_thread_moment *thread)
{
    const char *name = event->def->name;
    uint64_t seq = rp_event_number(event, "seq");

    if (strcmp(name, "range") == 0)
        take_range(reading, event, rp_moment_behind(thread, seq));
    else if (strcmp(name, "allocation") == 0)
        take_allocation(&reading->now, event, rp_moment_behind(thread, seq), UINT64_MAX);
    else if (strcmp(name, "free") == 0)
        take_allocation(&reading->now, event, UINT64_MAX, rp_moment_behind(thread, seq));
    else if (strcmp(name, "launch") == 0 || strcmp(name, "access") == 0 ||
             strcmp(name, "argument") == 0)
        take_call_note(reading, event, first, thread);
}

/* Copies and sets are calls too: they are known by the driver's name for them. */
static void name_calls(struct rp_story *story, size_t first, const struct rp_group *group)
{
    for (size_t i = first; i < story->call_count; i++) {
        struct rp_story_call *call = &story->calls[i];
        if (call->is_launch || !group->enters)
            continue;
        call->name = rp_roster_number(&story->names, group->events[0].def->name);
        call->shape = mix(2, call->name);
    }
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    struct reading *reading = ctx;
    size_t first = reading->now.call_count;
    struct rp_thread_moment *thread = rp_moments_of(&reading->moments, group->thread);

    reading->now.no_memory |= !thread;
    if (thread && thread->calls >= RP_STORY_CALLS) {
        reading->now.cut = true;
        reading->until = thread->latest < reading->until ? thread->latest : reading->until;
        return true;
    }
    for (size_t i = 0; thread && i < group->count; i++)
        if (strcmp(group->events[i].def->class_, "note") == 0)
            take_note(reading, &group->events[i], first, thread);
    name_calls(&reading->now, first, group);
    return !reading->now.no_memory;
}

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    struct reading *reading = ctx;
    const char *mode = rp_trace_property(reader, "mode");
    (void)path;

    if (mode && strcmp(mode, "observe") != 0)
        rp_text_escape(reading->mode, sizeof(reading->mode), mode, strlen(mode));
    reading->best->traces++;
    reading->launches = 0;
    reading->open_count = 0;
    reading->until = UINT64_MAX;
    reading->is_untold = false;
    return true;
}

/* Threads that made calls. */
static size_t callers(const struct rp_moments *moments)
{
    size_t count = 0;
    for (size_t i = 0; i < moments->count; i++)
        count += moments->threads[i].calls > 0;
    return count;
}

static void end_trace(void *ctx, const char *path, const char *broken)
{
    struct reading *reading = ctx;
    uint64_t traces = reading->best->traces;
    (void)path;
    (void)broken;

    reading->now.untold = reading->is_untold && callers(&reading->moments) > 1;
    rp_moments_release(&reading->moments);
    rp_story_settle(&reading->now, reading->until);
    if (reading->launches > reading->most) {
        rp_story_release(reading->best);
        *reading->best = reading->now;
        reading->best->traces = traces;
        reading->most = reading->launches;
    } else {
        rp_story_release(&reading->now);
    }
    reading->now = (struct rp_story){0};
}

int rp_story_read(const struct rp_source *source, const struct rp_filter *filter,
                  struct rp_story *story)
{
    struct reading reading = {.best = story};
    const struct rp_group_visitor visitor = {
        .begin = begin_trace, .group = take_group, .end = end_trace, .ctx = &reading};

    *story = (struct rp_story){0};
    int code = rp_groups_read(source, filter, &visitor);
    bool no_memory = story->no_memory || reading.now.no_memory || story->names.no_memory;
    rp_moments_release(&reading.moments);
    rp_story_release(&reading.now);
    memcpy(story->mode, reading.mode, sizeof(story->mode));
    if (!no_memory)
        return code;
    rp_say("out of memory");
    return RP_EXIT_FAILURE;
}
