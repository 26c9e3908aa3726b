/* SPDX-License-Identifier: Apache-2.0 */
/* The nested problem laid bare: a chain of links, each with up to three options.
 *
 * Internal to planner/. Figures are signed so that differences need no care; a closed profile
 * guarantees that no sum of them leaves 63 bits. The base is taken off before: `room` is the
 * budget less the base. */
#ifndef RP_PLANNER_CHAIN_H
#define RP_PLANNER_CHAIN_H

#include "planner/planner.h"

/* Products of two figures. */
__extension__ typedef __int128 rp_wide;
__extension__ typedef unsigned __int128 rp_unsigned_wide;

struct rp_row {
    int64_t hold, peak, time;
};

struct rp_link {
    struct rp_row rows[RP_CHOICE_COUNT]; /* the first `count` are in use */
    uint8_t choice[RP_CHOICE_COUNT];     /* which option each row is, ascending */
    uint8_t count;
};

struct rp_chain {
    struct rp_link *links;
    size_t count;
};

/* The rows that the question allows. RP_INVALID when a segment keeps none. */
enum rp_status rp_chain_create(const struct rp_question *question, struct rp_chain *chain,
                               char *message, size_t message_size);
void rp_chain_release(struct rp_chain *chain);

/* Drops every row that another row of its link equals or beats in all three figures. */
void rp_chain_drop_dominated(struct rp_chain *chain);

/* The smallest room in which the chain fits, and the link and option whose peak decides it. */
struct rp_need {
    int64_t room;
    size_t link;
    enum rp_choice choice;
};
struct rp_need rp_chain_need(const struct rp_chain *chain);

/* Walks row indices through the chain. `binding` may be NULL. */
void rp_chain_walk(const struct rp_chain *chain, const uint8_t *rows, int64_t *peak,
                   int64_t *time, size_t *binding);

/* A chain of only those links that still have a choice (or one link, when none has), in which
 * every run of decided links is folded into a neighbour: the same peaks and times. */
struct rp_fold {
    struct rp_chain chain;
    size_t *origin; /* of each folded link: the link of the full chain that it decides */
};

/* keep[k] is a bit mask over the rows of link k, none of them 0. */
enum rp_status rp_fold_create(const struct rp_chain *chain, const uint8_t *keep,
                              struct rp_fold *fold);
void rp_fold_release(struct rp_fold *fold);

#endif
