/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of the trace: every event that the layer itself writes (class "note").
 * Driver calls are defined from the call table instead (classes "enter" and "leave").
 *
 * X(name, fields...) with F(type, field). A layout change here needs no new format
 * version: fields are added at the end and readers ask for them by name. */
#ifndef RP_TRACKER_EVENTS_H
#define RP_TRACKER_EVENTS_H

#include "tracker/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RP_EVENTS(X, F)                                                                          \
    X(process, F(UINT, pid) F(UINT, parent) F(TEXT, command) F(TEXT, mode) F(TEXT, driver)       \
               F(NAME, device))                                                                  \
    X(allocation, F(UINT, allocation) F(NAME, kind) F(BYTES, bytes) F(HEX, address)              \
                  F(UINT, seq) F(NAME, name) F(BYTES, live))                                     \
    X(mapping, F(UINT, allocation) F(HEX, address) F(BYTES, bytes) F(BYTES, offset))             \
    X(unmapping, F(HEX, address) F(BYTES, bytes))                                                \
    X(free, F(UINT, allocation) F(UINT, seq))                                                    \
    X(image, F(HEX, module) F(NAME, kind) F(HEX, hash) F(BYTES, bytes) F(UINT, kernels))         \
    X(kernel, F(HEX, function) F(NAME, kernel) F(NAME, verdict) F(TEXT, proof))                  \
    X(launch, F(UINT, seq) F(NAME, kernel) F(HEX, stream) F(UINT, step) F(UINT, index)           \
              F(UINT, grid_x) F(UINT, grid_y) F(UINT, grid_z) F(UINT, block_x) F(UINT, block_y)  \
              F(UINT, block_z) F(BYTES, shared) F(NAME, verdict) F(NAME, reads)                  \
              F(NAME, reason))                                                                   \
    X(access, F(UINT, seq) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes) F(NAME, effect)  \
              F(NAME, verdict) F(UINT, version))                                                 \
    X(argument, F(UINT, seq) F(UINT, param) F(UINT, allocation) F(BYTES, offset))                \
    X(range, F(NAME, range) F(NAME, phase) F(HEX, domain) F(UINT, seq))                          \
    X(audit, F(UINT, seq) F(NAME, kernel) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes)   \
             F(TEXT, claim))                                                                     \
    X(step, F(UINT, step))                                                                       \
    X(segment, F(NAME, segment) F(TEXT, key) F(UINT, instance) F(NAME, phase) F(UINT, step)      \
               F(HEX, stream) F(UINT, launches))                                                 \
    X(buffer, F(NAME, buffer) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes)               \
              F(NAME, kernel) F(UINT, param))                                                    \
    X(preserve, F(UINT, instance) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes)           \
                F(UINT, version) F(NAME, writer) F(HEX, stream))                                 \
    X(restore, F(UINT, instance) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes)            \
               F(UINT, version))                                                                 \
    X(reinstate, F(UINT, instance) F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes))         \
    X(hazard, F(NAME, hazard) F(NAME, segment) F(UINT, instance) F(NAME, buffer)                 \
              F(UINT, allocation) F(BYTES, offset) F(BYTES, bytes) F(UINT, version_read)         \
              F(UINT, version_wanted) F(NAME, writer) F(UINT, writer_seq) F(UINT, writer_step)   \
              F(UINT, writer_launch) F(HEX, writer_stream) F(UINT, step) F(UINT, count)          \
              F(NAME, reader) F(TEXT, advice) F(TEXT, key) F(NAME, memory) F(UINT, birth_seq)    \
              F(UINT, reader_launch) F(NAME, other) F(UINT, position))                           \
    X(unknown, F(NAME, call) F(UINT, count) F(TEXT, reason))                                     \
    X(route, F(NAME, route) F(NAME, symbol) F(UINT, count))                                      \
    X(summary, F(NAME, key) F(UINT, value))                                                      \
    X(gap, F(UINT, lost))                                                                        \
    X(memory, F(BYTES, used))                                                                    \
    X(again, F(NAME, hazard) F(NAME, segment) F(NAME, buffer) F(UINT, allocation)                \
             F(UINT, step) F(NAME, reader))

#define RP_EVENT_ID_(name, fields) RP_EVENT_##name,
#define RP_EVENT_NO_FIELD_(type, field)
enum rp_event_id { RP_EVENTS(RP_EVENT_ID_, RP_EVENT_NO_FIELD_) RP_EVENT_COUNT };
#undef RP_EVENT_ID_
#undef RP_EVENT_NO_FIELD_

/* The definitions in the order of enum rp_event_id. Defined in tracker/events.c. */
extern const struct rp_event_def rp_event_defs[RP_EVENT_COUNT];

#ifdef __cplusplus
}
#endif

#endif
