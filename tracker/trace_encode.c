/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_encode.h"

#include "tracker/array.h"
#include "tracker/text.h"
#include "tracker/trace_format.h"
#include "tracker/trace_tally.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- types ------------------------------------------------------------------------ */

static uint8_t *put_string(uint8_t *out, const char *text)
{
    return rp_put_bytes(out, text, strlen(text));
}

static uint8_t *put_definition(uint8_t *out, const struct rp_event_def *def)
{
    *out++ = RP_TRACE_TAG_DEFINE;
    out = put_string(out, def->name);
    out = put_string(out, def->class_);
    out = rp_put_varint(out, def->field_count);
    for (uint32_t i = 0; i < def->field_count; i++) {
        out = put_string(out, def->fields[i].name);
        *out++ = (uint8_t)def->fields[i].type;
    }
    return out;
}

static size_t definition_bound(const struct rp_event_def *def)
{
    size_t bytes = strlen(def->name) + strlen(def->class_) + 4 * RP_TRACE_MAX_VARINT;

    for (uint32_t i = 0; i < def->field_count; i++)
        bytes += strlen(def->fields[i].name) + RP_TRACE_MAX_VARINT + 1;
    return bytes;
}

static void choose_for_tally(struct rp_trace_type *type)
{
    const struct rp_event_def *def = type->def;
    bool is_note = strcmp(def->class_, "note") == 0;

    type->tally_names =
        type->name_count < RP_TALLY_ROW_NAMES ? type->name_count : RP_TALLY_ROW_NAMES;
    for (uint32_t i = 0; is_note && i < def->field_count; i++) {
        if (def->fields[i].type == RP_FIELD_BYTES && type->tally_sizes < RP_TALLY_ROW_SIZES)
            type->sizes[type->tally_sizes++] = (uint8_t)i;
    }
}

struct rp_trace_type *rp_trace_type_create(const struct rp_event_def *def, uint32_t id)
{
    if (def->field_count > RP_EVENT_MAX_FIELDS || definition_bound(def) > RP_TRACE_MAX_DEFINITION)
        return NULL;
    struct rp_trace_type *type = calloc(1, sizeof(*type) + definition_bound(def));
    if (type == NULL)
        return NULL;
    type->def = def;
    type->id = id;
    type->definition_bytes = (uint32_t)(put_definition(type->definition, def) - type->definition);
    type->bound = type->definition_bytes + 2 * RP_TRACE_MAX_VARINT; /* tag and time */
    for (uint32_t i = 0; i < def->field_count; i++) {
        bool is_name = def->fields[i].type == RP_FIELD_NAME;
        bool is_text = is_name || def->fields[i].type == RP_FIELD_TEXT;
        type->bound += RP_TRACE_MAX_VARINT + (is_name ? 1 + RP_TRACE_MAX_VARINT : 0);
        if (is_text)
            type->texts[type->text_count++] = (uint8_t)i;
        if (is_name)
            type->names[type->name_count++] = (uint8_t)i;
        if (!is_text && def->fields[i].type != RP_FIELD_FLOAT)
            type->numbers++;
    }
    choose_for_tally(type);
    return type;
}

void rp_trace_type_destroy(struct rp_trace_type *type)
{
    if (type != NULL)
        rp_trace_brief_destroy(type->brief);
    free(type);
}

/* ---- dictionaries ----------------------------------------------------------------- */

void rp_trace_coder_release(struct rp_trace_coder *coder)
{
    free(coder->types);
    free(coder->last);
    free(coder->names);
    free(coder->groups);
    *coder = (struct rp_trace_coder){0};
}

void rp_trace_coder_begin(struct rp_trace_coder *coder)
{
    if (++coder->chunk == 0) { /* came round: old entries would look new */
        memset(coder->types, 0, coder->type_capacity * sizeof(*coder->types));
        memset(coder->names, 0, coder->name_slots * sizeof(*coder->names));
        memset(coder->recent, 0, sizeof(coder->recent));
        coder->chunk = 1;
    }
    coder->type_count = 0;
    coder->last_used = 0;
    coder->name_count = 0;
    coder->singles = 0;
    coder->group_count = 0;
}

static enum rp_status grow_types(struct rp_trace_coder *coder, uint32_t id)
{
    size_t old = coder->type_capacity;
    struct coder_type *types =
        rp_array_reserve(coder->types, &coder->type_capacity, (size_t)id + 1, sizeof(*types));

    if (types == NULL)
        return RP_NO_MEMORY;
    memset(types + old, 0, (coder->type_capacity - old) * sizeof(*types));
    coder->types = types;
    return RP_OK;
}

static enum rp_status grow_names(struct rp_trace_coder *coder)
{
    struct rp_trace_coder wider = {
        .chunk = coder->chunk, .name_slots = coder->name_slots == 0 ? 256 : coder->name_slots * 2};

