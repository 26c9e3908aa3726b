/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says of a segment: its options, and its facts. */
#include "planner/profile_reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------- */

static const struct rp_json_key option_keys[] = {
    {"retain", RP_JSON_OBJECT, false, NULL},
    {"whole", RP_JSON_OBJECT, false, NULL},
    {"regions", RP_JSON_OBJECT, false, NULL},
};
static const struct rp_json_key row_keys[] = {
    {"hold_bytes", RP_JSON_COUNT, true, NULL},
    {"peak_bytes", RP_JSON_COUNT, true, NULL},
    {"time_ns", RP_JSON_COUNT, true, NULL},
};
static const struct rp_json_key terms_keys[] = {
    {"terms", RP_JSON_OBJECT, true, NULL},
    {"later", RP_JSON_LIST, false, NULL},
};
static const struct rp_json_key later_keys[] = {
    {"pass", RP_JSON_TEXT, true, NULL},
    {"segment", RP_JSON_COUNT, true, NULL},
    {"bytes", RP_JSON_COUNT, true, NULL},
};
static const struct rp_json_key masked_keys[] = {{"masked", RP_JSON_TEXT, true, NULL}};
static const struct rp_json_key fact_keys[] = {
    {"forward_ns", RP_JSON_OBJECT, true, NULL},
    {"backward_ns", RP_JSON_OBJECT, true, NULL},
    {"replay_ns", RP_JSON_OBJECT, false, NULL},
    {"tracking_ns", RP_JSON_OBJECT, false, NULL},
    {"activation_bytes", RP_JSON_OBJECT, true, NULL},
    {"forward_workspace_bytes", RP_JSON_OBJECT, true, NULL},
    {"backward_workspace_bytes", RP_JSON_OBJECT, true, NULL},
    {"forward_base_bytes", RP_JSON_OBJECT, false, NULL},
    {"backward_base_bytes", RP_JSON_OBJECT, false, NULL},
    {"reads", RP_JSON_LIST, true, NULL},
    {"writes", RP_JSON_LIST, true, NULL},
    {"backward_writes", RP_JSON_LIST, true, NULL},
    {"no_replay", RP_JSON_TEXT, false, NULL},
};
static const struct rp_json_key range_keys[] = {
    {"buffer", RP_JSON_TEXT, true, NULL},
    {"offset", RP_JSON_COUNT, true, NULL},
    {"bytes", RP_JSON_COUNT, true, NULL},
};

static const struct rp_json_shape options_shape = RP_JSON_SHAPE("\"options\"", option_keys);
static const struct rp_json_shape row_shape = RP_JSON_SHAPE("an option", row_keys);
static const struct rp_json_shape terms_shape = RP_JSON_SHAPE("an option with terms", terms_keys);
static const struct rp_json_shape masked_shape = RP_JSON_SHAPE("a masked option", masked_keys);
static const struct rp_json_shape later_shape = RP_JSON_SHAPE("what is held later", later_keys);
static const struct rp_json_shape facts_shape = RP_JSON_SHAPE("\"facts\"", fact_keys);
static const struct rp_json_shape range_shape = RP_JSON_SHAPE("a range", range_keys);

/* ---- options ------------------------------------------------------------------ */

bool rp_reader_measure(struct rp_profile_reader *reader, json_t *object, const char *key,
                       struct rp_measure otherwise, struct rp_measure *measure)
{
    json_t *value = json_object_get(object, key);

    *measure = otherwise;
    if (value == NULL)
        return true;
    if (!rp_document_measure(&reader->json, value, measure))
        return false;
    if (measure->source == RP_SOURCE_ABSENT)
        return rp_json_wrong_value(&reader->json, value, "source",
                                   "\"%s\" is absent; it has to be measured before it can be "
                                   "planned with (a run in guard measures it)",
                                   key);
    return true;
}

static bool read_row(struct rp_profile_reader *reader, json_t *option, struct rp_cost *cost)
{
    if (!rp_json_check(&reader->json, option, &row_shape))
        return false;
    *cost = (struct rp_cost){.allowed = true,
                             .hold = rp_json_count(option, "hold_bytes", 0),
                             .peak = rp_json_count(option, "peak_bytes", 0),
                             .time = rp_json_count(option, "time_ns", 0)};
    if (cost->peak < cost->hold)
        return rp_json_wrong_value(&reader->json, option, "peak_bytes",
                                   "\"peak_bytes\" is smaller than \"hold_bytes\", which is part "
                                   "of it");
    return true;
}

