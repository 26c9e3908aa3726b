/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan.h"

#include "planner/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing: every json_t returned is a new one, or NULL when out of memory --- */

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)(value < INT64_MAX ? value : INT64_MAX));
}

static json_t *drop_unless(json_t *value, bool good)
{
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

static json_t *hash_of(uint64_t hash)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)hash);
    return json_string(text);
}

static json_t *moment_of(const struct rp_plan *plan, struct rp_moment moment)
{
    json_t *object = json_pack("{s:s}", "pass", rp_pass_name(moment.pass));
    bool good = object != NULL;

    if (good && moment.pass != RP_PASS_NONE)
        good = rp_document_set(object, "segment", rp_document_text(plan->names[moment.segment]));
    return drop_unless(object, good);
}

static json_t *terms_of(const struct rp_cost *cost)
{
    json_t *terms = json_object();
    bool good = terms != NULL;

    for (int t = 0; good && t < RP_TERM_COUNT; t++)
        good = rp_document_set(terms, rp_term_name((enum rp_term)t),
                               rp_document_measure(cost->terms[t]));
    return drop_unless(terms, good);
}

static json_t *masks_of(const struct rp_segment *segment)
{
    json_t *masks = json_object();
    bool good = masks != NULL;

    for (int c = 0; good && c < RP_CHOICE_COUNT; c++) {
        const struct rp_cost *cost = &segment->costs[c];
        if (!cost->allowed)
            good = rp_document_set(masks, rp_choice_name((enum rp_choice)c),
                                   rp_document_text(cost->masked != NULL
                                                        ? cost->masked
                                                        : "the profile leaves it out"));
    }
    return drop_unless(masks, good);
}

static json_t *segment_of(const struct rp_plan *plan, const struct rp_profile *profile, size_t k)
{
    json_t *object = json_pack("{s:o}", "name", rp_document_text(plan->names[k]));
    bool good = object != NULL;

    if (plan->choices != NULL)
        good = good && rp_document_set(object, "choice",
                                       json_string(rp_choice_name(plan->choices[k])));
    if (plan->charged != NULL) {
        const struct rp_cost *cost = &plan->charged[k];
        good = good && rp_document_set(object, "hold_bytes", count(cost->hold)) &&
               rp_document_set(object, "peak_bytes", count(cost->peak)) &&
               rp_document_set(object, "time_ns", count(cost->time));
        if (cost->has_terms)
            good = good && rp_document_set(object, "terms", terms_of(cost));
    }
    if (profile != NULL)
        good = good &&
               rp_document_set(object, "masked", masks_of(rp_profile_segment(profile, k)));
    return drop_unless(object, good);
}

static json_t *segments_of(const struct rp_plan *plan, const struct rp_profile *profile)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t k = 0; good && k < plan->count; k++)
        good = rp_document_append(list, segment_of(plan, profile, k));
    return drop_unless(list, good);
}

static json_t *choices_of(const struct rp_plan *plan)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t k = 0; good && k < plan->count; k++)
        good = rp_document_append(list, json_string(rp_choice_name(plan->choices[k])));
    return drop_unless(list, good);
}

/* Per option, what its segments cost together. Left out for reduced rows. */
static json_t *totals_of(const struct rp_plan *plan)
{
    json_t *object = json_object();
    bool good = object != NULL;

    for (int c = 0; good && c < RP_CHOICE_COUNT; c++) {
        uint64_t totals[RP_TERM_COUNT];
        size_t segments;
        if (!rp_plan_totals(plan, (enum rp_choice)c, &segments, totals))
            break;
        json_t *option = json_pack("{s:I}", "segments", (json_int_t)segments);
        good = option != NULL;
        for (int t = 0; good && t < RP_TERM_COUNT; t++)
            if (t != RP_TERM_PEAK_FORWARD && t != RP_TERM_PEAK_BACKWARD)
                good = rp_document_set(option, rp_term_name((enum rp_term)t), count(totals[t]));
        good = rp_document_set(object, rp_choice_name((enum rp_choice)c), option) && good;
    }
    return drop_unless(object, good);
}