    wider.names = calloc(wider.name_slots, sizeof(*wider.names));
    if (wider.names == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < coder->name_slots; i++) {
        const struct coder_name *name = &coder->names[i];
        size_t mask = wider.name_slots - 1, at = (size_t)name->hash & mask;
        if (name->chunk != coder->chunk)
            continue;
        while (wider.names[at].chunk == coder->chunk)
            at = (at + 1) & mask;
        wider.names[at] = *name;
    }
    free(coder->names);
    coder->names = wider.names;
    coder->name_slots = wider.name_slots;
    return RP_OK;
}

static bool is_defined(const struct rp_trace_coder *coder, const struct rp_trace_type *type)
{
    return coder->types[type->id].chunk == coder->chunk;
}

enum rp_status rp_trace_coder_prepare(struct rp_trace_coder *coder,
                                      const struct rp_trace_type *type)
{
    if (type->id >= coder->type_capacity && grow_types(coder, type->id) != RP_OK)
        return RP_NO_MEMORY;
    while ((coder->name_count + type->name_count) * 2 > coder->name_slots) {
        if (grow_names(coder) != RP_OK)
            return RP_NO_MEMORY;
    }
    if (coder->name_count + type->name_count > RP_TRACE_MAX_NAMES)
        return RP_END;
    if (is_defined(coder, type))
        return RP_OK;
    if (coder->type_count == RP_TRACE_MAX_EVENT_TYPES)
        return RP_END;
    uint64_t *last = rp_array_reserve(coder->last, &coder->last_capacity,
                                      coder->last_used + type->numbers, sizeof(*last));
    if (last == NULL)
        return RP_NO_MEMORY;
    coder->last = last;
    return RP_OK;
}

/* ---- texts ------------------------------------------------------------------------ */

/* How much of a text is stored as it is: all, or, when it is too long, what leaves room for
 * "..." and ends with a whole character. */
static size_t kept_bytes(const char *text, size_t length)
{
    if (text == NULL)
        return 0;
    if (length <= RP_TRACE_MAX_TEXT)
        return length;
    size_t kept = RP_TRACE_MAX_TEXT - 3;
    while (kept > RP_TRACE_MAX_TEXT - 6 && ((unsigned char)text[kept] & 0xC0) == 0x80)
        kept--;
    return kept;
}

static size_t stored_bytes(size_t kept, size_t length)
{
    return length > RP_TRACE_MAX_TEXT ? kept + 3 : kept;
}

static uint8_t *put_text(uint8_t *out, const char *text, size_t length)
{
    size_t kept = kept_bytes(text, length), stored = text != NULL ? stored_bytes(kept, length) : 0;

    out = rp_put_varint(out, stored);
    if (kept > 0)
        memcpy(out, text, kept);
    memcpy(out + kept, "...", stored - kept);
    return out + stored;
}

size_t rp_trace_bound(const struct rp_trace_type *type, const union rp_value *values)
{
    size_t bytes = type->bound;

    for (uint32_t i = 0; i < type->text_count; i++) {
        size_t length = values[type->texts[i]].t.length;
        bytes += length < RP_TRACE_MAX_TEXT ? length : RP_TRACE_MAX_TEXT;
    }
    return bytes;
}

/* ---- names ------------------------------------------------------------------------ */

/* The slot of the name, or the void one where it would go. */
static struct coder_name *locate_name(const struct rp_trace_coder *coder, const uint8_t *data,
                                      uint64_t hash, const char *text, size_t kept, size_t stored)
{
    size_t mask = coder->name_slots - 1;

    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct coder_name *name = &coder->names[i];
        if (name->chunk != coder->chunk)
            return name;
        if (name->hash == hash && name->length == stored &&
            memcmp(data + name->at, text, kept) == 0)
            return name;
    }
}

static void define_name(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                        struct coder_name *name, uint64_t hash, const char *text, size_t length)
{
    uint8_t *out = buffer->data + buffer->used;

    *out++ = RP_TRACE_TAG_NAME;
    out = put_text(out, text, length);
    buffer->used = (uint32_t)(out - buffer->data);
    size_t stored = stored_bytes(kept_bytes(text, length), length);
    *name = (struct coder_name){.hash = hash,
                                .chunk = coder->chunk,
                                .number = ++coder->name_count,
                                .at = buffer->used - (uint32_t)stored,
                                .length = (uint32_t)stored};
    if (buffer->tally != NULL)
        rp_trace_tally_name(buffer->tally, name->at, name->length);
}

static struct coder_recent *recent_place(struct rp_trace_coder *coder, const char *text)
{
    uintptr_t place = (uintptr_t)text;

    return &coder->recent[(place ^ place >> 6) % RP_TRACE_RECENT_NAMES];
}

/* The name's number in this chunk, 0 for the empty one; defines it when it is new. */
static uint32_t intern(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                       const char *text, size_t length)
{
    size_t kept = kept_bytes(text, length), stored = stored_bytes(kept, length);

    if (kept == 0)
        return 0;
    struct coder_recent *recent = recent_place(coder, text);
    if (recent->text == text && recent->chunk == coder->chunk && recent->length == stored &&
        memcmp(buffer->data + recent->at, text, kept) == 0)
        return recent->number;
    uint64_t hash = XXH3_64bits(text, kept);
    struct coder_name *name = locate_name(coder, buffer->data, hash, text, kept, stored);
    if (name->chunk != coder->chunk)
        define_name(coder, buffer, name, hash, text, length);
    *recent = (struct coder_recent){text, name->chunk, name->number, name->at, name->length};
    return name->number;
}

