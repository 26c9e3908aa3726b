/* SPDX-License-Identifier: Apache-2.0 */
/* Executions: one forward run of a segment, from its first call until nobody can ask for a
 * replay of it any more.
 *
 * It owns the instance's contract, the copies kept for it, and the log of its calls, by
 * which a replay's calls are recognised and its writes get the versions of the writes that
 * they repeat.
 *
 * Until it was replayed as often as its rule promises, every write is held against it. Then it
 * is served: its copies stay until the step ends, in case that it is replayed once more, but no
 * new ones are made, and they go first when memory is short. All functions want the core's
 * lock. */
#ifndef RP_INTERPOSE_EXECUTION_H
#define RP_INTERPOSE_EXECUTION_H

#include "cuda/preserve.h"
#include "interpose/run/footprint.h"
#include "planner/profile.h"
#include "tracker/contract.h"
#include "tracker/instance.h"

#define RP_KEY_BYTES 128

enum rp_execution_phase { RP_PHASE_FORWARD, RP_PHASE_PENDING, RP_PHASE_REPLAY };

/* Where a call that is over has copied to on the host, and the hash of what it has left there. */
struct rp_landed {
    uint64_t at, bytes, content;
    bool is_known;
};

struct rp_logged {
    uint64_t signature, values, content, content_versions;
    uint64_t inputs; /* hash of where it read: tells one forward's call from another's */
    uint64_t outputs; /* hash of where it wrote */
    uint64_t sight;   /* what it saw, see rp_footprint_sight */
    uint64_t bytes_read;
    uint64_t bytes_absent; /* see rp_footprint_bytes_absent */
    struct rp_landed landed; /* see interpose/run/landing.h */
    rp_version version;
    rp_stream stream;
    uint32_t name;
    bool is_content_doubtful;
    bool is_in_turn; /* see rp_footprint: what it has copied is named for who had made it */
    bool repeated; /* by the replay that is under way */
};

struct rp_outputs;
struct rp_recipe;
struct rp_helped;

/* The content of declared host variables, see interpose/run/host.h. */
struct rp_host_copy {
    size_t bytes;
    unsigned char content[];
};

/* What discovery could not vouch for. */
struct rp_refusal {
    uint32_t name;     /* of the call, 0 when it is none's fault */
    uint64_t launch;   /* its index in the step */
    rp_alloc_id id;    /* where, 0 when nowhere in particular ... */
    uint64_t lo, hi;   /* ... and which bytes */
};

struct rp_execution {
    struct rp_instance *instance;
    struct rp_kept *kept;
    struct rp_kept *recalled; /* what the forward first read of its own writes, or NULL */
    struct rp_host_copy *host; /* what host variables held when it began, or NULL */
    uint64_t errands;          /* while it is open: as of struct rp_scope */
    enum rp_execution_phase phase;
    uint64_t outer;   /* the instance of the forward that this one ran inside, or 0 */
    uint32_t replays; /* that are over */
    bool is_first_run; /* of its rule under its key */
    bool dropped;     /* served, and its copies were given up */
    bool bereft;      /* a context has taken its copies along while it ran */
    uint32_t place;        /* in the step's chain */
    enum rp_choice choice; /* how it is to be replayed */
    struct rp_outputs *outputs; /* of its forward, see interpose/plan/retain.h; NULL before any */
    struct rp_recipe *recipe;   /* in mode recompute: how its outputs are made again, or NULL */
    bool serves;           /* its replay is served from them: nothing of it is run */
    char key[RP_KEY_BYTES];
    struct rp_logged *log;
    size_t log_count, log_capacity;
    struct rp_versions *beside; /* what others wrote while it ran, over what it had met; or NULL */
    struct rp_helped *helped; /* what a thread without a range has stepped meanwhile; or NULL */
    size_t helped_count, helped_capacity;
    uint32_t captured;  /* name of a call that its forward captured and did not launch, or 0 */
    bool others_called; /* no call is its thread's, but others made some while it ran */
    const char *refused;   /* why discovery can't vouch for it, or NULL; lives on */
    struct rp_refusal refusal;
    rp_stream last_stream; /* of its latest copy or call */
};

/* Starts the next instance of `segment`; it joins the list of those that are alive. */
struct rp_execution *rp_execution_begin(uint32_t segment, const char *key);
enum rp_status rp_execution_log(struct rp_execution *execution, const struct rp_footprint *call);

/* True when the one forward ran inside the other. */
bool rp_execution_is_part_of(const struct rp_execution *inner, const struct rp_execution *outer);

/* A replay of it begins, respectively was one of another, respectively is over. */
void rp_execution_replay_begins(struct rp_execution *execution);
void rp_execution_replay_withdrawn(struct rp_execution *execution);
void rp_execution_replay_ends(struct rp_execution *execution);
bool rp_execution_is_served(const struct rp_execution *execution);
/* Adds what of [lo, hi) the forward has read before it wrote there: that of a copy is put back for
 * its replay. A buffer that is kept whole holds more: of the rest, what the segment itself writes
 * is made again, or stands there. `ctx` is the execution. */
enum rp_status rp_execution_read(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 struct rp_spans *out);
/* Has the forward written all that is reached? Where that can't be told, no. */
bool rp_execution_made(const struct rp_execution *execution, const struct rp_reach *reach);

/* A step is over: pending executions will not be replayed. */
void rp_executions_expire(void);
/* The memory of all copies goes, with a context: nothing waits any more, and what runs has nothing
 * kept. Before that memory's store does. */
void rp_executions_lose(void);

/* Alive executions in order of their forwards; the list changes with begin and end. */
size_t rp_executions_count(void);
struct rp_execution *rp_executions_at(size_t index);

/* After a fork: they belong to the parent's device. */
void rp_executions_forget(void);

/* Gives up the copies of one that was replayed as often as promised: a plan counts on it. */
void rp_execution_give_up(struct rp_execution *execution);
/* Gives up the copies of the oldest served execution; for rp_store_on_shortage. */
bool rp_executions_spare(bool needed);

/* Bytes in copies of what forwards first read of their own writes: kept for luck. */
uint64_t rp_executions_recalled_bytes(void);

#define RP_CROWDED                                                                               \
    "more forwards waited for a replay than are kept (512, or 8192 of one step), and the oldest " \
    "are given up: name the job's steps in the contract"
#define RP_LOST                                                                                  \
    "what waited for a replay was given up when a context was destroyed, and what is kept goes "  \
    "along: destroy contexts before a forward or after its replay"
/* Per segment rule, for the summary. */
struct rp_segment_figures {
    uint64_t forwards, replays;
    uint64_t unreplayed;    /* forwards that were given up without a replay */
    uint64_t again;         /* replays after the first of their forward */
    uint64_t stopped_early; /* replays that left out the end of their forward */
    uint64_t skipped;       /* calls that replays left out in the middle, found harmless */
    uint32_t most_replays;  /* of any one forward */
    uint64_t calls;         /* of its forwards */
    uint64_t since;         /* the last call before its latest forward */
    uint64_t first_matches; /* launches of the rule's first kernel in this step, for `nth` */
    bool is_crowded;        /* some were given up because too many waited */
    uint64_t lost_in;       /* some were given up with a context in the step before this, or 0 */
    const char *refused;
    const char *unserved;   /* why a replay that was to be served was not */
};
struct rp_segment_figures *rp_segment_figures(uint32_t segment);
/* Forwards that still wait for their first replay. */
uint64_t rp_segment_waiting(uint32_t segment);

#endif
