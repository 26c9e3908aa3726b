/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation of a proof: a launch, cut into pieces where that makes values affine.
 *
 * A piece is a box of thread coordinates. Within it, the blocks of the slice are visited in
 * order; each has a context: is it reached at all, by which box, under which further linear
 * facts, and do these say exactly who reaches it. Where a value would become affine on
 * smaller boxes (a shift of a thread index, say), the run stops with a request: to cut the
 * box in two, or to replace a variable x by quotient and remainder, x = d * q + r. */
#ifndef RP_CUDA_ACCESS_RUN_H
#define RP_CUDA_ACCESS_RUN_H

#include "cuda/access/form.h"
#include "cuda/access/program.h"

#define RP_MAX_PIECES 24   /* of one launch */
#define RP_MOST_PIECES (RP_MAX_PIECES + RP_GRAIN_DEPTH) /* that wait, of both kinds of cuts */
#define RP_MAX_RESTARTS 64
#define RP_MAX_FACTS 96
#define RP_MOST_GRAINS 256  /* threads, in the coordinates that count, of what is cut up fine */
#define RP_GRAIN_WORK 12000 /* operations that an evaluation may take for that: a millisecond */
#define RP_GRAIN_DEPTH 24   /* halves on the way to one of them, in all coordinates */
#define RP_MAX_SETS 512

/* A linear fact about all threads and iterations that are there: lo <= form <= hi. */
struct rp_fact {
    struct rp_form form; /* c is 0, no fuzz */
    int64_t lo, hi;
    int32_t next;        /* older fact that also holds, or -1 */
};

struct rp_context {
    bool live;  /* somebody may get here */
    bool exact; /* box and facts say who gets here, not just who at most */
    bool owns_box; /* else it is an ancestor's */
    int32_t facts;
    uint32_t box;
};

enum rp_trip_kind { RP_TRIP_UNKNOWN, RP_TRIP_CONSTANT, RP_TRIP_BOUNDED };

/* How often a loop comes round: its counter k runs over [0, last]. Of a constant trip every
 * thread makes all of them; of a bounded one as long as `distance`(k) < 0. */
struct rp_trip {
    uint8_t kind;
    uint8_t compare;         /* as solved: RP_LT, RP_NE or RP_EQ of distance and 0 */
    int64_t last;
    struct rp_form distance; /* grows with k; the loop goes on while it is below 0 */
};

enum rp_request_kind {
    RP_REQUEST_NONE, RP_REQUEST_CUT, RP_REQUEST_HALVE, RP_REQUEST_SPLIT, RP_REQUEST_AGAIN
};

struct rp_request {
    uint8_t kind;
    uint32_t variable;
    int64_t at;     /* CUT, HALVE: the first value of the upper piece; SPLIT: the divisor */
    int64_t shift;  /* SPLIT: variable + shift is a multiple of the divisor at its low end */
};

/* A piece of the launch. */
struct rp_piece {
    struct rp_box box;
    struct rp_form tid[3], ctaid[3]; /* tid: the common sum, in a dimension that has one */
    uint32_t parts;                  /* variables given away from RP_VAR_PART on */
};

/* What one touch covers in one piece: `width` bytes at lo, repeated along up to 6 terms; or,
 * inexact, something of that. */
struct rp_term {
    uint64_t stride, count;
};

#define RP_MAX_TERMS 6

struct rp_cover {
    uint64_t lo, hi; /* the hull, in addresses */
    uint64_t width;
    struct rp_term terms[RP_MAX_TERMS]; /* by stride, the largest first */
    uint8_t term_count;
    uint8_t effect;
    bool exact, atomic, updates;
    int32_t root; /* index + 1, or 0 */
    uint32_t touch; /* its index */
};

#define RP_MAX_STRETCHES 2048

struct rp_stretch {
    uint64_t lo, hi; /* addresses */
};

/* Of a root that is accessed at an unknown place. */
/* What is known of a root as a whole: its effects, those that not only atomics have, and whether
 * there are writes that are no updates. */
enum rp_mark {
    RP_MARK_READ = RP_READ, RP_MARK_WRITE = RP_WRITE, RP_MARK_PLAIN_SHIFT = 2, RP_MARK_BLIND = 16
};

/* ---- what is known of memory (known.c) -------------------------------------------- */

