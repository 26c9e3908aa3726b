/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards that ranks share: processes that train together mostly do the same wrong. */
#ifndef RP_TOOLS_FOLD_H
#define RP_TOOLS_FOLD_H

#include <jansson.h>

/* A new list in which hazards that differ in nothing but their rank, process, stream and order are
 * one, with `ranks`, a list, in the place of `rank` and `pid`; without the stream where that
 * differs. NULL when out of memory. */
json_t *rp_hazards_fold(const json_t *hazards);
/* "0 to 3", "0, 2, 5". Returns `text`, which ends in "..." where it does not fit. */
const char *rp_ranks_words(const json_t *ranks, char *text, size_t size);

#endif
