/* SPDX-License-Identifier: Apache-2.0 */
/* Events in words and in JSON. Both come from the definitions in the trace itself, so calls
 * and notes that this version does not know are shown like all others. */
#ifndef RP_TOOLS_EVENT_TEXT_H
#define RP_TOOLS_EVENT_TEXT_H

#include "tools/builder.h"
#include "tracker/trace.h"

/* "cuMemAlloc_v2(dptr=0x7f10, bytesize=4096", open for what leaving it adds. */
void rp_event_text_enter(struct rp_builder *text, const struct rp_event *event);
/* ") = 0", with the values that came back behind it. */
void rp_event_text_leave(struct rp_builder *text, const struct rp_event *event);
/* "launch kernel=bn_forward grid_x=8 ..." */
void rp_event_text_note(struct rp_builder *text, const struct rp_event *event);

/* One object; 64-bit addresses and hashes as "0x..." strings. */
void rp_event_json(struct rp_builder *text, const struct rp_event *event, uint64_t pid);

/* Its fields alone, as one object. */
void rp_event_json_fields(struct rp_builder *text, const struct rp_event *event);

/* The field that says on which stream the event is, or NULL. */
const union rp_value *rp_event_stream(const struct rp_event *event);

#endif
