/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/hazards.h"

#include "tools/group.h"
#include "tools/say.h"
#include "tracker/events.h"
#include "tracker/hazard.h"

#include <stdlib.h>
#include <string.h>

bool rp_hazard_warns(const json_t *hazard)
{
    return rp_hazard_kind_warns(rp_hazard_kind_find(rp_member_text(hazard, "hazard")));
}

bool rp_hazard_counts(const json_t *hazard)
{
    return !json_is_true(json_object_get(hazard, "harmless")) && !rp_hazard_warns(hazard);
}

struct collecting {
    const struct rp_source *source;
    const struct rp_filter *filter;
    json_t *list;   /* the answer */
    json_t *passed; /* what the traces note of hazards: of calls that the filter lets pass, ... */
    json_t *later;  /* ... of others, of which one that comes later could pass, ... */
    json_t *held;   /* ... and of the rest */
    json_int_t pid;
    json_int_t rank; /* -1: none */
    bool told;       /* the trace that is read has a summary */
    uint64_t *replays;
    uint64_t noted;  /* hazards of the trace that is read */
    uint64_t untold; /* hazards of which nobody can tell whether they pass */
    uint64_t hidden; /* those that count and do not pass */
};

/* ---- from a trace ------------------------------------------------------------- */

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    struct collecting *collecting = ctx;
    const char *pid = rp_trace_property(reader, "pid");
    const char *rank = rp_trace_property(reader, "rank");
    (void)path;
    collecting->pid = pid ? strtoll(pid, NULL, 10) : 0;
    collecting->noted = 0;
    collecting->rank = rank ? strtoll(rank, NULL, 10) : -1;
    collecting->told = rp_summaries_tell(&collecting->source->summaries, reader);
    return true;
}

/* Traces are only read for processes that left no summary: it may take a while. */
static bool begin_untold(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    return begin_trace(ctx, path, reader) && !((struct collecting *)ctx)->told;
}

static json_t *value_json(const struct rp_event *event, uint32_t field)
{
    const char *name = event->def->fields[field].name;
    char text[1024];

    switch (event->def->fields[field].type) {
    case RP_FIELD_TEXT:
    case RP_FIELD_NAME:
        rp_event_text(event, name, text, sizeof(text));
        return *text ? json_string(text) : NULL; /* a summary leaves out what is not known */
    case RP_FIELD_HEX:
        snprintf(text, sizeof(text), "0x%llx", (unsigned long long)event->values[field].u);
        return json_string(text);
    case RP_FIELD_FLOAT: return json_real(event->values[field].f);
    case RP_FIELD_SINT: return json_integer(event->values[field].s);
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: break;
    }
    return json_integer((json_int_t)(event->values[field].u & INT64_MAX));
}

static void leave_out(json_t *hazard, bool known, const char *const *fields)
{
    for (size_t i = 0; !known && fields[i]; i++)
        json_object_del(hazard, fields[i]);
}

/* A record has a place for every figure; a summary has those only that there are. */
static void leave_out_unknown(json_t *hazard)
{
    static const char *const of_bytes[] = {"offset", "birth_seq", "version_read", NULL};
    static const char *const of_wanted[] = {"version_wanted", NULL};
    static const char *const of_writer[] = {"writer_seq", "writer_step", "writer_launch",
                                            "writer_stream", NULL};
    static const char *const of_reader[] = {"reader_launch", NULL};
    static const char *const of_forward[] = {"position", NULL};
    enum rp_hazard_kind kind = rp_hazard_kind_find(rp_member_text(hazard, "hazard"));
    bool has_bytes = rp_member_number(hazard, "allocation") > 0;

    leave_out(hazard, has_bytes, of_bytes);
    leave_out(hazard, has_bytes && rp_hazard_kind_wants_version(kind), of_wanted);
    leave_out(hazard, *rp_member_text(hazard, "writer"), of_writer);
    leave_out(hazard, *rp_member_text(hazard, "reader"), of_reader);
    leave_out(hazard, kind == RP_HAZARD_DIVERGED, of_forward);
}

static json_t *hazard_of(struct collecting *collecting, const struct rp_event *event)
{
    json_t *hazard = json_object();

    for (uint32_t i = 0; i < event->def->field_count; i++) {
        json_t *value = value_json(event, i);
        if (value)
            json_object_set_new(hazard, event->def->fields[i].name, value);
    }
    leave_out_unknown(hazard);
    json_object_set_new(hazard, "order", json_integer((json_int_t)collecting->noted++));
    json_object_set_new(hazard, "pid", json_integer(collecting->pid));
    if (collecting->rank >= 0)
        json_object_set_new(hazard, "rank", json_integer(collecting->rank));
    return hazard;
}

