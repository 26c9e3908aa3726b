/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/trace_emit.h"
#include "tracker/events.h"
#include "tracker/trace_encode.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

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

static const struct rp_event_def bare_def = {"bare", "leave", 0, {{NULL, RP_FIELD_UINT}}};

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
    enum { limit = 512 << 10 };
    const struct rp_trace_options large = {.buffer_bytes = 16 << 20}; /* all in one chunk */
    char *text = malloc(limit + 10);
    struct rp_trace_writer *writer = open_writer(&large);
    uint32_t id = rp_trace_define(writer, &all_types);
    union rp_value values[7] = {{.u = 0}};

    memset(text, 'x', limit + 10);
    memcpy(text + limit - 4, "\xE2\x82\xAC", 3); /* must not be cut in two */
    static const size_t lengths[] = {limit, limit + 1, limit - 4};
    for (size_t i = 0; i < 3; i++) {
        values[4].t.text = values[5].t.text = text;
        values[4].t.length = values[5].t.length = lengths[i];
        rp_trace_emit(writer, id, values);
    }
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 3);
    for (size_t f = 4; f < 6; f++) {
        assert_int_equal(kept.events[0].values[f].t.length, limit);
        assert_memory_equal(kept.events[0].values[f].t.text, text, limit);
        assert_int_equal(kept.events[1].values[f].t.length, limit - 1);
        assert_memory_equal(kept.events[1].values[f].t.text, text, limit - 4);
        assert_string_equal(kept.events[1].values[f].t.text + limit - 4, "...");
        assert_int_equal(kept.events[2].values[f].t.length, limit - 4); /* not taken for it */
    }
    kept_release(&kept);
    free(text);
}

static void what_is_added_has_the_time_of_what_it_is_added_to(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);
    union rp_value values[5][7] = {{{.u = 0}}};
    struct rp_trace_item items[5];
    for (size_t i = 0; i < 5; i++) {
        values[i][0].u = i;
        items[i] = (struct rp_trace_item){rp_trace_define(writer, &all_types), values[i]};
    }
    rp_trace_emit(writer, items[0].event, items[0].values);
    rp_trace_add(writer, items + 1, 4);
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(kept.events[i].values[0].u, i);
        assert_int_equal(kept.events[i].time_ns, kept.events[0].time_ns);
    }
    kept_release(&kept);
}

/* Where a name stands in memory says nothing of what it is. */
static void a_name_in_the_place_of_another_is_another(void **state)
{
    (void)state;
    static const char *const words[] = {"one", "two", "one", "tow", "tw", "two"};
    struct rp_trace_writer *writer = open_writer(NULL);
    union rp_value values[7] = {{.u = 0}};
    char place[8];
    for (size_t i = 0; i < 6; i++) {
        strcpy(place, words[i]);
        values[5].t.text = place;
        values[5].t.length = strlen(place);
        rp_trace_emit(writer, rp_trace_define(writer, &all_types), values);
    }
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(kept.events[i].values[5].t.text, words[i]);
    kept_release(&kept);
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
    assert_int_equal(launch->field_count, 15);
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

static void a_long_trace_takes_no_more_memory(void **state)
{
    (void)state;
    struct rp_trace_type *type = rp_trace_type_create(&all_types, 0);
    struct rp_trace_buffer *buffer = malloc(sizeof(*buffer) + 4096);
    struct rp_trace_coder coder = {.chunk = 0};
    union rp_value values[7] = {{.u = 0}};
    char name[16];

    values[4] = text_value("text");
    for (int i = 0; i < 100000; i++) {
        if (i % 10 == 0) {
            rp_trace_coder_begin(&coder);
            *buffer = (struct rp_trace_buffer){.capacity = 4096};
        }
        snprintf(name, sizeof(name), "kernel %d", i);
        values[5] = text_value(name);
        assert_ok(rp_trace_coder_prepare(&coder, type));
        assert_true(buffer->used + rp_trace_bound(type, values) <= buffer->capacity);
        rp_trace_encode(&coder, buffer, type, values, 0);
    }
    assert_true(coder.last_capacity <= 16 && coder.type_capacity <= 16 &&
                coder.name_slots <= 256);
    rp_trace_coder_release(&coder);
    free(buffer);
    free(type);
}

/* ---- threads ---------------------------------------------------------------------- */

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

/* A destructor of the job's that runs after the writer's own, when another thread already
 * has the state of this one. */
static pthread_key_t late_key;
static struct worker late, between;

static void emit_late(void *argument)
{
    start_worker(&between, argument, 1);
    pthread_join(between.thread, NULL);
    snprintf(late.name, sizeof(late.name), "worker 0");
    emit_pairs(&late);
}

static void *emit_then_end(void *argument)
{
    late.writer = argument;
    emit_count(argument, 1);
    pthread_setspecific(late_key, argument);
    return NULL;
}

static void a_thread_may_emit_while_it_ends(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);
    struct worker workers[2];

    assert_int_equal(pthread_key_create(&late_key, emit_late), 0);
    assert_int_equal(pthread_create(&late.thread, NULL, emit_then_end, writer), 0);
    pthread_join(late.thread, NULL);
    assert_ok(rp_trace_writer_close(writer));
    pthread_key_delete(late_key);
    workers[0] = late, workers[1] = between;
    struct kept kept = read_whole(trace_path);
    assert_all_pairs(&kept, workers, 2);
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
    assert_ok(rp_trace_writer_close(writer));

    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, THREADS * EACH + 1);
    assert_all_pairs(&kept, workers, THREADS);
    kept_release(&kept);
}

/* ---- when it is too much ---------------------------------------------------------- */

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
static volatile sig_atomic_t emitted_in_handler;

static void emit_in_handler(int signal)
{
    (void)signal;
    emit_count(interrupted, 1000000);
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
    emit_count(interrupted, main_events++);
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    while (emitted_in_handler < 50)
        emit_count(interrupted, main_events++);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(every_type_comes_back_as_it_was),
        TEST(a_trace_without_events_is_whole),
        TEST(the_same_definition_is_the_same_type),
        TEST(properties_and_fields_are_found_by_name),
        TEST(a_text_too_long_is_cut_and_says_so),
        TEST(what_is_added_has_the_time_of_what_it_is_added_to),
        TEST(a_name_in_the_place_of_another_is_another),
        TEST(the_layers_own_events_are_defined),
        TEST(any_events_come_back_as_they_were),
        TEST(threads_do_not_disturb_each_other),
        TEST(a_thread_that_ends_leaves_its_events),
        TEST(a_thread_may_emit_while_it_ends),
        TEST(a_long_trace_takes_no_more_memory),
        TEST(two_writers_in_one_process),
        TEST(without_a_writing_thread_the_emitting_ones_write),
        TEST(by_default_a_thread_waits_and_nothing_is_lost),
        TEST(lossy_gaps_are_counted_where_they_are),
        TEST(a_signal_in_emit_does_not_hang),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
