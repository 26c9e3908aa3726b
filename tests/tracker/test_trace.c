/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/random.h"
#include "tests/tracker/trace_check.h"
#include "tracker/events.h"
#include "tracker/text.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

/* The linker routes the tracker's pthread_create through here, for the test without one. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

static bool no_threads;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

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
static const struct rp_event_def bare_def = {"bare", "leave", 0, {{NULL, RP_FIELD_UINT}}};
static const struct rp_event_def pair_def = {
    "pair", "note", 2, {{"who", RP_FIELD_NAME}, {"n", RP_FIELD_UINT}}};

static struct rp_trace_writer *open_writer(const struct rp_trace_options *options)
{
    struct rp_trace_writer *writer = NULL;

    assert_ok(rp_trace_writer_open(trace_path, options, &writer));
    return writer;
}

static void emit_count(struct rp_trace_writer *writer, uint64_t n)
{
    const union rp_value value = {.u = n};

    rp_trace_emit(writer, rp_trace_define(writer, &count_def), &value);
}

/* ---- what goes in comes out ------------------------------------------------------- */

static void every_type_comes_back_as_it_was(void **state)
{
    (void)state;
    static const char odd[] = "zero\0\xff\xc3 end";
    const union rp_value rows[][7] = {
        {{.u = 0}, {.s = 0}, {.u = 0}, {.u = 0}, {.t = {NULL, 0}}, {.t = {NULL, 0}}, {.f = 0.0}},
        {{.u = UINT64_MAX},
         {.s = INT64_MIN},
         {.u = 0x7fff12345678},
         {.u = 1},
         {.t = {odd, sizeof(odd) - 1}},
         {.t = {odd, sizeof(odd) - 1}},
         {.f = (double)-INFINITY}},
        {{.u = 1}, {.s = INT64_MAX}, {.u = 0x7fff12345679}, {.u = UINT64_MAX}, {.t = {"", 0}},
         {.t = {"kernel", 6}}, {.f = -0.0}},
        {{.u = 127}, {.s = -1}, {.u = 128}, {.u = 16384}, {.t = {"kernel", 6}},
         {.t = {"kernel", 3}}, {.f = (double)NAN}},
    };
    struct rp_trace_writer *writer = open_writer(NULL);
    uint32_t id = rp_trace_define(writer, &all_types);

    for (size_t i = 0; i < 4; i++)
        rp_trace_emit(writer, id, rows[i]);
    rp_trace_emit(writer, rp_trace_define(writer, &bare_def), NULL);
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 5);
    for (size_t i = 0; i < 4; i++)
        assert_true(same_event(&kept.events[i], &all_types, rows[i]));
    assert_true(same_event(&kept.events[4], &bare_def, NULL));
    assert_int_equal(kept.events[0].thread, syscall(SYS_gettid));
    kept_release(&kept);
}

static void a_trace_without_events_is_whole(void **state)
{
    (void)state;
    assert_ok(rp_trace_writer_close(open_writer(NULL)));
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 0);
    kept_release(&kept);
}

static void the_same_definition_is_the_same_type(void **state)
{
    (void)state;
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    struct rp_trace_writer *writer = open_writer(&small);
    uint32_t id = rp_trace_define(writer, &count_def);

    assert_int_equal(rp_trace_define(writer, &count_def), id);
    assert_int_not_equal(rp_trace_define(writer, &bare_def), id);
    for (uint64_t i = 0; i < 20000; i++) /* many chunks */
        emit_count(writer, i * i);
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 20000);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_ptr_equal(kept.events[i].def, kept.events[0].def);
        assert_int_equal(kept.events[i].values[0].u, i * i);
        assert_true(i == 0 || kept.events[i].time_ns >= kept.events[i - 1].time_ns);
    }
    kept_release(&kept);
}