/* ---- records ---------------------------------------------------------------------- */

static void define(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                   struct rp_trace_type *type)
{
    memcpy(buffer->data + buffer->used, type->definition, type->definition_bytes);
    buffer->used += type->definition_bytes;
    coder->types[type->id] = (struct coder_type){.chunk = coder->chunk,
                                                 .number = coder->type_count++,
                                                 .last_at = (uint32_t)coder->last_used};
    if (type->numbers > 0)
        memset(coder->last + coder->last_used, 0, type->numbers * sizeof(*coder->last));
    coder->last_used += type->numbers;
    if (buffer->tally != NULL)
        rp_trace_tally_type(buffer->tally, type);
}

static uint8_t *put_numbers(uint8_t *out, uint32_t count, const union rp_value *values,
                            uint64_t *last)
{
    for (uint32_t i = 0; i < count; i++) {
        out = rp_put_varint(out, rp_zigzag(values[i].u - last[i]));
        last[i] = values[i].u;
    }
    return out;
}

static uint8_t *put_fields(uint8_t *out, const struct rp_trace_type *type,
                           const union rp_value *values, uint64_t *last, const uint32_t *names)
{
    for (uint32_t i = 0; i < type->def->field_count; i++) {
        uint64_t number = values[i].u;
        switch (type->def->fields[i].type) {
        case RP_FIELD_UINT:
        case RP_FIELD_SINT:
        case RP_FIELD_HEX:
        case RP_FIELD_BYTES:
            out = rp_put_varint(out, rp_zigzag(number - *last));
            *last++ = number;
            break;
        case RP_FIELD_TEXT: out = put_text(out, values[i].t.text, values[i].t.length); break;
        case RP_FIELD_NAME: /* there are as many names as such fields, which is not seen to hold */
            out = rp_put_varint(out, *names++); /* NOLINT(clang-analyzer-core.CallAndMessage) */
            break;
        case RP_FIELD_FLOAT: out = rp_put_fixed(out, number, 8); break;
        }
    }
    return out;
}

void rp_trace_seal(struct rp_trace_buffer *buffer)
{
    memmove(buffer->data + buffer->used, buffer->data + buffer->capacity - buffer->times,
            buffer->times);
    buffer->used += buffer->times;
    buffer->times = 0;
}

/* In the tally; gives the row. */
static struct tally_row *count_in(struct rp_trace_buffer *buffer, struct coder_type *known,
                                  const struct rp_trace_type *type, const uint32_t *names,
                                  const union rp_value *values)
{
    struct tally_row *row = known->row;

    if (row == NULL && buffer->tally != NULL)
        row = rp_trace_tally_row(buffer->tally, known->number, names);
    if (row == NULL)
        return NULL;
    if (type->tally_names == 0)
        known->row = row;
    rp_trace_tally_add(row, type, values);
    return row;
}

/* The tag and the time; gives where the fields go. */
static uint8_t *begin_event(const struct coder_type *known, struct rp_trace_buffer *buffer,
                            uint64_t time_ns)
{
    if (buffer->events == 0)
        buffer->first_ns = buffer->last_ns = time_ns;
    rp_trace_put_time(buffer, time_ns - buffer->last_ns);
    buffer->last_ns = time_ns;
    return rp_put_varint(buffer->data + buffer->used, RP_TRACE_TAG_EVENT + known->number);
}

static void end_event(struct rp_trace_buffer *buffer, const uint8_t *out)
{
    buffer->used = (uint32_t)(out - buffer->data);
    buffer->events++;
    rp_trace_commit(buffer);
}

void rp_trace_encode(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                     struct rp_trace_type *type, const union rp_value *values, uint64_t time_ns)
{
    uint32_t names[RP_EVENT_MAX_FIELDS];

    if (!is_defined(coder, type))
        define(coder, buffer, type);
    for (uint32_t i = 0; i < type->name_count; i++) {
        const union rp_value *value = &values[type->names[i]];
        names[i] = intern(coder, buffer, value->t.text, value->t.length);
    }
    struct coder_type *known = &coder->types[type->id];
    uint8_t *out = begin_event(known, buffer, time_ns);
    out = put_fields(out, type, values, coder->last + known->last_at, names);
    end_event(buffer, out);
    rp_trace_coder_note(coder, type, count_in(buffer, known, type, names, values), values);
}

void rp_trace_encode_numbers(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                             const struct rp_trace_type *type, const union rp_value *values,
                             uint64_t time_ns)
{
    static const uint32_t no_names[1];
    struct coder_type *known = &coder->types[type->id];
    uint8_t *out = begin_event(known, buffer, time_ns);

    out = put_numbers(out, type->numbers, values, coder->last + known->last_at);
    end_event(buffer, out);
    rp_trace_coder_note(coder, type, count_in(buffer, known, type, no_names, values), values);
}
