/* SPDX-License-Identifier: Apache-2.0 */
/* Reading plans. tools/plan.schema.json says the same to editors. */
#include "planner/plan.h"

#include "planner/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_words[] = {RP_PLAN_FORMAT, NULL};
static const char *const choice_words[] = {"retain", "whole", "regions", NULL};
static const char *const model_words[] = {"nested", "shared", "lazy", NULL};
static const char *const status_words[] = {
    "optimal", "optimal (certified despite truncation)", "feasible", "infeasible", "unknown",
    NULL};

static const struct rp_json_key root_keys[] = {
    {"format", RP_JSON_WORD, true, format_words},
    {"version", RP_JSON_COUNT, true, NULL},
    {"status", RP_JSON_WORD, true, status_words},
    {"model", RP_JSON_WORD, true, model_words},
    {"exact", RP_JSON_TEXT, false, NULL},
    {"budget_bytes", RP_JSON_COUNT, true, NULL},
    {"min_budget_bytes", RP_JSON_COUNT, false, NULL},
    {"min_binding", RP_JSON_OBJECT, false, NULL},
    {"least_bytes", RP_JSON_COUNT, false, NULL},
    {"truncated", RP_JSON_FLAG, true, NULL},
    {"labels", RP_JSON_COUNT, false, NULL},
    {"peak_bytes", RP_JSON_COUNT, false, NULL},
    {"time_ns", RP_JSON_COUNT, false, NULL},
    {"gap_ns", RP_JSON_COUNT, false, NULL},
    {"choices", RP_JSON_LIST, false, NULL},
    {"binding", RP_JSON_OBJECT, false, NULL},
    {"totals", RP_JSON_OBJECT, false, NULL},
    {"made_for", RP_JSON_OBJECT, true, NULL},
    {"segments", RP_JSON_LIST, true, NULL},
};
static const struct rp_json_key segment_keys[] = {
    {"name", RP_JSON_TEXT, true, NULL},
    {"choice", RP_JSON_WORD, true, choice_words},
    {"hold_bytes", RP_JSON_COUNT, false, NULL},
    {"peak_bytes", RP_JSON_COUNT, false, NULL},
    {"time_ns", RP_JSON_COUNT, false, NULL},
    {"terms", RP_JSON_OBJECT, false, NULL},
    {"masked", RP_JSON_OBJECT, false, NULL},
};

static const char *const pass_words[] = {"none", "either", "forward", "backward", NULL};
static const struct rp_json_key moment_keys[] = {
    {"pass", RP_JSON_WORD, true, pass_words},
    {"segment", RP_JSON_TEXT, false, NULL},
};
static const struct rp_json_key masked_keys[] = {
    {"retain", RP_JSON_TEXT, false, NULL},
    {"whole", RP_JSON_TEXT, false, NULL},
    {"regions", RP_JSON_TEXT, false, NULL},
};
static const struct rp_json_key totals_keys[] = {
    {"retain", RP_JSON_OBJECT, false, NULL},
    {"whole", RP_JSON_OBJECT, false, NULL},
    {"regions", RP_JSON_OBJECT, false, NULL},
};

static const struct rp_json_shape root_shape = RP_JSON_SHAPE("the plan", root_keys);
static const struct rp_json_shape segment_shape = RP_JSON_SHAPE("a segment", segment_keys);
static const struct rp_json_shape moment_shape = RP_JSON_SHAPE("a moment", moment_keys);
static const struct rp_json_shape masked_shape = RP_JSON_SHAPE("\"masked\"", masked_keys);
static const struct rp_json_shape totals_shape = RP_JSON_SHAPE("\"totals\"", totals_keys);

struct reader {
    struct rp_json json;
    struct rp_plan *plan;
    json_t *names; /* of the segments up to here */
    bool starved; /* a failure is for want of memory */
};

/* NULL copies to NULL. */
static bool copy_text(struct reader *reader, const char *from, char **to)
{
    *to = from != NULL ? strdup(from) : NULL;
    reader->starved |= from != NULL && *to == NULL;
    return !reader->starved;
}

