/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_shape.h"

#include <string.h>

struct rp_event_shape rp_event_shapes[RP_EVENT_SHAPES];

/* Calls name the default stream by 0, and what that is depends on the entry point; `launch` says
 * which it was. */
static uint64_t no_stream_of(const struct rp_event_def *def)
{
    const char *suffix = strrchr(def->name, '_');

    if (strcmp(def->class_, "note") == 0 && strcmp(def->name, "launch") != 0)
        return 0;
    return suffix && (strcmp(suffix, "_ptsz") == 0 || strcmp(suffix, "_ptds") == 0)
               ? RP_STREAM_PER_THREAD : RP_STREAM_LEGACY;
}

static bool is_copy(const struct rp_event_def *def)
{
    return strcmp(def->class_, "enter") == 0 &&
           (strncmp(def->name, "cuMemcpy", 8) == 0 || strncmp(def->name, "cuMemset", 8) == 0);
}

static void make_field(struct rp_event_shape *shape, const struct rp_event_def *def, uint32_t i)
{
    const char *name = def->fields[i].name;
    enum rp_field_type type = def->fields[i].type;

    shape->length[i] = (uint16_t)strlen(name); /* a definition is shorter than 4 KiB */
    shape->letters += shape->length[i];
    if (type == RP_FIELD_TEXT || type == RP_FIELD_NAME)
        shape->texts |= 1u << i;
    if (strcmp(name, "result") == 0)
        shape->result = (int)i;
    else if (strcmp(name, "call") != 0) /* a number that both events of a call have */
        shape->arguments |= 1u << i;
    if (shape->stream < 0 && (strcmp(name, "hStream") == 0 || strcmp(name, "stream") == 0))
        shape->stream = (int)i;
}

static void make(struct rp_event_shape *shape, const struct rp_event_def *def)
{
    bool notes = strcmp(def->class_, "note") == 0;
    bool is_launch = notes && strcmp(def->name, "launch") == 0;

    *shape = (struct rp_event_shape){.def = def,
                                     .enters = strcmp(def->class_, "enter") == 0,
                                     .leaves = strcmp(def->class_, "leave") == 0,
                                     .is_launch = is_launch,
                                     .is_copy = is_copy(def),
                                     .tells_step = is_launch ||
                                                   (notes && strcmp(def->name, "step") == 0),
                                     .stream = -1,
                                     .result = -1,
                                     .no_stream = no_stream_of(def),
                                     .name_length = (uint16_t)strlen(def->name)};
    shape->letters = shape->name_length;
    for (uint32_t i = 0; i < def->field_count; i++)
        make_field(shape, def, i);
}

/* In the next free slot behind its own; where none is free, in its own. */
const struct rp_event_shape *rp_event_shape_find(uint32_t slot, const struct rp_event_def *def)
{
    struct rp_event_shape *shape = &rp_event_shapes[slot];

    for (uint32_t i = 0; i < RP_EVENT_SHAPES; i++) {
        shape = &rp_event_shapes[(slot + i) % RP_EVENT_SHAPES];
        if (shape->def == def)
            return shape;
        if (shape->def == NULL)
            break;
    }
    if (shape->def != NULL)
        shape = &rp_event_shapes[slot];
    make(shape, def);
    return shape;
}

void rp_event_shapes_forget(void)
{
    memset(rp_event_shapes, 0, sizeof(rp_event_shapes));
}
