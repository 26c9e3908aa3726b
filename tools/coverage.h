/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of each driver call, counted and told from the call table. */
#ifndef RP_TOOLS_COVERAGE_H
#define RP_TOOLS_COVERAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* "637 driver calls: 220 followed, ..." */
void rp_coverage_text(char *text, size_t size);
/* Calls without a fate or a reason: none, in a table that is whole. */
int rp_coverage_unclassified(void);
/* The same counts by fate, and with `each` a list of all calls with fate and reason. */
json_t *rp_coverage_json(bool each);
/* One line a call. */
void rp_coverage_print(FILE *file);

#endif
