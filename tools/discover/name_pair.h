/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of range names, of which the one's ranges may be forwards and the other's their replays. */
#ifndef RP_TOOLS_DISCOVER_NAME_PAIR_H
#define RP_TOOLS_DISCOVER_NAME_PAIR_H

#include "tools/discover/finding.h"

struct rp_name_pair {
    uint32_t forward, replay;
    struct rp_found_segment found; /* its occurrences and how well they agree */
    double shared, memory;         /* the least of all */
    size_t doubted;                /* occurrences that something speaks against */
    enum rp_doubt doubt;           /* the first of them */
    bool numbered;                 /* the names differ by numbers alone */
    bool holds;                    /* some replays hold other ranges, which launch more ... */
    bool in_pieces;                /* ... between what they launch themselves */
    uint64_t replays;              /* ranges of the replay's name, paired or not */
    bool taken;
};

struct rp_name_pairs {
    struct rp_name_pair *items;
    size_t count, capacity;
};

/* Where the text that both names end in begins, after a separator: the key of "forward/x" and
 * "recompute/x" is "x". The length of the name when there is none. */
size_t rp_name_pair_key(const char *a, const char *b);
/* The segment of `first` and of all pairs that differ from it in nothing but the key; they are
 * taken then. */
void rp_name_pair_segment(struct rp_finding *finding, struct rp_name_pairs *pairs,
                          struct rp_name_pair *first);

#endif
