/* SPDX-License-Identifier: Apache-2.0 */
/* A profile: what each segment of a training step costs under each option.
 *
 * Segments are numbered from 0 in forward order; the backward pass runs over them in reverse,
 * and a segment is replayed right before its own backward. All sizes are bytes and all times
 * nanoseconds, whole numbers below 2^63 - 1, in sum too. A profile comes in two depths:
 *
 *   rows   - per segment and option the figures themselves, reduced (hold, peak, time) or in
 *            full (every term with its source). Enough for the nested model.
 *   facts  - what was measured: times, activations, workspaces and the byte ranges of state that
 *            each pass reads and writes. The rows are derived from them. The shared and the lazy
 *            model need these, because they ask which bytes two segments have in common.
 *
 * Where there are both, the rows (in full) say what the options cost, and the facts are for what
 * rows can't say: what regions cost under the shared and the lazy model. So a run leaves it, which
 * has measured the options as wholes.
 *
 * Either way each option of each segment ends as one row:
 *   hold   bytes that stay from the segment's forward to its backward
 *   peak   the most bytes at its forward or backward, above what outer segments hold; >= hold
 *   time   everything the segment costs: forward, backward, copies, replay
 *
 * A row in full may add what of `hold` is not there from the forward on, but only from a later pass
 * on: copies that are made when somebody is about to write (struct rp_later). The forward's peak
 * leaves that out. It costs a search with a figure for each such pass, and is planned for
 * RP_PROFILE_MAX_LATER segments at most.
 *
 * A profile is built by one thread, closed, and then only read, by any number of threads. */
#ifndef RP_PLANNER_PROFILE_H
#define RP_PLANNER_PROFILE_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RP_PROFILE_VERSION 1
#define RP_PROFILE_MAX_SEGMENTS 4096
#define RP_PROFILE_MAX_LATER 512

/* What may be done with the activations of a segment. */
enum rp_choice {
    RP_CHOICE_RETAIN,  /* keep them, no replay */
    RP_CHOICE_WHOLE,   /* replay; preserve whole buffers */
    RP_CHOICE_REGIONS, /* replay; preserve just the bytes that are clobbered */
    RP_CHOICE_COUNT
};
#define RP_CHOICE_BIT(choice) (1u << (choice))
#define RP_CHOICE_ALL ((1u << RP_CHOICE_COUNT) - 1)

/* Where a figure comes from. An absent one is never planned with: it is an error. */
enum rp_source {
    RP_SOURCE_ABSENT,
    RP_SOURCE_MEASURED, /* somehow */
    RP_SOURCE_DERIVED,  /* from other figures */
    RP_SOURCE_STATED,   /* by somebody */
    RP_SOURCE_COUNTED,  /* bytes that the layer saw */
    RP_SOURCE_EVENTS,   /* between two CUDA events in the job's own stream */
    RP_SOURCE_CLOCK,    /* the same on a software device, whose clock is a model of a GPU */
    RP_SOURCE_CUPTI     /* the profiler's records of kernels and copies */
};

struct rp_measure {
    uint64_t value;
    enum rp_source source;
};

/* The terms of an option's cost, in the order in which they are printed. */
enum rp_term {
    RP_TERM_HOLD,          /* bytes between forward and backward */
    RP_TERM_STASH,         /* bytes of live state put aside during the replay */
    RP_TERM_PEAK_FORWARD,  /* bytes at the forward, above the outer holds */
    RP_TERM_PEAK_BACKWARD, /* bytes at the replay and the backward, above the outer holds */
    RP_TERM_FORWARD_TIME,
    RP_TERM_BACKWARD_TIME,
    RP_TERM_PRESERVE_TIME,  /* copy the historical bytes aside, in the forward */
    RP_TERM_STASH_TIME,     /* copy the live bytes aside, before the replay */
    RP_TERM_RESTORE_TIME,   /* put the historical bytes back in place */
    RP_TERM_REPLAY_TIME,
    RP_TERM_REINSTATE_TIME, /* put the live bytes back in place */
    RP_TERM_TRACKING_TIME,  /* what watching the writes costs the forward */
    RP_TERM_COUNT
};
#define RP_TERM_FIRST_TIME RP_TERM_FORWARD_TIME

