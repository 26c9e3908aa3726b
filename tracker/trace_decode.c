/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_decode.h"

#include "tracker/array.h"
#include "tracker/trace_format.h"

void rp_trace_decoder_release(struct rp_trace_decoder *decoder)
{
    for (size_t i = 0; i < decoder->definition_count; i++) {
        free(decoder->definitions[i]->strings);
        free(decoder->definitions[i]);
    }
    free(decoder->definitions);
    free(decoder->types);
    free(decoder->last);
    free(decoder->names);
    free(decoder->groups);
    free(decoder->group_events);
    free(decoder->moves);
    *decoder = (struct rp_trace_decoder){0};
}

void rp_trace_decoder_expect(struct rp_trace_decoder *decoder, unsigned version)
{
    decoder->times_inside = version < 2;
    decoder->event_tag = version < 3 ? RP_TRACE_TAG_EVENT_2 : RP_TRACE_TAG_EVENT;
}

void rp_trace_decoder_begin(struct rp_trace_decoder *decoder, const uint8_t *raw, size_t bytes,
                            uint64_t time_ns, uint64_t thread)
{
    decoder->at = raw;
    decoder->end = raw + bytes;
    decoder->time_ns = time_ns;
    decoder->thread = thread;
    decoder->type_count = 0;
    decoder->last_count = 0;
    decoder->name_count = 0;
    decoder->singles = 0;
    decoder->group_count = decoder->group_event_count = decoder->move_count = 0;
    decoder->coming = NULL;
}

/* A run of bytes behind its length. */
static bool take_bytes(struct rp_trace_decoder *decoder, const char **bytes, size_t *count)
{
    uint64_t length = 0;

    if (!rp_get_varint(&decoder->at, decoder->end, &length) ||
        length > (size_t)(decoder->end - decoder->at))
        return false;
    *bytes = (const char *)decoder->at;
    *count = (size_t)length;
    decoder->at += length;
    return true;
}

/* ---- definitions ------------------------------------------------------------------ */

/* Copies one string to the end of the definition's and terminates it. */
static bool take_string(struct rp_trace_decoder *decoder, char **room, const char **out)
{
    const char *text = NULL;
    size_t length = 0;

    if (!take_bytes(decoder, &text, &length) || memchr(text, '\0', length) != NULL)
        return false;
    memcpy(*room, text, length);
    (*room)[length] = '\0';
    *out = *room;
    *room += length + 1;
    return true;
}

/* Parses what follows the tag. The strings take no more room than their record, whose
 * lengths make place for the zeros. */
static bool parse_definition(struct rp_trace_decoder *decoder,
                             struct rp_trace_definition *definition)
{
    struct rp_event_def *def = &definition->def;
    char *room = definition->strings;
    uint64_t count = 0;

    if (!take_string(decoder, &room, &def->name) || !take_string(decoder, &room, &def->class_) ||
        !rp_get_varint(&decoder->at, decoder->end, &count) || count > RP_EVENT_MAX_FIELDS)
        return false;
    def->field_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_string(decoder, &room, &def->fields[i].name) || decoder->at == decoder->end)
            return false;
        uint8_t type = *decoder->at++;
        if (type > RP_FIELD_FLOAT)
            return false;
        def->fields[i].type = (enum rp_field_type)type;
        if (type != RP_FIELD_TEXT && type != RP_FIELD_NAME && type != RP_FIELD_FLOAT)
            definition->numbers++;
    }
    return true;
}

static void destroy_definition(struct rp_trace_definition *definition)
{
    if (definition != NULL)
        free(definition->strings);
    free(definition);
}

static bool same_definition(const struct rp_trace_definition *a,
                            const struct rp_trace_definition *b)
{
    if (a->hash != b->hash || a->bytes != b->bytes || a->def.field_count != b->def.field_count ||
        strcmp(a->def.name, b->def.name) != 0 || strcmp(a->def.class_, b->def.class_) != 0)
        return false;
    for (uint32_t i = 0; i < a->def.field_count; i++) {
        if (a->def.fields[i].type != b->def.fields[i].type ||
            strcmp(a->def.fields[i].name, b->def.fields[i].name) != 0)
            return false;
    }
    return true;
}

