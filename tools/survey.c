/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/survey.h"

#include "tools/group.h"
#include "tracker/hazard.h"
#include "tracker/text.h"

#include <stdlib.h>
#include <string.h>

struct surveying {
    json_t *document;
    json_t *process;   /* of the trace that is being read */
    json_t *sizes;     /* allocation id -> bytes, of the live ones, in a trace that does not say */
    bool adds_up;      /* this is such a trace */
    uint64_t live, peak;
    const struct rp_summaries *summaries; /* NULL when some of a run is surveyed */
    bool is_told;    /* the trace that is being read has a summary, or needs none */
    json_t *counted; /* what a summary would say, of the trace that is being read */
};

/* ---- members ------------------------------------------------------------------ */

static json_t *child(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    if (!member) {
        member = json_object();
        json_object_set_new(object, key, member);
    }
    return member;
}

static void count(json_t *object, const char *key, uint64_t more)
{
    json_t *member = json_object_get(object, key);
    if (json_is_integer(member))
        json_integer_set(member, json_integer_value(member) + (json_int_t)more);
    else
        json_object_set_new(object, key, json_integer((json_int_t)more));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    char clean[4096];
    if (text && *text)
        json_object_set_new(object, key,
                            json_string(rp_text_escape(clean, sizeof(clean), text, strlen(text))));
}

/* ---- from the traces ---------------------------------------------------------- */

/* One is a process and a program: another may have been executed in the place of the first. */
static json_t *process_of(json_t *document, json_int_t pid, json_int_t program)
{
    json_t *list = json_object_get(document, "processes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *process = json_array_get(list, i);
        json_int_t its = json_integer_value(json_object_get(process, "program"));
        if (pid && json_integer_value(json_object_get(process, "pid")) == pid &&
            (its ? its : 1) == program)
            return process;
    }
    json_t *process = json_pack("{sI}", "pid", pid);
    if (program > 1)
        json_object_set_new(process, "program", json_integer(program));
    json_array_append_new(list, process);
    return process;
}

/* A trace that kept only its end says with which event it begins. */
static void note_first(json_t *process, const char *first)
{
    uint64_t number = first ? strtoull(first, NULL, 10) : 0;
    if (number > 0)
        count(process, "first_event", number);
}

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    static const char *const properties[] = {"command", "mode", "driver", "device", "rank"};
    struct surveying *surveying = ctx;
    const char *pid = rp_trace_property(reader, "pid");
    const char *program = rp_trace_property(reader, "program");

    surveying->process = process_of(surveying->document, pid ? strtoll(pid, NULL, 10) : 0,
                                    program ? strtoll(program, NULL, 10) : 1);
    set_text(surveying->process, "trace", path);
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        set_text(surveying->process, properties[i], rp_trace_property(reader, properties[i]));
    note_first(surveying->process, rp_trace_property(reader, "first_event"));
    surveying->sizes = json_object();
    surveying->live = surveying->peak = 0;
    surveying->adds_up = false;
    surveying->is_told = !surveying->summaries || rp_summaries_tell(surveying->summaries, reader);
    if (surveying->is_told && surveying->summaries)
        json_object_set_new(surveying->process, "summary", json_true());
    surveying->counted = json_pack("{si si si}", "steps", 0, "launches", 0, "hazards", 0);
    return true;
}

/* A process that was killed left no summary, and a trace alone has none beside it: what its
 * events can tell, they tell. */
static void add_counted(struct surveying *surveying)
{
    const char *name;
    json_t *value;

    if (!surveying->is_told)
        json_object_foreach(surveying->counted, name, value)
            count(surveying->document, name, (uint64_t)json_integer_value(value));
    if (!surveying->is_told)
        count(surveying->process, "steps",
              (uint64_t)json_integer_value(json_object_get(surveying->counted, "steps")));
    json_decref(surveying->counted);
    surveying->counted = NULL;
}

static void end_trace(void *ctx, const char *path, const char *broken)
{
    struct surveying *surveying = ctx;
    (void)path;
    set_text(surveying->process, "broken", broken);
    count(child(surveying->document, "allocations"), "peak_bytes", surveying->peak);
    add_counted(surveying);
    json_decref(surveying->sizes);
    surveying->sizes = NULL;
}

static void take_process(struct surveying *surveying, const struct rp_event *event)
{
    static const char *const fields[] = {"command", "mode", "driver", "device"};
    char text[4096];
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        set_text(surveying->process, fields[i],
                 rp_event_text(event, fields[i], text, sizeof(text)));
}

