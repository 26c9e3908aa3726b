/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/profile.h"

#include "planner/document.h"

#include <stdlib.h>

/* Every function that returns a json_t returns a new one, or NULL when out of memory. */

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *later_of(const struct rp_cost *cost)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t i = 0; good && i < cost->later_count; i++) {
        const struct rp_later *later = &cost->later[i];
        good = rp_document_append(
            list, json_pack("{s:s, s:I, s:I}", "pass", later->backward ? "backward" : "forward",
                            "segment", (json_int_t)later->segment, "bytes",
                            (json_int_t)later->bytes));
    }
    return rp_document_finish(list, good);
}

static json_t *full_of(const struct rp_cost *cost)
{
    json_t *option = json_object(), *terms = json_object();
    bool good = terms != NULL;

    for (int t = 0; good && t < RP_TERM_COUNT; t++)
        good = rp_document_set(terms, rp_term_name((enum rp_term)t),
                               rp_document_of_measure(cost->terms[t]));
    good = rp_document_set(option, "terms", terms) && good;
    if (good && cost->later_count > 0)
        good = rp_document_set(option, "later", later_of(cost));
    return rp_document_finish(option, good);
}

static json_t *option_of(const struct rp_cost *cost)
{
    if (!cost->allowed)
        return json_pack("{s:o}", "masked", rp_document_text(cost->masked));
    if (!cost->has_terms)
        return json_pack("{s:I, s:I, s:I}", "hold_bytes", (json_int_t)cost->hold, "peak_bytes",
                         (json_int_t)cost->peak, "time_ns", (json_int_t)cost->time);
    return full_of(cost);
}

static json_t *options_of(const struct rp_segment *segment)
{
    json_t *options = json_object();
    bool good = options != NULL;

    for (int c = 0; good && c < RP_CHOICE_COUNT; c++) {
        const struct rp_cost *cost = &segment->costs[c];
        if (cost->allowed || cost->masked != NULL)
            good = rp_document_set(options, rp_choice_name((enum rp_choice)c), option_of(cost));
    }
    return rp_document_finish(options, good);
}

static json_t *ranges_of(const struct rp_profile *profile, const struct rp_buffer_range *ranges,
                         size_t range_count)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t i = 0; good && i < range_count; i++)
        good = rp_document_append(
            list, json_pack("{s:o, s:I, s:I}", "buffer",
                            rp_document_text(buffers[ranges[i].buffer].name), "offset",
                            (json_int_t)ranges[i].lo, "bytes",
                            (json_int_t)(ranges[i].hi - ranges[i].lo)));
    return rp_document_finish(list, good);
}

static json_t *facts_of(const struct rp_profile *profile, const struct rp_facts *facts)
{
    const struct {
        const char *key;
        struct rp_measure measure;
    } all[] = {
        {"forward_ns", facts->forward_time},
        {"backward_ns", facts->backward_time},
        {"replay_ns", facts->replay_time},
        {"tracking_ns", facts->tracking_time},
        {"activation_bytes", facts->activation},
        {"forward_workspace_bytes", facts->forward_workspace},
        {"backward_workspace_bytes", facts->backward_workspace},
        {"forward_base_bytes", facts->forward_base},
        {"backward_base_bytes", facts->backward_base},
    };
    json_t *object = json_object();
    bool good = object != NULL;

    for (size_t i = 0; good && i < sizeof(all) / sizeof(*all); i++)
        if (all[i].measure.source != RP_SOURCE_ABSENT)
            good = rp_document_set(object, all[i].key, rp_document_of_measure(all[i].measure));
    good = good && rp_document_set(object, "reads",
                                   ranges_of(profile, facts->reads, facts->read_count));
    good = good && rp_document_set(object, "writes",
                                   ranges_of(profile, facts->writes, facts->write_count));
    good = good && rp_document_set(object, "backward_writes",
                                   ranges_of(profile, facts->backward_writes,
                                             facts->backward_write_count));
    if (good && facts->no_replay != NULL)
        good = rp_document_set(object, "no_replay", rp_document_text(facts->no_replay));
    return rp_document_finish(object, good);
}

