/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/hazards.h"

#include "tracker/hazard.h"

#include <stdlib.h>
#include <string.h>

struct collecting {
    const struct rp_source *source;
    json_t *list;
    json_int_t pid;
    json_int_t rank; /* -1: none */
    uint64_t *replays;
    uint64_t noted; /* hazards of the trace that is read */
};

static void add_summary(json_t *list, json_t *summary)
{
    json_t *hazards = json_object_get(summary, "hazards");
    for (size_t i = 0; i < json_array_size(hazards); i++) {
        json_t *hazard = json_array_get(hazards, i);
        json_object_set(hazard, "pid", json_object_get(summary, "pid"));
        json_object_set(hazard, "rank", json_object_get(summary, "rank"));
        json_array_append(list, hazard);
    }
}

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
    return !rp_summaries_tell(&collecting->source->summaries, reader);
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

/* The same hazard is noted once; later ones only count, in the summary that isn't there. */
static bool take_event(void *ctx, const struct rp_trace_reader *reader,
                       const struct rp_event *event)
{
    struct collecting *collecting = ctx;
    (void)reader;

    if (rp_event_is(event, "note", "segment")) {
        char phase[32];
        if (strcmp(rp_event_text(event, "phase", phase, sizeof(phase)), "replay begins") == 0)
            *collecting->replays += event->count;
    }
    if (!rp_event_is(event, "note", "hazard"))
        return true;
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
    return json_array_append_new(collecting->list, hazard) == 0;
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

json_t *rp_hazards_collect(const struct rp_source *source, uint64_t *replays, int *code)
{
    struct collecting collecting = {.source = source, .list = json_array(), .replays = replays};
    const struct rp_event_visitor visitor = {
        .begin = begin_trace, .event = take_event, .ctx = &collecting, .needs = needs_each};

    for (size_t i = 0; i < source->summaries.count; i++)
        add_summary(collecting.list, source->summaries.items[i]);
    /* Traces are only read for processes that left no summary: it may take a while. */
    if (source->summaries.count < source->trace_count)
        *code = rp_source_read(source, &visitor);
    if (source->summaries.bad > 0 && *code == RP_EXIT_OK)
        *code = RP_EXIT_DATA;
    return sorted(collecting.list);
}
