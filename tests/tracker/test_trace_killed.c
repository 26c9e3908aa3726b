/* SPDX-License-Identifier: Apache-2.0 */
/* A process is killed whose trace may not grow past a size, or may lose events. */
#include "tests/tracker/trace_kill.h"

enum { LIMIT = 64 << 10 };

/* ---- a ring: killed where its file has just been put aside -------------------------------- */

static void emit_into_a_file_and_crash(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    emit_count(inherited, 0);
    CHILD_ASSERT(rp_trace_writer_flush(inherited) == RP_OK);
    emit_count(inherited, 1);
    raise(SIGKILL);
}

/* The ring's next file, with its first event in it, which is in the shelter, too. */
static void begin_next(const char *first_event)
{
    const char *const properties[][2] = {{"keep", "last"}, {"first_event", first_event}};
    const struct rp_trace_options options = {.properties = properties, .property_count = 2};
    struct rp_trace_writer *writer = open_writer(&options);

    emit_count(writer, 1);
    assert_ok(rp_trace_writer_close(writer));
}

enum { NO_FILE = -1, WHOLE_FILE = 60 };

/* `begun`: how many bytes of the next file's header are there. */
static void assert_saved_with_the_next_begun(long begun)
{
    int shelter = shelter_for((struct rp_trace_options){
        .keep = RP_TRACE_KEEP_LAST, .limit = LIMIT});
    assert_true(WIFSIGNALED(in_child(emit_into_a_file_and_crash)));
    struct bytes bytes = file_read(trace_path);
    assert_int_equal(rename(trace_path, older_path), 0);
    if (begun == WHOLE_FILE)
        begin_next("1");
    else if (begun != NO_FILE)
        file_write(trace_path, bytes.data, (size_t)begun);
    free(bytes.data);

    struct rp_trace_rescue rescued;
    rp_trace_shelter_rescue(shelter, false, &rescued);
    assert_true(rescued.traces == 1 && rescued.events == 1 && rescued.lost == 0);
    assert_int_equal(access(older_path, F_OK), -1);
    struct kept kept = read_all(trace_path);
    assert_int_equal(kept.count, 2);
    assert_int_equal(kept.events[1].values[0].u, 1);
    assert_true(kept.broke_off);
    kept_release(&kept);
    close(shelter);
    unlink(trace_path);
}

static void a_file_put_aside_is_taken_back(void **state)
{
    (void)state;
    for (long begun = NO_FILE; begun <= WHOLE_FILE; begun++)
        assert_saved_with_the_next_begun(begun);
}

/* A program in the place of the one whose ring was turning may have begun one of its own. */
static void a_file_put_aside_does_not_replace_anothers(void **state)
{
    (void)state;
    const char *const firsts[] = {NULL, "0", "2", "10"};

    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        int shelter = shelter_for((struct rp_trace_options){
            .keep = RP_TRACE_KEEP_LAST, .limit = LIMIT});
        assert_true(WIFSIGNALED(in_child(emit_into_a_file_and_crash)));
        assert_int_equal(rename(trace_path, older_path), 0);
        if (firsts[i] != NULL)
            begin_next(firsts[i]);
        else
            file_write(trace_path, "somebody's", 10);
        struct bytes before = file_read(trace_path);
        struct rp_trace_rescue rescued;
        rp_trace_shelter_rescue(shelter, false, &rescued);
        assert_true(rescued.events == 0 && rescued.lost == 1);
        struct bytes after = file_read(trace_path);
        assert_int_equal(after.size, before.size);
        assert_memory_equal(after.data, before.data, before.size);
        free(before.data);
        free(after.data);
        assert_int_equal(access(older_path, F_OK), 0);
        close(shelter);
        unlink(trace_path);
    }
}

static void emit_round_and_round(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    struct random random = {1};
    for (uint64_t i = 0;; i++) { /* numbers that do not compress */
        emit_count(inherited, i << 40 | random_below(&random, UINT32_MAX));
        __atomic_store_n(shared, i + 1, __ATOMIC_RELEASE);
    }
}

static void a_kill_loses_nothing_of_a_ring(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;

    for (int i = 0; i < 20; i++) {
        int shelter = shelter_for((struct rp_trace_options){
            .buffer_bytes = 4096, .keep = RP_TRACE_KEEP_LAST, .limit = LIMIT});
        uint64_t emitted = kill_at(emit_round_and_round, (uint64_t)i * 997 + 20000);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        assert_int_equal(rescued.lost, 0);
        struct kept kept = read_all(trace_path);
        assert_true(kept.count > 0 && kept.broke_off);
        for (size_t k = 1; k < kept.count; k++)
            assert_int_equal(kept.events[k].values[0].u >> 40,
                             (kept.events[k - 1].values[0].u >> 40) + 1);
        assert_true((kept.events[kept.count - 1].values[0].u >> 40) + 1 >= emitted);
        kept_release(&kept);
        close(shelter);
        unlink(trace_path);
        unlink(older_path);
    }
}

