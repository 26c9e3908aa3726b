/* SPDX-License-Identifier: Apache-2.0 */
/* reprise export: a run in the formats of other tools. */
#include "tools/export/format.h"
#include "tools/file.h"
#include "tools/reading.h"
#include "tools/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH_TO_WRITE = 1 << 16 };

static const struct rp_export_format *const formats[] = {
    &rp_export_chrome, &rp_export_csv, &rp_export_jsonl, &rp_export_memviz, &rp_export_folded};

struct exporting {
    const struct rp_export_format *format;
    struct rp_export run;
    void *state;
    char command[1024];
    struct rp_file file;
    uint64_t written;
    bool looking;
};

static const struct rp_export_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

/* ---- the reading loop -------------------------------------------------------------- */

static bool write_out(struct exporting *exporting)
{
    struct rp_builder *out = &exporting->run.out;

    exporting->run.no_memory |= out->cut;
    bool good = out->length == 0 || rp_file_write(&exporting->file, out->text, out->length);
    exporting->written += out->length;
    rp_builder_clear(out);
    return good && !exporting->run.no_memory;
}

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    struct exporting *exporting = ctx;
    const char *command = rp_trace_property(reader, "command");
    const char *start = rp_trace_property(reader, "start_ns");
    const char *pid = rp_trace_property(reader, "pid");
    const char *rank = rp_trace_property(reader, "rank");
    (void)path;

    snprintf(exporting->command, sizeof(exporting->command), "%s", command ? command : "");
    exporting->run.command = exporting->command;
    snprintf(exporting->run.rank, sizeof(exporting->run.rank), "%s", rank ? rank : "");
    exporting->run.start_ns = start ? strtoull(start, NULL, 10) : 0;
    exporting->run.pid = pid ? strtoull(pid, NULL, 10) : 0;
    if (exporting->run.start_ns < exporting->run.earliest_ns) /* a trace from a pipe */
        exporting->run.earliest_ns = exporting->run.start_ns;
    if (exporting->looking)
        return true;
    if (exporting->format->process_begins)
        exporting->format->process_begins(&exporting->run, exporting->state);
    return true;
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    struct exporting *exporting = ctx;

    if (exporting->looking) {
        exporting->format->look(&exporting->run, exporting->state, group);
        return !exporting->run.no_memory;
    }
    exporting->format->group(&exporting->run, exporting->state, group);
    return exporting->run.out.length < ENOUGH_TO_WRITE || write_out(exporting);
}

/* Memory is freed, and segments are open, whatever passes. */
static void hold_group(void *ctx, const struct rp_group *group)
{
    struct exporting *exporting = ctx;

    exporting->run.live.beside = true;
    if (exporting->looking)
        exporting->format->look(&exporting->run, exporting->state, group);
    else
        exporting->format->group(&exporting->run, exporting->state, group);
    exporting->run.live.beside = false;
}

static void end_trace(void *ctx, const char *path, const char *broken)
{
    struct exporting *exporting = ctx;
    (void)path;

    if (!exporting->looking && exporting->format->process_ends)
        exporting->format->process_ends(&exporting->run, exporting->state, broken);
    rp_alive_release(&exporting->run.live);
    exporting->run.process++;
}

/* When the trace that began first did, without reading any of them whole. */
static void find_earliest(struct exporting *exporting, const struct rp_source *source)
{
    struct rp_trace_reader *reader;
    char message[256];

    exporting->run.earliest_ns = UINT64_MAX;
    for (size_t i = 0; i < source->trace_count; i++) {
        if (strcmp(source->traces[i], "-") == 0 ||
            rp_trace_reader_open(source->traces[i], &reader, message, sizeof(message)) != RP_OK)
            continue;
        const char *start = rp_trace_property(reader, "start_ns");
        uint64_t ns = start ? strtoull(start, NULL, 10) : 0;
        if (ns < exporting->run.earliest_ns)
            exporting->run.earliest_ns = ns;
        rp_trace_reader_close(reader);
    }
}