static void properties_and_fields_are_found_by_name(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"command", "python \xff train.py"}, {"pid", ""}};
    const struct rp_trace_options options = {.properties = pairs, .property_count = 2};
    struct rp_trace_writer *writer = open_writer(&options);

    emit_count(writer, 7);
    assert_ok(rp_trace_writer_close(writer));
    struct kept kept = read_whole(trace_path);
    assert_string_equal(rp_trace_property(kept.reader, "command"), "python \xff train.py");
    assert_string_equal(rp_trace_property(kept.reader, "pid"), "");
    assert_null(rp_trace_property(kept.reader, "device"));
    /* the time of day, in nanoseconds: later than 2020 */
    assert_true(strtoull(rp_trace_property(kept.reader, "start_ns"), NULL, 10) >
                UINT64_C(1577836800000000000));
    struct rp_event event = {.def = kept.events[0].def, .values = kept.events[0].values};
    assert_int_equal(rp_event_field(&event, "n")->u, 7);
    assert_null(rp_event_field(&event, "m"));
    kept_release(&kept);
}

static void a_text_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    const size_t limit = (size_t)512 << 10;
    char *text = malloc(limit + 10);
    struct rp_trace_writer *writer = open_writer(NULL);
    uint32_t id = rp_trace_define(writer, &all_types);
    union rp_value values[7] = {{.u = 0}};

    memset(text, 'x', limit + 10);
    memcpy(text + limit - 4, "\xE2\x82\xAC", 3); /* must not be cut in two */
    for (size_t extra = 0; extra < 2; extra++) {
        values[4].t.text = values[5].t.text = text;
        values[4].t.length = values[5].t.length = limit + extra;
        rp_trace_emit(writer, id, values);
    }
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 2);
    for (size_t f = 4; f < 6; f++) {
        assert_int_equal(kept.events[0].values[f].t.length, limit);
        assert_memory_equal(kept.events[0].values[f].t.text, text, limit);
        assert_int_equal(kept.events[1].values[f].t.length, limit - 1);
        assert_memory_equal(kept.events[1].values[f].t.text, text, limit - 4);
        assert_string_equal(kept.events[1].values[f].t.text + limit - 4, "...");
    }
    kept_release(&kept);
    free(text);
}

static void the_layers_own_events_are_defined(void **state)
{
    (void)state;
    const struct rp_event_def *launch = &rp_event_defs[RP_EVENT_launch];

    for (size_t i = 0; i < RP_EVENT_COUNT; i++) {
        assert_non_null(rp_event_defs[i].name);
        assert_string_equal(rp_event_defs[i].class_, "note");
        assert_true(rp_event_defs[i].field_count > 0);
        assert_true(rp_event_defs[i].field_count <= RP_EVENT_MAX_FIELDS);
    }
    assert_string_equal(launch->name, "launch");
    assert_int_equal(launch->field_count, 13);
    assert_string_equal(launch->fields[1].name, "kernel");
    assert_int_equal(launch->fields[1].type, RP_FIELD_NAME);
    assert_string_equal(launch->fields[12].name, "verdict");
    assert_string_equal(rp_event_defs[RP_EVENT_gap].name, "gap");
}

/* A random type with random values; the same for the same state of `random`. */
#define RANDOM_TYPES 40

static void random_def(struct rp_event_def *def, struct random *random, size_t number)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta", "epsilon"};
    static char own_names[RANDOM_TYPES][16];

    snprintf(own_names[number], sizeof(own_names[number]), "event%zu", number);
    *def = (struct rp_event_def){own_names[number], names[random_below(random, 5)],
                                 (uint32_t)random_below(random, RP_EVENT_MAX_FIELDS + 1),
                                 {{NULL, RP_FIELD_UINT}}};
    for (uint32_t i = 0; i < def->field_count; i++) {
        def->fields[i].name = names[random_below(random, 5)];
        def->fields[i].type = (enum rp_field_type)random_below(random, 7);
    }
}

static void random_values(const struct rp_event_def *def, union rp_value *values,
                          struct random *random)
{
    static char pool[4096];

