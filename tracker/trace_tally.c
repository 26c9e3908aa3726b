/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_tally.h"

#include "tracker/trace_format.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- counting ---------------------------------------------------------------------- */

void rp_trace_tally_begin(struct rp_trace_tally *tally)
{
    tally->whole = true;
    tally->type_count = tally->name_count = tally->row_count = 0;
    memset(tally->slots, 0, sizeof(tally->slots));
}

void rp_trace_tally_type(struct rp_trace_tally *tally, struct rp_trace_type *type)
{
    if (tally->type_count == RP_TALLY_TYPES)
        tally->whole = false;
    else
        tally->types[tally->type_count++] = type;
}

void rp_trace_tally_name(struct rp_trace_tally *tally, uint32_t at, uint32_t length)
{
    if (tally->name_count == RP_TALLY_NAMES)
        tally->whole = false;
    else
        tally->names[tally->name_count++] = (struct tally_name){at, length};
}

static uint32_t row_hash(uint32_t number, const uint32_t *names, uint32_t count)
{
    uint32_t hash = number * 0x9E3779B1u;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ names[i]) * 0x85EBCA77u;
    return hash ^ hash >> 15;
}

/* A new one where there is none, NULL where there is no room. */
static struct tally_row *find_row(struct rp_trace_tally *tally, uint32_t number,
                                const uint32_t *names, uint32_t count)
{
    const uint32_t mask = 2 * RP_TALLY_ROWS - 1;

    for (uint32_t at = row_hash(number, names, count) & mask;; at = (at + 1) & mask) {
        if (tally->slots[at] == 0) {
            if (tally->row_count == RP_TALLY_ROWS)
                return NULL;
            struct tally_row *row = &tally->rows[tally->row_count++];
            tally->slots[at] = (uint16_t)tally->row_count;
            *row = (struct tally_row){.type = number};
            memcpy(row->names, names, count * sizeof(*names));
            return row;
        }
        struct tally_row *row = &tally->rows[tally->slots[at] - 1];
        if (row->type == number && memcmp(row->names, names, count * sizeof(*names)) == 0)
            return row;
    }
}

struct tally_row *rp_trace_tally_row(struct rp_trace_tally *tally, uint32_t number,
                                     const uint32_t *names)
{
    if (!tally->whole)
        return NULL;
    struct tally_row *row = find_row(tally, number, names, tally->types[number]->tally_names);
    if (row == NULL)
        tally->whole = false;
    return row;
}

/* ---- the types of rows ------------------------------------------------------------- */

/* What a row tells of an event: its names, and of each size the sum and, as NAME_most, the
 * largest. */
struct rp_trace_brief {
    struct rp_event_def def;
    struct rp_trace_type *type;
    char texts[RP_TALLY_ROW_SIZES][64];
};

static void add_field(struct rp_event_def *def, const char *name, enum rp_field_type type)
{
    def->fields[def->field_count].name = name;
    def->fields[def->field_count++].type = type;
}

static struct rp_trace_brief *brief_create(const struct rp_trace_type *type)
{
    struct rp_trace_brief *brief = calloc(1, sizeof(*brief));

    if (brief == NULL)
        return NULL;
    brief->def.name = type->def->name;
    brief->def.class_ = type->def->class_;
    for (uint32_t i = 0; i < type->tally_names; i++)
        add_field(&brief->def, type->def->fields[type->names[i]].name, RP_FIELD_NAME);
    for (uint32_t i = 0; i < type->tally_sizes; i++) {
        const char *name = type->def->fields[type->sizes[i]].name;
        snprintf(brief->texts[i], sizeof(brief->texts[i]), "%s_most", name);
        add_field(&brief->def, name, RP_FIELD_BYTES);
        add_field(&brief->def, brief->texts[i], RP_FIELD_BYTES);
    }
    brief->type = rp_trace_type_create(&brief->def, type->id);
    if (brief->type == NULL) {
        free(brief);
        return NULL;
    }
    return brief;
}

void rp_trace_brief_destroy(struct rp_trace_brief *brief)
{
    if (brief != NULL)
        rp_trace_type_destroy(brief->type);
    free(brief);
}

static struct rp_trace_type *brief_of(struct rp_trace_type *type)
{
    if (type->brief == NULL)
        type->brief = brief_create(type);
    return type->brief != NULL ? type->brief->type : NULL;
}

/* ---- records ----------------------------------------------------------------------- */

static void set_values(const struct rp_trace_tally *tally, const struct rp_trace_buffer *chunk,
                       const struct tally_row *row, union rp_value *values)
{
    const struct rp_trace_type *type = tally->types[row->type];

    for (uint32_t i = 0; i < type->tally_names; i++, values++) {
        *values = (union rp_value){.t = {"", 0}};
        if (row->names[i] == 0)
            continue;
        const struct tally_name *name = &tally->names[row->names[i] - 1];
        values->t.text = (const char *)chunk->data + name->at;
        values->t.length = name->length;
    }
    for (uint32_t i = 0; i < type->tally_sizes; i++) {
        (values++)->u = row->sum[i];
        (values++)->u = row->most[i];
    }
}

static struct rp_trace_buffer *out_of_size(struct rp_trace_buffer *out, size_t bytes)
{
    if (out == NULL || out->capacity < bytes) {
        free(out);
        out = malloc(sizeof(*out) + bytes);
        if (out == NULL)
            return NULL;
        out->capacity = (uint32_t)bytes;
    }
    out->tally = NULL;
    out->events = out->used = out->times = 0;
    out->first_ns = out->last_ns = 0;
    return out;
}

static size_t bound_of_all(const struct rp_trace_tally *tally, const struct rp_trace_buffer *chunk)
{
    union rp_value values[RP_EVENT_MAX_FIELDS];
    size_t bytes = 0;

    for (uint32_t i = 0; i < tally->row_count; i++) {
        const struct rp_trace_type *type = brief_of(tally->types[tally->rows[i].type]);
        if (type == NULL)
            return 0;
        set_values(tally, chunk, &tally->rows[i], values);
        bytes += rp_trace_bound(type, values) + RP_TRACE_MAX_VARINT; /* its time, twice */
    }
    return bytes;
}

enum rp_status rp_trace_tally_pack(const struct rp_trace_tally *tally,
                                   const struct rp_trace_buffer *chunk,
                                   struct rp_trace_coder *coder, struct rp_trace_buffer **out)
{
    union rp_value values[RP_EVENT_MAX_FIELDS];
    uint64_t count = 0;

    if (!tally->whole)
        return RP_END;
    size_t bytes = bound_of_all(tally, chunk);
    if (bytes == 0 || bytes > RP_TRACE_MAX_RAW)
        return RP_END;
    *out = out_of_size(*out, bytes);
    if (*out == NULL)
        return RP_NO_MEMORY;
    rp_trace_coder_begin(coder);
    for (uint32_t i = 0; i < tally->row_count; i++) {
        const struct tally_row *row = &tally->rows[i];
        struct rp_trace_type *type = brief_of(tally->types[row->type]);
        enum rp_status status = rp_trace_coder_prepare(coder, type);
        if (status != RP_OK)
            return status;
        set_values(tally, chunk, row, values);
        count += row->count;
        rp_trace_encode(coder, *out, type, values, count);
    }
    rp_trace_seal(*out);
    return RP_OK;
}