/* What an option doesn't do needs no term. */
static bool has_term(enum rp_choice choice, enum rp_term term)
{
    bool replays = choice != RP_CHOICE_RETAIN;

    switch (term) {
    case RP_TERM_HOLD:
    case RP_TERM_PEAK_FORWARD:
    case RP_TERM_PEAK_BACKWARD:
    case RP_TERM_FORWARD_TIME:
    case RP_TERM_BACKWARD_TIME: return true;
    case RP_TERM_STASH:
    case RP_TERM_PRESERVE_TIME:
    case RP_TERM_STASH_TIME:
    case RP_TERM_RESTORE_TIME:
    case RP_TERM_REPLAY_TIME:
    case RP_TERM_REINSTATE_TIME: return replays;
    case RP_TERM_TRACKING_TIME: return choice == RP_CHOICE_REGIONS;
    case RP_TERM_COUNT: break;
    }
    return false;
}

static bool read_terms(struct rp_profile_reader *reader, json_t *option, enum rp_choice choice,
                       struct rp_cost *cost)
{
    struct rp_json_key keys[RP_TERM_COUNT];
    struct rp_json_shape shape = RP_JSON_SHAPE("\"terms\"", keys);
    json_t *terms = json_object_get(option, "terms");

    for (int t = 0; t < RP_TERM_COUNT; t++)
        keys[t] = (struct rp_json_key){rp_term_name((enum rp_term)t), RP_JSON_OBJECT,
                                       has_term(choice, (enum rp_term)t), NULL};
    if (!rp_json_check(&reader->json, option, &terms_shape) ||
        !rp_json_check(&reader->json, terms, &shape))
        return false;
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++) {
        struct rp_measure none = {0, RP_SOURCE_DERIVED};
        if (!rp_reader_measure(reader, terms, keys[t].name, none, &cost->terms[t]))
            return false;
    }
    return true;
}

static bool read_pass(struct rp_profile_reader *reader, json_t *item, struct rp_later *later)
{
    const char *pass = rp_json_text(item, "pass");
    uint64_t segment = rp_json_count(item, "segment", 0);

    later->backward = strcmp(pass, "backward") == 0;
    if (!later->backward && strcmp(pass, "forward") != 0)
        return rp_json_wrong_value(&reader->json, item, "pass",
                                   "\"pass\" is \"forward\" or \"backward\"");
    if (segment >= RP_PROFILE_MAX_SEGMENTS)
        return rp_json_wrong_value(&reader->json, item, "segment",
                                   "\"segment\" is the number of a segment, from 0");
    later->segment = (uint32_t)segment;
    later->bytes = rp_json_count(item, "bytes", 0);
    return true;
}

/* What it makes is released with the option, whatever comes of it. */
static bool read_later(struct rp_profile_reader *reader, json_t *option, struct rp_cost *cost)
{
    json_t *list = json_object_get(option, "later");
    size_t count = json_array_size(list);

    if (count == 0)
        return true;
    struct rp_later *later = calloc(count, sizeof(*later));
    if (later == NULL)
        return rp_reader_keep(reader, RP_NO_MEMORY);
    cost->later = later;
    cost->later_count = count;
    for (size_t i = 0; i < count; i++)
        if (!rp_json_check_item(&reader->json, list, i, &later_shape) ||
            !read_pass(reader, json_array_get(list, i), &later[i]))
            return false;
    return true;
}

static bool read_option(struct rp_profile_reader *reader, json_t *option, enum rp_choice choice,
                        struct rp_cost *cost)
{
    if (json_object_get(option, "masked") != NULL) {
        if (!rp_json_check(&reader->json, option, &masked_shape))
            return false;
        /* The profile makes its own copy; this one belongs to the document. */
        *cost = (struct rp_cost){.masked = (char *)(uintptr_t)rp_json_text(option, "masked")};
        return true;
    }
    if (json_object_get(option, "terms") != NULL)
        return read_terms(reader, option, choice, cost) && read_later(reader, option, cost);
    return read_row(reader, option, cost);
}

bool rp_reader_options(struct rp_profile_reader *reader, json_t *segment,
                       struct rp_cost costs[RP_CHOICE_COUNT])
{
    json_t *options = json_object_get(segment, "options");
    bool has_option = false;