    for (size_t i = 0; pool[0] == '\0' && i < sizeof(pool); i++)
        pool[i] = (char)(i * 7 + 1);
    for (uint32_t i = 0; i < def->field_count; i++) {
        if (!is_text(def, i)) {
            values[i].u = random_next(random) >> random_below(random, 64);
            continue;
        }
        values[i].t.length = random_below(random, 1u << random_below(random, 11));
        values[i].t.text = pool + random_below(random, 8);
    }
}

static void any_events_come_back_as_they_were(void **state)
{
    (void)state;
    struct random random = random_begin("trace"), again;
    const struct rp_trace_options options = {.buffer_bytes = 4096 << random_below(&random, 5)};
    struct rp_event_def defs[RANDOM_TYPES];
    struct rp_trace_writer *writer = open_writer(&options);
    union rp_value values[RP_EVENT_MAX_FIELDS];

    for (size_t i = 0; i < RANDOM_TYPES; i++)
        random_def(&defs[i], &random, i);
    again = random;
    for (int i = 0; i < 5000; i++) {
        const struct rp_event_def *def = &defs[random_below(&random, RANDOM_TYPES)];
        random_values(def, values, &random);
        rp_trace_emit(writer, rp_trace_define(writer, def), values);
    }
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 5000);
    for (int i = 0; i < 5000; i++) {
        const struct rp_event_def *def = &defs[random_below(&again, RANDOM_TYPES)];
        random_values(def, values, &again);
        assert_true(same_event(&kept.events[i], def, values));
    }
    kept_release(&kept);
}

/* ---- threads ---------------------------------------------------------------------- */

#define THREADS 12
#define EACH 4000

struct worker {
    pthread_t thread;
    struct rp_trace_writer *writer;
    uint64_t tid;
    char name[16];
};

static void *emit_pairs(void *argument)
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
static void assert_all_pairs(const struct kept *kept, const struct worker *workers, size_t count)
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

static void start_worker(struct worker *worker, struct rp_trace_writer *writer, size_t number)
{
    worker->writer = writer;
    snprintf(worker->name, sizeof(worker->name), "worker %zu", number);
    assert_int_equal(pthread_create(&worker->thread, NULL, emit_pairs, worker), 0);
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    struct rp_trace_writer *writer = open_writer(&small);
    struct worker workers[THREADS];
    struct rp_trace_stats stats;

    for (size_t i = 0; i < THREADS; i++)
        start_worker(&workers[i], writer, i);
    for (int i = 0; i < 20; i++)
        assert_ok(rp_trace_writer_flush(writer));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    rp_trace_writer_stats(writer, &stats);
    assert_int_equal(stats.events, THREADS * EACH);
    assert_int_equal(stats.lost, 0);
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_all_pairs(&kept, workers, THREADS);
    kept_release(&kept);
}

static void a_thread_that_ends_leaves_its_events(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);
    struct worker workers[THREADS];

    for (size_t i = 0; i < THREADS; i++) { /* one after the other: states are used again */
        start_worker(&workers[i], writer, i);
        pthread_join(workers[i].thread, NULL);
    }
    assert_ok(rp_trace_writer_close(writer));
    struct kept kept = read_whole(trace_path);
    assert_all_pairs(&kept, workers, THREADS);
    kept_release(&kept);
}

static void two_writers_in_one_process(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL), *other = NULL;
    char path[128];

    snprintf(path, sizeof(path), "%s/other", folder);
    assert_ok(rp_trace_writer_open(path, NULL, &other));
    for (uint64_t i = 0; i < 100; i++) {
        emit_count(writer, i);
        emit_count(other, 1000 + i);
    }
    assert_ok(rp_trace_writer_close(writer));
    emit_count(other, 1100);
    assert_ok(rp_trace_writer_close(other));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 100);
    assert_int_equal(kept.events[99].values[0].u, 99);
    kept_release(&kept);
    kept = read_whole(path);
    assert_int_equal(kept.count, 101);
    assert_int_equal(kept.events[100].values[0].u, 1100);
    kept_release(&kept);
    unlink(path);
}