static void note_live(struct surveying *surveying, uint64_t live)
{
    surveying->live = live;
    if (live > surveying->peak)
        surveying->peak = live;
}

/* An older trace does not say at each allocation how much is live. */
static void add_up(struct surveying *surveying, const struct rp_event *event, uint64_t bytes)
{
    char id[24];

    surveying->adds_up = true;
    snprintf(id, sizeof(id), "%llu", (unsigned long long)rp_event_number(event, "allocation"));
    json_object_set_new(surveying->sizes, id, json_integer((json_int_t)bytes));
    note_live(surveying, surveying->live + bytes);
}

static void take_allocation(struct surveying *surveying, const struct rp_event *event)
{
    json_t *allocations = child(surveying->document, "allocations");
    uint64_t bytes = rp_event_number(event, "bytes");
    const char *most = rp_event_field(event, "live_most") ? "live_most" : "live";
    char kind[64];

    rp_event_text(event, "kind", kind, sizeof(kind));
    json_t *of_kind = child(child(allocations, "kinds"), *kind ? kind : "unknown");
    count(allocations, "count", event->count);
    count(allocations, "bytes", bytes);
    count(of_kind, "count", event->count);
    count(of_kind, "bytes", bytes);
    if (rp_event_field(event, most))
        note_live(surveying, rp_event_number(event, most));
    else
        add_up(surveying, event, bytes);
}

static void take_free(struct surveying *surveying, const struct rp_event *event)
{
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)rp_event_number(event, "allocation"));
    if (surveying->adds_up) {
        surveying->live -= rp_member_number(surveying->sizes, id);
        json_object_del(surveying->sizes, id);
    }
    count(child(surveying->document, "allocations"), "freed", event->count);
}

static json_t *kernel_of(struct surveying *surveying, const struct rp_event *event)
{
    char name[1024];
    rp_event_text(event, "kernel", name, sizeof(name));
    return child(child(surveying->document, "kernels"), *name ? name : "(nameless)");
}

static void take_kernel(struct surveying *surveying, const struct rp_event *event)
{
    json_t *kernel = kernel_of(surveying, event);
    char text[8192];
    set_text(kernel, "verdict", rp_event_text(event, "verdict", text, sizeof(text)));
    /* A proof has lines; only what is odd inside them is escaped. */
    const union rp_value *proof = rp_event_field(event, "proof");
    if (proof && proof->t.text)
        json_object_set_new(kernel, "proof", json_stringn(proof->t.text, proof->t.length));
}

static void take_launch(struct surveying *surveying, const struct rp_event *event)
{
    json_t *kernel = kernel_of(surveying, event);
    char verdict[64], reason[256];
    count(kernel, "launches", event->count);
    count(surveying->counted, "launches", event->count);
    rp_event_text(event, "verdict", verdict, sizeof(verdict));
    if (*verdict)
        count(child(kernel, "verdicts"), verdict, event->count);
    rp_event_text(event, "reason", reason, sizeof(reason));
    if (*reason)
        count(child(surveying->document, "reasons"), reason, event->count);
}

static void take_route(struct surveying *surveying, const struct rp_event *event)
{
    char route[64];
    rp_event_text(event, "route", route, sizeof(route));
    count(child(surveying->document, "routes"), *route ? route : "unknown",
          rp_event_number(event, "count"));
}

static void take_step(struct surveying *surveying, const struct rp_event *event)
{
    count(surveying->counted, "steps", event->count);
}

static void take_hazard(struct surveying *surveying, const struct rp_event *event)
{
    char kind[32];
    rp_event_text(event, "hazard", kind, sizeof(kind));
    if (!rp_hazard_kind_warns(rp_hazard_kind_find(kind)))
        count(surveying->counted, "hazards", event->count);
}

static void take_gap(struct surveying *surveying, const struct rp_event *event)
{
    count(surveying->process, "lost", rp_event_number(event, "lost"));
}

static bool take_event(void *ctx, const struct rp_trace_reader *reader,
                       const struct rp_event *event)
{
    static const struct {
        const char *name;
        void (*take)(struct surveying *surveying, const struct rp_event *event);
    } notes[] = {{"process", take_process}, {"allocation", take_allocation}, {"free", take_free},
                 {"kernel", take_kernel},   {"launch", take_launch},         {"route", take_route},
                 {"gap", take_gap},         {"step", take_step},         {"hazard", take_hazard}};
    struct surveying *surveying = ctx;
    (void)reader;

    count(surveying->process, "events", event->count);
    if (strcmp(event->def->class_, "enter") == 0)
        count(child(surveying->document, "calls"), event->def->name, event->count);
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        if (rp_event_is(event, "note", notes[i].name))
            notes[i].take(surveying, event);
    return true;
}

