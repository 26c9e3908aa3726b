/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of a scenario program can say, one row a verb.
 *
 * A verb that touches device memory has up to three views, which its kernel knows as a, b and
 * c. `effects` has a letter for each: r reads all of the view, w writes all of it, m reads and
 * writes all of it, u may leave some of it as it was, '-' has no such view. `counted` is the
 * view whose words give the number of threads; `k` rows share it when `rows` is set. */
#ifndef RP_TESTS_SCENARIOS_VERB_H
#define RP_TESTS_SCENARIOS_VERB_H

#include <stdbool.h>

enum verb_kind { VERB_KERNEL, VERB_SET, VERB_COPY, VERB_UPLOAD, VERB_CONTROL };

struct verb {
    const char *name;
    enum verb_kind kind;
    const char *effects;
    int counted;
    bool rows;   /* the counted view has k rows */
    bool exact;  /* the letters are the whole truth: no address depends on data */
    bool single; /* one block, whatever n is */
};

/* NULL when there is no such verb. */
const struct verb *verb_find(const char *name);
int verb_views(const struct verb *verb); /* how many views a line of it names */

#endif
