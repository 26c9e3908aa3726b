/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that may not grow past a size: the first part of a run, or the last. */
#include "tests/tracker/trace_emit.h"

#include <errno.h>

enum { LIMIT = 256 << 10 };

static uint64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static struct rp_trace_writer *open_limited(enum rp_trace_keep keep)
{
    const struct rp_trace_options options = {.keep = keep, .limit = LIMIT};
    return open_writer(&options);
}

/* The numbers that emit_too_much counted, in the order of the file. */
static void assert_numbers(const struct kept *kept, uint64_t first)
{
    for (size_t i = 0; i < kept->count; i++) {
        assert_int_equal(kept->events[i].values[0].u, first + i);
        assert_int_equal(kept->events[i].id, first + i);
    }
}

static void the_first_part_is_kept_whole(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_limited(RP_TRACE_KEEP_FIRST);
    struct rp_trace_stats stats;

    emit_too_much(writer, 2000);
    assert_int_equal(rp_trace_writer_finish(writer), RP_OK);
    rp_trace_writer_stats(writer, &stats);
    assert_int_equal(rp_trace_writer_close(writer), RP_OK);
    struct kept kept = read_whole(trace_path);
    assert_in_range(size_of(trace_path), LIMIT / 2, LIMIT);
    assert_in_range(kept.count, 100, 1999);
    const struct kept_event *last = &kept.events[--kept.count];
    assert_string_equal(last->def->name, "gap");
    assert_int_equal(last->values[0].u, stats.lost);
    assert_numbers(&kept, 0);
    assert_int_equal(kept.count + stats.lost, 2000);
    assert_int_equal(kept.count + 1 + stats.lost, stats.events);
    kept_release(&kept);
}

static void the_last_part_is_kept_in_two_files(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_limited(RP_TRACE_KEEP_LAST);
    struct rp_trace_stats stats;

    emit_too_much(writer, 5000);
    assert_int_equal(rp_trace_writer_finish(writer), RP_OK);
    rp_trace_writer_stats(writer, &stats);
    assert_int_equal(rp_trace_writer_close(writer), RP_OK);
    struct kept older = read_all(older_path), newer = read_all(trace_path);
    assert_true(older.count > 0 && older.whole && newer.count > 0 && newer.whole);
    assert_in_range(size_of(older_path) + size_of(trace_path), LIMIT / 4, LIMIT);
    assert_int_equal(stats.bytes_written, size_of(older_path) + size_of(trace_path));
    assert_int_equal(stats.lost, 0);
    assert_numbers(&newer, 5000 - newer.count);
    assert_numbers(&older, 5000 - newer.count - older.count);
    kept_release(&older);
    kept_release(&newer);
}

static void a_short_trace_is_one_file(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_limited(RP_TRACE_KEEP_LAST);

    emit_too_much(writer, 10);
    assert_ok(rp_trace_writer_close(writer));
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 10);
    assert_int_equal(size_of(older_path), 0);
    kept_release(&kept);
}

/* ---- reading a trace that grows --------------------------------------------------------- */

struct growing {
    struct bytes whole;
    size_t shown;
    unsigned asked;
};

/* The file grows by a little each time that it is looked at. */
static bool grow(struct growing *growing)
{
    size_t more = growing->whole.size - growing->shown < 97 ? growing->whole.size - growing->shown
                                                            : 97;
    FILE *file = fopen(trace_path, "ab");

    growing->asked++;
    fwrite(growing->whole.data + growing->shown, 1, more, file);
    fclose(file);
    growing->shown += more;
    return more > 0;
}

static void a_growing_trace_can_be_followed(void **state)
{
    (void)state;
    struct rp_trace_reader *reader;
    struct rp_event event;
    char message[256];
    uint64_t count = 0;
    enum rp_status status;
    struct rp_trace_writer *writer = open_writer(NULL);

    emit_too_much(writer, 50);
    assert_ok(rp_trace_writer_close(writer));
    struct growing growing = {.whole = file_read(trace_path), .shown = 200};
    assert_int_equal(truncate(trace_path, 200), 0);

    assert_ok(rp_trace_reader_open(trace_path, &reader, message, sizeof(message)));
    rp_trace_reader_follow(reader, true);
    while ((status = rp_trace_next(reader, &event)) == RP_OK || rp_trace_reader_awaits(reader)) {
        count += status == RP_OK;
        assert_true(status == RP_OK || grow(&growing));
    }
    assert_int_equal(status, RP_END);
    assert_int_equal(count, 50);
    assert_true(rp_trace_reader_whole(reader));
    assert_true(growing.asked > 10);
    rp_trace_reader_close(reader);
    free(growing.whole.data);
}

static void what_never_grew_on_breaks_off(void **state)
{
    (void)state;
    struct rp_trace_reader *reader;
    struct rp_event event;
    enum rp_status status;
    char message[256];
    struct rp_trace_writer *writer = open_writer(NULL);

    emit_too_much(writer, 50);
    assert_ok(rp_trace_writer_close(writer));
    assert_int_equal(truncate(trace_path, (off_t)size_of(trace_path) - 1), 0);
    assert_ok(rp_trace_reader_open(trace_path, &reader, message, sizeof(message)));
    rp_trace_reader_follow(reader, true);
    while ((status = rp_trace_next(reader, &event)) == RP_OK)
        ;
    assert_int_equal(status, RP_END);
    assert_true(rp_trace_reader_awaits(reader));
    rp_trace_reader_follow(reader, false);
    assert_int_equal(rp_trace_next(reader, &event), RP_DAMAGED);
    assert_true(rp_trace_reader_broke_off(reader));
    assert_int_equal(rp_trace_next(reader, &event), RP_END);
    rp_trace_reader_close(reader);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder_of_two, remove_folder_of_two)
    const struct CMUnitTest tests[] = {
        TEST(the_first_part_is_kept_whole),
        TEST(the_last_part_is_kept_in_two_files),
        TEST(a_short_trace_is_one_file),
        TEST(a_growing_trace_can_be_followed),
        TEST(what_never_grew_on_breaks_off),
    };
    return cmocka_run_group_tests_name("trace limit", tests, NULL, NULL);
}
