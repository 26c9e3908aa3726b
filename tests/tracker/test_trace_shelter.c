/* SPDX-License-Identifier: Apache-2.0 */
/* What a process had not yet written of its trace when it was killed. */
#include "tests/tracker/trace_emit.h"

#include "tests/tracker/trace_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static uint64_t *shared; /* how many events each of the child's threads has emitted */
static struct rp_trace_writer *inherited;
static struct rp_trace_options sheltered;
static char shelter_path[64];

static void *emit_sheltered(void *which)
{
    uint64_t *done = shared + (uintptr_t)which;

    for (uint64_t i = 0;; i++) {
        emit_count(inherited, i);
        __atomic_store_n(done, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void emit_from_two_threads(void)
{
    pthread_t other;

    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    CHILD_ASSERT(inherited != NULL);
    pthread_create(&other, NULL, emit_sheltered, (void *)1);
    emit_sheltered((void *)0);
}

/* Kills the child when its two threads have emitted so many events; how many they had then. */
static uint64_t kill_at(void (*body)(void), uint64_t count)
{
    int status = 0;

    shared[0] = shared[1] = 0;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(shared + 1, __ATOMIC_ACQUIRE) < count &&
           waitpid(child, &status, WNOHANG) == 0)
        usleep(100);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    return shared[0] + shared[1];
}

/* Each thread's numbers come without a gap, and reach as far as it said. */
static void assert_both_whole(const struct kept *kept)
{
    uint64_t threads[2] = {0, 0}, next[2] = {0, 0};

    for (uint64_t i = 0; i < kept->count; i++) {
        unsigned which = threads[0] == 0 || threads[0] == kept->events[i].thread ? 0 : 1;
        threads[which] = kept->events[i].thread;
        assert_int_equal(kept->events[i].thread, threads[which]);
        assert_int_equal(kept->events[i].values[0].u, next[which]);
        next[which]++;
    }
    uint64_t most = shared[0] > shared[1] ? shared[0] : shared[1];
    uint64_t least = shared[0] > shared[1] ? shared[1] : shared[0];
    assert_true((next[0] > next[1] ? next[0] : next[1]) >= most);
    assert_true((next[0] > next[1] ? next[1] : next[0]) >= least);
}

static void a_kill_loses_nothing(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;
    uint64_t all = 0;

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; i++) {
        int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
        assert_true(shelter >= 0);
        sheltered = (struct rp_trace_options){
            .shelter = shelter_path, .buffer_bytes = i % 2 == 0 ? 4096 : 0};
        uint64_t emitted = kill_at(emit_from_two_threads, (uint64_t)i * i * 100 + 1);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        assert_int_equal(rescued.lost, 0);
        all += rescued.events;
        struct kept kept = read_all(trace_path);
        assert_true(kept.count >= emitted);
        assert_both_whole(&kept);
        assert_true(kept.broke_off && kept.damages == 1);
        kept_release(&kept);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        close(shelter);
        unlink(trace_path);
    }
    assert_true(all > 0);
    munmap(shared, 4096);
}

static void emit_and_finish(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    emit_count(inherited, 1);
    CHILD_ASSERT(rp_trace_writer_finish(inherited) == RP_OK);
    raise(SIGKILL);
}

static void emit_and_crash(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    emit_count(inherited, 1);
    raise(SIGKILL);
}

static struct rp_trace_rescue rescue_after(void (*body)(void), int shelter)
{
    struct rp_trace_rescue rescued;

    sheltered = (struct rp_trace_options){.shelter = shelter_path};
    assert_true(WIFSIGNALED(in_child(body)));
    rp_trace_shelter_rescue(shelter, false, &rescued);
    return rescued;
}

static void emit_and_leave(void)
{
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    emit_count(inherited, 1);
}

/* By _exit: then a job that ended by itself has all in its trace, whether or not something lay in
 * the shelter. */
static void who_left_by_itself_has_a_whole_trace(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));

    sheltered = (struct rp_trace_options){.shelter = shelter_path};
    assert_int_equal(in_child(emit_and_leave), 0);
    rp_trace_shelter_rescue(shelter, true, &rescued);
    assert_true(rescued.traces == 1 && rescued.events == 1 && rescued.lost == 0);
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
    close(shelter);
    unlink(trace_path);
}

static void what_is_finished_is_left_alone(void **state)
{
    (void)state;
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
    struct rp_trace_rescue rescued = rescue_after(emit_and_finish, shelter);

    assert_true(rescued.traces == 0 && rescued.events == 0 && rescued.lost == 0);
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
    close(shelter);
}

static void nothing_is_put_into_another_file(void **state)
{
    (void)state;
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));

    sheltered = (struct rp_trace_options){.shelter = shelter_path};
    assert_true(WIFSIGNALED(in_child(emit_and_crash)));
    unlink(trace_path);
    FILE *other = fopen(trace_path, "w");
    fputs("somebody's", other);
    fclose(other);
    struct rp_trace_rescue rescued;
    rp_trace_shelter_rescue(shelter, false, &rescued);
    assert_true(rescued.events == 0 && rescued.lost == 1);
    struct stat is;
    assert_int_equal(stat(trace_path, &is), 0);
    assert_int_equal(is.st_size, 10);
    close(shelter);
}

/* ---- a ring: killed where its file has just been put aside -------------------------------- */

static char older_path[128];