static void without_a_writing_thread_the_emitting_ones_write(void **state)
{
    (void)state;
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    struct rp_trace_writer *writer = open_writer(&small);
    struct worker workers[THREADS];

    no_threads = true;
    emit_count(writer, 0);
    no_threads = false;
    for (size_t i = 0; i < THREADS; i++)
        start_worker(&workers[i], writer, i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    rp_trace_writer_rescue(writer); /* nobody to ask: returns at once */
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, THREADS * EACH + 1);
    assert_all_pairs(&kept, workers, THREADS);
    kept_release(&kept);
}

/* ---- when it is too much ---------------------------------------------------------- */

/* Events that are slow to compress, so that the writing thread falls behind. */
static void emit_too_much(struct rp_trace_writer *writer, uint64_t events)
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

static void by_default_a_thread_waits_and_nothing_is_lost(void **state)
{
    (void)state;
    const struct rp_trace_options options = {.buffer_bytes = 4096, .level = 19};
    struct rp_trace_writer *writer = open_writer(&options);
    struct rp_trace_stats stats;

    emit_too_much(writer, 600);
    rp_trace_writer_stats(writer, &stats);
    assert_ok(rp_trace_writer_close(writer));
    assert_true(stats.waits > 0);
    assert_int_equal(stats.lost, 0);
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 600);
    kept_release(&kept);
}

static void lossy_gaps_are_counted_where_they_are(void **state)
{
    (void)state;
    const struct rp_trace_options options = {.buffer_bytes = 4096, .level = 19, .lossy = true};
    struct rp_trace_writer *writer = open_writer(&options);
    struct rp_trace_stats stats;
    uint64_t next = 0, lost = 0;

    emit_too_much(writer, 2000);
    rp_trace_writer_stats(writer, &stats);
    assert_ok(rp_trace_writer_close(writer));
    assert_true(stats.lost > 0);
    assert_int_equal(stats.waits, 0);

    struct kept kept = read_whole(trace_path);
    for (size_t i = 0; i < kept.count; i++) {
        if (strcmp(kept.events[i].def->name, "gap") == 0) {
            lost += kept.events[i].values[0].u;
            next += kept.events[i].values[0].u;
        } else {
            assert_int_equal(kept.events[i].values[0].u, next++);
        }
    }
    assert_int_equal(lost, stats.lost);
    assert_int_equal(next, 2000); /* the end too: a gap at the end is marked by closing */
    kept_release(&kept);
}

static struct rp_trace_writer *interrupted;
static uint32_t interrupted_id; /* defining is not for signal handlers */
static volatile sig_atomic_t emitted_in_handler;

static void emit_in_handler(int signal)
{
    const union rp_value value = {.u = 1000000};

    (void)signal;
    rp_trace_emit(interrupted, interrupted_id, &value);
    emitted_in_handler++;
}

static void a_signal_in_emit_does_not_hang(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = emit_in_handler};
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct rp_trace_stats stats;
    struct sigaction old;
    uint64_t main_events = 0;

    interrupted = open_writer(NULL);
    interrupted_id = rp_trace_define(interrupted, &count_def);
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    while (emitted_in_handler < 50) {
        const union rp_value value = {.u = main_events++};
        rp_trace_emit(interrupted, interrupted_id, &value);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    rp_trace_writer_stats(interrupted, &stats);
    assert_ok(rp_trace_writer_close(interrupted));

    struct kept kept = read_whole(trace_path);
    uint64_t events = 0, gaps = 0;
    for (size_t i = 0; i < kept.count; i++) {
        bool gap = strcmp(kept.events[i].def->name, "gap") == 0;
        events += !gap;
        gaps += gap ? kept.events[i].values[0].u : 0;
    }
    assert_int_equal(gaps, stats.lost);
    assert_int_equal(events + gaps, main_events + (uint64_t)emitted_in_handler);
    kept_release(&kept);
}

/* ---- when things go wrong outside ------------------------------------------------- */