/* Memory alone is shown, and a kernel or a step may have taken none. */
static int no_memory_passes(const struct rp_filter *filter)
{
    char words[512];

    rp_say("no allocation of device memory passes %s",
           rp_filter_words(filter, words, sizeof(words)));
    return RP_EXIT_NO;
}

static int read_all(struct exporting *exporting, const struct rp_source *source,
                    const struct rp_filter *filter)
{
    const struct rp_export_format *format = exporting->format;
    const struct rp_group_visitor visitor = {.begin = begin_trace,
                                             .group = take_group,
                                             .end = end_trace,
                                             .ctx = exporting,
                                             .held_back = format->of_memory ? hold_group : NULL};

    if (format->look) {
        exporting->looking = true;
        rp_groups_read(source, filter, &visitor);
        exporting->looking = false;
        exporting->run.process = 0;
    }
    if (format->begin)
        format->begin(&exporting->run, exporting->state);
    int code = rp_groups_read(source, filter, &visitor);
    if (format->end)
        format->end(&exporting->run, exporting->state);
    write_out(exporting);
    if (format->of_memory && exporting->run.allocations == 0 && !rp_filter_is_open(filter) &&
        (code == RP_EXIT_OK || code == RP_EXIT_NO))
        return no_memory_passes(filter);
    if (format->of_memory && exporting->run.allocations == 0 && rp_filter_is_open(filter))
        rp_say("no allocation of device memory is in what was read, so %s has nothing to show",
               format->name);
    return code;
}

/* ---- the command --------------------------------------------------------------------- */

static int export_source(const struct rp_options *options, const struct rp_source *source,
                         const struct rp_filter *filter, const struct rp_export_format *format)
{
    struct exporting exporting = {.format = format};
    const char *wanted = options->values[RP_OPT_EXPORT_OUTPUT].text;
    char name[64];

    snprintf(name, sizeof(name), "reprise.%s", format->suffix);
    int code = rp_file_create("export", wanted ? wanted : name,
                              rp_option_given(options, RP_OPT_FORCE), &exporting.file);
    if (code != RP_EXIT_OK)
        return code;
    find_earliest(&exporting, source);
    exporting.state = calloc(1, format->state_bytes ? format->state_bytes : 1);
    exporting.run.no_memory = !exporting.state;
    if (exporting.state)
        code = read_all(&exporting, source, filter);
    if (exporting.state && format->release)
        format->release(exporting.state);
    free(exporting.state);
    rp_builder_release(&exporting.run.out);
    if (exporting.run.no_memory && code != RP_EXIT_FAILURE)
        rp_say("out of memory");
    if (!rp_file_finish(&exporting.file, !exporting.run.no_memory) || exporting.run.no_memory)
        return RP_EXIT_FAILURE;
    if (exporting.file.draft[0] && !rp_option_given(options, RP_OPT_QUIET))
        rp_say("%s: %llu bytes", exporting.file.path, (unsigned long long)exporting.written);
    return code;
}

static int check(const struct rp_source *source, const struct rp_export_format *format)
{
    if (!rp_source_has_trace(source))
        return RP_EXIT_DATA;
    if (format->look && strcmp(source->traces[0], "-") == 0)
        return rp_say_usage("export", "%s reads the trace twice, so it can't be a pipe",
                            format->name);
    return RP_EXIT_OK;
}

static int export_reading(const struct rp_reading *reading)
{
    const char *name = reading->options.values[RP_OPT_EXPORT_FORMAT].text;
    const struct rp_export_format *format = name ? find_format(name) : NULL;

    if (!format)
        return rp_say_usage("export", "--format is needed: chrome, csv, jsonl, memviz or folded");
    int code = check(&reading->source, format);
    if (code == RP_EXIT_OK)
        code = export_source(&reading->options, &reading->source, &reading->filter, format);
    return code;
}

int rp_cmd_export(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "export", argc, argv, &code))
        return code;
    code = export_reading(&reading);
    rp_reading_end(&reading);
    return code;
}