/* The definition of the whole file that equals this one, which is taken over. */
static enum rp_status unify(struct rp_trace_decoder *decoder,
                            struct rp_trace_definition *definition,
                            const struct rp_trace_definition **out)
{
    for (size_t i = 0; i < decoder->definition_count; i++) {
        if (same_definition(decoder->definitions[i], definition)) {
            destroy_definition(definition);
            *out = decoder->definitions[i];
            return RP_OK;
        }
    }
    struct rp_trace_definition **all = NULL;
    if (decoder->definition_count < RP_TRACE_MAX_DEFINITIONS)
        all = rp_array_reserve(decoder->definitions, &decoder->definition_capacity,
                               decoder->definition_count + 1, sizeof(*all));
    if (all == NULL) {
        destroy_definition(definition);
        return decoder->definition_count < RP_TRACE_MAX_DEFINITIONS ? RP_NO_MEMORY : RP_DAMAGED;
    }
    decoder->definitions = all;
    all[decoder->definition_count++] = definition;
    *out = definition;
    return RP_OK;
}

static enum rp_status take_definition(struct rp_trace_decoder *decoder,
                                      const struct rp_trace_definition **out)
{
    const uint8_t *begin = decoder->at;
    struct rp_trace_definition *definition = calloc(1, sizeof(*definition));
    size_t room = (size_t)(decoder->end - decoder->at) + 1;

    if (room > RP_TRACE_MAX_DEFINITION + 1)
        room = RP_TRACE_MAX_DEFINITION + 1;
    if (definition == NULL || (definition->strings = malloc(room)) == NULL) {
        destroy_definition(definition);
        return RP_NO_MEMORY;
    }
    const uint8_t *end = decoder->end;
    decoder->end = begin + room - 1;
    bool good = parse_definition(decoder, definition);
    decoder->end = end;
    if (!good) {
        destroy_definition(definition);
        return RP_DAMAGED;
    }
    definition->bytes = (size_t)(decoder->at - begin);
    definition->hash = rp_trace_hash(begin, definition->bytes);
    return unify(decoder, definition, out);
}

static enum rp_status define(struct rp_trace_decoder *decoder)
{
    const struct rp_trace_definition *definition = NULL;
    enum rp_status status = take_definition(decoder, &definition);

    if (status != RP_OK)
        return status;
    if (decoder->type_count == RP_TRACE_MAX_EVENT_TYPES)
        return RP_DAMAGED;
    struct decoder_type *types = rp_array_reserve(decoder->types, &decoder->type_capacity,
                                                  decoder->type_count + 1, sizeof(*types));
    if (types == NULL)
        return RP_NO_MEMORY;
    decoder->types = types;
    uint64_t *last = rp_array_reserve(decoder->last, &decoder->last_capacity,
                                      decoder->last_count + definition->numbers, sizeof(*last));
    if (last == NULL)
        return RP_NO_MEMORY;
    decoder->last = last;
    types[decoder->type_count++] = (struct decoder_type){definition, decoder->last_count};
    memset(last + decoder->last_count, 0, definition->numbers * sizeof(*last));
    decoder->last_count += definition->numbers;
    return RP_OK;
}

static enum rp_status name(struct rp_trace_decoder *decoder)
{
    struct decoder_name fresh = {NULL, 0};

    if (!take_bytes(decoder, &fresh.text, &fresh.length) ||
        decoder->name_count == RP_TRACE_MAX_NAMES)
        return RP_DAMAGED;
    struct decoder_name *names = rp_array_reserve(decoder->names, &decoder->name_capacity,
                                                  decoder->name_count + 1, sizeof(*names));
    if (names == NULL)
        return RP_NO_MEMORY;
    decoder->names = names;
    names[decoder->name_count++] = fresh;
    return RP_OK;
}

/* ---- events ----------------------------------------------------------------------- */

static bool take_number(struct rp_trace_decoder *decoder, uint64_t *last, union rp_value *value)
{
    uint64_t difference = 0;

    if (!rp_get_varint(&decoder->at, decoder->end, &difference))
        return false;
    *last += rp_unzigzag(difference);
    value->u = *last;
    return true;
}

static bool take_name(struct rp_trace_decoder *decoder, union rp_value *value)
{
    uint64_t number = 0;

    if (!rp_get_varint(&decoder->at, decoder->end, &number) || number > decoder->name_count)
        return false;
    value->t.text = number > 0 ? decoder->names[number - 1].text : "";
    value->t.length = number > 0 ? decoder->names[number - 1].length : 0;
    return true;
}