/* An object that may be missing. */
static bool check_part(struct rp_json *json, json_t *object, const char *key,
                       const struct rp_json_shape *shape)
{
    json_t *part = json_object_get(object, key);

    return part == NULL || rp_json_check(json, part, shape);
}

/* What nobody obeys is for people to read: it must be what it looks like all the same. */
static bool check_terms(struct rp_json *json, json_t *segment)
{
    struct rp_json_key keys[RP_TERM_COUNT];
    const struct rp_json_shape shape = RP_JSON_SHAPE("\"terms\"", keys);
    json_t *terms = json_object_get(segment, "terms"), *term;
    const char *name;
    struct rp_measure measure;

    for (int t = 0; t < RP_TERM_COUNT; t++)
        keys[t] =
            (struct rp_json_key){rp_term_name((enum rp_term)t), RP_JSON_OBJECT, false, NULL};
    if (!check_part(json, segment, "terms", &shape))
        return false;
    json_object_foreach (terms, name, term)
        if (!rp_document_measure(json, term, &measure))
            return false;
    return true;
}

static bool check_totals(struct rp_json *json)
{
    struct rp_json_key keys[RP_TERM_COUNT + 1] = {{"segments", RP_JSON_COUNT, true, NULL}};
    const struct rp_json_shape shape = RP_JSON_SHAPE("the totals of an option", keys);
    json_t *totals = json_object_get(json->root, "totals"), *option;
    const char *name;

    for (int t = 0; t < RP_TERM_COUNT; t++)
        keys[t + 1] =
            (struct rp_json_key){rp_term_name((enum rp_term)t), RP_JSON_COUNT, false, NULL};
    if (!check_part(json, json->root, "totals", &totals_shape))
        return false;
    json_object_foreach (totals, name, option)
        if (!rp_json_check(json, option, &shape))
            return false;
    return true;
}

static bool check_name(struct reader *reader, json_t *segment)
{
    const char *name = rp_json_text(segment, "name");

    if (json_object_get(reader->names, name) != NULL)
        return rp_json_wrong_value(&reader->json, segment, "name", "another segment has this name");
    reader->starved = json_object_set_new(reader->names, name, json_true()) != 0;
    return !reader->starved;
}

static bool read_segment(struct reader *reader, json_t *list, size_t k)
{
    struct rp_json *json = &reader->json;
    struct rp_plan *plan = reader->plan;
    json_t *choices = json_object_get(json->root, "choices");

    if (!rp_json_check_item(json, list, k, &segment_shape))
        return false;
    json_t *segment = json_array_get(list, k);
    if (!check_name(reader, segment) || !check_terms(json, segment) ||
        !check_part(json, segment, "masked", &masked_shape))
        return false;
    const char *word = rp_json_text(segment, "choice");
    const char *listed = json_string_value(json_array_get(choices, k));
    if (listed == NULL || strcmp(listed, word) != 0)
        return rp_json_wrong_value(json, segment, "choice",
                                   "\"choices\" says something else for this segment");
    plan->choices[k] = (enum rp_choice)rp_json_word(segment, "choice", choice_words, 0);
    return copy_text(reader, rp_json_text(segment, "name"), &plan->names[k]);
}

static bool allot_segments(struct reader *reader, size_t segments)
{
    struct rp_plan *plan = reader->plan;

    plan->names = calloc(segments + 1, sizeof(*plan->names));
    plan->choices = calloc(segments + 1, sizeof(*plan->choices));
    reader->names = json_object();
    reader->starved = plan->names == NULL || plan->choices == NULL || reader->names == NULL;
    if (!reader->starved)
        plan->count = segments;
    return !reader->starved;
}

