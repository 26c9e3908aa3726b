/* SPDX-License-Identifier: Apache-2.0 */
/* Events for the tests that write traces, and threads that emit them. */
#ifndef RP_TESTS_TRACKER_TRACE_EMIT_H
#define RP_TESTS_TRACKER_TRACE_EMIT_H

#include "tests/tracker/random.h"
#include "tests/tracker/trace_check.h"

#include <pthread.h>
#include <sys/syscall.h>

static const struct rp_event_def all_types = {
    "all_types",
    "enter",
    7,
    {{"uint", RP_FIELD_UINT},
     {"sint", RP_FIELD_SINT},
     {"hex", RP_FIELD_HEX},
     {"bytes", RP_FIELD_BYTES},
     {"text", RP_FIELD_TEXT},
     {"name", RP_FIELD_NAME},
     {"float", RP_FIELD_FLOAT}}};
static const struct rp_event_def count_def = {"count", "note", 1, {{"n", RP_FIELD_UINT}}};
static const struct rp_event_def pair_def = {
    "pair", "note", 2, {{"who", RP_FIELD_NAME}, {"n", RP_FIELD_UINT}}};

static inline struct rp_trace_writer *open_writer(const struct rp_trace_options *options)
{
    struct rp_trace_writer *writer = NULL;

    assert_ok(rp_trace_writer_open(trace_path, options, &writer));
    return writer;
}

static inline void emit_count(struct rp_trace_writer *writer, uint64_t n)
{
    const union rp_value value = {.u = n};

    rp_trace_emit(writer, rp_trace_define(writer, &count_def), &value);
}

/* Events that are slow to compress, so that the writing thread falls behind. */
static inline void emit_too_much(struct rp_trace_writer *writer, uint64_t events)
{
    struct random random = {1};
    uint32_t id = rp_trace_define(writer, &all_types);
    char text[900];

    for (uint64_t i = 0; i < events; i++) {
        union rp_value values[7] = {{.u = i}};
        for (size_t c = 0; c < sizeof(text); c++)
            text[c] = (char)('a' + random_below(&random, 16));
        values[4].t.text = text;
        values[4].t.length = sizeof(text);
        rp_trace_emit(writer, id, values);
    }
}

#define THREADS 12
#define EACH 4000

struct worker {
    pthread_t thread;
    struct rp_trace_writer *writer;
    uint64_t tid;
    char name[16];
};

static inline void *emit_pairs(void *argument)
{
    struct worker *worker = argument;
    uint32_t id = rp_trace_define(worker->writer, &pair_def);

    worker->tid = (uint64_t)syscall(SYS_gettid);
    for (uint64_t i = 0; i < EACH; i++) {
        const union rp_value values[2] = {text_value(worker->name), {.u = i}};
        rp_trace_emit(worker->writer, id, values);
    }
    return NULL;
}

/* Every worker's events are there, in its order, under its thread id. */
static inline void assert_all_pairs(const struct kept *kept, const struct worker *workers,
                                    size_t count)
{
    uint64_t next[THREADS] = {0};
    size_t pairs = 0;

    for (size_t i = 0; i < kept->count; i++) {
        const struct kept_event *event = &kept->events[i];
        size_t who = 0;
        if (strcmp(event->def->name, "pair") != 0)
            continue;
        while (who < count && strcmp(workers[who].name, event->values[0].t.text) != 0)
            who++;
        assert_true(who < count);
        assert_int_equal(event->thread, workers[who].tid);
        assert_int_equal(event->values[1].u, next[who]++);
        pairs++;
    }
    assert_int_equal(pairs, count * EACH);
}

static inline void start_worker(struct worker *worker, struct rp_trace_writer *writer,
                                size_t number)
{
    worker->writer = writer;
    snprintf(worker->name, sizeof(worker->name), "worker %zu", number);
    assert_int_equal(pthread_create(&worker->thread, NULL, emit_pairs, worker), 0);
}

#endif
