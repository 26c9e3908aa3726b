/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/chain.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum rp_status rp_chain_create(const struct rp_question *question, struct rp_chain *chain,
                               char *message, size_t message_size)
{
    const struct rp_profile *profile = question->profile;
    size_t count = rp_profile_count(profile);

    *chain = (struct rp_chain){calloc(count + 1, sizeof(struct rp_link)), count};
    if (chain->links == NULL)
        return RP_NO_MEMORY;
    for (size_t k = 0; k < count; k++) {
        const struct rp_segment *segment = rp_profile_segment(profile, k);
        struct rp_link *link = &chain->links[k];
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *cost = &segment->costs[c];
            if (!rp_question_allows(question, k, (enum rp_choice)c))
                continue;
            link->rows[link->count] =
                (struct rp_row){(int64_t)cost->hold, (int64_t)cost->peak, (int64_t)cost->time};
            link->choice[link->count++] = (uint8_t)c;
        }
        if (link->count == 0) {
            snprintf(message, message_size, "segment '%s' has no option left", segment->name);
            rp_chain_release(chain);
            return RP_INVALID;
        }
    }
    return RP_OK;
}

void rp_chain_release(struct rp_chain *chain)
{
    free(chain->links);
    *chain = (struct rp_chain){NULL, 0};
}

/* `a` at least equals `b` in all figures; of equal rows the earlier one stands. */
static bool dominates(const struct rp_link *link, uint8_t a, uint8_t b)
{
    const struct rp_row *x = &link->rows[a], *y = &link->rows[b];

    if (x->hold > y->hold || x->peak > y->peak || x->time > y->time)
        return false;
    return a < b || x->hold < y->hold || x->peak < y->peak || x->time < y->time;
}

void rp_chain_drop_dominated(struct rp_chain *chain)
{
    for (size_t k = 0; k < chain->count; k++) {
        struct rp_link full = chain->links[k], *link = &chain->links[k];
        link->count = 0;
        for (uint8_t b = 0; b < full.count; b++) {
            bool dominated = false;
            for (uint8_t a = 0; a < full.count && !dominated; a++)
                dominated = a != b && dominates(&full, a, b);
            if (dominated)
                continue;
            link->rows[link->count] = full.rows[b];
            link->choice[link->count++] = full.choice[b];
        }
    }
}

/* The least room for links k.. when nothing is held yet needs no memory of the links before:
 * one pass from the end does. */
struct rp_need rp_chain_need(const struct rp_chain *chain)
{
    struct rp_need rest = {0, 0, RP_CHOICE_RETAIN};

    for (size_t k = chain->count; k-- > 0;) {
        const struct rp_link *link = &chain->links[k];
        struct rp_need best = {INT64_MAX, 0, RP_CHOICE_RETAIN};
        for (uint8_t c = 0; c < link->count; c++) {
            struct rp_need own = {link->rows[c].peak, k, (enum rp_choice)link->choice[c]};
            struct rp_need later = {link->rows[c].hold + rest.room, rest.link, rest.choice};
            struct rp_need need = later.room > own.room ? later : own;
            if (need.room < best.room)
                best = need;
        }
        rest = best;
    }
    return rest;
}

void rp_chain_walk(const struct rp_chain *chain, const uint8_t *rows, int64_t *peak,
                   int64_t *time, size_t *binding)
{
    int64_t held = 0;
    size_t at = 0;

    *peak = 0;
    *time = 0;
    for (size_t k = 0; k < chain->count; k++) {
        const struct rp_row *row = &chain->links[k].rows[rows[k]];
        if (held + row->peak > *peak) {
            *peak = held + row->peak;
            at = k;
        }
        held += row->hold;
        *time += row->time;
    }
    if (binding != NULL)
        *binding = at;
}

/* ---- folding ------------------------------------------------------------------ */

/* Both after one another. */
static struct rp_row join(struct rp_row first, struct rp_row second)
{
    return (struct rp_row){first.hold + second.hold,
                           larger(first.peak, first.hold + second.peak),
                           first.time + second.time};
}

static struct rp_link kept_rows(const struct rp_link *link, uint8_t keep)
{
    struct rp_link kept = {.count = 0};

    for (uint8_t c = 0; c < link->count; c++) {
        if (!(keep & (1u << c)))
            continue;
        kept.rows[kept.count] = link->rows[c];
        kept.choice[kept.count++] = c;
    }
    return kept;
}

static void join_all(struct rp_link *link, struct rp_row before, struct rp_row after)
{
    for (uint8_t c = 0; c < link->count; c++)
        link->rows[c] = join(join(before, link->rows[c]), after);
}

enum rp_status rp_fold_create(const struct rp_chain *chain, const uint8_t *keep,
                              struct rp_fold *fold)
{
    static const struct rp_row nothing = {0, 0, 0};
    struct rp_row run = nothing;

    *fold = (struct rp_fold){.chain = {calloc(chain->count + 1, sizeof(struct rp_link)), 0},
                             .origin = calloc(chain->count + 1, sizeof(size_t))};
    if (fold->chain.links == NULL || fold->origin == NULL) {
        rp_fold_release(fold);
        return RP_NO_MEMORY;
    }
    for (size_t k = 0; k < chain->count; k++) {
        struct rp_link kept = kept_rows(&chain->links[k], keep[k]);
        bool is_needed = k + 1 == chain->count && fold->chain.count == 0;
        if (kept.count == 1 && !is_needed) {
            run = join(run, kept.rows[0]);
            continue;
        }
        join_all(&kept, run, nothing);
        run = nothing;
        fold->origin[fold->chain.count] = k;
        fold->chain.links[fold->chain.count++] = kept;
    }
    if (fold->chain.count > 0)
        join_all(&fold->chain.links[fold->chain.count - 1], nothing, run);
    return RP_OK;
}

void rp_fold_release(struct rp_fold *fold)
{
    rp_chain_release(&fold->chain);
    free(fold->origin);
    fold->origin = NULL;
}
