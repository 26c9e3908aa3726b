/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profiles. tools/profile.schema.json says the same to editors. */
#include "planner/profile.h"

#include "planner/document.h"
#include "tracker/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------- */

static const char *const format_words[] = {RP_PROFILE_FORMAT, NULL};
static const char *const source_words[] = {"absent",  "measured",    "derived",     "stated",
                                           "counted", "cuda-events", "model-clock", "cupti", NULL};

static const struct rp_json_key root_keys[] = {
    {"format", RP_JSON_WORD, false, format_words},
    {"version", RP_JSON_COUNT, true, NULL},
    {"made_for", RP_JSON_OBJECT, false, NULL},
    {"base_bytes", RP_JSON_COUNT, true, NULL},
    {"quantum_bytes", RP_JSON_COUNT, false, NULL},
    {"copy", RP_JSON_OBJECT, false, NULL},
    {"buffers", RP_JSON_LIST, false, NULL},
    {"segments", RP_JSON_LIST, true, NULL},
    {"backward_order", RP_JSON_LIST, false, NULL},
    {"departure", RP_JSON_TEXT, false, NULL},
};
static const struct rp_json_key copy_keys[] = {
    {"fixed_ns", RP_JSON_OBJECT, true, NULL},
    {"bytes_per_us", RP_JSON_OBJECT, true, NULL},
};
static const struct rp_json_key buffer_keys[] = {
    {"name", RP_JSON_TEXT, true, NULL},
    {"bytes", RP_JSON_COUNT, true, NULL},
};
static const struct rp_json_key segment_keys[] = {
    {"name", RP_JSON_TEXT, true, NULL},
    {"options", RP_JSON_OBJECT, false, NULL},
    {"facts", RP_JSON_OBJECT, false, NULL},
};
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
static const struct rp_json_key terms_keys[] = {{"terms", RP_JSON_OBJECT, true, NULL}};
static const struct rp_json_key masked_keys[] = {{"masked", RP_JSON_TEXT, true, NULL}};
static const struct rp_json_key measure_keys[] = {
    {"value", RP_JSON_COUNT, true, NULL},
    {"source", RP_JSON_WORD, true, source_words},
};
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

#define SHAPE(title, keys) {title, keys, sizeof(keys) / sizeof(*(keys))}
static const struct rp_json_shape root_shape = SHAPE("the profile", root_keys);
static const struct rp_json_shape copy_shape = SHAPE("\"copy\"", copy_keys);
static const struct rp_json_shape buffer_shape = SHAPE("a buffer", buffer_keys);
static const struct rp_json_shape segment_shape = SHAPE("a segment", segment_keys);
static const struct rp_json_shape options_shape = SHAPE("\"options\"", option_keys);
static const struct rp_json_shape row_shape = SHAPE("an option", row_keys);
static const struct rp_json_shape terms_shape = SHAPE("an option with terms", terms_keys);
static const struct rp_json_shape masked_shape = SHAPE("a masked option", masked_keys);
static const struct rp_json_shape measure_shape = SHAPE("a figure", measure_keys);
static const struct rp_json_shape facts_shape = SHAPE("\"facts\"", fact_keys);
static const struct rp_json_shape range_shape = SHAPE("a range", range_keys);

/* ---- pieces ------------------------------------------------------------------- */

struct reader {
    struct rp_json json;
    struct rp_profile *profile;
    json_t *buffers; /* name -> index */
    enum rp_status status;
};

/* Whatever a complaint is about is RP_INVALID; only other failures need be kept. */
static bool fail(struct reader *reader, enum rp_status status)
{
    if (status != RP_OK)
        reader->status = status;
    return status == RP_OK;
}

/* A figure with its source. One that is left out counts as `otherwise`. */
static bool read_measure(struct reader *reader, json_t *object, const char *key,
                         struct rp_measure otherwise, struct rp_measure *measure)
{
    json_t *value = json_object_get(object, key);

    *measure = otherwise;
    if (value == NULL)
        return true;
    if (!rp_json_check(&reader->json, value, &measure_shape))
        return false;
    *measure = (struct rp_measure){
        rp_json_count(value, "value", 0),
        (enum rp_source)rp_json_word(value, "source", source_words, RP_SOURCE_ABSENT)};
    if (measure->source == RP_SOURCE_ABSENT)
        return rp_json_wrong_value(&reader->json, value, "source",
                                   "\"%s\" is absent; it has to be measured before it can be "
                                   "planned with (a run in guard measures it)",
                                   key);
    return true;
}

static bool read_row(struct reader *reader, json_t *option, struct rp_cost *cost)
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

static bool read_terms(struct reader *reader, json_t *option, enum rp_choice choice,
                       struct rp_cost *cost)
{
    struct rp_json_key keys[RP_TERM_COUNT];
    struct rp_json_shape shape = SHAPE("\"terms\"", keys);
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
        if (!read_measure(reader, terms, keys[t].name, none, &cost->terms[t]))
            return false;
    }
    return true;
}

