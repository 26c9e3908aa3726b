/* SPDX-License-Identifier: Apache-2.0 */
/* What every reading command begins with: its options, the filter in them, and the run or trace
 * that it reads. */
#ifndef RP_TOOLS_READING_H
#define RP_TOOLS_READING_H

#include "tools/command.h"
#include "tools/filter.h"
#include "tools/options.h"
#include "tools/source.h"

struct rp_reading {
    const struct rp_command *command;
    struct rp_options options;
    struct rp_filter filter;
    struct rp_source source;
};

/* False where there is nothing to read: *code is then the command's exit code, after a message or
 * the help that was asked for. */
bool rp_reading_begin(struct rp_reading *reading, const char *command, int argc, char **argv,
                      int *code);
void rp_reading_end(struct rp_reading *reading);

#endif
