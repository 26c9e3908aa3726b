/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of the reading commands; the same names mean the same everywhere.
 *
 * A filter asks for facets (a kernel, a stream, a step ...). What is shown is a call with its
 * notes, and it passes when for each facet that is asked for at least one of its events has it. */
#ifndef RP_TOOLS_FILTER_H
#define RP_TOOLS_FILTER_H

#include "tools/options.h"
#include "tracker/trace.h"

#include <regex.h>

enum {
    RP_FACET_CALL = 1 << 0,
    RP_FACET_KERNEL = 1 << 1,
    RP_FACET_SEGMENT = 1 << 2,
    RP_FACET_BUFFER = 1 << 3,
    RP_FACET_ALLOCATION = 1 << 4,
    RP_FACET_STREAM = 1 << 5,
    RP_FACET_STEP = 1 << 6,
    RP_FACET_TIME = 1 << 7,
    RP_FACET_VERDICT = 1 << 8,
    RP_FACET_PROOF = 1 << 9
};

struct rp_id_range {
    uint64_t first, last, stride; /* last is part of it */
};

struct rp_filter {
    const struct rp_options *options; /* what was asked for, for words about it */
    unsigned facets; /* those that are asked for */
    bool by_id, by_line;
    struct rp_id_range *ranges;
    size_t range_count;
    regex_t line;
    const char *call, *kernel, *segment, *buffer, *verdict, *proof; /* globs */
    uint64_t allocation, stream, step;
    uint64_t from_ns, to_ns; /* since the start of the trace; to_ns is part of it */
};

/* Whether it lets everything pass. */
static inline bool rp_filter_is_open(const struct rp_filter *filter)
{
    return filter->facets == 0 && !filter->by_id && !filter->by_line;
}

/* Returns RP_EXIT_OK, or RP_EXIT_USAGE after a message. */
int rp_filter_create(const struct rp_command *command, const struct rp_options *options,
                     struct rp_filter *filter);
void rp_filter_release(struct rp_filter *filter);
/* "--kernel nosuch --step 3", as it was asked for; returns `text`. */
const char *rp_filter_words(const struct rp_filter *filter, char *text, size_t size);
/* What every reader ends with that had something to read and let nothing of it pass: says so,
 * returns RP_EXIT_NO. */
int rp_filter_none(const struct rp_filter *filter);

bool rp_filter_id(const struct rp_filter *filter, uint64_t id);
bool rp_filter_line(const struct rp_filter *filter, const char *line);

/* What a filter must remember of one trace: where the contract's buffers lie, and which step it
 * is. Zeros at its beginning. */
struct rp_filter_state {
    struct rp_filter_range {
        uint64_t allocation, first, end;
    } *buffer; /* of the buffers that are asked for */
    size_t buffer_count;
    uint64_t step;
};
void rp_filter_state_release(struct rp_filter_state *state);

/* The facets, of those asked for, that the event itself has. `segment_depth` counts, for the
 * event's thread, the open segments that are asked for. False in *good: out of memory. */
unsigned rp_filter_match(const struct rp_filter *filter, struct rp_filter_state *state,
                         uint64_t *segment_depth, const struct rp_event *event, bool *good);

/* Whether a note that is known without its call and its moment passes by what it says itself.
 * *whole becomes false where that can't be told: more is asked for than the note could say. */
bool rp_filter_alone(const struct rp_filter *filter, const struct rp_event *event, bool *whole);

/* Whether the same could pass when it comes again, though the event, of the call `id`, whose group
 * has the facets `found`, does not: it is only that what is asked for comes later. */
bool rp_filter_later(const struct rp_filter *filter, unsigned found, const struct rp_event *event,
                     uint64_t id);

#endif