#define RP_MAX_WINDOWS 8
#define RP_WINDOW_BYTES 4096 /* of one, and of all that are not of parameters */
#define RP_MAX_SLOTS 512     /* pointers in them */
#define RP_MAX_GROUPS 64

/* Bytes that the evaluation was told, and so rests on. */
struct rp_window {
    uint64_t lo, hi;  /* addresses, or offsets in the parameter block */
    bool of_params;
    int32_t root;     /* that lo is counted from, index + 1, or 0 */
    int32_t first;    /* its first eight bytes as a root, and so on: index + 1, or 0 */
    const unsigned char *bytes; /* NULL: they are not known */
    bool refused;     /* ... for the caller does not know them, and may another time */
};

/* A root that is one of several pointers, and nobody knows which: those from `first` on, and those
 * that `more` is. Its number is not known. */
struct rp_group {
    int32_t first; /* index + 1 */
    uint32_t count, step;
    int32_t more;  /* a root or a group, or 0 */
};

struct rp_findings {
    uint32_t cover_count;
    uint8_t worst[4]; /* by effect: REACHABLE or EVERYTHING, or 0 */
    uint8_t reason_verdict;
    const char *reason;
};

struct rp_run {
    const struct rp_proof *proof;
    const struct rp_launch *launch;
    int64_t *root_numbers;
    bool *root_known;
    bool *root_used; /* its number was asked for, other than as the start of an address */
    /* behind the roots of the proof: the pointers in windows, and groups of these */
    struct rp_window windows[RP_MAX_WINDOWS];
    struct rp_group groups[RP_MAX_GROUPS];
    uint32_t window_count, slot_count, group_count, told_bytes;
    unsigned char *told;  /* RP_WINDOW_BYTES */
    bool untold;          /* some were asked for and are not known */
    bool one_of_several;  /* the touch at hand goes by a group */

    struct rp_piece *piece;
    bool no_requests; /* out of pieces: be inexact instead */
    uint64_t work;    /* operations so far */
    bool *walked;     /* by touch: what it covers is known from a walk */
    bool lacks_walk, lacks_grains; /* these may know more */
    struct rp_piece *pieces; /* room for RP_MOST_PIECES */
    char *walk_scratch;
    bool no_grains;   /* single threads are no better known: do not cut up fine any more */
    bool merged[3];   /* dimensions in which tid stands for ctaid * factor + tid */
    struct rp_request request;

    struct rp_form *forms; /* by op; predicates keep 0, 1 or 2 (unknown) in c */
    struct rp_context *contexts, *now;
    struct rp_box *boxes;
    uint32_t box_count;
    struct rp_fact *facts;
    uint32_t fact_count;
    struct rp_trip *trips;
    bool *given_up; /* loops that are not counted any more in this evaluation */

    struct rp_cover *covers;
    struct rp_stretch *stretches; /* room for RP_MAX_STRETCHES */
    uint8_t *root_marks, *saved_marks; /* by root: enum rp_mark */
    struct rp_findings found;
    const struct rp_touch *last_touch; /* it made the last cover, in this piece */
};

static inline struct rp_box *rp_run_box(const struct rp_run *run)
{
    return &run->boxes[run->now->box];
}

/* No memory lies below: no driver gives out the first 64 KiB, nor does the host
 * (vm.mmap_min_addr). */
#define RP_LEAST_ADDRESS (UINT64_C(1) << 16)

/* What stands where a pointer could is a number beyond doubt; 0 is the pointer to nothing. */
static inline bool rp_is_offset(uint64_t number)
{
    return number && number < RP_LEAST_ADDRESS;
}

/* How many there can be of a proof. */
static inline size_t rp_root_limit(const struct rp_proof *proof)
{
    return proof->root_count + (proof->loads || proof->joins ? RP_MAX_SLOTS + RP_MAX_GROUPS : 0);
}

/* The parameter that a root is, or UINT32_MAX. */
static inline uint32_t rp_run_root_param(const struct rp_run *run, int32_t root)
{
    bool named = root && (size_t)root <= run->proof->root_count;
    return named ? run->proof->roots[root - 1].param : UINT32_MAX;
}

/* scratch.c */
size_t rp_run_scratch_bytes(const struct rp_proof *proof);

/* piece.c: all of them, each visited until it is done */
void rp_run_pieces(struct rp_run *run);

/* visit.c: false when the piece has to be divided, or done again. */
bool rp_run_piece(struct rp_run *run, struct rp_piece *piece);

