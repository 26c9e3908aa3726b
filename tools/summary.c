/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/summary.h"

#include "tools/folder.h"
#include "tools/hazards.h"
#include "tools/left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rp_member_number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

const char *rp_member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_t *load_one(const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (!rp_path_join(path, folder, name))
        return NULL;
    return rp_left_load(path, "reprise-summary", "not a summary");
}

bool rp_summaries_load(const char *folder, struct rp_summaries *summaries, size_t *bad)
{
    size_t count, skipped = 0;
    char **names = rp_folder_list(folder, "summary-", ".json", &count);

    *summaries = (struct rp_summaries){0};
    if (!names)
        return false;
    summaries->items = calloc(count ? count : 1, sizeof(json_t *));
    for (size_t i = 0; summaries->items && i < count; i++) {
        json_t *summary = load_one(folder, names[i]);
        if (summary)
            summaries->items[summaries->count++] = summary;
        else
            skipped++;
    }
    rp_folder_list_free(names, count);
    summaries->bad = skipped;
    if (bad)
        *bad = skipped;
    return summaries->items != NULL;
}

void rp_summaries_release(struct rp_summaries *summaries)
{
    for (size_t i = 0; i < summaries->count; i++)
        json_decref(summaries->items[i]);
    free(summaries->items);
    *summaries = (struct rp_summaries){0};
}

uint64_t rp_summaries_total(const struct rp_summaries *summaries, const char *key)
{
    uint64_t total = 0;
    for (size_t i = 0; i < summaries->count; i++)
        total += rp_member_number(summaries->items[i], key);
    return total;
}

/* The hazards of all summaries that `is_counted` says yes to. */
static uint64_t count_hazards(const struct rp_summaries *summaries,
                              bool (*is_counted)(const json_t *hazard))
{
    uint64_t total = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        const json_t *hazards = json_object_get(summaries->items[i], "hazards");
        for (size_t at = 0; at < json_array_size(hazards); at++)
            total += is_counted(json_array_get(hazards, at));
    }
    return total;
}

uint64_t rp_summaries_hazards(const struct rp_summaries *summaries)
{
    return count_hazards(summaries, rp_hazard_counts);
}

uint64_t rp_summaries_warnings(const struct rp_summaries *summaries)
{
    return count_hazards(summaries, rp_hazard_warns);
}

static bool saw(const struct rp_summaries *summaries, const char *list, const char *name,
                const char *figure)
{
    for (size_t i = 0; i < summaries->count; i++) {
        const json_t *items = json_object_get(summaries->items[i], list);
        for (size_t at = 0; at < json_array_size(items); at++) {
            const json_t *item = json_array_get(items, at);
            if (strcmp(rp_member_text(item, "name"), name) == 0 &&
                rp_member_number(item, figure) > 0)
                return true;
        }
    }
    return false;
}

bool rp_summaries_saw_segment(const struct rp_summaries *summaries, const char *name)
{
    return saw(summaries, "segments", name, "forwards");
}

bool rp_summaries_saw_replay(const struct rp_summaries *summaries, const char *name)
{
    return saw(summaries, "segments", name, "replays");
}

bool rp_summaries_saw_buffer(const struct rp_summaries *summaries, const char *name)
{
    return saw(summaries, "buffers", name, "found");
}

static uint64_t property_number(const struct rp_trace_reader *trace, const char *name)
{
    const char *text = rp_trace_property(trace, name);
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Those who do not say it, from before it was told apart, are of the first one. */
static uint64_t or_first(uint64_t program)
{
    return program ? program : 1;
}

bool rp_summaries_tell(const struct rp_summaries *summaries, const struct rp_trace_reader *trace)
{
    uint64_t pid = property_number(trace, "pid");
    uint64_t program = or_first(property_number(trace, "program"));

    for (size_t i = 0; i < summaries->count; i++)
        if (rp_member_number(summaries->items[i], "pid") == pid &&
            or_first(rp_member_number(summaries->items[i], "program")) == program)
            return true;
    return false;
}