static bool take_text(struct rp_trace_decoder *decoder, union rp_value *value)
{
    const char *text = NULL;
    size_t length = 0;

    if (!take_bytes(decoder, &text, &length))
        return false;
    value->t.text = text;
    value->t.length = length;
    return true;
}

static bool take_float(struct rp_trace_decoder *decoder, union rp_value *value)
{
    if (decoder->end - decoder->at < 8)
        return false;
    value->u = rp_get_fixed(decoder->at, 8);
    decoder->at += 8;
    return true;
}

static bool take_fields(struct rp_trace_decoder *decoder, const struct decoder_type *type,
                        union rp_value *values)
{
    const struct rp_event_def *def = &type->definition->def;
    uint64_t *last = decoder->last + type->last_at;
    bool good = true;

    for (uint32_t i = 0; i < def->field_count && good; i++) {
        union rp_value *value = &values[i];
        switch (def->fields[i].type) {
        case RP_FIELD_UINT:
        case RP_FIELD_SINT:
        case RP_FIELD_HEX:
        case RP_FIELD_BYTES: good = take_number(decoder, last++, value); break;
        case RP_FIELD_TEXT: good = take_text(decoder, value); break;
        case RP_FIELD_NAME: good = take_name(decoder, value); break;
        case RP_FIELD_FLOAT: good = take_float(decoder, value); break;
        }
    }
    return good;
}

/* A varint that is read from the back of the chunk. */
static bool take_time_behind(struct rp_trace_decoder *decoder, uint64_t *later)
{
    uint8_t varint[RP_TRACE_MAX_VARINT];
    const uint8_t *at = varint;
    size_t count = 0;

    do {
        if (decoder->end == decoder->at || count == sizeof(varint))
            return false;
        varint[count++] = *--decoder->end;
    } while (varint[count - 1] & 0x80);
    return rp_get_varint(&at, varint + count, later);
}

static bool take_time(struct rp_trace_decoder *decoder, uint64_t *later)
{
    return decoder->times_inside ? rp_get_varint(&decoder->at, decoder->end, later)
                                 : take_time_behind(decoder, later);
}

/* Records up to the next event, whose tag is given. */
static enum rp_status take_records(struct rp_trace_decoder *decoder, uint64_t *tag)
{
    enum rp_status status = RP_OK;

    while (status == RP_OK && decoder->coming == NULL) {
        if (decoder->at == decoder->end)
            return RP_END;
        if (!rp_get_varint(&decoder->at, decoder->end, tag))
            return RP_DAMAGED;
        if (*tag >= decoder->event_tag)
            return RP_OK;
        switch (*tag) {
        case RP_TRACE_TAG_DEFINE: status = define(decoder); break;
        case RP_TRACE_TAG_NAME: status = name(decoder); break;
        case RP_TRACE_TAG_GROUP: status = rp_trace_decode_group(decoder); break;
        default: status = rp_trace_decode_again(decoder); break;
        }
    }
    return status;
}

/* An event that stands there by itself. */
static const struct decoder_event *take_single(struct rp_trace_decoder *decoder, uint64_t type)
{
    struct decoder_event *event = &decoder->latest[decoder->latest_at % RP_TRACE_GROUP_EVENTS];

    if (type >= decoder->type_count ||
        !take_fields(decoder, &decoder->types[type], event->values))
        return NULL;
    event->def = &decoder->types[type].definition->def;
    decoder->latest_at++;
    decoder->singles++;
    return event;
}

enum rp_status rp_trace_decode(struct rp_trace_decoder *decoder, struct rp_event *event)
{
    uint64_t tag = 0, later = 0;
    enum rp_status status = take_records(decoder, &tag);

    if (status != RP_OK)
        return status;
    if (!take_time(decoder, &later))
        return RP_DAMAGED;
    const struct decoder_event *taken = decoder->coming != NULL
                                            ? rp_trace_decode_coming(decoder)
                                            : take_single(decoder, tag - decoder->event_tag);
    if (taken == NULL)
        return RP_DAMAGED;
    decoder->time_ns += later;
    event->time_ns = decoder->time_ns;
    event->thread = decoder->thread;
    event->def = taken->def;
    event->values = taken->values;
    return RP_OK;
}