static void an_existing_file_is_never_touched(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = NULL;
    char link_path[128];
    struct stat is;

    file_write(trace_path, "precious", 8);
    assert_int_equal(rp_trace_writer_open(trace_path, NULL, &writer), RP_IO);
    assert_int_equal(errno, EEXIST);
    assert_null(writer);
    snprintf(link_path, sizeof(link_path), "%s/link", folder);
    unlink(trace_path);
    assert_int_equal(symlink(trace_path, link_path), 0);
    assert_int_equal(rp_trace_writer_open(link_path, NULL, &writer), RP_IO);
    assert_int_equal(access(trace_path, F_OK), -1);
    unlink(link_path);
    assert_int_equal(rp_trace_writer_open("/nowhere/t.trace", NULL, &writer), RP_IO);
    assert_int_equal(errno, ENOENT);

    assert_ok(rp_trace_writer_open(trace_path, NULL, &writer));
    assert_int_equal(stat(trace_path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    assert_ok(rp_trace_writer_close(writer));
}

static void after_finish_events_are_ignored(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);

    emit_count(writer, 1);
    assert_ok(rp_trace_writer_finish(writer));
    emit_count(writer, 2);
    assert_int_equal(rp_trace_writer_finish(writer), RP_INVALID);
    assert_int_equal(rp_trace_writer_flush(writer), RP_INVALID);
    rp_trace_writer_rescue(writer);
    assert_ok(rp_trace_writer_close(writer));
    assert_ok(rp_trace_writer_close(NULL));
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
}

/* Runs `body` in a child process; the child reports by its exit status. */
static int in_child(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

#define CHILD_ASSERT(condition)                                                                  \
    do {                                                                                         \
        if (!(condition))                                                                        \
            _exit(__LINE__ % 250 + 1);                                                           \
    } while (0)

static void fill_the_disk(void)
{
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    const struct rlimit limit = {20000, 20000};
    struct rp_trace_writer *writer = NULL;
    struct rp_trace_stats stats;

    CHILD_ASSERT(rp_trace_writer_open(trace_path, &small, &writer) == RP_OK);
    CHILD_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    emit_too_much(writer, 200);
    CHILD_ASSERT(rp_trace_writer_flush(writer) == RP_IO && errno == EFBIG);
    emit_too_much(writer, 200);
    rp_trace_writer_stats(writer, &stats);
    CHILD_ASSERT(stats.lost > 200 && stats.bytes_written <= 20000);
    CHILD_ASSERT(rp_trace_writer_close(writer) == RP_IO && errno == EFBIG);
}

static void a_full_disk_stops_the_trace_not_the_job(void **state)
{
    (void)state;
    assert_int_equal(in_child(fill_the_disk), 0);
    struct kept kept = read_all(trace_path);
    assert_int_equal(kept.damages, 1); /* no end mark, and no torn chunk */
    assert_true(kept.broke_off);
    assert_true(kept.count > 10 && kept.count < 200);
    for (size_t i = 0; i < kept.count; i++)
        assert_int_equal(kept.events[i].values[0].u, i);
    kept_release(&kept);
}

static void the_jobs_descriptors_are_not_written_to(void **state)
{
    (void)state;
    char other[128];
    struct rp_trace_writer *writer = open_writer(NULL);

    emit_count(writer, 1);
    assert_ok(rp_trace_writer_flush(writer));
    snprintf(other, sizeof(other), "%s/other", folder);
    file_write(other, "precious", 8);
    /* A job that closes what it doesn't know, and opens a file of its own in its place. */
    int fd = open(other, O_RDWR), closed = -1;
    struct stat trace_is, is;
    assert_int_equal(stat(trace_path, &trace_is), 0);
    for (int i = 3; i < 1024 && closed < 0; i++) {
        if (fstat(i, &is) == 0 && is.st_ino == trace_is.st_ino && is.st_dev == trace_is.st_dev)
            closed = i;
    }
    assert_true(closed >= 200); /* out of the way of the usual numbers */
    assert_int_equal(dup2(fd, closed), closed);
    emit_count(writer, 2);
    assert_int_equal(rp_trace_writer_flush(writer), RP_IO);
    assert_int_equal(errno, EBADF);
    assert_int_equal(rp_trace_writer_close(writer), RP_IO);
    assert_int_equal(fstat(closed, &is), 0); /* nor closed */
    assert_int_equal(is.st_size, 8);
    close(closed);
    close(fd);
    unlink(other);
    struct kept kept = read_all(trace_path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
}

/* ---- other processes -------------------------------------------------------------- */

static struct rp_trace_writer *inherited;

static void use_an_inherited_writer(void)
{
    struct rp_trace_writer *own = NULL;
    char path[128];

    emit_count(inherited, 666);
    CHILD_ASSERT(rp_trace_writer_flush(inherited) == RP_INVALID);
    rp_trace_writer_abandon(inherited);
    snprintf(path, sizeof(path), "%s/child", folder);
    CHILD_ASSERT(rp_trace_writer_open(path, NULL, &own) == RP_OK);
    emit_count(own, 5);
    CHILD_ASSERT(rp_trace_writer_close(own) == RP_OK);
}

static void close_an_inherited_writer(void)
{
    emit_count(inherited, 666);
    CHILD_ASSERT(rp_trace_writer_close(inherited) == RP_OK);
}

static void a_fork_leaves_the_parents_trace_alone(void **state)
{
    (void)state;
    char path[128];

    inherited = open_writer(NULL);
    for (uint64_t i = 0; i < 1000; i++)
        emit_count(inherited, i);
    rp_trace_writer_abandon(inherited); /* does nothing in the parent */
    assert_int_equal(in_child(use_an_inherited_writer), 0);
    assert_int_equal(in_child(close_an_inherited_writer), 0);
    emit_count(inherited, 1000);
    assert_ok(rp_trace_writer_close(inherited));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 1001);
    for (uint64_t i = 0; i <= 1000; i++)
        assert_int_equal(kept.events[i].values[0].u, i);
    kept_release(&kept);
    snprintf(path, sizeof(path), "%s/child", folder);
    kept = read_whole(path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
    unlink(path);
}

static void forks_while_threads_emit(void **state)
{
    (void)state;
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    struct worker workers[4];

    inherited = open_writer(&small);
    for (size_t i = 0; i < 4; i++)
        start_worker(&workers[i], inherited, i);
    for (int i = 0; i < 8; i++)
        assert_int_equal(in_child(close_an_inherited_writer), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(workers[i].thread, NULL);
    assert_ok(rp_trace_writer_close(inherited));
    struct kept kept = read_whole(trace_path);
    assert_all_pairs(&kept, workers, 4);
    kept_release(&kept);
}

static uint64_t *shared; /* how many events the child has flushed */

static void emit_until_killed(void)
{
    const struct rp_trace_options small = {.buffer_bytes = 4096};
    struct rp_trace_writer *writer = NULL;

    CHILD_ASSERT(rp_trace_writer_open(trace_path, &small, &writer) == RP_OK);
    for (uint64_t i = 0;; i++) {
        emit_count(writer, i);
        if (i % 10000 == 9999) {
            CHILD_ASSERT(rp_trace_writer_flush(writer) == RP_OK);
            __atomic_store_n(shared, i + 1, __ATOMIC_RELEASE);
        }
    }
}

static void a_killed_job_leaves_what_was_flushed(void **state)
{
    (void)state;
    int status = 0;

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        emit_until_killed();
        _exit(0);
    }
    while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) < 50000 &&
           waitpid(child, &status, WNOHANG) == 0)
        usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));

    struct kept kept = read_all(trace_path);
    assert_true(kept.count >= *shared && kept.count >= 50000);
    assert_int_equal(kept.damages, 1);
    assert_true(kept.broke_off);
    assert_false(kept.whole);
    for (uint64_t i = 0; i < kept.count; i++)
        assert_int_equal(kept.events[i].values[0].u, i);
    kept_release(&kept);
    munmap(shared, 4096);
}

