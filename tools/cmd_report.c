/* SPDX-License-Identifier: Apache-2.0 */
/* reprise report: one page with everything, which opens from a file and needs no network. */
#include "tools/file.h"
#include "tools/group.h"
#include "tools/hazards.h"
#include "tools/output.h"
#include "tools/reading.h"
#include "tools/report/page.h"
#include "tools/report/timeline.h"
#include "tools/say.h"
#include "tools/survey.h"

#include <stdlib.h>
#include <string.h>

/* A trace that could be opened at first. */
struct traced {
    char *path;
    struct rp_timeline timeline;
    bool broken; /* at first */
    bool again;  /* could be read again as at first */
};

struct report {
    struct traced **traces;
    size_t count;
    struct traced *trace; /* the one that is read */
    bool looking, no_memory;
};

/* ---- reading ------------------------------------------------------------------------ */

static struct traced *keep_trace(struct report *report, struct traced *trace)
{
    struct traced **more = realloc(report->traces, (report->count + 1) * sizeof(struct traced *));

    if (more)
        report->traces = more;
    if (!more || !trace || !trace->path) {
        if (trace)
            free(trace->path);
        free(trace);
        report->no_memory = true;
        return NULL;
    }
    return more[report->count++] = trace;
}

static struct traced *add_trace(struct report *report, const char *path,
                                const struct rp_trace_reader *reader)
{
    const char *command = rp_trace_property(reader, "command");
    const char *start = rp_trace_property(reader, "start_ns");
    struct traced *trace = calloc(1, sizeof(*trace));

    if (trace) {
        struct rp_timeline *timeline = &trace->timeline;
        trace->path = strdup(path);
        timeline->start_ns = start ? strtoull(start, NULL, 10) : 0;
        snprintf(timeline->command, sizeof(timeline->command), "%s", command ? command : "");
    }
    return keep_trace(report, trace);
}

/* NULL of one that could not be opened at first: nobody has looked at it. */
static struct traced *trace_again(const struct report *report, const char *path)
{
    for (size_t i = 0; i < report->count; i++) {
        if (strcmp(report->traces[i]->path, path) != 0)
            continue;
        report->traces[i]->again = true;
        return report->traces[i];
    }
    return NULL;
}

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    struct report *report = ctx;

    report->trace = report->looking ? add_trace(report, path, reader) : trace_again(report, path);
    return report->trace != NULL;
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    struct report *report = ctx;
    struct rp_timeline *timeline = &report->trace->timeline;

    timeline->pid = group->pid;
    if (report->looking)
        rp_timeline_look(timeline, group);
    else
        rp_timeline_take(timeline, group);
    return !timeline->no_memory;
}

/* Of a part of a run the memory is shown all the same: it is the whole's. */
static void hold_group(void *ctx, const struct rp_group *group)
{
    struct report *report = ctx;
    struct rp_timeline *timeline = &report->trace->timeline;

    timeline->pid = group->pid;
    if (report->looking)
        rp_timeline_look_beside(timeline, group);
    else
        rp_timeline_take_beside(timeline, group);
}

static void end_trace(void *ctx, const char *path, const char *broken)
{
    struct report *report = ctx;
    (void)path;

    if (report->looking) {
        report->trace->broken = broken != NULL;
        rp_timeline_looked(&report->trace->timeline);
    } else {
        report->trace->again &= !broken || report->trace->broken;
    }
}

/* What is damaged has been said, but for what came between. */
static bool say_what_changed(const struct report *report)
{
    bool changed = false;

    for (size_t i = 0; i < report->count; i++) {
        if (report->traces[i]->again)
            continue;
        rp_say("%s: could be read at first, but not again: its pictures are not whole",
               report->traces[i]->path);
        changed = true;
    }
    return changed;
}

