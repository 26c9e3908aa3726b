/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/group.h"

#include "tools/event_shape.h"
#include "tools/say.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 20, MOST_EVENTS = 1 << 14 }; /* of one group, before it comes in parts */

/* What is held of one thread: the events of its open group, copied. */
struct thread {
    uint64_t id;
    uint64_t segment_depth;
    unsigned facets; /* of the group so far */
    bool enters;
    struct rp_event *events;
    union rp_value *values; /* RP_EVENT_MAX_FIELDS for each event */
    size_t count, capacity;
    char *text;
    size_t used, room;
};

/* What is held of one trace. */
struct rp_groups {
    const struct rp_filter *filter;
    const struct rp_group_visitor *visitor;
    struct rp_filter_state state;
    struct thread **threads;
    size_t thread_count;
    struct thread *last; /* most events come from the thread of the one before */
    uint64_t pid, step;
    bool any_passed, no_memory;
};

/* ---- copies ------------------------------------------------------------------- */

static bool grow_events(struct thread *thread)
{
    size_t capacity = thread->capacity ? 2 * thread->capacity : 16;
    struct rp_event *events = realloc(thread->events, capacity * sizeof(*events));
    if (!events)
        return false;
    thread->events = events;
    size_t bytes = capacity * RP_EVENT_MAX_FIELDS * sizeof(*thread->values);
    union rp_value *values = realloc(thread->values, bytes);
    if (!values)
        return false;
    thread->values = values;
    thread->capacity = capacity;
    return true;
}

static size_t text_bytes(const struct rp_event *event, uint32_t texts)
{
    size_t bytes = 0;
    for (; texts; texts &= texts - 1)
        bytes += event->values[__builtin_ctz(texts)].t.length;
    return bytes;
}

static bool grow_text(struct thread *thread, size_t more)
{
    size_t room = thread->room ? thread->room : 4096;
    while (room < thread->used + more)
        room *= 2;
    char *text = room > thread->room ? realloc(thread->text, room) : thread->text;
    if (!text)
        return false;
    thread->text = text;
    thread->room = room;
    return true;
}

static void keep_text(struct thread *thread, union rp_value *value)
{
    if (value->t.length > 0)
        memcpy(thread->text + thread->used, value->t.text, value->t.length);
    value->t.text = (const char *)thread->used;
    thread->used += value->t.length;
}

/* Texts are kept as offsets while the storage may still move; settle() turns them into
 * pointers. */
static bool keep(struct thread *thread, const struct rp_event *event, uint32_t texts)
{
    if ((thread->count == thread->capacity && !grow_events(thread)) ||
        (texts && !grow_text(thread, text_bytes(event, texts))))
        return false;
    union rp_value *values = thread->values + thread->count * RP_EVENT_MAX_FIELDS;
    memcpy(values, event->values, event->def->field_count * sizeof(*values));
    for (; texts; texts &= texts - 1)
        keep_text(thread, &values[__builtin_ctz(texts)]);
    thread->events[thread->count++] = *event;
    return true;
}

static void settle(struct thread *thread)
{
    for (size_t at = 0; at < thread->count; at++) {
        union rp_value *values = thread->values + at * RP_EVENT_MAX_FIELDS;
        uint32_t texts = rp_event_shape(thread->events[at].def)->texts;
        thread->events[at].values = values;
        for (; texts; texts &= texts - 1) {
            union rp_value *value = &values[__builtin_ctz(texts)];
            value->t.text = thread->text + (size_t)value->t.text;
        }
    }
}

/* ---- groups ------------------------------------------------------------------- */

static bool passes(const struct rp_groups *groups, const struct thread *thread)
{
    return !groups->filter || (thread->facets == groups->filter->facets &&
                               rp_filter_id(groups->filter, thread->events[0].id));
}

static bool show(struct rp_groups *groups, struct thread *thread, bool leaves)
{
    const struct rp_group_visitor *visitor = groups->visitor;
    const struct rp_group group = {thread->events, thread->count, thread->enters, leaves,
                                   groups->pid,    thread->id,    groups->step,   thread->facets};
    bool pass = passes(groups, thread), go_on = true;

    groups->any_passed |= pass;
    if (pass || visitor->held_back)
        settle(thread);
    if (pass)
        go_on = visitor->group(visitor->ctx, &group);
    else if (visitor->held_back)
        visitor->held_back(visitor->ctx, &group);
    return go_on;
}

/* Shows the group if it passes, and starts the next. */
static bool finish(struct rp_groups *groups, struct thread *thread, bool leaves)
{
    bool go_on = true;

    if (thread->count > 0)
        go_on = show(groups, thread, leaves);
    thread->count = thread->used = 0;
    thread->facets = 0;
    thread->enters = false;
    return go_on;
}