static int make_folder_of_two(void **state)
{
    int made = make_folder(state);
    snprintf(trace_path, sizeof(trace_path), "%s/t.rpt", folder);
    snprintf(older_path, sizeof(older_path), "%s/t.0.rpt", folder);
    return made;
}

static int remove_folder_of_two(void **state)
{
    unlink(older_path);
    return remove_folder(state);
}

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
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
    sheltered = (struct rp_trace_options){
        .shelter = shelter_path, .keep = RP_TRACE_KEEP_LAST, .limit = 64 << 10};
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
        int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
        sheltered = (struct rp_trace_options){
            .shelter = shelter_path, .keep = RP_TRACE_KEEP_LAST, .limit = 64 << 10};
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

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; i++) {
        int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
        sheltered = (struct rp_trace_options){.shelter = shelter_path,
                                              .buffer_bytes = 4096,
                                              .keep = RP_TRACE_KEEP_LAST,
                                              .limit = 64 << 10};
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
    munmap(shared, 4096);
}

/* ---- a limit: killed behind it ------------------------------------------------------------ */

enum { LIMIT = 64 << 10 };

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

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; i++) {
        int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
        sheltered = (struct rp_trace_options){.shelter = shelter_path,
                                              .buffer_bytes = i % 2 == 0 ? 4096 : 0,
                                              .keep = RP_TRACE_KEEP_FIRST,
                                              .limit = LIMIT};
        uint64_t emitted = kill_at(emit_past_the_limit, 20000 + (uint64_t)i * i * 300);
        rp_trace_shelter_rescue(shelter, false, &rescued);
        assert_int_equal(rescued.lost, 0);
        assert_true(rescued.past_limit > 0);
        assert_int_equal(assert_first_part(emitted), rescued.past_limit);
        close(shelter);
        unlink(trace_path);
    }
    munmap(shared, 4096);
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
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sheltered = (struct rp_trace_options){.shelter = shelter_path,
                                          .max_age_ns = UINT64_C(60000000000),
                                          .keep = RP_TRACE_KEEP_FIRST,
                                          .limit = LIMIT};
    assert_true(WIFSIGNALED(in_child(emit_more_than_fits_and_crash)));
    rp_trace_shelter_rescue(shelter, false, &rescued);
    assert_true(rescued.lost == 0 && rescued.past_limit > 0);
    assert_int_equal(assert_first_part(*shared), rescued.past_limit);
    close(shelter);
    munmap(shared, 4096);
}

/* ---- a lossy trace ------------------------------------------------------------------------ */

static void a_kill_of_a_lossy_trace_tells_what_was_dropped(void **state)
{
    (void)state;
    struct rp_trace_rescue rescued;
    uint64_t dropped_last = 0;

    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; i++) {
        int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
        sheltered = (struct rp_trace_options){.shelter = shelter_path, .buffer_bytes = 4096,
                                              .level = 19, .lossy = true};
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
    munmap(shared, 4096);
}

static void emit_and_fail(void)
{
    signal(SIGXFSZ, SIG_IGN);
    CHILD_ASSERT(rp_trace_writer_open(trace_path, &sheltered, &inherited) == RP_OK);
    emit_count(inherited, 1);
    CHILD_ASSERT(rp_trace_writer_flush(inherited) == RP_OK);
    struct stat info;
    CHILD_ASSERT(stat(trace_path, &info) == 0);
    const struct rlimit limit = {(rlim_t)info.st_size, (rlim_t)info.st_size};
    CHILD_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    emit_count(inherited, 2);
    CHILD_ASSERT(rp_trace_writer_flush(inherited) == RP_IO);
    raise(SIGKILL);
}

static void what_could_not_be_written_is_told(void **state)
{
    (void)state;
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));
    struct rp_trace_rescue rescued = rescue_after(emit_and_fail, shelter);

    assert_true(rescued.traces == 0 && rescued.events == 0 && rescued.lost == 1);
    close(shelter);
}

static void what_is_no_shelter_is_not_used(void **state)
{
    (void)state;
    const char *const others[] = {"/nowhere", "/dev/null", "/proc/self/exe", trace_path};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct rp_trace_options options = {.shelter = others[i]};
        struct rp_trace_writer *writer = open_writer(&options);
        emit_count(writer, 1);
        assert_ok(rp_trace_writer_close(writer));
        struct kept kept = read_whole(trace_path);
        assert_int_equal(kept.count, 1);
        kept_release(&kept);
        unlink(trace_path);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder_of_two, remove_folder_of_two)
    const struct CMUnitTest tests[] = {
        TEST(a_kill_loses_nothing),
        TEST(who_left_by_itself_has_a_whole_trace),
        TEST(what_is_finished_is_left_alone),
        TEST(nothing_is_put_into_another_file),
        TEST(a_file_put_aside_is_taken_back),
        TEST(a_file_put_aside_does_not_replace_anothers),
        TEST(a_kill_loses_nothing_of_a_ring),
        TEST(a_kill_behind_the_limit_is_told),
        TEST(a_limit_that_is_met_when_saving_is_told),
        TEST(a_kill_of_a_lossy_trace_tells_what_was_dropped),
        TEST(what_could_not_be_written_is_told),
        TEST(what_is_no_shelter_is_not_used),
    };
    return cmocka_run_group_tests_name("trace shelter", tests, NULL, NULL);
}
