/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profiles. tools/profile.schema.json says the same to editors. */
#include "planner/profile_reader.h"

#include "tracker/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------- */

static const char *const format_words[] = {RP_PROFILE_FORMAT, NULL};
static const struct rp_json_key root_keys[] = {
    {"format", RP_JSON_WORD, false, format_words},
    {"version", RP_JSON_COUNT, true, NULL},
    {"made_for", RP_JSON_OBJECT, false, NULL},
    {"base_bytes", RP_JSON_COUNT, true, NULL},
    {"quantum_bytes", RP_JSON_COUNT, false, NULL},
    {"least_bytes", RP_JSON_COUNT, false, NULL},
    {"copy", RP_JSON_OBJECT, false, NULL},
    {"buffers", RP_JSON_LIST, false, NULL},
    {"segments", RP_JSON_LIST, true, NULL},
    {"backward_order", RP_JSON_LIST, false, NULL},
    {"departure", RP_JSON_TEXT, false, NULL},
    {"no_facts", RP_JSON_TEXT, false, NULL},
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
static const struct rp_json_shape root_shape = RP_JSON_SHAPE("the profile", root_keys);
static const struct rp_json_shape copy_shape = RP_JSON_SHAPE("\"copy\"", copy_keys);
static const struct rp_json_shape buffer_shape = RP_JSON_SHAPE("a buffer", buffer_keys);
static const struct rp_json_shape segment_shape = RP_JSON_SHAPE("a segment", segment_keys);

/* ---- the document ------------------------------------------------------------- */

static bool read_buffers(struct rp_profile_reader *reader)
{
    json_t *list = json_object_get(reader->json.root, "buffers");

    reader->buffers = json_object();
    if (reader->buffers == NULL)
        return rp_reader_keep(reader, RP_NO_MEMORY);
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
            return rp_reader_keep(reader, RP_NO_MEMORY);
    }
    return true;
}

/* What segments are described by: the same for all. */
enum depth { ROWS = 1, FACTS = 2 };

static unsigned depth_of(const json_t *segment)
{
    return (json_object_get(segment, "options") != NULL ? ROWS : 0) |
           (json_object_get(segment, "facts") != NULL ? FACTS : 0);
}

static bool read_segment(struct rp_profile_reader *reader, json_t *segment)
{
    const char *name = rp_json_text(segment, "name");
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    struct rp_facts facts = {.reads = NULL};
    unsigned depth = depth_of(segment);
    enum rp_status status = RP_OK;

    bool good = (!(depth & ROWS) || rp_reader_options(reader, segment, costs)) &&
                (!(depth & FACTS) || rp_reader_facts(reader, segment, &facts));
    if (good && depth == (ROWS | FACTS))
        status = rp_profile_add_both(reader->profile, name, costs, &facts);
    else if (good && depth == ROWS)
        status = rp_profile_add_row(reader->profile, name, costs);
    else if (good)
        status = rp_profile_add_facts(reader->profile, name, &facts);
    rp_reader_release(costs, &facts);
    return good && rp_reader_keep(reader, status);
}

static bool read_segments(struct rp_profile_reader *reader)
{
    json_t *list = json_object_get(reader->json.root, "segments");

    for (size_t k = 0; k < json_array_size(list); k++) {
        if (!rp_json_check_item(&reader->json, list, k, &segment_shape))
            return false;
        json_t *segment = json_array_get(list, k);
        if (depth_of(segment) == 0)
            return rp_json_wrong(&reader->json, segment,
                                 "a segment needs \"options\" or \"facts\", or both");
        if (depth_of(segment) != depth_of(json_array_get(list, 0)))
            return rp_json_wrong(&reader->json, segment,
                                 "a segment has \"options\" or \"facts\" where another has not; "
                                 "all need the same");
        if (!read_segment(reader, segment))
            return false;
    }
    return true;
}

static bool read_copy_price(struct rp_profile_reader *reader)
{
    json_t *copy = json_object_get(reader->json.root, "copy");
    const struct rp_measure absent = {0, RP_SOURCE_ABSENT};
    struct rp_copy_price price;

    if (copy == NULL)
        return true;
    if (!rp_json_check(&reader->json, copy, &copy_shape) ||
        !rp_reader_measure(reader, copy, "fixed_ns", absent, &price.fixed) ||
        !rp_reader_measure(reader, copy, "bytes_per_us", absent, &price.bytes_per_us))
        return false;
    if (price.bytes_per_us.value == 0)
        return rp_json_wrong_value(&reader->json, copy, "bytes_per_us",
                                   "0 bytes per microsecond would never copy anything");
    rp_profile_set_copy_price(reader->profile, &price);
    return true;
}

