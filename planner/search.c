/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/search.h"

#include "planner/label.h"

#include <stdlib.h>
#include <string.h>

/* Rows beyond one a link that the first, cheapest round takes in. */
#define FIRST_EXTRA 24
/* Width of the search for a first plan. */
#define BEAM_LABELS 64

/* One room's worth of searching, for plans of less time than `cutoff`. */
struct attempt {
    struct rp_search *search;
    int64_t room, cutoff;
    bool found;      /* search->rows, peak and time hold a plan below the first cutoff */
    bool exact_peak; /* and none of equal time has a smaller peak */
    bool dropped;    /* `lower` counts what dropped labels could have become */
    int64_t lower;
    int64_t (*least)[RP_CHOICE_COUNT]; /* the least time of any plan with that row */
    int64_t *sorted;                   /* the same without the best of each link, ascending */
    size_t sorted_count;
    uint8_t *keep;
};

/* ---- bounds ------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Fills least[k], and raises the lower bound: some row of the link has to be taken. */
static void bound_link(struct attempt *attempt, size_t k, struct rp_hull before,
                       struct rp_hull after)
{
    const struct rp_link *link = &attempt->search->chain->links[k];
    int64_t best = INT64_MAX;

    for (uint8_t c = 0; c < link->count; c++) {
        const struct rp_row *row = &link->rows[c];
        int64_t rest = rp_hull_least_sum(before, after, attempt->room - row->hold,
                                         attempt->room - row->peak);
        attempt->least[k][c] = rest == INT64_MAX ? INT64_MAX : rest + row->time;
        if (attempt->least[k][c] < best)
            best = attempt->least[k][c];
    }
    if (best > attempt->lower)
        attempt->lower = best;
}

static void sort_extra(struct attempt *attempt)
{
    const struct rp_chain *chain = attempt->search->chain;

    attempt->sorted_count = 0;
    for (size_t k = 0; k < chain->count; k++) {
        uint8_t best = 0;
        for (uint8_t c = 1; c < chain->links[k].count; c++)
            if (attempt->least[k][c] < attempt->least[k][best])
                best = c;
        for (uint8_t c = 0; c < chain->links[k].count; c++)
            if (c != best && attempt->least[k][c] < INT64_MAX)
                attempt->sorted[attempt->sorted_count++] = attempt->least[k][c];
    }
    qsort(attempt->sorted, attempt->sorted_count, sizeof(int64_t), compare);
}

static enum rp_status bound_rows(struct attempt *attempt, const struct rp_hulls *before)
{
    const struct rp_chain *chain = attempt->search->chain;
    struct rp_hulls after;
    enum rp_status status = rp_hulls_after(chain, attempt->room, &after);

    if (status != RP_OK)
        return status;
    for (size_t k = 0; k < chain->count; k++)
        bound_link(attempt, k, rp_hulls_level(before, k),
                   rp_hulls_level(&after, chain->count - k - 1));
    rp_hulls_release(&after);
    sort_extra(attempt);
    return RP_OK;
}

/* ---- searching ---------------------------------------------------------------- */

/* Leaves out the rows that can't beat the threshold. */
static enum rp_status fold_below(struct attempt *attempt, int64_t threshold,
                                 struct rp_fold *fold)
{
    const struct rp_chain *chain = attempt->search->chain;

    for (size_t k = 0; k < chain->count; k++) {
        attempt->keep[k] = 0;
        for (uint8_t c = 0; c < chain->links[k].count; c++)
            if (attempt->least[k][c] < threshold)
                attempt->keep[k] |= (uint8_t)(1u << c);
    }
    return rp_fold_create(chain, attempt->keep, fold);
}

/* Translates rows of the folded links into rows of the full chain. */
static void unfold(struct attempt *attempt, const struct rp_fold *fold, const uint8_t *rows)
{
    struct rp_search *search = attempt->search;

    for (size_t k = 0; k < search->chain->count; k++)
        search->rows[k] = (uint8_t)__builtin_ctz(attempt->keep[k]);
    for (size_t k = 0; k < fold->chain.count; k++)
        search->rows[fold->origin[k]] = fold->chain.links[k].choice[rows[k]];
}