static struct thread *thread_of(struct rp_groups *groups, uint64_t id)
{
    if (groups->last && groups->last->id == id)
        return groups->last;
    for (size_t i = 0; i < groups->thread_count; i++)
        if (groups->threads[i]->id == id)
            return groups->last = groups->threads[i];
    struct thread **more = realloc(groups->threads, (groups->thread_count + 1) * sizeof(*more));
    struct thread *thread = calloc(1, sizeof(*thread));
    if (more)
        groups->threads = more;
    if (!more || !thread) {
        free(thread);
        return NULL;
    }
    thread->id = id;
    return groups->last = groups->threads[groups->thread_count++] = thread;
}

static bool add(struct rp_groups *groups, struct thread *thread, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);
    bool good = keep(thread, event, shape->texts);

    if (shape->tells_step)
        groups->step = rp_event_number(event, "step");
    if (good && groups->filter && groups->filter->facets)
        thread->facets |= rp_filter_match(groups->filter, &groups->state, &thread->segment_depth,
                                          event, &good);
    groups->no_memory |= !good;
    return good;
}

bool rp_groups_take(struct rp_groups *groups, const struct rp_event *event)
{
    struct thread *thread = thread_of(groups, event->thread);
    const struct rp_event_shape *shape = rp_event_shape(event->def);
    bool enters = shape->enters, leaves = shape->leaves;

    if (!thread) {
        groups->no_memory = true;
        return false;
    }
    /* Its leave was lost, or calls nest: both are shown. */
    if (enters && thread->count > 0 && !finish(groups, thread, false))
        return false;
    if (!add(groups, thread, event))
        return false;
    thread->enters |= enters;
    if (leaves || !thread->enters || thread->count >= MOST_EVENTS || thread->used > MOST_TEXT)
        return finish(groups, thread, leaves);
    return true;
}

/* ---- traces ------------------------------------------------------------------- */

static void release_threads(struct rp_groups *groups)
{
    for (size_t i = 0; i < groups->thread_count; i++) {
        free(groups->threads[i]->events);
        free(groups->threads[i]->values);
        free(groups->threads[i]->text);
        free(groups->threads[i]);
    }
    free(groups->threads);
    groups->threads = NULL;
    groups->thread_count = 0;
    groups->last = NULL;
    rp_filter_state_release(&groups->state);
}

struct rp_groups *rp_groups_create(const struct rp_filter *filter,
                                   const struct rp_group_visitor *visitor)
{
    struct rp_groups *groups = calloc(1, sizeof(*groups));
    if (groups)
        *groups = (struct rp_groups){.filter = filter, .visitor = visitor};
    return groups;
}

bool rp_groups_begin(struct rp_groups *groups, const char *path,
                     const struct rp_trace_reader *reader)
{
    const char *pid = rp_trace_property(reader, "pid");

    groups->pid = pid ? strtoull(pid, NULL, 10) : 0;
    groups->step = 0;
    return !groups->visitor->begin || groups->visitor->begin(groups->visitor->ctx, path, reader);
}

void rp_groups_end(struct rp_groups *groups, const char *path, const char *broken)
{
    for (size_t i = 0; i < groups->thread_count; i++)
        finish(groups, groups->threads[i], false);
    release_threads(groups);
    if (groups->visitor->end)
        groups->visitor->end(groups->visitor->ctx, path, broken);
}

void rp_groups_destroy(struct rp_groups *groups, bool *any_passed, bool *no_memory)
{
    *any_passed |= groups->any_passed;
    *no_memory |= groups->no_memory;
    release_threads(groups);
    free(groups);
}

int rp_groups_code(const struct rp_filter *filter, const struct rp_group_visitor *visitor,
                   int code, bool any_passed, bool no_memory)
{
    if (no_memory) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    if (code == RP_EXIT_OK && filter && !rp_filter_is_open(filter) && !any_passed)
        return visitor->held_back ? RP_EXIT_NO : rp_filter_none(filter);
    return code;
}

/* ---- a source, trace after trace --------------------------------------------------- */

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    return rp_groups_begin(ctx, path, reader);
}

static bool take_event(void *ctx, const struct rp_trace_reader *reader,
                       const struct rp_event *event)
{
    (void)reader;
    return rp_groups_take(ctx, event);
}

static void end_trace(void *ctx, const char *path, const char *broken)
{
    rp_groups_end(ctx, path, broken);
}

int rp_groups_read(const struct rp_source *source, const struct rp_filter *filter,
                   const struct rp_group_visitor *visitor)
{
    struct rp_groups groups = {.filter = filter, .visitor = visitor};
    const struct rp_event_visitor events = {
        .begin = begin_trace, .event = take_event, .end = end_trace, .ctx = &groups};
    int code = rp_source_read(source, &events);

    release_threads(&groups);
    return rp_groups_code(filter, visitor, code, groups.any_passed || source->trace_count == 0,
                          groups.no_memory);
}