static bool read_option(struct reader *reader, json_t *option, enum rp_choice choice,
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
        return read_terms(reader, option, choice, cost);
    return read_row(reader, option, cost);
}

static bool read_options(struct reader *reader, json_t *segment)
{
    json_t *options = json_object_get(segment, "options");
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
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
    return fail(reader,
                rp_profile_add_row(reader->profile, rp_json_text(segment, "name"), costs));
}

/* ---- facts -------------------------------------------------------------------- */

static bool read_range(struct reader *reader, json_t *list, size_t index,
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

/* The caller frees *ranges, also on failure. */
static bool read_ranges(struct reader *reader, json_t *facts, const char *key,
                        struct rp_buffer_range **ranges, size_t *count)
{
    json_t *list = json_object_get(facts, key);

    *count = json_array_size(list);
    *ranges = calloc(*count + 1, sizeof(**ranges));
    if (*ranges == NULL)
        return fail(reader, RP_NO_MEMORY);
    for (size_t i = 0; i < *count; i++)
        if (!read_range(reader, list, i, &(*ranges)[i]))
            return false;
    return true;
}

static bool read_figures(struct reader *reader, json_t *object, struct rp_facts *facts)
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
        if (!read_measure(reader, object, all[i].key, all[i].otherwise, all[i].to))
            return false;
    bool priced = facts->replay_time.source != RP_SOURCE_ABSENT &&
                  facts->tracking_time.source != RP_SOURCE_ABSENT;
    if (facts->no_replay == NULL && !priced)
        return rp_json_wrong(&reader->json, object,
                             "a segment that can be replayed needs \"replay_ns\" and "
                             "\"tracking_ns\"; one that can't needs \"no_replay\"");
    return true;
}

static bool read_facts(struct reader *reader, json_t *segment)
{
    json_t *object = json_object_get(segment, "facts");
    struct rp_buffer_range *reads = NULL, *writes = NULL, *backward = NULL;
    struct rp_facts facts = {.no_replay = rp_json_text(object, "no_replay")};

    bool good =
        rp_json_check(&reader->json, object, &facts_shape) &&
        read_figures(reader, object, &facts) &&
        read_ranges(reader, object, "reads", &reads, &facts.read_count) &&
        read_ranges(reader, object, "writes", &writes, &facts.write_count) &&
        read_ranges(reader, object, "backward_writes", &backward, &facts.backward_write_count);
    facts.reads = reads;
    facts.writes = writes;
    facts.backward_writes = backward;
    if (good)
        good = fail(reader, rp_profile_add_facts(reader->profile, rp_json_text(segment, "name"),
                                                 &facts));
    free(reads);
    free(writes);
    free(backward);
    return good;
}

/* ---- the document ------------------------------------------------------------- */

static bool read_buffers(struct reader *reader)
{
    json_t *list = json_object_get(reader->json.root, "buffers");

    reader->buffers = json_object();
    if (reader->buffers == NULL)
        return fail(reader, RP_NO_MEMORY);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!rp_json_check_item(&reader->json, list, i, &buffer_shape))
            return false;
        json_t *item = json_array_get(list, i);
        const char *name = rp_json_text(item, "name");
        if (json_object_get(reader->buffers, name) != NULL)
            return rp_json_wrong_value(&reader->json, item, "name",
                                       "another buffer has this name");
        if (json_object_set_new(reader->buffers, name, json_integer((json_int_t)i)) != 0 ||
            rp_profile_add_buffer(reader->profile, name, rp_json_count(item, "bytes", 0)) != RP_OK)
            return fail(reader, RP_NO_MEMORY);
    }
    return true;
}

static bool read_segments(struct reader *reader)
{
    json_t *list = json_object_get(reader->json.root, "segments");
    bool have_facts = false;

    for (size_t k = 0; k < json_array_size(list); k++) {
        if (!rp_json_check_item(&reader->json, list, k, &segment_shape))
            return false;
        json_t *segment = json_array_get(list, k);
        bool has_facts = json_object_get(segment, "facts") != NULL;
        if (has_facts == (json_object_get(segment, "options") != NULL))
            return rp_json_wrong(&reader->json, segment,
                                 "a segment needs \"options\" or \"facts\", one of the two");
        if (k > 0 && has_facts != have_facts)
            return rp_json_wrong(&reader->json, segment,
                                 "some segments have \"options\" and some \"facts\"; one kind "
                                 "must do for all");
        have_facts = has_facts;
        if (!(has_facts ? read_facts(reader, segment) : read_options(reader, segment)))
            return false;
    }
    return true;
}

static bool read_copy_price(struct reader *reader)
{
    json_t *copy = json_object_get(reader->json.root, "copy");
    const struct rp_measure absent = {0, RP_SOURCE_ABSENT};
    struct rp_copy_price price;

    if (copy == NULL)
        return true;
    if (!rp_json_check(&reader->json, copy, &copy_shape) ||
        !read_measure(reader, copy, "fixed_ns", absent, &price.fixed) ||
        !read_measure(reader, copy, "bytes_per_us", absent, &price.bytes_per_us))
        return false;
    if (price.bytes_per_us.value == 0)
        return rp_json_wrong_value(&reader->json, copy, "bytes_per_us",
                                   "0 bytes per microsecond would never copy anything");
    rp_profile_set_copy_price(reader->profile, &price);
    return true;
}