/* Every segment once. `waiting` has those whose turn has not come. */
static bool take_turn(struct rp_profile_reader *reader, json_t *order, size_t i, json_t *waiting)
{
    char shown[80];

    if (!rp_json_check_text(&reader->json, order, i))
        return false;
    json_t *item = json_array_get(order, i);
    const char *name = json_string_value(item);
    json_t *state = json_object_get(waiting, name);
    if (json_is_true(state))
        return rp_reader_keep(reader, json_object_set_new(waiting, name, json_false()) == 0
                                          ? RP_OK
                                          : RP_NO_MEMORY);
    rp_text_escape(shown, sizeof(shown), name, json_string_length(item));
    if (state == NULL)
        return rp_json_wrong_item(&reader->json, order, i, "no segment is called '%s'", shown);
    return rp_json_wrong_item(&reader->json, order, i, "'%s' stands here twice", shown);
}

static bool check_turns(struct rp_profile_reader *reader, json_t *order)
{
    size_t count = rp_profile_count(reader->profile);
    json_t *waiting = json_object();
    bool good = rp_reader_keep(reader, waiting != NULL ? RP_OK : RP_NO_MEMORY);

    for (size_t k = 0; good && k < count; k++)
        if (json_object_set_new(waiting, rp_profile_segment(reader->profile, k)->name,
                                json_true()) != 0)
            good = rp_reader_keep(reader, RP_NO_MEMORY);
    bool distinct = json_object_size(waiting) == count; /* else that is what is complained about */
    for (size_t i = 0; good && distinct && i < count; i++)
        good = take_turn(reader, order, i, waiting);
    json_decref(waiting);
    return good;
}

/* The order in which the backward passes run, last segment first unless told otherwise. */
static bool read_backward_order(struct rp_profile_reader *reader)
{
    json_t *order = json_object_get(reader->json.root, "backward_order");
    size_t count = rp_profile_count(reader->profile);
    char reason[160];

    if (order == NULL)
        return true;
    if (json_array_size(order) != count)
        return rp_json_wrong(&reader->json, order, "%zu names stand here for %zu segments",
                             json_array_size(order), count);
    if (!check_turns(reader, order))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(order, i));
        const char *wanted = rp_profile_segment(reader->profile, count - 1 - i)->name;
        if (strcmp(name, wanted) == 0)
            continue;
        snprintf(reason, sizeof(reason),
                 "the backward of '%.40s' runs where that of '%.40s' would be in reverse order",
                 name, wanted);
        return rp_reader_keep(reader, rp_profile_set_departure(reader->profile, reason));
    }
    return true;
}

static bool read_head(struct rp_profile_reader *reader)
{
    json_t *root = reader->json.root;
    const char *departure = rp_json_text(root, "departure");
    const char *no_facts = rp_json_text(root, "no_facts");
    struct rp_purpose purpose;

    if (!rp_document_version(&reader->json, RP_PROFILE_VERSION) ||
        !rp_json_check(&reader->json, root, &root_shape) ||
        !rp_document_purpose(&reader->json, &purpose))
        return false;
    rp_profile_set_base(reader->profile, rp_json_count(root, "base_bytes", 0));
    rp_profile_set_quantum(reader->profile, rp_json_count(root, "quantum_bytes", 1));
    rp_profile_set_least(reader->profile, rp_json_count(root, "least_bytes", 0));
    if (rp_json_count(root, "quantum_bytes", 1) == 0)
        return rp_json_wrong_value(&reader->json, root, "quantum_bytes",
                                   "\"quantum_bytes\" must not be 0; 1 means no rounding");
    if (departure != NULL && rp_profile_set_departure(reader->profile, departure) != RP_OK)
        return rp_reader_keep(reader, RP_NO_MEMORY);
    if (no_facts != NULL && rp_profile_set_no_facts(reader->profile, no_facts) != RP_OK)
        return rp_reader_keep(reader, RP_NO_MEMORY);
    return rp_reader_keep(reader, rp_profile_set_purpose(reader->profile, &purpose));
}

static bool read_document(struct rp_profile_reader *reader)
{
    return read_head(reader) && read_copy_price(reader) && read_buffers(reader) &&
           read_segments(reader) && read_backward_order(reader);
}

/* What showed when all was read: at the segment, or where else it must stand. */
static void refuse(struct rp_profile_reader *reader, const char *why)
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
static enum rp_status finish(struct rp_profile_reader *reader, struct rp_profile **out)
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
    struct rp_profile_reader reader = {.profile = NULL};
    enum rp_status status = rp_document_load(&reader.json, path, message, message_size);

    *out = NULL;
    return status == RP_OK ? finish(&reader, out) : status;
}

enum rp_status rp_profile_parse(const char *text, size_t length, const char *label,
                                struct rp_profile **out, char *message, size_t message_size)
{
    struct rp_profile_reader reader = {.profile = NULL};
    enum rp_status status =
        rp_json_parse(&reader.json, text, length, label, message, message_size);

    *out = NULL;
    return status == RP_OK ? finish(&reader, out) : status;
}
