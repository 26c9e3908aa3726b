/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are not what a writer left: cut, garbled, or cut together. */
#include "tests/tracker/trace_spoil.h"

#include <sys/wait.h>

static void assert_refused(enum rp_status status, const char *path, const char *why)
{
    struct rp_trace_reader *reader = NULL;
    char message[512] = "", expected[512];

    assert_int_equal(rp_trace_reader_open(path, &reader, message, sizeof(message)), status);
    assert_null(reader);
    snprintf(expected, sizeof(expected), "%s: %s", path, why);
    assert_string_equal(message, expected);
}

/* What was read is right, and what was not is missing: never something else. */
static void assert_only_true_events(const struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        const struct kept_event *event = &kept->events[i], *true_one;
        assert_true(event->id < good_events.count);
        assert_true(i == 0 || event->id > kept->events[i - 1].id);
        true_one = &good_events.events[event->id];
        assert_true(same_event(event, true_one->def, true_one->values));
        assert_int_equal(event->time_ns, true_one->time_ns);
        assert_int_equal(event->thread, true_one->thread);
    }
}

static void assert_message(const struct kept *kept, const char *why)
{
    char expected[512];

    snprintf(expected, sizeof(expected), "%s: %s", memory_path, why);
    assert_string_equal(kept->message, expected);
}

/* ---- no traces at all ------------------------------------------------------------- */

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    assert_refused(RP_DAMAGED, "/dev/null", "the file is empty");
    assert_refused(RP_IO, folder, "can't be read: Is a directory");
    assert_refused(RP_IO, "/nowhere/t.trace", "can't be read: No such file or directory");
    be("ELF", 3);
    assert_refused(RP_DAMAGED, memory_path, "this is no trace of reprise");
    be("{ \"version\": 1, \"segments\": [] }", 32);
    assert_refused(RP_DAMAGED, memory_path, "this is no trace of reprise");
    assert_refused(RP_DAMAGED, "/dev/zero", "this is no trace of reprise");
    /* Properties of 4 GiB are not even looked for. */
    be(RP_TRACE_MAGIC "\1\0\1\0\xFF\xFF\xFF\xFF" "12345678", RP_TRACE_HEADER_BYTES);
    assert_refused(RP_DAMAGED, memory_path, "the header of the file is damaged");
}

/* The header with other numbers in it, and a right check. */
static void be_of_version(uint16_t version, uint16_t lowest)
{
    uint8_t *copy = malloc(good.size);
    struct rp_trace_header header;

    memcpy(copy, good.data, good.size);
    rp_trace_header_unpack(copy, &header);
    rp_put_fixed(copy + 8, version, 2);
    rp_put_fixed(copy + 10, lowest, 2);
    rp_trace_header_check(copy, copy + RP_TRACE_HEADER_BYTES, header.properties_bytes);
    be(copy, good.size);
    free(copy);
}

static void a_newer_trace_is_read_if_its_writer_says_so(void **state)
{
    (void)state;
    be_of_version(7, 3);
    struct kept kept = read_whole(memory_path);
    assert_int_equal(kept.count, good_events.count);
    kept_release(&kept);
    be_of_version(7, 4);
    assert_refused(RP_DAMAGED, memory_path,
                   "has format 7, for readers of format 4 and newer; this one reads up to 3: use "
                   "the reprise that wrote it");
}

/* ---- cut -------------------------------------------------------------------------- */

static void a_trace_cut_at_any_byte_is_read_up_to_there(void **state)
{
    (void)state;

    for (size_t size = 1; size < good.size; size++) {
        be(good.data, size);
        if (size < chunk_at[0]) {
            assert_refused(RP_DAMAGED, memory_path, "breaks off in the header of the file");
            continue;
        }
        size_t chunks = 0;
        while (chunks < CHUNKS && chunk_at[chunks + 1] <= size)
            chunks++;
        struct kept kept = read_all(memory_path);
        assert_only_true_events(&kept);
        assert_int_equal(kept.count, chunks * EACH);
        assert_int_equal(kept.damages, 1);
        assert_true(kept.broke_off);
        assert_false(kept.whole);
        kept_release(&kept);
    }
}