/* The order in which the backward passes run, last segment first unless told otherwise. */
static bool read_backward_order(struct reader *reader)
{
    json_t *order = json_object_get(reader->json.root, "backward_order");
    size_t count = rp_profile_count(reader->profile);
    char reason[160];

    if (order == NULL)
        return true;
    if (json_array_size(order) != count)
        return rp_json_wrong(&reader->json, order, "%zu names stand here for %zu segments",
                             json_array_size(order), count);
    for (size_t i = 0; i < count; i++) {
        if (!rp_json_check_text(&reader->json, order, i))
            return false;
        const char *name = json_string_value(json_array_get(order, i));
        const char *wanted = rp_profile_segment(reader->profile, count - 1 - i)->name;
        if (strcmp(name, wanted) == 0)
            continue;
        snprintf(reason, sizeof(reason),
                 "the backward of '%.40s' runs where that of '%.40s' would be in reverse order",
                 name, wanted);
        return fail(reader, rp_profile_set_departure(reader->profile, reason));
    }
    return true;
}

static bool read_head(struct reader *reader)
{
    json_t *root = reader->json.root;
    const char *departure = rp_json_text(root, "departure");
    struct rp_purpose purpose;

    if (!rp_document_version(&reader->json, RP_PROFILE_VERSION) ||
        !rp_json_check(&reader->json, root, &root_shape) ||
        !rp_document_purpose(&reader->json, &purpose))
        return false;
    rp_profile_set_base(reader->profile, rp_json_count(root, "base_bytes", 0));
    rp_profile_set_quantum(reader->profile, rp_json_count(root, "quantum_bytes", 1));
    if (rp_json_count(root, "base_bytes", 0) >= INT64_MAX)
        return rp_json_wrong_value(&reader->json, root, "base_bytes",
                                   "\"base_bytes\" leaves 63 bits");
    if (rp_json_count(root, "quantum_bytes", 1) == 0)
        return rp_json_wrong_value(&reader->json, root, "quantum_bytes",
                                   "\"quantum_bytes\" must not be 0; 1 means no rounding");
    if (departure != NULL && rp_profile_set_departure(reader->profile, departure) != RP_OK)
        return fail(reader, RP_NO_MEMORY);
    return fail(reader, rp_profile_set_purpose(reader->profile, &purpose));
}

static bool read_document(struct reader *reader)
{
    return read_head(reader) && read_copy_price(reader) && read_buffers(reader) &&
           read_segments(reader) && read_backward_order(reader);
}

/* What showed when all was read: at the segment, or where else it must stand. */
static void refuse(struct reader *reader, const char *why)
{
    struct rp_json *json = &reader->json;
    json_t *segments = json_object_get(json->root, "segments");
    size_t culprit = rp_profile_culprit(reader->profile);
    char shown[400];

    rp_text_escape(shown, sizeof(shown), why, strlen(why));
    if (culprit < json_array_size(segments))
        rp_json_wrong_item(json, segments, culprit, "%s", shown);
    else
        rp_json_wrong(json, json->root, "%s", shown);
}

/* Takes over the parsed document. */
static enum rp_status finish(struct reader *reader, struct rp_profile **out)
{
    const char *label = reader->json.label;
    char *message = reader->json.message, why[400];
    size_t message_size = reader->json.message_size;
    enum rp_status status = rp_profile_create(&reader->profile);

    if (status == RP_OK) {
        reader->status = RP_INVALID;
        status = read_document(reader) ? RP_OK : reader->status;
    }
    if (status == RP_OK) {
        status = rp_profile_close(reader->profile, why, sizeof(why));
        if (status == RP_INVALID)
            refuse(reader, why);
    }
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s: %s", label, rp_status_text(status));
    json_decref(reader->buffers);
    rp_json_release(&reader->json);
    if (status == RP_OK)
        *out = reader->profile;
    else
        rp_profile_destroy(reader->profile);
    return status;
}

enum rp_status rp_profile_load(const char *path, struct rp_profile **out, char *message,
                               size_t message_size)
{
    struct reader reader = {.profile = NULL};
    enum rp_status status = rp_document_load(&reader.json, path, message, message_size);

    *out = NULL;
    return status == RP_OK ? finish(&reader, out) : status;
}

enum rp_status rp_profile_parse(const char *text, size_t length, const char *label,
                                struct rp_profile **out, char *message, size_t message_size)
{
    struct reader reader = {.profile = NULL};
    enum rp_status status =
        rp_json_parse(&reader.json, text, length, label, message, message_size);

    *out = NULL;
    return status == RP_OK ? finish(&reader, out) : status;
}