static void rescue_and_die(int signal)
{
    rp_trace_writer_rescue(inherited);
    _exit(signal);
}

static void crash_in_a_call(void)
{
    /* A buffer that would not be handed over for an hour. */
    const struct rp_trace_options options = {.max_age_ns = UINT64_C(3600000000000)};
    const struct sigaction action = {.sa_handler = rescue_and_die};

    CHILD_ASSERT(rp_trace_writer_open(trace_path, &options, &inherited) == RP_OK);
    sigaction(SIGUSR1, &action, NULL);
    emit_count(inherited, 1);
    emit_count(inherited, 2);
    raise(SIGUSR1);
}

static void a_crash_shows_the_last_call(void **state)
{
    (void)state;
    int status = in_child(crash_in_a_call);

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == SIGUSR1);
    struct kept kept = read_all(trace_path);
    assert_int_equal(kept.count, 2);
    assert_int_equal(kept.events[1].values[0].u, 2);
    assert_true(kept.broke_off);
    kept_release(&kept);
}

static void a_buffer_that_grows_old_is_written(void **state)
{
    (void)state;
    const struct rp_trace_options options = {.max_age_ns = 2000000};
    struct rp_trace_writer *writer = open_writer(&options);
    size_t count = 0;

    emit_count(writer, 1);
    for (int i = 0; i < 10000 && count == 0; i++) { /* as long as it takes, within reason */
        struct kept kept = read_all(trace_path);
        count = kept.count;
        assert_true(kept.broke_off);
        kept_release(&kept);
        usleep(1000);
    }
    assert_int_equal(count, 1);
    assert_ok(rp_trace_writer_close(writer));
}