    if (!rp_json_check(&reader->json, options, &options_shape))
        return false;
    for (int c = 0; c < RP_CHOICE_COUNT; c++) {
        json_t *option = json_object_get(options, rp_choice_name((enum rp_choice)c));
        if (option != NULL && !read_option(reader, option, (enum rp_choice)c, &costs[c]))
            return false;
        has_option |= costs[c].allowed;
    }
    if (!has_option)
        return rp_json_wrong(&reader->json, options,
                             "no option is allowed; a segment needs one at least");
    return true;
}

/* ---- facts -------------------------------------------------------------------- */

static bool read_range(struct rp_profile_reader *reader, json_t *list, size_t index,
                       struct rp_buffer_range *range)
{
    size_t count;
    const struct rp_buffer *buffers = rp_profile_buffers(reader->profile, &count);

    if (!rp_json_check_item(&reader->json, list, index, &range_shape))
        return false;
    json_t *item = json_array_get(list, index);
    json_t *buffer = json_object_get(reader->buffers, rp_json_text(item, "buffer"));
    if (buffer == NULL)
        return rp_json_wrong_value(&reader->json, item, "buffer",
                                   "no buffer of that name is in \"buffers\"");
    range->buffer = (uint32_t)json_integer_value(buffer);
    range->lo = rp_json_count(item, "offset", 0);
    range->hi = range->lo + rp_json_count(item, "bytes", 0); /* both are below 2^63 */
    if (range->hi > buffers[range->buffer].bytes)
        return rp_json_wrong_value(&reader->json, item, "bytes",
                                   "the range ends at %llu, and the buffer has %llu bytes",
                                   (unsigned long long)range->hi,
                                   (unsigned long long)buffers[range->buffer].bytes);
    return true;
}

static bool read_ranges(struct rp_profile_reader *reader, json_t *facts, const char *key,
                        const struct rp_buffer_range **out, size_t *count)
{
    json_t *list = json_object_get(facts, key);
    struct rp_buffer_range *ranges = calloc(json_array_size(list) + 1, sizeof(*ranges));

    *out = ranges;
    *count = json_array_size(list);
    if (ranges == NULL)
        return rp_reader_keep(reader, RP_NO_MEMORY);
    for (size_t i = 0; i < *count; i++)
        if (!read_range(reader, list, i, &ranges[i]))
            return false;
    return true;
}

static bool read_figures(struct rp_profile_reader *reader, json_t *object, struct rp_facts *facts)
{
    const struct rp_measure absent = {0, RP_SOURCE_ABSENT}, none = {0, RP_SOURCE_DERIVED};
    const struct {
        const char *key;
        struct rp_measure *to, otherwise;
    } all[] = {
        {"forward_ns", &facts->forward_time, absent},
        {"backward_ns", &facts->backward_time, absent},
        {"replay_ns", &facts->replay_time, absent},
        {"tracking_ns", &facts->tracking_time, absent},
        {"activation_bytes", &facts->activation, absent},
        {"forward_workspace_bytes", &facts->forward_workspace, absent},
        {"backward_workspace_bytes", &facts->backward_workspace, absent},
        {"forward_base_bytes", &facts->forward_base, none},
        {"backward_base_bytes", &facts->backward_base, none},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (!rp_reader_measure(reader, object, all[i].key, all[i].otherwise, all[i].to))
            return false;
    bool priced = facts->replay_time.source != RP_SOURCE_ABSENT &&
                  facts->tracking_time.source != RP_SOURCE_ABSENT;
    if (facts->no_replay == NULL && !priced)
        return rp_json_wrong(&reader->json, object,
                             "a segment that can be replayed needs \"replay_ns\" and "
                             "\"tracking_ns\"; one that can't needs \"no_replay\"");
    return true;
}

bool rp_reader_facts(struct rp_profile_reader *reader, json_t *segment, struct rp_facts *facts)
{
    json_t *object = json_object_get(segment, "facts");

    *facts = (struct rp_facts){.no_replay = rp_json_text(object, "no_replay")};
    return rp_json_check(&reader->json, object, &facts_shape) &&
           read_figures(reader, object, facts) &&
           read_ranges(reader, object, "reads", &facts->reads, &facts->read_count) &&
           read_ranges(reader, object, "writes", &facts->writes, &facts->write_count) &&
           read_ranges(reader, object, "backward_writes", &facts->backward_writes,
                       &facts->backward_write_count);
}

void rp_reader_release(struct rp_cost costs[RP_CHOICE_COUNT], struct rp_facts *facts)
{
    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        free((void *)(uintptr_t)costs[c].later);
    free((void *)(uintptr_t)facts->reads);
    free((void *)(uintptr_t)facts->writes);
    free((void *)(uintptr_t)facts->backward_writes);
}