/* Bytes that a segment holds from the beginning of another's pass on. */
struct rp_later {
    bool backward;    /* that pass: the backward, replay included, or the forward ... */
    uint32_t segment; /* ... of this segment, which comes after the own one in forward order */
    uint64_t bytes;
};

struct rp_cost {
    bool allowed;
    char *masked; /* why the option is not allowed; NULL when the profile just leaves it out */
    uint64_t hold, peak, time;
    bool has_terms; /* false for a reduced row */
    struct rp_measure terms[RP_TERM_COUNT];
    const struct rp_later *later; /* in order of time; all of it is part of `hold` */
    size_t later_count;           /* 0 for a reduced row */
};

/* When it begins, of `count` segments: forwards are 0, 1, ..., then come the backwards. */
static inline size_t rp_later_event(const struct rp_later *later, size_t count)
{
    return later->backward ? 2 * count - 1 - later->segment : later->segment;
}

/* [lo, hi) of a buffer, in bytes. */
struct rp_buffer_range {
    uint32_t buffer;
    uint64_t lo, hi;
};

struct rp_buffer {
    char *name;
    uint64_t bytes;
};

/* What was measured of one segment. */
struct rp_facts {
    struct rp_measure forward_time, backward_time;
    struct rp_measure replay_time;   /* of the replayed launches alone */
    struct rp_measure tracking_time; /* charged where only clobbered bytes are preserved */
    struct rp_measure activation;    /* bytes */
    struct rp_measure forward_workspace, backward_workspace;
    struct rp_measure forward_base, backward_base; /* bytes live for other reasons, beside the
                                                    * profile's base: gradients and the like */
    const struct rp_buffer_range *reads;  /* state that the forward reads before it writes it */
    const struct rp_buffer_range *writes; /* state that the forward may write */
    const struct rp_buffer_range *backward_writes;
    size_t read_count, write_count, backward_write_count;
    const char *no_replay; /* why the segment can't be replayed, or NULL */
};

struct rp_segment {
    char *name;
    struct rp_cost costs[RP_CHOICE_COUNT];
};

/* The price of copying `bytes` in `pieces` contiguous pieces:
 * pieces * fixed + ceil(bytes * 1000 / bytes_per_us). */
struct rp_copy_price {
    struct rp_measure fixed; /* nanoseconds a piece */
    struct rp_measure bytes_per_us;
};

/* What a profile, and every plan made from it, belongs to. Texts are NULL when not known.
 * A plan is refused where both sides know a text and they differ, and where it names no job. */
struct rp_purpose {
    const char *job;      /* e.g. the command line */
    const char *device;   /* e.g. "NVIDIA H200" */
    const char *contract; /* hash of the contract's text, "0x..." */
};

struct rp_profile;

/* ---- building ----------------------------------------------------------------- */

enum rp_status rp_profile_create(struct rp_profile **out);
void rp_profile_destroy(struct rp_profile *profile);

/* Bytes that are live all the time: parameters and the like. */
void rp_profile_set_base(struct rp_profile *profile, uint64_t bytes);
/* The least device memory that the run works in at all, however slowly, with as much host memory as
 * it takes; 0, unless set: not known. */
void rp_profile_set_least(struct rp_profile *profile, uint64_t bytes);
/* The unit that the allocator rounds sizes up to; 1 unless set, and never 0. */
void rp_profile_set_quantum(struct rp_profile *profile, uint64_t bytes);
void rp_profile_set_copy_price(struct rp_profile *profile, const struct rp_copy_price *price);
enum rp_status rp_profile_set_purpose(struct rp_profile *profile,
                                      const struct rp_purpose *purpose);

/* Copies what it is given. All segments of a profile are added in the same way. */
enum rp_status rp_profile_add_buffer(struct rp_profile *profile, const char *name,
                                     uint64_t bytes);
enum rp_status rp_profile_add_facts(struct rp_profile *profile, const char *name,
                                    const struct rp_facts *facts);
