/* SPDX-License-Identifier: Apache-2.0 */
/* What a process had not yet written of its trace when it was killed. */
#include "tests/tracker/trace_kill.h"

#include <sys/resource.h>

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

    for (int i = 0; i < 20; i++) {
        int shelter = shelter_for((struct rp_trace_options){.buffer_bytes = i % 2 == 0 ? 4096 : 0});
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
    int shelter = shelter_for((struct rp_trace_options){0});
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
    int shelter = shelter_for((struct rp_trace_options){0});
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
    int shelter = shelter_for((struct rp_trace_options){0});
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
    int shelter = shelter_for((struct rp_trace_options){0});
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
    const struct CMUnitTest tests[] = {
        SHELTER_TEST(a_kill_loses_nothing),
        SHELTER_TEST(who_left_by_itself_has_a_whole_trace),
        SHELTER_TEST(what_is_finished_is_left_alone),
        SHELTER_TEST(nothing_is_put_into_another_file),
        SHELTER_TEST(what_could_not_be_written_is_told),
        SHELTER_TEST(what_is_no_shelter_is_not_used),
    };
    return cmocka_run_group_tests_name("trace shelter", tests, NULL, NULL);
}
