/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards met in the run, and the one place where the layer may stop a job. */
#ifndef RP_INTERPOSE_REPORT_H
#define RP_INTERPOSE_REPORT_H

#include "interpose/run/execution.h"
#include "interpose/run/footprint.h"
#include "interpose/run/pairing.h"
#include "tracker/hazard.h"

/* What a hazard is about, as far as there is such a thing. */
struct rp_met {
    const struct rp_execution *execution;
    const struct rp_footprint *call; /* that met it */
    rp_alloc_id id;                  /* and where: [lo, hi) of this, 0 of nothing */
    uint64_t lo, hi;
    const struct rp_writer *found, *wanted; /* whose bytes */
};

/* Records a hazard. In guard, unless the contract says "report" or lists the buffer as harmless,
 * this does not return. */
void rp_report(enum rp_hazard_kind kind, struct rp_met met);

/* The segment begins or ends with this node of a graph. */
void rp_report_cut(const char *segment, const struct rp_footprint *call);

/* Bytes [lo, hi) of `id` (0: of whatever it was) were to be copied for `execution`, which failed
 * with `cause`. */
void rp_report_lost(const struct rp_execution *execution, const struct rp_footprint *call,
                    rp_alloc_id id, uint64_t lo, uint64_t hi, enum rp_status cause);

/* A context was destroyed while it ran, and its copies went along: those that `call` needs, or with
 * NULL those that were to be reinstated. */
void rp_report_bereft(enum rp_hazard_kind kind, const struct rp_execution *execution,
                      const struct rp_footprint *call);

/* A replay of what discovery has refused: says by which call of the forward, and why. */
void rp_report_refused(const struct rp_execution *execution);

/* `call` is followed no further, whatever it meets: says why, and what helps. */
void rp_report_unfollowed(const struct rp_footprint *call, const char *why);

/* The host was out of memory for this thread (door/shortage.h): whatever had asked for it, what is
 * known of the job is perhaps no longer all. Told wherever the core's lock is given back. */
void rp_report_shortage(void);

/* A declared variable of the host's, by its name in the contract, is not there to be put back. */
void rp_report_missing(const struct rp_execution *execution, const char *buffer, const char *why);

/* `call` meets bytes that are rewound for another replay, whose call `replayed` (a name, 0 when
 * unknown) needs them so: an order that the replay has made wrong. */
void rp_report_rewound(const struct rp_execution *execution, uint32_t replayed,
                       const struct rp_footprint *call, rp_alloc_id id, uint64_t lo, uint64_t hi);

/* `call` could not wait any longer for another thread's, which meets the same bytes and has not
 * come back from the driver; one of the two is of a replay of `execution`. */
void rp_report_under_way(const struct rp_execution *execution, const struct rp_footprint *call);

/* Bytes that a replay has made anew, over what somebody else had put there: see undecided.h. */
struct rp_undecided_bytes {
    uint32_t segment;
    uint64_t instance;
    uint32_t replayed;     /* name of the replay's call */
    uint32_t looker;       /* name of who has read it before the replay, 0 for nobody */
    struct rp_writer live; /* who had put it there */
    bool reinstated;       /* it stands again, over what the replay has made */
    bool assumed;          /* that it is right so: no more than a warning is due */
    bool declared;         /* and that by the contract's word */
};
void rp_report_undecided(const struct rp_undecided_bytes *bytes, const struct rp_footprint *reader,
                         rp_alloc_id id, uint64_t lo, uint64_t hi);

/* `call` of a replay need not do the same as in its forward, whatever it finds: a warning. */
void rp_report_varies(const struct rp_execution *execution, const struct rp_footprint *call);

/* `call` of a replay copies to the host once more, where others have put other bytes since its
 * forward did: a warning. */
void rp_report_landed(const struct rp_execution *execution, const struct rp_footprint *call);

/* `call`, of which only the output is told, repeats number `entry` of the forward's log where
 * another of its calls had its own. */
void rp_report_moved(const struct rp_execution *execution, const struct rp_footprint *call,
                     size_t entry);

/* `call` of a replay has its output where another forward that waits had its own, or any that
 * works on the same buffers: a warning of this kind. */
void rp_report_order(const struct rp_execution *execution, const struct rp_footprint *call,
                     enum rp_assumption assumed);
/* `call` of a replay reads where another forward that waits has read, and what stands there tells
 * nothing; or the job has filled an input anew: a warning of this kind. */
void rp_report_filled(const struct rp_execution *execution, const struct rp_footprint *call,
                      const struct rp_filled *filled, enum rp_assumption assumed);

/* `call` of a replay reads [lo, hi), where a call that the forward did not make, `by`, has put what
 * it found there, or something else: a warning. */
void rp_report_put(const struct rp_execution *execution, const struct rp_footprint *call,
                   rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *by);

/* A replay did not do what its forward did in call number `entry` of its log: `call` is what it
 * did instead, or NULL when it did nothing at all. `why`: the cause, and what helps; or NULL. */
void rp_report_diverged(const struct rp_execution *execution, const struct rp_footprint *call,
                        size_t entry, const char *why);

/* `call` of a replay reads [lo, hi) of `id`, where somebody else, `writer`, has put other bytes
 * while the forward ran, so that this one's calls have read more than one content there. */
void rp_report_beside(const struct rp_execution *execution, const struct rp_footprint *call,
                      rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *writer);

/* The replay has left calls out, and made `call`, of which only the output is known: it may as well
 * repeat number `entry` of the log, which did other work on the same buffers. */
void rp_report_twofold(const struct rp_execution *execution, const struct rp_footprint *call,
                       size_t entry);

/* The call named `captured`, of the forward or its replay, became a node of a graph that was not
 * launched there. */
void rp_report_captured(const struct rp_execution *execution, uint32_t captured);

/* `call` comes right behind a replay, which has left out this very call: a warning. */
struct rp_left_out;
void rp_report_beyond(const struct rp_left_out *left, const struct rp_footprint *call);

/* `call`, of a thread without a range, steps beside a replay what it has stepped beside the forward
 * already: a warning. */
void rp_report_helped(const struct rp_execution *execution, const struct rp_footprint *call);

/* Neither the forward nor its replay made a call: a warning. */
void rp_report_empty(const struct rp_execution *execution);

/* Which execution is replayed is not known: `segment` is the rule's name. `why` says what speaks
 * against the one in order at `call`, which may be NULL, and what helps; NULL where none waits. */
void rp_report_unpaired(const char *segment, const char *key, const struct rp_footprint *call,
                        const char *why);
/* As rp_report_unpaired, where what speaks against it is the place of its output. */
void rp_report_misplaced(const char *segment, const char *key, const struct rp_footprint *call,
                         const char *why);

/* Ends the process: one line on stderr, trace and summary written, exit code as configured. The
 * job's exit handlers do not run; what it has printed through stdio's stdout is flushed where
 * that takes no waiting, what other buffers of its own hold is lost.
 * The only way in which the layer ever stops a job. */
_Noreturn void rp_stop(int code, const char *line);

#endif
