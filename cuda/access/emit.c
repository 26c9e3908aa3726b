/* SPDX-License-Identifier: Apache-2.0 */
/* From covers to byte ranges. Strided sets of several instructions are united: the four
 * stores of an unrolled loop leave gaps each, but none together. */
#include "cuda/access/run.h"

#define MAX_RANGES 64 /* of one root and effect; more become one that is not exact */

/* A strided set on the way of being united. */
struct strided {
    uint64_t lo, width;
    const struct rp_term *terms;
    unsigned term_count;
};

struct uniting {
    struct rp_stretch *stretches; /* results so far, then room for more */
    size_t count, capacity;
    bool overflow;
};

/* Shell's sort: in place (qsort may allocate), and quick on what is nearly in order. */
static void sort_stretches(struct rp_stretch *list, size_t count)
{
    static const size_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
        for (size_t i = gaps[g]; i < count; i++) {
            struct rp_stretch moved = list[i];
            size_t at = i;
            for (; at >= gaps[g] && list[at - gaps[g]].lo > moved.lo; at -= gaps[g])
                list[at] = list[at - gaps[g]];
            list[at] = moved;
        }
}

/* Sorts the stretches from `first` on and joins those that touch. */
static void tidy(struct uniting *at, size_t first)
{
    struct rp_stretch *list = at->stretches + first;
    size_t count = at->count - first, kept = 0;
    if (count < 2)
        return;
    sort_stretches(list, count);
    for (size_t i = 1; i < count; i++) {
        if (list[i].lo > list[kept].hi)
            list[++kept] = list[i];
        else if (list[i].hi > list[kept].hi)
            list[kept].hi = list[i].hi;
    }
    at->count = first + kept + 1;
}

static void add_stretch(struct uniting *at, uint64_t lo, uint64_t hi)
{
    if (at->count == at->capacity)
        at->overflow = true;
    else
        at->stretches[at->count++] = (struct rp_stretch){.lo = lo, .hi = hi};
}

/* Repeats the stretches from `first` on along a term. */
static void repeat(struct uniting *at, size_t first, struct rp_term term)
{
    size_t count = at->count - first;
    uint64_t reach = term.stride * (term.count - 1);
    if (count == 1 && at->stretches[first].hi - at->stretches[first].lo >= term.stride) {
        at->stretches[first].hi += reach;
        return;
    }
    if (term.count > (at->capacity - at->count) / (count ? count : 1)) {
        at->overflow = true;
        return;
    }
    for (uint64_t i = 1; i < term.count; i++)
        for (size_t j = 0; j < count; j++)
            add_stretch(at, at->stretches[first + j].lo + i * term.stride,
                        at->stretches[first + j].hi + i * term.stride);
    tidy(at, first);
}

static bool same_term(const struct strided *a, const struct strided *b)
{
    return a->terms[0].stride == b->terms[0].stride && a->terms[0].count == b->terms[0].count;
}

/* Terms that close up are width. */
static void close_up(struct strided *set)
{
    while (set->term_count && set->terms[set->term_count - 1].stride <= set->width) {
        const struct rp_term *term = &set->terms[--set->term_count];
        set->width += term->stride * (term->count - 1);
    }
}

/* Unites sets: those that repeat along the same largest term do so together. */
static void unite(struct uniting *at, struct strided *sets, size_t count, unsigned depth)
{
    size_t first = at->count;
    for (size_t i = 0; i < count && !at->overflow; i++) {
        close_up(&sets[i]);
        if (!sets[i].term_count)
            add_stretch(at, sets[i].lo, sets[i].lo + sets[i].width);
    }
    for (size_t i = 0; i < count && !at->overflow;) {
        if (!sets[i].term_count) {
            i++;
            continue;
        }
        struct rp_term term = sets[i].terms[0];
        size_t same = i + 1; /* brings all of the kind to the front */
        for (size_t j = same; j < count; j++)
            if (sets[j].term_count && same_term(&sets[i], &sets[j])) {
                struct strided swap = sets[same];
                sets[same++] = sets[j];
                sets[j] = swap;
            }
        for (size_t j = i; j < same; j++) {
            sets[j].terms++;
            sets[j].term_count--;
        }
        size_t inner = at->count;
        if (depth > RP_MAX_TERMS)
            at->overflow = true;
        else
            unite(at, sets + i, same - i, depth + 1);
        if (!at->overflow)
            repeat(at, inner, term);
        i = same;
    }
    if (!at->overflow)
        tidy(at, first);
}

/* ------------------------------------------------------------------------------- */

struct emission {
    struct rp_run *run;
    struct rp_access_set *out;
    struct rp_cover kind; /* root, effect and atomic of all that is emitted */
    enum rp_status status;
};

static void emit(struct emission *at, uint64_t lo, uint64_t hi, enum rp_verdict verdict)
{
    struct rp_access access = {
        .lo = lo, .hi = hi, .effect = at->kind.effect, .verdict = (uint8_t)verdict,
        .root = at->kind.root ? (uint64_t)at->run->root_numbers[at->kind.root - 1] : 0,
        .root_param = rp_run_root_param(at->run, at->kind.root),
        .exact = verdict == RP_VERDICT_EXACT,
        .atomic = at->kind.atomic, .updates = at->kind.updates};
    enum rp_status status = rp_access_set_add(at->out, &access);
    if (status != RP_OK)
        at->status = status;
}

static bool same_kind(const struct rp_cover *a, const struct rp_cover *b)
{
    return a->root == b->root && a->effect == b->effect && a->atomic == b->atomic &&
           a->updates == b->updates;
}

