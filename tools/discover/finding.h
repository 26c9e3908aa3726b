/* SPDX-License-Identifier: Apache-2.0 */
/* What a story shows: steps, segments with their replays, and the state that they need.
 *
 * Each finding has its evidence in words, and a word for how sure it is: "certain" where every
 * occurrence agrees and reads the same parameters, "likely" where most do, "guess" else. */
#ifndef RP_TOOLS_DISCOVER_FINDING_H
#define RP_TOOLS_DISCOVER_FINDING_H

#include "tools/discover/story.h"
#include "tracker/span.h"

enum { RP_FINDING_TEXT = 512 };

/* One forward and its replay, as calls of the story. */
struct rp_occurrence {
    size_t forward, forward_end, replay, replay_end;
};

struct rp_found_segment {
    char name[128];
    bool by_range;
    char forward[256], replay[256]; /* by range: globs; else first and last kernel */
    bool keyed;                     /* by range: paired by what `*` matches */
    bool fifo;                      /* by range: paired with the first forward that waits */
    bool holds;                     /* by range: some replays hold other ranges */
    size_t against;                 /* by range: replays that read what another forward has read */
    size_t unreplayed;              /* by range: forwards without a replay, where several wait */
    size_t replays;                 /* by range: of each forward in a step, at the most; 0 as 1 */
    uint64_t nth;                   /* by launches: which match of the first kernel in a step */
    struct rp_occurrence *occurrences;
    size_t count, capacity;
    const char *confidence;
    char evidence[RP_FINDING_TEXT];
};

struct rp_found_buffer {
    char name[128];
    uint64_t allocation, offset, bytes; /* where it lies in the story */
    bool by_kernel;
    char kernel[256];
    uint32_t param;
    uint64_t param_offset;    /* by kernel: from where the argument points */
    uint64_t allocation_bytes;
    uint64_t nth;             /* by allocation: of its size, in order of birth */
    bool alone;               /* by allocation: the only one of its size */
    bool guess;               /* only calls that are not proved may read it */
    char evidence[RP_FINDING_TEXT];
};

/* Launches that come again and are no segment of the proposal. */
struct rp_left_out {
    size_t launches; /* 0: there are none */
    char first[256], last[256];
};

/* Why ranges, or launches, that do the same are no forward and its replay. */
enum rp_doubt {
    RP_DOUBT_NONE,
    RP_DOUBT_REFILLED,
    RP_DOUBT_BOTH_READ,
    RP_DOUBT_USED_TWICE,
    RP_DOUBT_NUMBERED
};

/* Ranges that are numbered through, each once and in turn, one behind the other at one level. */
struct rp_series_of {
    struct rp_roster globs; /* of the series: their name, with a `*` for its last number */
    uint32_t *of;          /* of each range: its series, or RP_STORY_NONE */
};

/* Bytes by allocation. */
struct rp_places {
    struct rp_place {
        uint64_t allocation;
        struct rp_spans spans;
    } *items;
    size_t count, capacity;
    bool no_memory; /* some are not in it */
};

struct rp_finding {
    const struct rp_story *story;
    char step[256]; /* the range that is a step, or "" */
    char step_evidence[RP_FINDING_TEXT];
    struct rp_occurrence *steps; /* forward and forward_end of each */
    size_t step_count, step_capacity;
    struct rp_found_segment *segments;
    size_t segment_count, segment_capacity;
    struct rp_found_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    uint64_t unproved; /* calls between a forward and the end of its replay that are not proved */
    char first_unproved[256];
    struct rp_unnamed {
        size_t count;   /* allocations that forwards read and that are no buffers */
        uint64_t bytes; /* of what they read there */
        uint64_t largest, largest_bytes;
    } unnamed; /* where calls are not proved, which may write there all the same */
    struct rp_left_out too_short; /* few launches may come again by chance */
    struct rp_left_out endless;   /* the last launch's name comes before in the run */
    size_t chained;              /* pairs left out: better ones use their names the other way */
    char first_chained[256];
    size_t doubted;              /* pairs left out: something speaks against them */
    enum rp_doubt first_doubt;
    char first_doubted[256];
    size_t nested;               /* ranges that hold others and are not proposed */
    char first_nested[256];
    bool rare;                    /* something came again, in less than half of the steps */
    bool no_memory;
};

/* ---- the searches, in this order ------------------------------------------------------- */

void rp_find_steps(struct rp_finding *finding);
/* Segments by ranges that come again under the same or another name. */
void rp_find_ranges(struct rp_finding *finding);
/* Ranges that hold others, launch themselves what an earlier range does, and are not proposed. */
void rp_find_nested(struct rp_finding *finding);
/* Segments by launches that come again within a step. */
void rp_find_launches(struct rp_finding *finding);
/* The bytes that a forward reads and that are overwritten before its replay has ended. */
void rp_find_state(struct rp_finding *finding);
void rp_finding_release(struct rp_finding *finding);

