/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards: a replay that reads a version other than its contract's, or leaves state that a
 * run without replay would not have; and what could not be proved, preserved or paired.
 *
 * The list keeps each hazard once with a count: two are the same when kind, segment, buffer
 * (or allocation size, for unnamed ones), writer and reader agree. The first occurrence's
 * figures stay. Names are owned by whoever adds; they must outlive the list. */
#ifndef RP_TRACKER_HAZARD_H
#define RP_TRACKER_HAZARD_H

#include "tracker/memory.h"
#include "tracker/version.h"

enum rp_hazard_kind {
    RP_HAZARD_STALE_READ,    /* the replay reads a version other than the forward read */
    RP_HAZARD_FOREIGN_READ,  /* the replay reads bytes that the forward did not read */
    RP_HAZARD_STATE_LEFT,    /* the replay leaves live state changed */
    RP_HAZARD_LIVE_READ,     /* a call outside the replay reads bytes while they are rewound */
    RP_HAZARD_NOT_PRESERVED, /* bytes were clobbered before they could be copied */
    RP_HAZARD_UNPROVED,      /* a call whose access set is not proved stands in the way */
    RP_HAZARD_UNPAIRED,      /* a replay without a forward */
    RP_HAZARD_DIVERGED,      /* the replay launches something else than the forward */
    RP_HAZARD_ASSUMED,       /* a warning: nothing tells what was meant, and one was taken */
    RP_HAZARD_KIND_COUNT
};

const char *rp_hazard_kind_name(enum rp_hazard_kind kind); /* "stale-read", ... */
const char *rp_hazard_kind_meaning(enum rp_hazard_kind kind); /* the same in a sentence */
/* RP_HAZARD_KIND_COUNT when no kind has the name. */
enum rp_hazard_kind rp_hazard_kind_find(const char *name);
/* True when the bytes of such a hazard were wanted at another version than they were met at. */
bool rp_hazard_kind_wants_version(enum rp_hazard_kind kind);
/* True when such a one is told, but neither stops a job nor counts as wrong. */
bool rp_hazard_kind_warns(enum rp_hazard_kind kind);

/* What was taken for what, where nothing tells. */
enum rp_assumption {
    RP_ASSUMED_NOTHING,
    RP_ASSUMED_OUTPUT, /* what the replay has made stands, over what others had written */
    RP_ASSUMED_STATE,  /* what others had written stands again, over what the replay has made */
    RP_ASSUMED_MOVED,  /* the replay has made it where another call's output had been */
    RP_ASSUMED_ORDER,  /* the forward that the order names: another had its output in this place */
    RP_ASSUMED_FILLED, /* as ORDER: of what was put where several have read, nothing tells whose */
    RP_ASSUMED_UNTOLD, /* as ORDER: nothing that the replay meets tells it from the others */
    RP_ASSUMED_STEADY, /* the replay's call does what its twin did, which it need not */
    RP_ASSUMED_LANDED, /* what the replay has copied to the host, over what others had put there */
    RP_ASSUMED_BEYOND, /* a call behind a replay, whose forward held it, for the job's own work */
    RP_ASSUMED_REPEATED, /* launches that came again with other outputs: a replay */
    RP_ASSUMED_HELPED, /* what another thread steps beside a forward and its replay: the job's */
    RP_ASSUMED_PUT,    /* what the replay itself has put there, for what its forward found */
    RP_ASSUMED_RENEWED,  /* as REPEATED, and the job has filled an input anew since the forward */
    RP_ASSUMED_EMPTY,  /* neither forward nor replay made a call that counts as theirs */
    RP_ASSUMPTION_COUNT
};

struct rp_hazard {
    enum rp_hazard_kind kind;
    const char *segment;    /* NULL when no segment is concerned */
    uint64_t instance;      /* 0 when none is */
    const char *key;        /* UNPAIRED: what the replay's range said, or NULL */
    const char *buffer;     /* declared name, or NULL */
    rp_alloc_id allocation; /* 0 when no bytes are concerned */
    uint64_t allocation_bytes;
    const char *memory;     /* kind of the allocation: "device", "pool" ..., or NULL */
    uint64_t birth_seq;     /* the call that made the allocation */
    uint64_t offset, bytes;
    rp_version version_read, version_wanted;
    bool wants_version;     /* version_wanted is known: the forward read these bytes */
    const char *writer;     /* kernel or call that wrote version_read, or NULL */
    struct rp_writer written;
    const char *reader;     /* kernel or call that met it, or NULL */
    uint64_t reader_launch; /* its launch index in the step */
    const char *other;      /* DIVERGED: what the forward called instead of the reader. LIVE_READ:
                             * the replay's call that the bytes are rewound for. UNPROVED and
                             * ASSUMED: that which has made them anew. Or NULL */
    enum rp_status cause;   /* NOT_PRESERVED: why the copy failed, RP_OK where that is not known */
    const char *reason;     /* UNPROVED, DIVERGED, UNPAIRED, LIVE_READ, NOT_PRESERVED, STATE_LEFT:
                             * why it is so, what helps, or NULL. Of STEADY: why it need not */
    bool reinstated;        /* UNPROVED: they stand over what `other` has made */
    enum rp_assumption assumed; /* ASSUMED */
    bool declared;          /* ASSUMED: by the contract's word */
    uint64_t position;      /* DIVERGED and MOVED: of `other` among the forward's calls, from 0 */
    uint32_t step;          /* in which it was met first */
    uint32_t last_step;
    uint64_t count;
    uint64_t order;         /* 0 for the first that was met, 1 for the next ... */
    bool harmless;          /* listed as such in the contract */
    bool guarded;           /* met under a guard, which has done what it could */
    bool for_eager;         /* met in recompute, which puts nothing back for the job's replays */
    bool discovers;         /* the contract says "discovered" already */
    bool undiscovered;      /* discovery was refused for the forward */
    bool repeats;           /* what makes it a replay is that a forward's launches come again */
    bool again;             /* in a further replay of a forward that had its replays */
};

struct rp_hazards {
    struct rp_hazard *items;
    size_t count, capacity;
};

enum rp_hazard_news { RP_HAZARD_KNOWN, RP_HAZARD_NEW_IN_STEP, RP_HAZARD_NEW };

/* Adds or counts. *news tells which (may be NULL). */
enum rp_status rp_hazards_add(struct rp_hazards *list, const struct rp_hazard *hazard,
                              enum rp_hazard_news *news);
void rp_hazards_release(struct rp_hazards *list);
/* Most damaging first: by kind, then by bytes, then by order of appearance. */
void rp_hazards_sort(struct rp_hazards *list);

#endif
