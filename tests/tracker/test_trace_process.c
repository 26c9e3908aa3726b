/* SPDX-License-Identifier: Apache-2.0 */
/* The trace among files, descriptors, signals and processes that it doesn't own. */
#include "tests/tracker/trace_child.h"
#include "tests/tracker/trace_emit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

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
    assert_ok(rp_trace_writer_close(writer));
    assert_ok(rp_trace_writer_close(NULL));
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 1);
    kept_release(&kept);
}

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
    assert_int_equal(kept.damages, 1);
    assert_true(kept.broke_off);
    assert_non_null(strstr(kept.message, "without its end mark")); /* not in a torn chunk */
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
        TEST(an_existing_file_is_never_touched),
        TEST(after_finish_events_are_ignored),
        TEST(a_full_disk_stops_the_trace_not_the_job),
        TEST(the_jobs_descriptors_are_not_written_to),
        TEST(a_fork_leaves_the_parents_trace_alone),
        TEST(forks_while_threads_emit),
        TEST(a_killed_job_leaves_what_was_flushed),
        TEST(a_buffer_that_grows_old_is_written),
        TEST(the_writing_thread_takes_no_signals),
    };
    return cmocka_run_group_tests_name("trace process", tests, NULL, NULL);
}