/* How closely an evaluation may look where all threads together are not seen well enough. */
struct rp_effort {
    bool grains;     /* in fine pieces (grain.c) */
    bool walks;      /* thread by thread (walk.c) */
    uint64_t walked; /* the operations that took: added to */
};

/* evaluate.c
 * rp_proof_evaluate, with so much effort. used[i] becomes true where the result depends on the
 * number that root i is, and not only as lo and hi of its own entries do; `told` says what else it
 * rests on (told.h). Either may be NULL. */
struct rp_told;
enum rp_status rp_run_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                               rp_symbol_fn symbols, void *symbols_ctx, struct rp_effort *effort,
                               bool *used, struct rp_told *told, struct rp_access_set *out);

/* known.c */
void rp_run_load(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
void rp_run_map(struct rp_run *run, const struct rp_op *op, struct rp_form *out);
/* True where looking closer at the touch leads nowhere, as what is in memory is not known. */
bool rp_run_is_untold(const struct rp_run *run, const struct rp_touch *touch);
/* One value of a load at `at`, an address (counted from root `from`, or 0) or an offset in the
 * parameter block, in a window that is known; false when it is in none. */
bool rp_run_told(const struct rp_run *run, const struct rp_op *op, uint64_t at, int32_t from,
                 uint64_t *value, int32_t *root);
/* True where the set may write what the run was told of memory. */
bool rp_run_contradicts(const struct rp_run *run, const struct rp_access_set *set);

/* op.c */
void rp_run_op(struct rp_run *run, uint32_t value);

/* group.c */
bool rp_run_is_group(const struct rp_run *run, int32_t root);
/* What it stands for; a root that is no group, for itself. */
struct rp_group rp_run_group(const struct rp_run *run, int32_t root);
/* The root that stands for these; 0: there are too many. */
int32_t rp_run_make_group(struct rp_run *run, struct rp_group group);
/* ... or for all that either of them does. */
int32_t rp_run_either(struct rp_run *run, int32_t one, int32_t other);

/* divide.c */
/* Ends this run of the piece, unless one before has done so. */
void rp_run_request(struct rp_run *run, enum rp_request_kind kind, uint32_t variable, int64_t at,
                    int64_t shift);
/* floor(a / by) for by > 0, of the integers that `a` stands for */
void rp_run_divide(struct rp_run *run, const struct rp_form *a, int64_t by, bool wanted,
                   struct rp_form *out);

/* fact.c */
/* The range in the present context; false when it is not known. */
bool rp_run_range(const struct rp_run *run, const struct rp_form *form, int64_t *lo, int64_t *hi);
/* Replaces a form of `bits` bits by the congruent one that lies in the range of its type;
 * false (and `form` as it was) when there is none. */
bool rp_run_fit(const struct rp_run *run, struct rp_form *form, unsigned bits, bool is_signed);
void rp_run_fact(struct rp_run *run, const struct rp_form *form, int64_t lo, int64_t hi);
/* From here on predicate `value` is `sense`. */
void rp_run_assume(struct rp_run *run, uint32_t value, bool sense, unsigned depth);
/* Comparison `op` as one of its operands' difference with 0: *compare is LT, EQ or NE. */
bool rp_run_difference(struct rp_run *run, const struct rp_op *op, bool sense,
                       struct rp_form *difference, enum rp_compare *compare);
int rp_run_compare(struct rp_run *run, const struct rp_op *op); /* 0, 1, or 2: unknown */

/* iterate.c */
void rp_run_header(struct rp_run *run, uint32_t loop); /* the present context enters it */
bool rp_run_confirm(struct rp_run *run, uint32_t loop); /* at its exit test */
void rp_run_leave(struct rp_run *run, const struct rp_op *op, struct rp_form *out);

/* grain.c */
/* Asks for halves of the piece, as `touch` is not known for what it is in all of it. False where
 * that leads nowhere. */
bool rp_run_halve(struct rp_run *run, const struct rp_touch *touch);
/* The covers from `first` on, of a piece that is done, go together with those of earlier pieces
 * where they lie in one row. */
void rp_run_join(struct rp_run *run, uint32_t first);

/* cover.c */
void rp_run_touch(struct rp_run *run, const struct rp_touch *touch);

/* emit.c: adds what the covers amount to */
enum rp_status rp_run_emit(struct rp_run *run, struct rp_access_set *out);

#endif
