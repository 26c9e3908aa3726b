/* SPDX-License-Identifier: Apache-2.0 */
/* What a reading command reads: the folder of a run, or one trace. */
#ifndef RP_TOOLS_SOURCE_H
#define RP_TOOLS_SOURCE_H

#include "tools/options.h"
#include "tools/summary.h"
#include "tracker/trace.h"

#include <limits.h>

struct rp_source {
    char name[PATH_MAX]; /* as the user gave it, or the default */
    bool is_folder;
    char **traces; /* paths, in order of process id; "-" is stdin */
    size_t trace_count;
    struct rp_summaries summaries; /* empty for a single trace */
    json_t *run;                   /* run.json: what `reprise run` was asked for; or NULL */
    bool follow;                   /* what a run that goes on will write is wanted too */
    bool damaged;                  /* a summary or run.json; it has been said */
};

/* Takes the one word that is left of the command line, or none. Returns RP_EXIT_OK, or a
 * code after a message: RP_EXIT_USAGE when there is nothing of that name, RP_EXIT_DATA when
 * it is no run. */
int rp_source_open(const struct rp_command *command, const struct rp_options *options,
                   struct rp_source *source);
void rp_source_close(struct rp_source *source);
/* For readers that can do nothing without one: false after a message. */
bool rp_source_has_trace(const struct rp_source *source);

/* Told each event of a trace. Returning false ends the reading of all; from `begin` it only
 * passes over this trace. */
typedef bool (*rp_event_fn)(void *ctx, const struct rp_trace_reader *reader,
                            const struct rp_event *event);
struct rp_event_visitor {
    bool (*begin)(void *ctx, const char *path, const struct rp_trace_reader *reader);
    rp_event_fn event;
    void (*end)(void *ctx, const char *path, const char *broken); /* what is wrong, or NULL */
    void *ctx;
    /* Given by those who only count: rp_trace_reader_brief. May be NULL. */
    bool (*needs)(void *ctx, const struct rp_event_def *def);
};

/* Reads all traces, one after the other. `begin` and `end` may be NULL. Returns RP_EXIT_OK, or
 * RP_EXIT_DATA after a message when a trace or what stands beside it was damaged; what can be read
 * behind the damage and the other traces were visited all the same. */
int rp_source_read(const struct rp_source *source, const struct rp_event_visitor *visitor);

/* Fields by name: 0 and "" for what the event does not have. */
uint64_t rp_event_number(const struct rp_event *event, const char *field);
/* Fills `text`, cut to size and fit for a terminal; returns it. */
const char *rp_event_text(const struct rp_event *event, const char *field, char *text,
                          size_t size);
bool rp_event_is(const struct rp_event *event, const char *class_, const char *name);

/* What a note "segment" says. */
struct rp_segment_note {
    bool is_replay, begins; /* else it is a forward, and ends */
    const char *phase;      /* "forward" or "replay" */
    char name[512];         /* with its key behind it, where it has one */
};
void rp_event_segment(const struct rp_event *event, struct rp_segment_note *note);

#endif