static enum rp_status adopt(struct attempt *attempt, const struct rp_hunt *hunt,
                            const struct rp_fold *fold)
{
    const struct rp_label *best = &hunt->labels[hunt->count - 1];
    uint8_t *rows = calloc(fold->chain.count + 1, 1);

    if (rows == NULL)
        return RP_NO_MEMORY;
    rp_hunt_rows(hunt, hunt->count - 1, rows);
    unfold(attempt, fold, rows);
    free(rows);
    attempt->search->peak = best->need;
    attempt->search->time = best->time;
    attempt->found = true;
    attempt->cutoff = best->time;
    return RP_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What one hunt for plans below a threshold tells. */
static enum rp_status learn(struct attempt *attempt, const struct rp_hunt *hunt,
                            const struct rp_fold *fold)
{
    enum rp_status status = RP_OK;

    attempt->search->work += hunt->work;
    if (hunt->count > 0)
        status = adopt(attempt, hunt, fold);
    attempt->exact_peak = hunt->count > 0 && !hunt->dropped;
    attempt->dropped = hunt->dropped;
    /* The best plan was found now, or cut off by the threshold, or dropped. */
    int64_t bound = smaller(attempt->cutoff, smaller(hunt->cutoff, hunt->dropped_bound));
    if (bound > attempt->lower)
        attempt->lower = bound;
    return status;
}

static enum rp_status hunt_below(struct attempt *attempt, int64_t threshold, size_t max_labels)
{
    struct rp_fold fold;
    struct rp_hulls before = {NULL, NULL, 0, 0};
    struct rp_hunt hunt = {.chain = &fold.chain,
                           .room = attempt->room,
                           .cutoff = threshold,
                           .max_labels = max_labels,
                           .watch = attempt->search->watch};
    enum rp_status status = fold_below(attempt, threshold, &fold);

    if (status != RP_OK)
        return status;
    if (!attempt->search->plain) {
        status = rp_hulls_before(&fold.chain, attempt->room, &before);
        hunt.before = &before;
    }
    if (status == RP_OK)
        status = rp_hunt_run(&hunt);
    if (status == RP_OK) {
        status = learn(attempt, &hunt, &fold);
        rp_hunt_release(&hunt);
    }
    rp_hulls_release(&before);
    rp_fold_release(&fold);
    return status;
}

/* Rounds with ever more rows, until the best plan has been found or ruled out. A round that
 * has to drop labels is the last but one: more rows would only mean more dropping. */
static enum rp_status hunt_in_rounds(struct attempt *attempt)
{
    size_t max_labels = attempt->search->max_labels, extra = FIRST_EXTRA;
    enum rp_status status = RP_OK;

    while (status == RP_OK && attempt->lower < attempt->cutoff) {
        int64_t all = attempt->cutoff, threshold = all;
        if (extra < attempt->sorted_count)
            threshold = smaller(all, attempt->sorted[extra]);
        extra *= 2;
        if (threshold <= attempt->lower)
            continue;
        status = hunt_below(attempt, threshold, max_labels);
        if (status != RP_OK || !attempt->dropped)
            continue;
        if (attempt->cutoff == all && threshold < all)
            status = hunt_below(attempt, all, max_labels);
        break;
    }
    return status;
}

/* A narrow search, to have a plan that the others need only improve. It is narrow by choice,
 * so what it drops is no truncation, unless the caller wants it still narrower. */
static enum rp_status find_first_plan(struct attempt *attempt)
{
    size_t max_labels = attempt->search->max_labels;
    enum rp_status status =
        hunt_below(attempt, INT64_MAX, max_labels < BEAM_LABELS ? max_labels : BEAM_LABELS);

    if (max_labels > BEAM_LABELS)
        attempt->dropped = false;
    return status;
}

static enum rp_status attempt_run(struct attempt *attempt)
{
    struct rp_search *search = attempt->search;
    struct rp_hulls before;
    enum rp_status status = rp_hulls_before(search->chain, attempt->room, &before);

    if (status != RP_OK)
        return status;
    attempt->lower = rp_hull_at(rp_hulls_level(&before, search->chain->count), attempt->room);
    if (attempt->lower < attempt->cutoff)
        status = bound_rows(attempt, &before);
    rp_hulls_release(&before);
    if (status == RP_OK && attempt->cutoff == INT64_MAX)
        status = find_first_plan(attempt);
    if (status == RP_OK && attempt->lower < attempt->cutoff)
        status = hunt_in_rounds(attempt);
    return status;
}

/* ---- the answer --------------------------------------------------------------- */

static enum rp_status attempt_create(struct rp_search *search, struct attempt *attempt)
{
    size_t links = search->chain->count;

    *attempt = (struct attempt){
        .search = search,
        .least = calloc(links + 1, sizeof(*attempt->least)),
        .sorted = calloc(RP_CHOICE_COUNT * links + 1, sizeof(*attempt->sorted)),
        .keep = calloc(links + 1, 1),
    };
    return attempt->least && attempt->sorted && attempt->keep ? RP_OK : RP_NO_MEMORY;
}

static void attempt_release(struct attempt *attempt)
{
    free(attempt->least);
    free(attempt->sorted);
    free(attempt->keep);
}

/* The plan found is optimal; is there one of equal time with a smaller peak? Rows that can't
 * be in a plan of that time can't be within less room either, so that what is left of the chain
 * is short. */
static enum rp_status lower_peak(struct attempt *attempt)
{
    struct rp_search *search = attempt->search;
    struct rp_search folded = {.room = search->peak - 1, .max_labels = search->max_labels};
    struct attempt again = {.found = false};
    struct rp_fold fold;
    enum rp_status status = fold_below(attempt, search->time + 1, &fold);

    if (status != RP_OK)
        return status;
    folded.chain = &fold.chain;
    folded.rows = calloc(fold.chain.count + 1, 1);
    status = folded.rows != NULL ? attempt_create(&folded, &again) : RP_NO_MEMORY;
    if (status == RP_OK) {
        again.room = folded.room;
        again.cutoff = search->time + 1;
        status = attempt_run(&again);
    }
    if (status == RP_OK && again.found) {
        unfold(attempt, &fold, folded.rows);
        search->peak = folded.peak;
    }
    search->work += folded.work;
    attempt_release(&again);
    free(folded.rows);
    rp_fold_release(&fold);
    return status;
}

static enum rp_status search_bounded(struct rp_search *search, struct attempt *attempt)
{
    attempt->room = search->room;
    attempt->cutoff = INT64_MAX;
    enum rp_status status = attempt_run(attempt);
    if (status != RP_OK)
        return status;
    search->found = attempt->found;
    search->lower = attempt->lower;
    search->truncated = attempt->dropped;
    bool is_proved = search->found && search->lower >= search->time;
    if (is_proved && !attempt->exact_peak && search->peak > 0)
        status = lower_peak(attempt);
    return status;
}

static enum rp_status search_plainly(struct rp_search *search, struct attempt *attempt)
{
    attempt->room = search->room;
    attempt->cutoff = INT64_MAX;
    enum rp_status status = hunt_below(attempt, INT64_MAX, search->max_labels);
    search->found = attempt->found;
    search->lower = attempt->lower;
    search->truncated = attempt->dropped;
    return status;
}

enum rp_status rp_search_run(struct rp_search *search)
{
    struct attempt attempt;
    enum rp_status status = attempt_create(search, &attempt);

    search->work = 0;
    search->found = false;
    if (status == RP_OK)
        status = search->plain ? search_plainly(search, &attempt)
                               : search_bounded(search, &attempt);
    attempt_release(&attempt);
    return status;
}