static void the_message_says_where_it_breaks_off(void **state)
{
    (void)state;
    static const struct {
        size_t chunk, more;
        const char *where;
    } rows[] = {{2, 0, "without its end mark, after 12"},
                {2, 1, "in the header of a chunk, after 12"},
                {2, RP_TRACE_CHUNK_BYTES, "in a chunk, after 12"},
                {CHUNKS, 55, "in the header of a chunk, after 30"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = chunk_at[rows[i].chunk] + rows[i].more;
        char why[256];
        be(good.data, size);
        struct kept kept = read_all(memory_path);
        snprintf(why, sizeof(why),
                 "breaks off %s events (byte %zu): the job was killed, or still runs, or the "
                 "disk was full, or the file was cut",
                 rows[i].where, size);
        assert_message(&kept, why);
        kept_release(&kept);
    }
}

/* ---- garbled ---------------------------------------------------------------------- */

static void a_flipped_bit_costs_no_more_than_its_chunk(void **state)
{
    (void)state;
    uint8_t *copy = malloc(good.size);

    memcpy(copy, good.data, good.size);
    for (size_t bit = 0; bit < good.size * 8; bit++) {
        size_t at = bit / 8, chunk = 0;
        if (bit % 8 != at % 8 && bit % 8 != 7) /* two in each byte */
            continue;
        copy[at] ^= (uint8_t)(1u << bit % 8);
        be(copy, good.size);
        copy[at] ^= (uint8_t)(1u << bit % 8);
        if (at < chunk_at[0]) {
            struct rp_trace_reader *reader = NULL;
            char message[512] = "";
            assert_int_equal(
                rp_trace_reader_open(memory_path, &reader, message, sizeof(message)), RP_DAMAGED);
            continue;
        }
        while (chunk_at[chunk + 1] <= at)
            chunk++;
        struct kept kept = read_all(memory_path);
        assert_only_true_events(&kept);
        assert_int_equal(kept.count, chunk < CHUNKS ? (CHUNKS - 1) * EACH : CHUNKS * EACH);
        assert_int_equal(kept.damages, 1);
        assert_false(kept.whole);
        kept_release(&kept);
    }
    free(copy);
}

static void any_garbling_gives_only_true_events(void **state)
{
    (void)state;
    struct random random = random_begin("garbling");
    uint8_t *copy = malloc(good.size * 2);

    for (int round = 0; round < 1500; round++) {
        size_t size = good.size;
        memcpy(copy, good.data, size);
        for (uint64_t i = 1 + random_below(&random, 3); i > 0; i--) {
            size_t at = chunk_at[0] + random_below(&random, size - chunk_at[0]);
            size_t n = random_below(&random, size - at) / 4 + 1, from;
            switch (random_below(&random, 4)) {
            case 0: /* noise */
                for (from = 0; from < n; from++)
                    copy[at + from] = (uint8_t)random_next(&random);
                break;
            case 1: /* cut out */
                memmove(copy + at, copy + at + n, size - at - n);
                size -= n;
                break;
            case 2: /* put in */
                if (size + n > good.size * 2)
                    break;
                memmove(copy + at + n, copy + at, size - at);
                size += n;
                break;
            default: /* moved */
                from = chunk_at[0] + random_below(&random, size - chunk_at[0] - n + 1);
                memmove(copy + at, copy + from, n);
            }
        }
        be(copy, size);
        struct kept kept = read_all(memory_path);
        for (size_t i = 0; i < kept.count; i++) { /* a chunk may come twice, but as it was */
            const struct kept_event *event = &kept.events[i];
            const struct kept_event *true_one = &good_events.events[event->id];
            assert_true(event->id < good_events.count);
            assert_true(same_event(event, true_one->def, true_one->values));
        }
        assert_true(kept.damages > 0 || (size == good.size && memcmp(copy, good.data, size) == 0) ||
                    kept.count == good_events.count);
        kept_release(&kept);
    }
    free(copy);
}

static void behind_a_broken_header_reading_goes_on(void **state)
{
    (void)state;
    uint8_t *copy = malloc(good.size);
    char why[256];

    memcpy(copy, good.data, good.size);
    memset(copy + chunk_at[1] + 8, 0xFF, 16); /* lengths */
    be(copy, good.size);
    struct kept kept = read_all(memory_path);
    assert_only_true_events(&kept);
    assert_int_equal(kept.count, (CHUNKS - 1) * EACH);
    assert_int_equal(kept.events[EACH].id, 2 * EACH); /* under its true number */
    assert_int_equal(kept.damages, 1);
    assert_false(kept.broke_off);
    snprintf(why, sizeof(why), "is damaged from byte %zu to %zu: 6 events are lost", chunk_at[1],
             chunk_at[2] - 1);
    assert_message(&kept, why);
    kept_release(&kept);

    memset(copy + chunk_at[1], 0xFF, good.size - chunk_at[1]);
    be(copy, good.size);
    kept = read_all(memory_path);
    assert_int_equal(kept.count, EACH);
    assert_int_equal(kept.damages, 1);
    snprintf(why, sizeof(why), "is damaged from byte %zu to its end, after 6 events", chunk_at[1]);
    assert_message(&kept, why);
    kept_release(&kept);
    free(copy);
}

static void whole_chunks_that_are_missing_are_missed(void **state)
{
    (void)state;
    uint8_t *copy = malloc(good.size);
    size_t cut = chunk_at[2] - chunk_at[1];
    char why[256];

    memcpy(copy, good.data, chunk_at[1]);
    memcpy(copy + chunk_at[1], good.data + chunk_at[2], good.size - chunk_at[2]);
    be(copy, good.size - cut);
    struct kept kept = read_all(memory_path);
    assert_only_true_events(&kept);
    assert_int_equal(kept.count, (CHUNKS - 1) * EACH);
    assert_int_equal(kept.damages, 1);
    assert_false(kept.whole);
    snprintf(why, sizeof(why), "goes on with event 12 where event 6 was due, at byte %zu",
             chunk_at[1]);
    assert_message(&kept, why);
    kept_release(&kept);

    /* The last ones: then the end mark gives it away. */
    memcpy(copy + chunk_at[1], good.data + chunk_at[CHUNKS], good.size - chunk_at[CHUNKS]);
    be(copy, chunk_at[1] + good.size - chunk_at[CHUNKS]);
    kept = read_all(memory_path);
    assert_int_equal(kept.count, EACH);
    assert_int_equal(kept.damages, 1);
    assert_false(kept.whole);
    kept_release(&kept);
    free(copy);
}

/* ---- pipes ------------------------------------------------------------------------ */

static void a_trace_is_read_from_a_pipe(void **state)
{
    (void)state;
    struct rp_trace_reader *reader = NULL;
    int ends[2], status = 0, old = dup(STDIN_FILENO);
    char message[512] = "";

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t i = 0; i < good.size; i++) { /* in the smallest pieces */
            if (write(ends[1], good.data + i, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    assert_ok(rp_trace_reader_open("-", &reader, message, sizeof(message)));
    struct kept kept = read_all_from(reader);
    assert_int_equal(kept.count, good_events.count);
    assert_only_true_events(&kept);
    assert_true(kept.whole);
    kept_release(&kept);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* not ours to close */
    dup2(old, STDIN_FILENO);
    close(old);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(a_newer_trace_is_read_if_its_writer_says_so),
        cmocka_unit_test(a_trace_cut_at_any_byte_is_read_up_to_there),
        cmocka_unit_test(the_message_says_where_it_breaks_off),
        cmocka_unit_test(a_flipped_bit_costs_no_more_than_its_chunk),
        cmocka_unit_test(any_garbling_gives_only_true_events),
        cmocka_unit_test(behind_a_broken_header_reading_goes_on),
        cmocka_unit_test(whole_chunks_that_are_missing_are_missed),
        cmocka_unit_test(a_trace_is_read_from_a_pipe),
    };
    return cmocka_run_group_tests_name("trace damage", tests, setup, teardown);
}