/* ---- what they share -------------------------------------------------------------------- */

/* What of the reads of [a, a_end) comes again in [b, b_end): 0 to 1. Only memory counts that
 * lives through most of the story: parameters and state, not activations. 1 where there is none. */
double rp_find_shared_reads(const struct rp_story *story, size_t a, size_t a_end, size_t b,
                            size_t b_end);
/* The same reads, sorted: what the calls have not written themselves. The caller frees them; NULL
 * when there are none or no memory. */
struct rp_story_access *rp_find_lasting_reads(const struct rp_story *story, size_t first,
                                              size_t end, size_t *count);
/* Whether [a, a_end) reads any such memory. */
bool rp_find_has_lasting_reads(const struct rp_story *story, size_t a, size_t a_end);
/* What of the forward's accesses, outputs included, the replay makes at the same place in turn. */
double rp_find_shared_memory(const struct rp_story *story, const struct rp_story_range *forward,
                             const struct rp_story_range *replay);
/* Equal for launches of the same kernel with the same grid that read the same lasting memory. */
uint64_t rp_find_sight(const struct rp_story *story, size_t call);
/* The launches of [b, b_end) are those of [a, a_end), the same kernels with the same grids in the
 * same order, or the first of them: *all tells which. */
bool rp_find_same_launches(const struct rp_story *story, size_t a, size_t a_end, size_t b,
                           size_t b_end, bool *all);
/* How far the later range repeats the earlier one, as a whole or as its beginning: what of the
 * parameters and state that this one read, or of those that a replay reads which stops early. 0
 * when it does not. */
double rp_find_repetition(const struct rp_story *story, const struct rp_story_range *range,
                          const struct rp_story_range *later, bool whole);
uint64_t rp_find_launches_in(const struct rp_story *story, size_t first, size_t end);
/* The part of the range that holds all launches of its own, and no other range's: a replay that
 * holds the replays of what it reads. False where it holds none, or where there is no such part. */
bool rp_find_core(const struct rp_story *story, uint32_t range, struct rp_story_range *core);
/* For a range that holds others: the latest earlier range of the step that launches the same
 * itself; *alike is how much of that reads the same lasting memory, 0 to 1. RP_STORY_NONE: none. */
uint32_t rp_find_earlier_own(const struct rp_finding *finding, uint32_t later, double *alike);
/* The step that the call is in, SIZE_MAX for none. */
size_t rp_find_step_of(const struct rp_finding *finding, size_t call);
/* Whether the replays pair with the first forward that waits rather than with the latest: then the
 * segment is `fifo`, and its occurrences are these pairs. Nothing changes where both do as well.
 * Also how many replays contradict the order that is taken, and how many forwards have none. */
void rp_find_order(struct rp_finding *finding, struct rp_found_segment *segment, uint32_t forward,
                   uint32_t replay);
/* What speaks against the one's being the other's replay, as far as the step shows it. */
enum rp_doubt rp_find_doubt(const struct rp_finding *finding,
                            const struct rp_occurrence *occurrence);
const char *rp_find_doubt_text(enum rp_doubt doubt);
/* Leaves them out, by their names. */
void rp_find_doubted(struct rp_finding *finding, const char *first, const char *later,
                     enum rp_doubt doubt);
/* False when the host is out of memory; rp_series_release in any case. */
bool rp_find_series(const struct rp_story *story, struct rp_series_of *found);
void rp_series_release(struct rp_series_of *found);
/* The later one is a further one of a series: next to the other in the range around both, with a
 * greater number at the end of an otherwise equal name. */
bool rp_find_is_further(const struct rp_story *story, const struct rp_story_range *range,
                        const struct rp_story_range *later);
/* Names that are equal but for the numbers in them, as of batches that follow each other; equal
 * ones too. */
bool rp_find_differ_by_numbers(const char *a, const char *b);
void rp_places_add(struct rp_places *places, const struct rp_story_access *access);
bool rp_places_cover(const struct rp_places *places, const struct rp_story_access *access);
bool rp_places_overlap(const struct rp_places *places, const struct rp_story_access *access);
void rp_places_release(struct rp_places *places);
/* A new segment, or NULL. */
struct rp_found_segment *rp_find_segment(struct rp_finding *finding);
bool rp_find_occurrence(struct rp_finding *finding, struct rp_found_segment *segment,
                        struct rp_occurrence occurrence);
const char *rp_find_confidence(double agreeing, double shared);

#endif