/* The same hazard is noted once; later ones only count, in the summary that isn't there. */
static void take(struct collecting *collecting, const struct rp_event *event, json_t *list)
{
    if (rp_event_is(event, "note", "hazard"))
        json_array_append_new(list, hazard_of(collecting, event));
    if (!collecting->told && rp_event_is(event, "note", "segment")) {
        struct rp_segment_note note;
        rp_event_segment(event, &note);
        if (note.is_replay && note.begins)
            *collecting->replays += event->count;
    }
}

static bool take_event(void *ctx, const struct rp_trace_reader *reader,
                       const struct rp_event *event)
{
    struct collecting *collecting = ctx;
    (void)reader;
    take(collecting, event, collecting->passed);
    return true;
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    struct collecting *collecting = ctx;
    for (size_t i = 0; i < group->count; i++)
        take(collecting, &group->events[i], collecting->passed);
    return true;
}

static void hold_group(void *ctx, const struct rp_group *group)
{
    struct collecting *collecting = ctx;
    for (size_t i = 0; i < group->count; i++) {
        const struct rp_event *event = &group->events[i];
        bool later = rp_filter_later(collecting->filter, group->facets, event, group->events[0].id);
        take(collecting, event, later ? collecting->later : collecting->held);
    }
}

static bool needs_each(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    return strcmp(def->class_, "note") == 0 && strcmp(def->name, "hazard") == 0;
}

/* ---- order -------------------------------------------------------------------- */

static int kind_of(const json_t *hazard)
{
    return (int)rp_hazard_kind_find(rp_member_text(hazard, "hazard"));
}

struct place {
    json_t *hazard;
    size_t at;
};

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    uint64_t x_bytes = rp_member_number(x->hazard, "bytes");
    uint64_t y_bytes = rp_member_number(y->hazard, "bytes");
    int kinds = kind_of(x->hazard) - kind_of(y->hazard);

    if (kinds != 0)
        return kinds;
    if (x_bytes != y_bytes)
        return x_bytes > y_bytes ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static json_t *sorted(json_t *list)
{
    size_t count = json_array_size(list);
    struct place *places = calloc(count + 1, sizeof(*places));
    json_t *result = places ? json_array() : NULL;

    for (size_t i = 0; places && i < count; i++)
        places[i] = (struct place){json_array_get(list, i), i};
    if (places)
        qsort(places, count, sizeof(*places), compare);
    for (size_t i = 0; result && i < count; i++)
        json_array_append(result, places[i].hazard);
    free(places);
    json_decref(list);
    return result;
}

/* ---- all of them ---------------------------------------------------------------- */

static void add_summaries(struct collecting *collecting,
                          void (*add)(struct collecting *collecting, json_t *hazard))
{
    const struct rp_summaries *summaries = &collecting->source->summaries;

    for (size_t i = 0; i < summaries->count; i++) {
        const json_t *summary = summaries->items[i];
        json_t *hazards = json_object_get(summary, "hazards");
        for (size_t at = 0; at < json_array_size(hazards); at++) {
            json_t *hazard = json_array_get(hazards, at);
            json_object_set(hazard, "pid", json_object_get(summary, "pid"));
            json_object_set(hazard, "rank", json_object_get(summary, "rank"));
            add(collecting, hazard);
        }
    }
}

static void add_each(struct collecting *collecting, json_t *hazard)
{
    json_array_append(collecting->list, hazard);
}

static int collect_all(struct collecting *collecting)
{
    const struct rp_source *source = collecting->source;
    const struct rp_event_visitor visitor = {
        .begin = begin_untold, .event = take_event, .ctx = collecting, .needs = needs_each};

    int code = source->damaged ? RP_EXIT_DATA : RP_EXIT_OK;

    add_summaries(collecting, add_each);
    if (source->summaries.count < source->trace_count)
        code = rp_source_read(source, &visitor);
    json_array_extend(collecting->list, collecting->passed);
    return code;
}

/* ---- some of them --------------------------------------------------------------- */

/* Whether both are what was noted when a hazard was first met. */
static bool is_same(const json_t *one, const json_t *other)
{
    static const char *const members[] = {"pid",    "hazard", "segment",    "buffer", "allocation",
                                          "offset", "step",   "writer_seq", "reader", "key"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *mine = json_object_get(one, members[i]), *its = json_object_get(other, members[i]);
        if (mine && its ? !json_equal(mine, its) : mine != its)
            return false;
    }
    return true;
}

