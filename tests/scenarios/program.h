/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario programs: text, one operation a line, that a person can read, edit and run again.
 *
 *     program NAME [WORD...]           begins a program; the words are for whoever judges it
 *     segment NAME lifo|fifo|key       a segment and its pairing rule
 *     buffer NAME BYTES [state] [pool|pinned|second] allocates, zeroed; `state` is shown to the
 *                                      layer by a launch of `tag`; `pool` is the module's own
 *                                      variable, `pinned` is host memory, `second` the second
 *                                      context's
 *     free NAME
 *     begin | finish                   a step
 *     forward SEGMENT KEY ... end      a forward; `as LABEL` names it for `again`
 *     replay SEGMENT KEY ... end       a replay
 *     again LABEL FIRST LAST           what the forward LABEL did in its lines FIRST to LAST
 *     VERB VIEW... [k=N|k=host] [graph] [@STREAM]
 *     record EVENT @STREAM | wait EVENT @STREAM | sync | join | host N
 *     check                            prints a digest of every buffer that is not dropped
 *
 * A VIEW is NAME, or NAME:OFFSET:BYTES, with /boxed, /tabled or /global after it for how the
 * kernel comes by it (the first view only). Streams are those of place.h, 0 unless said. `&N` at
 * the end of a line: on the job's host thread N, 0 unless said; the program goes on when that is
 * done, or with `&N+` at once, until a `join`. An end is where its beginning was.
 * With `graph`, the operation is captured when it first comes, and its graph is launched then and
 * every other time.
 * A retaining run leaves out `drop`, `replay`, the ends of replays, `again`, and what stands
 * after the word `replaying`. `k=host` takes a counter of the host that every use moves on. */
#ifndef RP_TESTS_SCENARIOS_PROGRAM_H
#define RP_TESTS_SCENARIOS_PROGRAM_H

#include "tests/scenarios/place.h"
#include "tests/scenarios/verb.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_BUFFERS = 512, MAX_SEGMENTS = 16, MAX_VIEWS = 3 };

enum op_kind {
    OP_VERB, OP_ALLOCATE, OP_FREE, OP_BEGIN, OP_FINISH, OP_FORWARD, OP_REPLAY, OP_END, OP_AGAIN,
    OP_DROP, OP_RECORD, OP_WAIT, OP_SYNC, OP_JOIN, OP_HOST, OP_CHECK
};
enum via { VIA_ARGUMENT, VIA_BOXED, VIA_TABLED, VIA_GLOBAL };

struct view {
    int buffer; /* -1: none */
    uint64_t offset, bytes;
    enum via via;
};

struct op {
    enum op_kind kind;
    const struct verb *verb;
    struct view views[MAX_VIEWS]; /* as the kernel's a, b, c; views[0] for control ops */
    uint32_t k;
    bool host_k, replaying_only, graph;
    int stream, event, thread;
    bool waits;       /* for the thread to be done with it */
    int segment;
    char key[24];
    int label;        /* AGAIN: the index of its FORWARD op */
    int first, last;  /* AGAIN: lines of it */
    int closes;       /* END: the index of the FORWARD or REPLAY op */
    int line;
};

struct buffer {
    char name[24];
    uint64_t bytes;
    bool state, pool, pinned, second;
};

struct program {
    char name[32];
    struct buffer buffers[MAX_BUFFERS];
    int buffer_count;
    char segments[MAX_SEGMENTS][24];
    int segment_count;
    struct op *ops;
    int op_count, op_capacity;
};

/* Reads the next program of `file`; NULL at its end. What cannot be read ends the process with
 * a message that names the line. */
struct program *program_read(FILE *file, const char *path);
void program_destroy(struct program *program);

#endif