/* What is inexact and lies in no exact range. Of too much of it the hull is said. */
static void emit_bounded(struct emission *at, struct uniting *bounded,
                         const struct rp_stretch *exact, size_t exact_count)
{
    if (bounded->count > MAX_RANGES) {
        bounded->stretches[0].hi = bounded->stretches[bounded->count - 1].hi;
        bounded->count = 1;
    }
    for (size_t i = 0; i < bounded->count; i++) {
        const struct rp_stretch *some = &bounded->stretches[i];
        bool held = false;
        for (size_t j = 0; j < exact_count && !held; j++)
            held = some->lo >= exact[j].lo && some->hi <= exact[j].hi;
        if (!held)
            emit(at, some->lo, some->hi, RP_VERDICT_BOUNDED);
    }
}

/* Moves all covers of the kind of covers[first] behind it; the index of the next kind. Nothing from
 * `past` on is of it. */
static uint32_t gather_kind(struct rp_cover *covers, uint32_t first, uint32_t past)
{
    uint32_t end = first + 1;
    for (uint32_t i = end; i < past; i++)
        if (same_kind(&covers[i], &covers[first])) {
            struct rp_cover swap = covers[end];
            covers[end++] = covers[i];
            covers[i] = swap;
        }
    return end;
}

static void unite_covers(struct uniting *at, const struct rp_cover *covers, size_t count,
                         bool exact)
{
    struct strided sets[RP_MAX_SETS];
    size_t set_count = 0;
    for (size_t i = 0; i < count; i++)
        if (covers[i].exact == exact)
            sets[set_count++] = (struct strided){.lo = covers[i].lo, .width = covers[i].width,
                                                 .terms = covers[i].terms,
                                                 .term_count = covers[i].term_count};
    unite(at, sets, set_count, 0);
}

/* The covers from end to end: of the inexact ones, or of all. */
static void unite_hulls(struct uniting *at, const struct rp_cover *covers, size_t count, bool all)
{
    at->count = 0;
    for (size_t i = 0; i < count; i++)
        if (all || !covers[i].exact)
            add_stretch(at, covers[i].lo, covers[i].hi);
    tidy(at, 0);
}

static void note_gaps(struct rp_run *run)
{
    run->lacks_walk = true;
    if (run->found.reason_verdict < RP_VERDICT_BOUNDED) {
        run->found.reason_verdict = RP_VERDICT_BOUNDED;
        run->found.reason = "it leaves too many gaps between the bytes that it touches";
    }
}

/* Emits all covers of the kind of covers[first]; the index of the next kind. */
static uint32_t emit_kind(struct emission *at, uint32_t first, uint32_t past)
{
    struct rp_run *run = at->run;
    const struct rp_cover *covers = run->covers + first;
    uint32_t end = gather_kind(run->covers, first, past);
    size_t count = end - first;
    at->kind = *covers;
    struct uniting exact = {.stretches = run->stretches, .capacity = RP_MAX_STRETCHES / 2};
    struct uniting bounded = {.stretches = run->stretches + RP_MAX_STRETCHES / 2,
                              .capacity = RP_MAX_STRETCHES / 2};
    unite_covers(&exact, covers, count, true);
    bool lost = exact.overflow || exact.count > MAX_RANGES;
    if (lost) {
        exact.count = 0;
        note_gaps(run);
    }
    for (size_t i = 0; i < exact.count; i++)
        emit(at, exact.stretches[i].lo, exact.stretches[i].hi, RP_VERDICT_EXACT);
    if (!lost)
        unite_covers(&bounded, covers, count, false);
    if (lost || bounded.overflow || bounded.count > MAX_RANGES)
        unite_hulls(&bounded, covers, count, lost);
    emit_bounded(at, &bounded, exact.stretches, exact.count);
    return end;
}

static void emit_roots(struct emission *at, enum rp_effect effect)
{
    for (uint32_t i = 0; i < at->run->proof->root_count + at->run->slot_count; i++) {
        uint8_t marks = at->run->root_marks[i];
        if (!(marks & effect))
            continue;
        struct rp_cover kind = {.effect = (uint8_t)effect, .root = (int32_t)i + 1,
                                .atomic = !(marks & (unsigned)effect << RP_MARK_PLAIN_SHIFT),
                                .updates = effect == RP_WRITE && !(marks & RP_MARK_BLIND)};
        uint64_t root = (uint64_t)at->run->root_numbers[i];
        at->kind = kind;
        emit(at, root, root, RP_VERDICT_ROOT);
    }
}

static void emit_worst(struct emission *at, enum rp_effect effect)
{
    at->kind = (struct rp_cover){.effect = (uint8_t)effect};
    if (at->run->found.worst[effect])
        emit(at, 0, UINT64_MAX, (enum rp_verdict)at->run->found.worst[effect]);
}

/* Moves the covers of reads to the front; how many there are. */
static uint32_t reads_first(struct rp_run *run)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < run->found.cover_count; i++)
        if (run->covers[i].effect == RP_READ) {
            struct rp_cover swap = run->covers[reads];
            run->covers[reads++] = run->covers[i];
            run->covers[i] = swap;
        }
    return reads;
}

enum rp_status rp_run_emit(struct rp_run *run, struct rp_access_set *out)
{
    struct emission at = {.run = run, .out = out, .status = RP_OK};
    uint32_t i = 0, past[] = {[RP_READ] = reads_first(run), [RP_WRITE] = run->found.cover_count};
    for (int effect = RP_READ; effect <= RP_WRITE; effect++) {
        while (i < past[effect])
            i = emit_kind(&at, i, past[effect]);
        emit_roots(&at, (enum rp_effect)effect);
        emit_worst(&at, (enum rp_effect)effect);
    }
    out->reason = run->found.reason;
    return at.status;
}