/* ---- a limit: killed behind it ------------------------------------------------------------ */

/* All of the first events, and at the end how many came later. */
static uint64_t assert_first_part(uint64_t emitted)
{
    struct stat info;
    assert_int_equal(stat(trace_path, &info), 0);
    assert_in_range(info.st_size, 1, LIMIT);
    struct kept kept = read_all(trace_path);
    assert_true(kept.count > 1 && kept.broke_off);
    const struct kept_event *last = &kept.events[--kept.count];
    assert_string_equal(last->def->name, "gap");
    uint64_t missing = last->values[0].u;
    for (size_t i = 0; i < kept.count; i++) {
        assert_int_equal(kept.events[i].values[0].u & UINT32_MAX, i);
        assert_true(kept.events[i].time_ns <= last->time_ns);
    }
    assert_in_range(kept.count + missing, emitted, emitted + 1);
    kept.count++;
    kept_release(&kept);
    return missing;
}

static void emit_past_the_limit(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    struct random random = {1};
    for (uint64_t i = 0;; i++) { /* numbers that do not compress */
        emit_count(inherited, random_below(&random, UINT32_MAX) << 32 | i);
        __atomic_store_n(shared, i + 1, __ATOMIC_RELEASE);
    }
}

static void a_kill_behind_the_limit_is_told(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;

    for (int i = 0; i < 20; i++) {
        int shelter = shelter_for((struct rp_trace_options){
            .buffer_bytes = i % 2 == 0 ? 4096 : 0, .keep = RP_TRACE_KEEP_FIRST, .limit = LIMIT});
        uint64_t emitted = kill_at(emit_past_the_limit, 20000 + (uint64_t)i * i * 300);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        assert_int_equal(rescued.lost, 0);
        assert_true(rescued.past_limit > 0);
        assert_int_equal(assert_first_part(emitted), rescued.past_limit);
        close(shelter);
        unlink(trace_path);
    }
}

/* What fits no more is still in its buffer when the job is killed. */
static void emit_more_than_fits_and_crash(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    struct random random = {1};
    uint64_t i = 0;
    for (int part = 0; part < 400; part++) {
        for (int k = 0; k < 200; k++, i++)
            emit_count(inherited, random_below(&random, UINT32_MAX) << 32 | i);
        struct stat info;
        CHILD_ASSERT(stat(trace_path, &info) == 0);
        if (info.st_size > LIMIT - 4096)
            break;
        CHILD_ASSERT(rp_trace_writer_flush(inherited) == RP_OK);
    }
    for (int k = 0; k < 1000; k++, i++)
        emit_count(inherited, random_below(&random, UINT32_MAX) << 32 | i);
    *shared = i;
    raise(SIGKILL);
}

static void a_limit_that_is_met_when_saving_is_told(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;
    int shelter = shelter_for((struct rp_trace_options){
        .max_age_ns = UINT64_C(60000000000), .keep = RP_TRACE_KEEP_FIRST, .limit = LIMIT});
    assert_true(WIFSIGNALED(in_child(emit_more_than_fits_and_crash)));
    rp_trace_shelter_rescue(shelter, false, &rescued);
    assert_true(rescued.lost == 0 && rescued.past_limit > 0);
    assert_int_equal(assert_first_part(*shared), rescued.past_limit);
    close(shelter);
}

/* ---- a lossy trace ------------------------------------------------------------------------ */

static void a_kill_of_a_lossy_trace_tells_what_was_dropped(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;
    uint64_t dropped_last = 0;

    for (int i = 0; i < 20; i++) {
        int shelter = shelter_for((struct rp_trace_options){
            .buffer_bytes = 4096, .level = 19, .lossy = true});
        uint64_t emitted = kill_at(emit_past_the_limit, 20000 + (uint64_t)i * 300);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        struct kept kept = read_all(trace_path);
        uint64_t told = 0;
        for (size_t k = 0; k < kept.count; k++) {
            bool is_gap = strcmp(kept.events[k].def->name, "gap") == 0;
            told += is_gap ? kept.events[k].values[0].u : 1;
        }
        assert_int_equal(rescued.lost, 0);
        assert_in_range(told, emitted, emitted + 1);
        dropped_last += rescued.dropped;
        kept_release(&kept);
        close(shelter);
        unlink(trace_path);
    }
    assert_true(dropped_last > 0); /* else nothing was tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELTER_TEST(a_file_put_aside_is_taken_back),
        SHELTER_TEST(a_file_put_aside_does_not_replace_anothers),
        SHELTER_TEST(a_kill_loses_nothing_of_a_ring),
        SHELTER_TEST(a_kill_behind_the_limit_is_told),
        SHELTER_TEST(a_limit_that_is_met_when_saving_is_told),
        SHELTER_TEST(a_kill_of_a_lossy_trace_tells_what_was_dropped),
    };
    return cmocka_run_group_tests_name("trace killed", tests, NULL, NULL);
}
