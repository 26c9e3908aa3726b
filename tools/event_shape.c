/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_shape.h"

#include <string.h>

enum { SLOTS = 256 }; /* more types than most traces have; two in one slot take turns */

static struct rp_event_shape shapes[SLOTS];

static struct rp_event_shape *slot_of(const struct rp_event_def *def)
{
    return &shapes[((uintptr_t)def >> 6) * 0x9E3779B1u >> 8 & (SLOTS - 1)];
}

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

static void make(struct rp_event_shape *shape, const struct rp_event_def *def)
{
    *shape = (struct rp_event_shape){.def = def,
                                     .enters = strcmp(def->class_, "enter") == 0,
                                     .leaves = strcmp(def->class_, "leave") == 0,
                                     .tells_step = strcmp(def->class_, "note") == 0 &&
                                                   (strcmp(def->name, "step") == 0 ||
                                                    strcmp(def->name, "launch") == 0),
                                     .stream = -1,
                                     .result = -1,
                                     .no_stream = no_stream_of(def),
                                     .name_length = strlen(def->name)};
    for (uint32_t i = 0; i < def->field_count; i++) {
        const char *name = def->fields[i].name;
        shape->length[i] = strlen(name);
        if (strcmp(name, "result") == 0)
            shape->result = (int)i;
        else if (strcmp(name, "call") != 0) /* a number that both events of a call have */
            shape->arguments |= 1u << i;
        if (shape->stream < 0 && (strcmp(name, "hStream") == 0 || strcmp(name, "stream") == 0))
            shape->stream = (int)i;
    }
}

const struct rp_event_shape *rp_event_shape(const struct rp_event_def *def)
{
    struct rp_event_shape *shape = slot_of(def);
    if (shape->def != def)
        make(shape, def);
    return shape;
}

void rp_event_shapes_forget(void)
{
    memset(shapes, 0, sizeof(shapes));
}