static void the_writing_thread_takes_no_signals(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);
    char line[256], path[64];
    uint64_t blocked = 0;

    emit_count(writer, 1);
    assert_ok(rp_trace_writer_flush(writer));
    /* The one thread of this process beside this one. */
    FILE *list = popen("ls /proc/$PPID/task", "r");
    while (fgets(line, sizeof(line), list) != NULL) {
        if (atoi(line) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%d/status", atoi(line));
        FILE *status = fopen(path, "r");
        while (status != NULL && fgets(line, sizeof(line), status) != NULL)
            sscanf(line, "SigBlk: %lx", &blocked);
        if (status != NULL)
            fclose(status);
    }
    pclose(list);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        bool unblockable = signal == SIGKILL || signal == SIGSTOP;
        if (!unblockable && (signal < 32 || signal >= SIGRTMIN))
            assert_true(blocked >> (signal - 1) & 1);
    }
    assert_ok(rp_trace_writer_close(writer));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(every_type_comes_back_as_it_was),
        TEST(a_trace_without_events_is_whole),
        TEST(the_same_definition_is_the_same_type),
        TEST(properties_and_fields_are_found_by_name),
        TEST(a_text_too_long_is_cut_and_says_so),
        TEST(the_layers_own_events_are_defined),
        TEST(any_events_come_back_as_they_were),
        TEST(threads_do_not_disturb_each_other),
        TEST(a_thread_that_ends_leaves_its_events),
        TEST(two_writers_in_one_process),
        TEST(without_a_writing_thread_the_emitting_ones_write),
        TEST(by_default_a_thread_waits_and_nothing_is_lost),
        TEST(lossy_gaps_are_counted_where_they_are),
        TEST(a_signal_in_emit_does_not_hang),
        TEST(an_existing_file_is_never_touched),
        TEST(after_finish_events_are_ignored),
        TEST(a_full_disk_stops_the_trace_not_the_job),
        TEST(the_jobs_descriptors_are_not_written_to),
        TEST(a_fork_leaves_the_parents_trace_alone),
        TEST(forks_while_threads_emit),
        TEST(a_killed_job_leaves_what_was_flushed),
        TEST(a_crash_shows_the_last_call),
        TEST(a_buffer_that_grows_old_is_written),
        TEST(the_writing_thread_takes_no_signals),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