/* Twice: the length of a trace and its busiest allocations are known only at its end. */
static int read_all(struct report *report, const struct rp_source *source,
                    const struct rp_filter *filter)
{
    const struct rp_group_visitor visitor = {.begin = begin_trace,
                                             .group = take_group,
                                             .end = end_trace,
                                             .ctx = report,
                                             .held_back = hold_group};

    report->looking = true;
    int code = rp_groups_read(source, filter, &visitor);
    report->looking = false;
    if (code != RP_EXIT_FAILURE) {
        rp_say_hush(true);
        rp_groups_read(source, filter, &visitor);
        rp_say_hush(false);
        if (say_what_changed(report))
            code = RP_EXIT_DATA;
    }
    return code == RP_EXIT_NO ? rp_filter_none(filter) : code;
}

/* ---- writing ------------------------------------------------------------------------- */

/* A '<' could end the script that the data stands in. */
static bool write_json(struct rp_file *file, const char *text, size_t length)
{
    while (length > 0) {
        const char *odd = memchr(text, '<', length);
        size_t plain = odd ? (size_t)(odd - text) : length;
        if (!rp_file_write(file, text, plain) || (odd && !rp_file_write(file, "\\u003c", 6)))
            return false;
        plain += odd != NULL;
        text += plain;
        length -= plain;
    }
    return true;
}

static bool write_document(struct rp_file *file, const char *key, const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
    bool good = text && rp_file_write(file, key, strlen(key)) &&
                write_json(file, text, strlen(text));
    free(text);
    return good;
}

static bool write_number(struct rp_file *file, const char *key, uint64_t number)
{
    json_t *value = json_integer((json_int_t)number);
    bool good = write_document(file, key, value);
    json_decref(value);
    return good;
}

static bool write_timelines(struct rp_file *file, const struct report *report)
{
    bool good = rp_file_write(file, ",\"processes\":[", 14);

    for (size_t i = 0; good && i < report->count; i++) {
        struct rp_builder out = {0};
        rp_timeline_json(&report->traces[i]->timeline, &out);
        good = !out.cut && (i == 0 || rp_file_write(file, ",", 1)) &&
               write_json(file, out.text, out.length);
        rp_builder_release(&out);
    }
    return good && rp_file_write(file, "]}", 2);
}

/* None of a part of a run: a summary knows the whole only. */
static json_t *summaries_of(const struct rp_source *source, const struct rp_filter *filter)
{
    json_t *list = json_array();
    if (!rp_filter_is_open(filter))
        return list;
    for (size_t i = 0; i < source->summaries.count; i++)
        json_array_append(list, source->summaries.items[i]);
    return list;
}

/* What a page says of a part of a run: of which. */
static bool write_part(struct rp_file *file, const struct rp_filter *filter)
{
    char words[512];

    if (rp_filter_is_open(filter))
        return true;
    json_t *text = json_string(rp_filter_words(filter, words, sizeof(words)));
    bool good = write_document(file, ",\"filter\":", text);
    json_decref(text);
    return good;
}

/* *code becomes RP_EXIT_DATA where something is damaged. */
static bool write_data(struct rp_file *file, const struct report *report,
                       const struct rp_source *source, const struct rp_filter *filter,
                       json_t *old, int *code)
{
    bool had_contract = source->summaries.count == 0; /* nobody says that there was none */
    uint64_t replays = rp_hazards_replays(source, &had_contract), hidden = 0;
    int surveyed = RP_EXIT_OK, collected = RP_EXIT_OK;

    rp_say_hush(true);
    json_t *survey = rp_survey(source, filter, &surveyed);
    json_t *summaries = summaries_of(source, filter);
    json_t *known = rp_hazards_collect(source, filter, &replays, &hidden, &collected);
    json_t *hazards = rp_output_shown(known); /* names are those of the timelines */
    json_decref(known);
    rp_say_hush(false);
    if (*code == RP_EXIT_OK)
        *code = surveyed == RP_EXIT_OK ? collected : surveyed;
    bool good = survey && hazards && write_document(file, "{\"format\":\"reprise-report\","
                                                          "\"version\":1,\"survey\":", survey) &&
                write_document(file, ",\"hazards\":", hazards) &&
                write_document(file, ",\"summaries\":", summaries) &&
                write_number(file, ",\"hidden\":", hidden) &&
                write_number(file, ",\"replays\":", replays) &&
                write_number(file, ",\"contract\":", had_contract) &&
                (*code != RP_EXIT_DATA || rp_file_write(file, ",\"damaged\":true", 15)) &&
                write_part(file, filter) &&
                (!old || write_document(file, ",\"old\":", old)) && write_timelines(file, report);
    json_decref(survey);
    json_decref(hazards);
    json_decref(summaries);
    return good;
}

