/* SPDX-License-Identifier: Apache-2.0 */
/* Writing plans. tools/plan.schema.json says the same to editors. */
#include "planner/plan.h"

#include "planner/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every json_t that is returned is a new one, or NULL when out of memory. */

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)(value < RP_JSON_COUNT_MAX ? value : RP_JSON_COUNT_MAX));
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
    return rp_document_finish(object, good);
}

static json_t *terms_of(const struct rp_cost *cost)
{
    json_t *terms = json_object();
    bool good = terms != NULL;

    for (int t = 0; good && t < RP_TERM_COUNT; t++)
        good = rp_document_set(terms, rp_term_name((enum rp_term)t),
                               rp_document_of_measure(cost->terms[t]));
    return rp_document_finish(terms, good);
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
    return rp_document_finish(masks, good);
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
    return rp_document_finish(object, good);
}

static json_t *segments_of(const struct rp_plan *plan, const struct rp_profile *profile)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t k = 0; good && k < plan->count; k++)
        good = rp_document_append(list, segment_of(plan, profile, k));
    return rp_document_finish(list, good);
}

static json_t *choices_of(const struct rp_plan *plan)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t k = 0; good && k < plan->count; k++)
        good = rp_document_append(list, json_string(rp_choice_name(plan->choices[k])));
    return rp_document_finish(list, good);
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
    return rp_document_finish(object, good);
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

    return rp_document_finish(object, good);
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
    if (plan->least > 0)
        good = good && rp_document_set(root, "least_bytes", count(plan->least));
    good = good && rp_document_set(root, "truncated", json_boolean(plan->truncated)) &&
           rp_document_set(root, "labels", count(plan->labels));
    if (rp_plan_has_choices(plan))
        good = good && add_result(root, plan);
    good = good && rp_document_set(root, "made_for", made_for(plan)) &&
           rp_document_set(root, "segments", segments_of(plan, profile));
    return rp_document_finish(root, good);
}

char *rp_plan_to_json(const struct rp_plan *plan, const struct rp_profile *profile)
{
    json_t *root = document_of(plan, profile);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;

    json_decref(root);
    return text;
}
