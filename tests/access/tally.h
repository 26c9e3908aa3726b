/* SPDX-License-Identifier: Apache-2.0 */
/* How much more than what launches write is claimed of them, and whose fault that is.
 *
 * What is claimed is a function of a launch's arguments, what is written also one of memory. So a
 * launch that is claimed to write more than it wrote is run with other contents of memory too.
 * Where these make it write something else, and what is claimed is no more than what all of them
 * wrote together, or lies where an index from memory leads, the claim depends on data: no analysis
 * of arguments can do better. All other such claims the analysis has lost. */
#ifndef RP_TESTS_ACCESS_TALLY_H
#define RP_TESTS_ACCESS_TALLY_H

#include "tests/access/generate.h"
#include "tests/access/scalar.h"

#define TALLY_CONTENTS 96 /* of memory, at most */

/* What the analysis says of claims that it has lost. */
#define TALLY_REASONS 24
struct tally_reason {
    char text[96]; /* "": there are no more */
    enum rp_verdict verdict;
    unsigned lost;
};

/* Of kernels that get their pointers by one detour, by none (behind these), by several (last). */
#define TALLY_SHARES (GENERATED_DETOURS + 2)
struct tally_share {
    unsigned launches, lost;
};

struct tally {
    unsigned launches, endless;
    unsigned verdicts[2][6];         /* reads and writes */
    unsigned data[6], lost[6];       /* of each verdict on the writes: more claimed than written */
    uint64_t claimed[6], written[6]; /* bytes, of those that claim ranges */
    double *ratios;                  /* bytes claimed over written, by kernel that claims ranges */
    size_t ratio_count, ratio_capacity;
    struct tally_reason reasons[TALLY_REASONS];
    struct tally_share shares[TALLY_SHARES];
};

/* What the runs of one launch wrote, and whether they did all write the same. */
struct tally_runs {
    struct scalar_ranges first, all;
    struct scalar_adrift adrift;
    bool differ;
};

/* Is something claimed that the first run did not write? */
bool tally_is_over(const struct rp_access_set *set, const struct scalar_ranges *first);
/* Do what the runs show explain all that is claimed? */
bool tally_depends_on_data(const struct rp_access_set *set, const struct tally_runs *runs);
/* True when the analysis has lost it. */
bool tally_count(struct tally *tally, const struct rp_access_set *set,
                 const struct tally_runs *runs);
/* Ends a kernel: what its launches, from what the tally was at `before` on, claimed and wrote. */
void tally_kernel(struct tally *tally, const struct tally *before, const struct generated *made);
unsigned tally_sum(const unsigned by_verdict[6]);
void tally_print(struct tally *tally, const char *class_);

#endif