static bool add_result(json_t *root, const struct rp_plan *plan)
{
    bool good = rp_document_set(root, "peak_bytes", count(plan->peak)) &&
                rp_document_set(root, "time_ns", count(plan->time)) &&
                rp_document_set(root, "choices", choices_of(plan)) &&
                rp_document_set(root, "binding", moment_of(plan, plan->binding)) &&
                rp_document_set(root, "totals", totals_of(plan));

    if (plan->answer == RP_ANSWER_FEASIBLE)
        good = good && rp_document_set(root, "gap_ns", count(plan->gap));
    return good;
}

static json_t *made_for(const struct rp_plan *plan)
{
    json_t *object = rp_document_made_for(plan->job, plan->device, plan->contract);
    bool good = object != NULL &&
                rp_document_set(object, "segments", hash_of(plan->fingerprint));

    return drop_unless(object, good);
}

static json_t *document_of(const struct rp_plan *plan, const struct rp_profile *profile)
{
    json_t *root = json_object();
    bool good = root != NULL && rp_document_set(root, "format", json_string(RP_PLAN_FORMAT)) &&
                rp_document_set(root, "version", json_integer(RP_PLAN_VERSION)) &&
                rp_document_set(root, "status", json_string(rp_answer_name(plan->answer))) &&
                rp_document_set(root, "model", json_string(rp_model_name(plan->model))) &&
                rp_document_set(root, "exact", json_string(rp_model_exactness(plan->model))) &&
                rp_document_set(root, "budget_bytes", count(plan->budget));

    if (plan->has_min_budget)
        good = good && rp_document_set(root, "min_budget_bytes", count(plan->min_budget)) &&
               rp_document_set(root, "min_binding", moment_of(plan, plan->min_binding));
    good = good && rp_document_set(root, "truncated", json_boolean(plan->truncated)) &&
           rp_document_set(root, "labels", count(plan->labels));
    if (rp_plan_has_choices(plan))
        good = good && add_result(root, plan);
    good = good && rp_document_set(root, "made_for", made_for(plan)) &&
           rp_document_set(root, "segments", segments_of(plan, profile));
    return drop_unless(root, good);
}

char *rp_plan_to_json(const struct rp_plan *plan, const struct rp_profile *profile)
{
    json_t *root = document_of(plan, profile);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;

    json_decref(root);
    return text;
}

enum rp_status rp_plan_save(const struct rp_plan *plan, const struct rp_profile *profile,
                            const char *path)
{
    char *text = rp_plan_to_json(plan, profile);
    enum rp_status status = text != NULL ? rp_document_write(path, text) : RP_NO_MEMORY;

    free(text);
    return status;
}

/* ---- reading ------------------------------------------------------------------ */

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

static const struct rp_json_shape root_shape = RP_JSON_SHAPE("the plan", root_keys);
static const struct rp_json_shape segment_shape = RP_JSON_SHAPE("a segment", segment_keys);

struct reader {
    struct rp_json json;
    struct rp_plan *plan;
    bool starved; /* a failure is for want of memory */
};

/* NULL copies to NULL. */
static bool copy_text(struct reader *reader, const char *from, char **to)
{
    *to = from != NULL ? strdup(from) : NULL;
    reader->starved |= from != NULL && *to == NULL;
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
    reader->starved = plan->names == NULL || plan->choices == NULL;
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
    plan->truncated = rp_json_flag(root, "truncated", false);
    plan->labels = rp_json_count(root, "labels", 0);
    plan->peak = rp_json_count(root, "peak_bytes", 0);
    plan->time = rp_json_count(root, "time_ns", 0);
    plan->gap = rp_json_count(root, "gap_ns", 0);
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
    if (!rp_plan_has_choices(plan))
        return rp_json_wrong_value(json, json->root, "status",
                                   "there is no plan to obey in it");
    if (!copy_text(reader, purpose.job, &plan->job) ||
        !copy_text(reader, purpose.device, &plan->device) ||
        !copy_text(reader, purpose.contract, &plan->contract) || !read_segments(reader))
        return false;
    if (json_object_get(json->root, "peak_bytes") == NULL ||
        json_object_get(json->root, "time_ns") == NULL)
        return rp_json_wrong(json, json->root, "the plan needs \"peak_bytes\" and \"time_ns\"");
    return true;
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
    rp_json_release(&reader.json);
    if (status == RP_OK)
        *out = reader.plan;
    else
        rp_plan_destroy(reader.plan);
    return status;
}