static bool has_field(const struct rp_event_def *def, const char *name)
{
    for (uint32_t i = 0; i < def->field_count; i++)
        if (strcmp(def->fields[i].name, name) == 0)
            return true;
    return false;
}

/* Those whose text or number counts: they are few. */
static bool needs_each(void *ctx, const struct rp_event_def *def)
{
    static const char *const notes[] = {"process", "kernel", "route", "gap"};
    const struct surveying *surveying = ctx;

    if (strcmp(def->class_, "note") != 0)
        return false;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        if (strcmp(def->name, notes[i]) == 0)
            return true;
    return (strcmp(def->name, "allocation") == 0 && !has_field(def, "live_most")) ||
           (strcmp(def->name, "free") == 0 && surveying->adds_up);
}

/* ---- from the summaries ------------------------------------------------------- */

static void add_segments(json_t *document, json_t *list)
{
    static const char *const figures[] = {"forwards", "replays", "unreplayed", "stopped_early"};
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        json_t *segment = child(child(document, "segments"), rp_member_text(item, "name"));
        for (size_t at = 0; at < sizeof(figures) / sizeof(figures[0]); at++)
            count(segment, figures[at], rp_member_number(item, figures[at]));
        set_text(segment, "refused", rp_member_text(item, "refused"));
    }
}

static void add_buffers(json_t *document, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        count(child(document, "buffers"), rp_member_text(item, "name"),
              rp_member_number(item, "found"));
    }
}

static void add_summary(json_t *document, json_t *summary)
{
    static const char *const texts[] = {"command", "mode",   "policy",     "state",
                                        "driver",  "device", "trace_error"};
    uint64_t program = rp_member_number(summary, "program");
    json_t *process = process_of(document, json_integer_value(json_object_get(summary, "pid")),
                                 program ? (json_int_t)program : 1);
    json_t *proofs = json_object_get(summary, "proofs"), *value;
    const char *verdict;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        set_text(process, texts[i], rp_member_text(summary, texts[i]));
    if (json_object_get(summary, "steps"))
        count(process, "steps", rp_member_number(summary, "steps"));
    add_segments(document, json_object_get(summary, "segments"));
    add_buffers(document, json_object_get(summary, "buffers"));
    json_array_extend(json_object_get(document, "unknown"), json_object_get(summary, "unknown"));
    json_object_foreach(proofs, verdict, value)
        count(child(document, "proofs"), verdict, (uint64_t)json_integer_value(value));
}

/* What no summary tells is left out rather than told as none. */
static void add_totals(json_t *document, const struct rp_summaries *summaries)
{
    if (summaries->count == 0)
        return;
    static const char *const totals[] = {"steps", "launches", "transactions", "bytes_preserved",
                                         "bytes_held_peak", "trace_lost"};
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
        count(document, totals[i], rp_summaries_total(summaries, totals[i]));
    count(document, "hazards", rp_summaries_hazards(summaries));
}

/* ---- all of it, or some -------------------------------------------------------- */

static int survey_all(struct surveying *surveying, const struct rp_source *source)
{
    const struct rp_event_visitor visitor = {.begin = begin_trace,
                                             .event = take_event,
                                             .end = end_trace,
                                             .ctx = surveying,
                                             .needs = needs_each};
    surveying->summaries = &source->summaries;
    int code = rp_source_read(source, &visitor);

    for (size_t i = 0; i < source->summaries.count; i++)
        add_summary(surveying->document, source->summaries.items[i]);
    add_totals(surveying->document, &source->summaries);
    return code;
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        take_event(ctx, NULL, &group->events[i]);
    return true;
}

static int survey_some(struct surveying *surveying, const struct rp_source *source,
                       const struct rp_filter *filter)
{
    const struct rp_group_visitor visitor = {
        .begin = begin_trace, .group = take_group, .end = end_trace, .ctx = surveying};

    return rp_groups_read(source, filter, &visitor);
}

json_t *rp_survey(const struct rp_source *source, const struct rp_filter *filter, int *code)
{
    struct surveying surveying = {
        .document = json_pack("{ss si s[] s[]}", "format", "reprise-info", "version", 1,
                              "processes", "unknown")};
    if (!surveying.document)
        return NULL;
    *code = !filter || rp_filter_is_open(filter) ? survey_all(&surveying, source)
                                      : survey_some(&surveying, source, filter);
    if (source->run)
        json_object_set(surveying.document, "run", source->run);
    return surveying.document;
}
