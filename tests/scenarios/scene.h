/* SPDX-License-Identifier: Apache-2.0 */
/* A scene: what all kinds of scenario have in common, and the hands to write one down.
 *
 * A scene is some steps of a training job. In each, some forwards of one segment run, something
 * happens in between, and the forwards are replayed in some order for their outputs, which were
 * dropped. A kind fills in the parts. */
#ifndef RP_TESTS_SCENARIOS_SCENE_H
#define RP_TESTS_SCENARIOS_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct scene;
typedef void (*scene_fn)(struct scene *scene, int instance);

struct scene {
    uint64_t random;
    FILE *out;
    bool control;
    int steps, alive;    /* forwards alive in a step: instances 0 to alive - 1 */
    enum scene_order { SCENE_LIFO, SCENE_FIFO, SCENE_KEY } order;
    int step;
    uint64_t bytes;      /* of each X, Y and G */
    uint64_t state_bytes;
    const char *via;     /* how kernels come by the state: "", "/boxed", ... */
    const char *stream;  /* of what happens in between: "", " @1", ... see place.h */
    bool ordered;        /* with events both ways around it */
    bool late;           /* the way back waits until the step's replays are over */
    const char *lane;    /* of what a segment does: "" or " @1", with events around it */
    const char *thread;  /* that replays: "" or " &1" */
    bool second;         /* state lies in the second context */
    bool in_forward;
    bool pinned;         /* state lies in host memory */
    bool graphs;         /* now and then, work is the node of a graph */
    int lines;           /* written so far in the forward that is open */
    int buffers;         /* how many state buffers */
    int variant;
    char words[96];      /* of the program line, after the kind */
    /* The parts; NULL is nothing. */
    scene_fn forward;        /* the lines of a forward: line() only */
    scene_fn after_forward;  /* instance: the one that just ran */
    scene_fn between;        /* once a step, before the outputs are dropped */
    scene_fn live;           /* inside the replay, between its first and its second line */
    scene_fn after_replay;
    scene_fn after_step;
    int replays;             /* of each instance, most: 1, or more with needs=twice */
    int stop_after;          /* lines that a replay runs; 0: all */
    int skip;                /* lines at its start that a replay leaves out */
    bool all;                /* every instance is replayed */
    bool fails_first;        /* each replay breaks off, and is begun anew */
    scene_fn replay;         /* instead of the lines of the forward */
    scene_fn whole_step;     /* instead of all of these */
};

unsigned below(struct scene *scene, unsigned limit);
bool chance(struct scene *scene, unsigned percent);
unsigned value(struct scene *scene); /* a k */
/* Bytes of a buffer, a multiple of 4, even in scale from 16 B; most are small. No two sizes of
 * one scene agree, so that a report's allocation size names a buffer. */
uint64_t size(struct scene *scene);

/* One operation; in a forward, one of its lines. */
__attribute__((format(printf, 2, 3))) void line(struct scene *scene, const char *format, ...);
/* What happens in between: on the scene's stream, between events where it is ordered. */
__attribute__((format(printf, 2, 3))) void beside(struct scene *scene, const char *format, ...);
/* What is done in the second context is done in the first. */
void stay_in_first(struct scene *scene);
void word(struct scene *scene, const char *text);
const char *pick(struct scene *scene, const char *const *names, unsigned count);

/* The whole program, after the kind has chosen its parts; buffers G, and X and Y of each
 * instance, are the scene's. `setup` allocates the kind's own. */
void scene_write(struct scene *scene, scene_fn setup);

#endif
