/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of the reading commands. An event passes when every filter that was given lets
 * it pass; the same names mean the same everywhere. */
#ifndef RP_TOOLS_FILTER_H
#define RP_TOOLS_FILTER_H

#include "tools/options.h"
#include "tracker/trace.h"

#include <regex.h>

struct rp_id_range {
    uint64_t first, last, stride; /* last is part of it */
};

struct rp_filter {
    struct rp_id_range *ranges;
    size_t range_count;
    bool by_call, by_line, by_stream, by_step;
    regex_t line;
    const char *kernel, *segment; /* globs, or NULL */
    uint64_t stream, step;
};

/* Returns RP_EXIT_OK, or RP_EXIT_USAGE after a message. */
int rp_filter_create(const struct rp_command *command, const struct rp_options *options,
                     struct rp_filter *filter);
void rp_filter_release(struct rp_filter *filter);

bool rp_filter_id(const struct rp_filter *filter, uint64_t id);
bool rp_filter_line(const struct rp_filter *filter, const char *line);
/* True when the event itself names a kernel, respectively a segment, that is asked for. */
bool rp_filter_names_kernel(const struct rp_filter *filter, const struct rp_event *event);
bool rp_filter_names_segment(const struct rp_filter *filter, const struct rp_event *event);

#endif
