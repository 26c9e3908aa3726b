/* SPDX-License-Identifier: Apache-2.0 */
/* Where a reading command writes: stdout, through a pager when that is a terminal.
 *
 * One at a time. A reader that goes away (a pager quit early, `| head`) is no error: writing
 * ends, and rp_output_open tells loops to end too. */
#ifndef RP_TOOLS_OUTPUT_H
#define RP_TOOLS_OUTPUT_H

#include "tools/options.h"

#include <jansson.h>
#include "tracker/text.h"

#include <stdio.h>

enum rp_tint { RP_TINT_NONE, RP_TINT_BAD, RP_TINT_GOOD, RP_TINT_STRONG };

struct rp_output {
    FILE *file;
    bool color;
    int pager; /* pid, or 0 */
};

void rp_output_begin(struct rp_output *output, const struct rp_options *options);
/* False once nobody reads any more, or the disk is full. To be asked after each line or so. */
bool rp_output_open(struct rp_output *output);
/* Flushes and waits for the pager. Returns `code`, or RP_EXIT_FAILURE after a message when
 * something was lost that a reader still wanted. */
int rp_output_end(struct rp_output *output, int code);

/* Escape sequences around what is to stand out; "" without colour. */
const char *rp_tint(const struct rp_output *output, enum rp_tint tint);

/* A byte count as the user wants it: "64 KiB", or plain with --bytes. */
struct rp_shown_size {
    char text[RP_SIZE_TEXT];
};
struct rp_shown_size rp_shown_size(const struct rp_options *options, unsigned long long bytes);

/* A copy whose texts and names do nothing to a terminal; NULL without memory. */
json_t *rp_output_shown(json_t *value);

#endif