/* Takes it from the list, if it is there. */
static bool take_same(json_t *list, const json_t *hazard)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (is_same(json_array_get(list, i), hazard))
            return json_array_remove(list, i) == 0;
    return false;
}

/* The note that the trace had of it. */
static bool passes_alone(struct collecting *collecting, const json_t *hazard)
{
    const struct rp_event_def *def = &rp_event_defs[RP_EVENT_hazard];
    union rp_value values[RP_EVENT_MAX_FIELDS];

    for (uint32_t i = 0; i < def->field_count; i++) {
        const char *name = def->fields[i].name, *text = rp_member_text(hazard, name);
        if (def->fields[i].type == RP_FIELD_NAME || def->fields[i].type == RP_FIELD_TEXT)
            values[i].t.text = text, values[i].t.length = strlen(text);
        else if (def->fields[i].type == RP_FIELD_HEX)
            values[i].u = strtoull(text, NULL, 16);
        else
            values[i].u = rp_member_number(hazard, name);
    }
    const struct rp_event event = {.def = def, .values = values, .count = 1};
    bool whole, passes = rp_filter_alone(collecting->filter, &event, &whole);
    collecting->untold += passes && !whole;
    return passes && whole;
}

static bool passes(struct collecting *collecting, const json_t *hazard)
{
    if (take_same(collecting->passed, hazard))
        return true;
    if (take_same(collecting->later, hazard))
        return rp_member_number(hazard, "count") > 1;
    return !take_same(collecting->held, hazard) && passes_alone(collecting, hazard);
}

static void add_passing(struct collecting *collecting, json_t *hazard)
{
    uint64_t untold = collecting->untold;

    if (passes(collecting, hazard))
        json_array_append(collecting->list, hazard);
    else if (untold == collecting->untold)
        collecting->hidden += rp_hazard_counts(hazard);
}

/* Those of traces without a summary. How often they came is not known: likely again. */
static void add_noted(struct collecting *collecting)
{
    json_array_extend(collecting->list, collecting->passed);
    json_array_extend(collecting->list, collecting->later);
    for (size_t i = 0; i < json_array_size(collecting->held); i++)
        collecting->hidden += rp_hazard_counts(json_array_get(collecting->held, i));
}

/* A hazard has its summary's words where there is one: that knows how often it was met. */
static int collect_some(struct collecting *collecting)
{
    const struct rp_group_visitor visitor = {.begin = begin_trace,
                                             .group = take_group,
                                             .held_back = hold_group,
                                             .ctx = collecting};
    int code = rp_groups_read(collecting->source, collecting->filter, &visitor);

    add_summaries(collecting, add_passing);
    add_noted(collecting);
    if (collecting->untold > 0) {
        rp_say("%llu hazards are known from a summary alone, which can't say whether they pass",
               (unsigned long long)collecting->untold);
        return code == RP_EXIT_OK ? RP_EXIT_NO : code;
    }
    if (code != RP_EXIT_NO)
        return code;
    return json_array_size(collecting->list) > 0 ? RP_EXIT_OK : rp_filter_none(collecting->filter);
}

uint64_t rp_hazards_replays(const struct rp_source *source, bool *had_contract)
{
    uint64_t replays = 0;
    for (size_t i = 0; i < source->summaries.count; i++) {
        const json_t *segments = json_object_get(source->summaries.items[i], "segments");
        *had_contract |= json_is_array(segments);
        for (size_t at = 0; at < json_array_size(segments); at++)
            replays += rp_member_number(json_array_get(segments, at), "replays");
    }
    return replays;
}

json_t *rp_hazards_collect(const struct rp_source *source, const struct rp_filter *filter,
                           uint64_t *replays, uint64_t *hidden, int *code)
{
    struct collecting collecting = {.source = source,
                                    .filter = filter,
                                    .list = json_array(),
                                    .passed = json_array(),
                                    .later = json_array(),
                                    .held = json_array(),
                                    .replays = replays};

    *code = !filter || rp_filter_is_open(filter) ? collect_all(&collecting)
                                                 : collect_some(&collecting);
    *hidden = collecting.hidden;
    json_decref(collecting.passed);
    json_decref(collecting.later);
    json_decref(collecting.held);
    return sorted(collecting.list);
}