static json_t *segments_of(const struct rp_profile *profile, bool rows)
{
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t k = 0; good && k < rp_profile_count(profile); k++) {
        const struct rp_segment *segment = rp_profile_segment(profile, k);
        const struct rp_facts *facts = rows ? NULL : rp_profile_facts(profile, k);
        json_t *object = json_object();
        good = rp_document_set(object, "name", rp_document_text(segment->name));
        if (good && (facts == NULL || rp_profile_has_rows(profile)))
            good = rp_document_set(object, "options", options_of(segment));
        if (good && facts != NULL)
            good = rp_document_set(object, "facts", facts_of(profile, facts));
        good = rp_document_append(list, object) && good;
    }
    return rp_document_finish(list, good);
}

static json_t *buffers_of(const struct rp_profile *profile)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    json_t *list = json_array();
    bool good = list != NULL;

    for (size_t i = 0; good && i < buffer_count; i++)
        good = rp_document_append(list,
                                  json_pack("{s:o, s:I}", "name",
                                            rp_document_text(buffers[i].name), "bytes",
                                            (json_int_t)buffers[i].bytes));
    return rp_document_finish(list, good);
}

static json_t *copy_price_of(const struct rp_profile *profile)
{
    const struct rp_copy_price *price = rp_profile_copy_price(profile);

    return json_pack("{s:o, s:o}", "fixed_ns", rp_document_of_measure(price->fixed), "bytes_per_us",
                     rp_document_of_measure(price->bytes_per_us));
}

static json_t *document_of(const struct rp_profile *profile, bool rows)
{
    const struct rp_purpose *purpose = rp_profile_purpose(profile);
    const char *departure = rp_profile_departure(profile);
    const char *no_facts = rp_profile_no_facts(profile);
    bool has_facts = rp_profile_count(profile) > 0 && rp_profile_facts(profile, 0) != NULL;
    json_t *root = json_object();

    bool good =
        root != NULL && rp_document_set(root, "format", json_string(RP_PROFILE_FORMAT)) &&
        rp_document_set(root, "version", json_integer(RP_PROFILE_VERSION)) &&
        rp_document_set(root, "made_for",
                        rp_document_made_for(purpose->job, purpose->device, purpose->contract)) &&
        rp_document_set(root, "base_bytes", count(rp_profile_base(profile))) &&
        rp_document_set(root, "quantum_bytes", count(rp_profile_quantum(profile)));
    if (good && rp_profile_least(profile) > 0)
        good = rp_document_set(root, "least_bytes", count(rp_profile_least(profile)));
    if (good && departure != NULL)
        good = rp_document_set(root, "departure", rp_document_text(departure));
    if (good && no_facts != NULL && !rows)
        good = rp_document_set(root, "no_facts", rp_document_text(no_facts));
    if (good && !rows && rp_profile_copy_price(profile)->fixed.source != RP_SOURCE_ABSENT)
        good = rp_document_set(root, "copy", copy_price_of(profile));
    if (good && has_facts && !rows)
        good = rp_document_set(root, "buffers", buffers_of(profile));
    good = good && rp_document_set(root, "segments", segments_of(profile, rows));
    return rp_document_finish(root, good);
}

char *rp_profile_to_json(const struct rp_profile *profile, bool rows)
{
    json_t *root = document_of(profile, rows);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;

    json_decref(root);
    return text;
}

enum rp_status rp_profile_save(const struct rp_profile *profile, const char *path, bool rows)
{
    char *text = rp_profile_to_json(profile, rows);
    enum rp_status status = text != NULL ? rp_document_write(path, text) : RP_NO_MEMORY;

    free(text);
    return status;
}
