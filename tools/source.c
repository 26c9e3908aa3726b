/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/source.h"

#include "tools/folder.h"
#include "tools/left.h"
#include "tools/say.h"
#include "tracker/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding ------------------------------------------------------------------ */

/* run.json, if there is one. False after a message when it can't be read. */
static bool load_run(struct rp_source *source)
{
    char path[PATH_MAX];

    if (!rp_path_join(path, source->name, "run.json") || access(path, F_OK) != 0)
        return true;
    source->run = rp_left_load(path, "reprise-run", "damaged");
    return source->run != NULL;
}

static int open_folder(struct rp_source *source)
{
    size_t count = 0;
    char **names = rp_folder_list(source->name, "trace-", ".rpt", &count);

    if (!names || !rp_summaries_load(source->name, &source->summaries, NULL)) {
        rp_say("%s: %s", source->name, strerror(errno));
        return RP_EXIT_USAGE;
    }
    source->damaged = !load_run(source) || source->summaries.bad > 0;
    source->traces = calloc(count ? count : 1, sizeof(*source->traces));
    for (size_t i = 0; source->traces && i < count; i++) {
        char path[PATH_MAX];
        if (rp_path_join(path, source->name, names[i]) &&
            (source->traces[source->trace_count] = strdup(path)) != NULL)
            source->trace_count++;
    }
    rp_folder_list_free(names, count);
    if (source->trace_count == 0 && source->summaries.count == 0 &&
        !(source->follow && rp_folder_is_in_use(source->name))) {
        rp_say("%s holds no trace and no summary of a run", source->name);
        return RP_EXIT_DATA;
    }
    return RP_EXIT_OK;
}

static int open_file(struct rp_source *source)
{
    source->traces = calloc(1, sizeof(*source->traces));
    if (!source->traces || !(source->traces[0] = strdup(source->name))) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    source->trace_count = 1;
    return RP_EXIT_OK;
}

int rp_source_open(const struct rp_command *command, const struct rp_options *options,
                   struct rp_source *source)
{
    struct stat info;
    bool named = options->rest_count > 0;

    *source = (struct rp_source){.follow = rp_option_given(options, RP_OPT_FOLLOW)};
    if (options->rest_count > 1)
        return rp_say_usage(command->name, "one folder or trace at a time, not '%s' too",
                            options->rest[1]);
    snprintf(source->name, sizeof(source->name), "%s",
             named ? options->rest[0] : RP_FOLDER_DEFAULT);
    if (strcmp(source->name, "-") == 0)
        return open_file(source);
    if (stat(source->name, &info) != 0) {
        rp_say("%s: %s%s", source->name, strerror(errno),
               named ? "" : "; `reprise run` makes one, or name another");
        return RP_EXIT_USAGE;
    }
    source->is_folder = S_ISDIR(info.st_mode);
    int code = source->is_folder ? open_folder(source) : open_file(source);
    if (code != RP_EXIT_OK)
        rp_source_close(source);
    return code;
}

void rp_source_close(struct rp_source *source)
{
    for (size_t i = 0; i < source->trace_count; i++)
        free(source->traces[i]);
    free(source->traces);
    rp_summaries_release(&source->summaries);
    json_decref(source->run);
    *source = (struct rp_source){0};
}

bool rp_source_has_trace(const struct rp_source *source)
{
    bool has = source->trace_count > 0 ||
               (source->follow && source->is_folder && rp_folder_is_in_use(source->name));
    if (!has)
        rp_say("%s holds no trace; was the job run with --no-trace?", source->name);
    return has;
}

/* ---- fields ------------------------------------------------------------------- */

uint64_t rp_event_number(const struct rp_event *event, const char *field)
{
    const union rp_value *value = rp_event_field(event, field);
    return value ? value->u : 0;
}

const char *rp_event_text(const struct rp_event *event, const char *field, char *text,
                          size_t size)
{
    const union rp_value *value = rp_event_field(event, field);
    text[0] = 0;
    if (value && value->t.text)
        rp_text_escape(text, size, value->t.text, value->t.length);
    return text;
}

bool rp_event_is(const struct rp_event *event, const char *class_, const char *name)
{
    return strcmp(event->def->class_, class_) == 0 && strcmp(event->def->name, name) == 0;
}

void rp_event_segment(const struct rp_event *event, struct rp_segment_note *note)
{
    char phase[32], name[256], key[sizeof(note->name) - sizeof(name) - 1];

    rp_event_text(event, "phase", phase, sizeof(phase));
    rp_event_text(event, "segment", name, sizeof(name));
    rp_event_text(event, "key", key, sizeof(key));
    note->is_replay = strncmp(phase, "replay", strlen("replay")) == 0;
    note->begins = strstr(phase, " begins") != NULL;
    note->phase = note->is_replay ? "replay" : "forward";
    snprintf(note->name, sizeof(note->name), "%s%s%s", name, *key ? " " : "", key);
}
