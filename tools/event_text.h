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

/* False when no field says on which stream the event is; *stream is then that on which a call
 * works that takes none, and a copy or a set is on that one. 0 where a note says none. A default
 * stream has one number here, however the event names it and in whichever context it is:
 * RP_STREAM_LEGACY, or RP_STREAM_PER_THREAD for that of the event's thread. */
bool rp_event_stream(const struct rp_event *event, uint64_t *stream);
/* What people call it where an event of this thread is on it; returns `text`. */
const char *rp_stream_name(uint64_t stream, uint64_t thread, char *text, size_t size);

#endif