enum rp_status rp_profile_add_row(struct rp_profile *profile, const char *name,
                                  const struct rp_cost costs[RP_CHOICE_COUNT]);
enum rp_status rp_profile_add_both(struct rp_profile *profile, const char *name,
                                   const struct rp_cost costs[RP_CHOICE_COUNT],
                                   const struct rp_facts *facts);

/* Says that the job does what no model covers: overlapping streams, a backward pass in another
 * order, replays that begin several segments back, writes that depend on what is replayed.
 * Planning is refused with this reason. */
enum rp_status rp_profile_set_departure(struct rp_profile *profile, const char *reason);
/* Says why there are no facts, to those who ask for a model that needs them. */
enum rp_status rp_profile_set_no_facts(struct rp_profile *profile, const char *reason);

/* Derives the rows from the facts, and checks everything: that no figure is absent, that every
 * segment has an option, that ranges lie in their buffers, that no sum can leave 63 bits.
 * RP_INVALID with one line in `message` that names the segment; RP_OK makes the profile fit
 * for planning. */
enum rp_status rp_profile_close(struct rp_profile *profile, char *message, size_t message_size);
/* The segment that rp_profile_close refused it for; rp_profile_count() when it was none. */
size_t rp_profile_culprit(const struct rp_profile *profile);

/* ---- reading ------------------------------------------------------------------ */

size_t rp_profile_count(const struct rp_profile *profile);
const struct rp_segment *rp_profile_segment(const struct rp_profile *profile, size_t index);
uint64_t rp_profile_base(const struct rp_profile *profile);
uint64_t rp_profile_quantum(const struct rp_profile *profile);
uint64_t rp_profile_least(const struct rp_profile *profile);
const struct rp_copy_price *rp_profile_copy_price(const struct rp_profile *profile);
const struct rp_purpose *rp_profile_purpose(const struct rp_profile *profile);
const char *rp_profile_departure(const struct rp_profile *profile); /* or NULL */
/* A hash of what makes the chain of segments itself: their names, in order. */
uint64_t rp_profile_fingerprint(const struct rp_profile *profile);
/* The same, name by name. */
uint64_t rp_fingerprint_begin(void);
uint64_t rp_fingerprint_add(uint64_t hash, const char *name);
const char *rp_profile_no_facts(const struct rp_profile *profile);  /* or NULL */
/* False when the rows were derived from the facts. */
bool rp_profile_has_rows(const struct rp_profile *profile);
/* True when some option holds something later. */
bool rp_profile_has_later(const struct rp_profile *profile);
/* NULL when the profile was made of rows alone. */
const struct rp_facts *rp_profile_facts(const struct rp_profile *profile, size_t index);
const struct rp_buffer *rp_profile_buffers(const struct rp_profile *profile, size_t *count);

/* The time to copy, by the profile's price. RP_INVALID when it leaves 63 bits. */
enum rp_status rp_copy_time(const struct rp_profile *profile, uint64_t bytes, uint64_t pieces,
                            uint64_t *ns);

const char *rp_choice_name(enum rp_choice choice); /* "retain" */
const char *rp_source_name(enum rp_source source); /* "measured" */
const char *rp_term_name(enum rp_term term);       /* "hold_bytes", "replay_ns" */

/* ---- files -------------------------------------------------------------------- */

/* Reads and closes a profile. On failure `message` holds one line
 * "FILE:LINE:COLUMN: what is wrong; the way out". tools/profile.schema.json describes the
 * format for editors. `path` "-" is standard input. */
enum rp_status rp_profile_load(const char *path, struct rp_profile **out, char *message,
                               size_t message_size);
enum rp_status rp_profile_parse(const char *text, size_t length, const char *label,
                                struct rp_profile **out, char *message, size_t message_size);

/* Writes a closed profile beside `path` and renames it there, so that no half file is ever
 * seen. With `rows` a profile made of facts is written as the rows derived from them. */
enum rp_status rp_profile_save(const struct rp_profile *profile, const char *path, bool rows);
/* The same as text that the caller frees; NULL when out of memory. */
char *rp_profile_to_json(const struct rp_profile *profile, bool rows);

#ifdef __cplusplus
}
#endif

#endif