/* ---- the command ---------------------------------------------------------------------- */

/* The survey of the run to compare with; NULL when none is asked for. Where it is damaged, what is
 * left of it is compared, and *reading becomes RP_EXIT_DATA. */
static int read_old(const struct rp_command *command, const struct rp_options *options,
                    const struct rp_filter *filter, json_t **old, int *reading)
{
    const char *name = options->values[RP_OPT_DIFF].text;
    char path[PATH_MAX], *words[] = {path, NULL};
    struct rp_options of_old = {.rest = words, .rest_count = 1};
    struct rp_source source;

    *old = NULL;
    if (!name)
        return RP_EXIT_OK;
    snprintf(path, sizeof(path), "%s", name);
    int code = rp_source_open(command, &of_old, &source);
    if (code != RP_EXIT_OK)
        return code;
    *old = rp_survey(&source, filter, &code);
    rp_source_close(&source);
    if (code == RP_EXIT_DATA)
        *reading = code;
    return *old ? RP_EXIT_OK : RP_EXIT_FAILURE;
}

static int write_report(const struct rp_options *options, const struct rp_source *source,
                        const struct rp_filter *filter, json_t *old)
{
    const char *path = options->values[RP_OPT_REPORT_OUTPUT].text;
    struct report report = {0};
    struct rp_file file;

    int code = rp_file_create("report", path ? path : "report.html",
                              rp_option_given(options, RP_OPT_FORCE), &file);
    if (code != RP_EXIT_OK)
        return code;
    code = read_all(&report, source, filter);
    bool good = code != RP_EXIT_FAILURE && !report.no_memory &&
                rp_file_write(&file, rp_page_before, rp_page_before_bytes) &&
                write_data(&file, &report, source, filter, old, &code) &&
                rp_file_write(&file, rp_page_after, rp_page_after_bytes);
    if (!good && file.error == 0)
        rp_say("out of memory");
    for (size_t i = 0; i < report.count; i++) {
        rp_timeline_release(&report.traces[i]->timeline);
        free(report.traces[i]->path);
        free(report.traces[i]);
    }
    free(report.traces);
    /* A reader of ours that has enough is no failure. */
    if (!rp_file_finish(&file, good) || (!good && file.error == 0))
        return RP_EXIT_FAILURE;
    if (file.draft[0] && !rp_option_given(options, RP_OPT_QUIET))
        rp_say("%s: open it in a browser", file.path);
    return code;
}

static int report_source(const struct rp_command *command, const struct rp_options *options,
                         const struct rp_source *source, const struct rp_filter *filter)
{
    json_t *old;
    int reading = RP_EXIT_OK;

    if (!rp_source_has_trace(source))
        return RP_EXIT_DATA;
    if (strcmp(source->traces[0], "-") == 0)
        return rp_say_usage("report", "a report reads its traces twice, so none can be a pipe");
    int code = read_old(command, options, filter, &old, &reading);
    if (code == RP_EXIT_OK)
        code = write_report(options, source, filter, old);
    json_decref(old);
    return code == RP_EXIT_OK ? reading : code;
}

int rp_cmd_report(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "report", argc, argv, &code))
        return code;
    code = report_source(reading.command, &reading.options, &reading.source, &reading.filter);
    rp_reading_end(&reading);
    return code;
}
