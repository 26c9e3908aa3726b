/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/events.h"

#define ONE_MORE(type, field) +1
#define FIELD_COUNT(name, fields) name##_FIELDS = 0 fields,
enum { RP_EVENTS(FIELD_COUNT, ONE_MORE) };

#define FIELD(type, field) {#field, RP_FIELD_##type},
#define DEFINITION(name, fields)                                                                 \
    [RP_EVENT_##name] = {#name, "note", name##_FIELDS, {fields}},

const struct rp_event_def rp_event_defs[RP_EVENT_COUNT] = {RP_EVENTS(DEFINITION, FIELD)};