static bool read_segments(struct reader *reader)
{
    struct rp_json *json = &reader->json;
    json_t *list = json_object_get(json->root, "segments");
    json_t *choices = json_object_get(json->root, "choices");
    json_t *made_for = json_object_get(json->root, "made_for");
    const char *made = rp_json_text(made_for, "segments");
    uint64_t hash = rp_fingerprint_begin();

    if (choices == NULL)
        return rp_json_wrong(json, json->root, "the plan needs \"choices\"");
    if (json_array_size(choices) != json_array_size(list))
        return rp_json_wrong(json, choices, "%zu choices stand here for %zu segments",
                             json_array_size(choices), json_array_size(list));
    if (!allot_segments(reader, json_array_size(list)))
        return false;
    for (size_t k = 0; k < reader->plan->count; k++) {
        if (!read_segment(reader, list, k))
            return false;
        hash = rp_fingerprint_add(hash, reader->plan->names[k]);
    }
    if (made != NULL && strtoull(made, NULL, 16) != hash)
        return rp_json_wrong_value(json, made_for, "segments",
                                   "the segments were changed after the plan was made");
    reader->plan->fingerprint = hash;
    return true;
}

static void read_figures(json_t *root, struct rp_plan *plan)
{
    plan->answer = (enum rp_answer)rp_json_word(root, "status", status_words, 0);
    plan->model = (enum rp_model)rp_json_word(root, "model", model_words, 0);
    plan->budget = rp_json_count(root, "budget_bytes", 0);
    plan->has_min_budget = json_object_get(root, "min_budget_bytes") != NULL;
    plan->min_budget = rp_json_count(root, "min_budget_bytes", 0);
    plan->least = rp_json_count(root, "least_bytes", 0);
    plan->truncated = rp_json_flag(root, "truncated", false);
    plan->labels = rp_json_count(root, "labels", 0);
    plan->peak = rp_json_count(root, "peak_bytes", 0);
    plan->time = rp_json_count(root, "time_ns", 0);
    plan->gap = rp_json_count(root, "gap_ns", 0);
}

static bool check_figures(struct rp_json *json, const struct rp_plan *plan)
{
    json_t *root = json->root;

    if (!rp_plan_has_choices(plan))
        return rp_json_wrong_value(json, root, "status", "there is no plan to obey in it");
    if (json_object_get(root, "peak_bytes") == NULL || json_object_get(root, "time_ns") == NULL)
        return rp_json_wrong(json, root, "the plan needs \"peak_bytes\" and \"time_ns\"");
    if (plan->peak > plan->budget)
        return rp_json_wrong_value(json, root, "peak_bytes",
                                   "\"peak_bytes\" is more than \"budget_bytes\"");
    return check_part(json, root, "binding", &moment_shape) &&
           check_part(json, root, "min_binding", &moment_shape) && check_totals(json);
}

static bool read_document(struct reader *reader)
{
    struct rp_json *json = &reader->json;
    struct rp_plan *plan = reader->plan;
    struct rp_purpose purpose;

    if (!rp_document_version(json, RP_PLAN_VERSION) ||
        !rp_json_check(json, json->root, &root_shape) || !rp_document_purpose(json, &purpose))
        return false;
    read_figures(json->root, plan);
    return check_figures(json, plan) && copy_text(reader, purpose.job, &plan->job) &&
           copy_text(reader, purpose.device, &plan->device) &&
           copy_text(reader, purpose.contract, &plan->contract) && read_segments(reader);
}

enum rp_status rp_plan_load(const char *path, struct rp_plan **out, char *message,
                            size_t message_size)
{
    struct reader reader = {.plan = NULL};
    enum rp_status status = rp_document_load(&reader.json, path, message, message_size);

    *out = NULL;
    if (status != RP_OK)
        return status;
    reader.plan = calloc(1, sizeof(*reader.plan));
    reader.starved = reader.plan == NULL;
    if (reader.starved || !read_document(&reader))
        status = reader.starved ? RP_NO_MEMORY : RP_INVALID;
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s: %s", path, rp_status_text(status));
    json_decref(reader.names);
    rp_json_release(&reader.json);
    if (status == RP_OK)
        *out = reader.plan;
    else
        rp_plan_destroy(reader.plan);
    return status;
}
