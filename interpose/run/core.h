/* SPDX-License-Identifier: Apache-2.0 */
/* The running state that ties the floors together: one a process.
 *
 * Everything here is guarded by `lock`, which a thread holds for the bookkeeping of one
 * driver call and not across the driver call itself, but for audits and rp_core_keep_lock. */
#ifndef RP_INTERPOSE_CORE_H
#define RP_INTERPOSE_CORE_H

#include "cuda/calls/call.h"
#include "cuda/preserve.h"
#include "interpose/run/config.h"
#include "tracker/events.h"
#include "tracker/hazard.h"
#include "tracker/memory.h"
#include "tracker/name.h"
#include "tracker/state.h"
#include "tracker/trace.h"
#include "tracker/version.h"

#include <pthread.h>

/* Figures of the summary; plain counts unless said otherwise. */
struct rp_figures {
    uint64_t launches_served, transactions, unreplayed;
    uint64_t audits, audit_misses, audits_failed;
    uint64_t bytes_preserved, bytes_restored, bytes_reinstated;
    uint64_t bytes_in_refuge; /* copies that the device had no memory for */
    uint64_t bytes_recalled; /* of what first runs made, kept in case a replay finds it ready */
    uint64_t bytes_held_peak, bytes_reserved; /* of stores whose context is gone */
    uint64_t device_peak; /* of job and layer together, at calls that change the job's part */
    uint64_t drops, recalls, bytes_dropped; /* of holdings, of instances */
    uint64_t lacking; /* what recompute would have needed where it refused memory, in bytes */
    uint64_t launches_remembered; /* decided as one before them was */
    uint64_t launches_by_verdict[6]; /* by enum rp_verdict of the writes */
};

struct rp_core {
    pthread_mutex_t lock;
    struct rp_config config;
    struct rp_driver driver;
    struct rp_workbench bench; /* memory, versions, order, store and driver under one name */
    struct rp_state *state;
    struct rp_names *names;
    uint32_t call_names[RP_CALL_COUNT]; /* by call id; 0 until the call is first met */
    struct rp_hazards hazards;
    struct rp_trace_writer *trace; /* NULL when no trace is written */
    uint32_t trace_ids[RP_EVENT_COUNT];
    /* Counted on without the lock by launches that come again. */
    _Atomic uint64_t seq;    /* of the last tracked call; also its write version */
    _Atomic uint32_t step;   /* 0 before the first */
    _Atomic uint64_t launch_in_step;
    struct rp_figures figures;
    uint64_t device_bytes;   /* of the job, on the device */
    uint64_t promised_bytes; /* that calls under way have room for, and no memory yet */
    _Atomic unsigned captures; /* stream captures that are open */
    uint64_t graph_seq;      /* of the first node of the graph launch being tracked, or 0 */
    bool segments_wanted;    /* a contract is in force */
    bool only_traces;        /* nothing is kept of calls but what the trace tells */
};

extern struct rp_core rp_core;

/* Builds everything from rp_core.config. The trace is opened last. */
enum rp_status rp_core_start(void);
/* False while `stream` captures, or may: a copy would become a node of the graph and not run. */
bool rp_core_can_copy(rp_stream stream);
/* An empty store in place of one whose context is gone. */
enum rp_status rp_core_make_store(void);
/* The child of a fork starts without the parent's driver, trace or history. */
void rp_core_forget(void);

void rp_core_lock(void);
void rp_core_unlock(void);
/* The lock is kept while the driver does what the call in hand is about, which must not take long:
 * this thread's next rp_core_unlock, and the rp_core_lock after that, do nothing. */
void rp_core_keep_lock(void);

/* True in modes that keep copies of what a replay must see: guard and recompute. */
static inline bool rp_core_keeps(void)
{
    return rp_core.config.mode >= RP_MODE_GUARD;
}

/* True where the job replays by itself and its replays are made transactions, or served: in guard
 * alone. In recompute copies are kept too, and the layer makes the replays. */
static inline bool rp_core_guards(void)
{
    return rp_core.config.mode == RP_MODE_GUARD;
}

/* Milliseconds of CLOCK_MONOTONIC: how long something was waited for. */
uint64_t rp_core_now_ms(void);

static inline const char *rp_name(uint32_t id)
{
    return rp_names_text(rp_core.names, id);
}

/* Writes one event of the layer's own; costs one test when there is no trace. */
#define RP_EMIT_(emit, event, ...)                                                               \
    do {                                                                                         \
        if (rp_core.trace) {                                                                     \
            const union rp_value values_[] = {__VA_ARGS__};                                      \
            emit(rp_core.trace, rp_core.trace_ids[RP_EVENT_##event], values_);                   \
        }                                                                                        \
    } while (0)
#define RP_NOTE(event, ...) RP_EMIT_(rp_trace_emit, event, __VA_ARGS__)
/* Says more of what this thread noted last, at that one's time. */
#define RP_DETAIL(event, ...) RP_EMIT_(rp_trace_add_one, event, __VA_ARGS__)
#define RP_U(value) {.u = (uint64_t)(value)}
#define RP_T(text_) rp_value_text(text_)

union rp_value rp_value_text(const char *text); /* NULL becomes "" */

#endif
