/* SPDX-License-Identifier: Apache-2.0 */
/* Who only counts gets the same counts as who reads every event, and gets them without unpacking.
 */
#include "tests/tracker/trace_emit.h"
#include "tracker/events.h"
#include "tracker/trace_format.h"

#define ROUNDS 20000

static const char *const kernels[] = {"bn_forward", "enqueue_keys", "philox", ""};
static const char *const verdicts[] = {"exact", "bounded"};

static void emit_note(struct rp_trace_writer *writer, enum rp_event_id id,
                      const union rp_value *values)
{
    rp_trace_emit(writer, rp_trace_define(writer, &rp_event_defs[id]), values);
}

/* Calls, launches and accesses whose every number and name is drawn. */
static void write_trace(struct random random, size_t distinct)
{
    struct rp_trace_writer *writer = open_writer(NULL);
    char name[32];

    for (uint64_t i = 0; i < ROUNDS; i++) {
        union rp_value launch[RP_EVENT_MAX_FIELDS] = {{.u = i}},
                       access[RP_EVENT_MAX_FIELDS] = {{0}};
        snprintf(name, sizeof(name), "kernel %u", (unsigned)random_below(&random, distinct));
        launch[1] = text_value(distinct > 4 ? name : kernels[random_below(&random, 4)]);
        launch[12] = text_value(verdicts[random_below(&random, 2)]);
        launch[13] = text_value("exact");
        launch[14] = text_value("");
        emit_note(writer, RP_EVENT_launch, launch);
        access[2].u = random_below(&random, UINT64_C(1) << 40);
        access[3].u = random_below(&random, UINT64_C(1) << 50);
        access[4] = text_value(random_below(&random, 2) ? "read" : "write");
        access[5] = text_value("exact");
        emit_note(writer, RP_EVENT_access, access);
        emit_count(writer, i);
    }
    assert_ok(rp_trace_writer_close(writer));
}

/* ---- counts ------------------------------------------------------------------------ */

#define MAX_ROWS 1024

struct row {
    char key[256];
    uint64_t count, bytes, most;
};

struct counts {
    struct row rows[MAX_ROWS];
    size_t row_count;
    uint64_t events, came; /* counted, and the events that said so */
    unsigned damages;
};

static uint64_t number(const struct rp_event *event, const char *field)
{
    const union rp_value *value = rp_event_field(event, field);
    return value != NULL ? value->u : 0;
}

static void count_event(struct counts *counts, const struct rp_event *event)
{
    char key[256];
    size_t at = 0;
    int used = snprintf(key, sizeof(key), "%s %s", event->def->class_, event->def->name);

    for (uint32_t i = 0; i < event->def->field_count; i++)
        if (event->def->fields[i].type == RP_FIELD_NAME)
            used += snprintf(key + used, sizeof(key) - (size_t)used, " %s=%.*s",
                             event->def->fields[i].name, (int)event->values[i].t.length,
                             event->values[i].t.text);
    while (at < counts->row_count && strcmp(counts->rows[at].key, key) != 0)
        at++;
    assert_true(at < MAX_ROWS);
    struct row *row = &counts->rows[at];
    if (at == counts->row_count) {
        counts->row_count++;
        strcpy(row->key, key);
        row->count = row->bytes = row->most = 0;
    }
    uint64_t most = number(event, event->count > 1 ? "bytes_most" : "bytes");
    row->count += event->count;
    row->bytes += number(event, "bytes");
    row->most = most > row->most ? most : row->most;
    counts->events += event->count;
    counts->came++;
}

static bool needs_none(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    (void)def;
    return false;
}

static bool needs_launch(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    return strcmp(def->name, "launch") == 0;
}

static bool needs_hazard(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    return strcmp(def->name, "hazard") == 0;
}

static struct counts *count_all(bool (*needs)(void *, const struct rp_event_def *))
{
    struct counts *counts = calloc(1, sizeof(*counts));
    struct rp_trace_reader *reader = NULL;
    struct rp_event event;
    enum rp_status status;
    char message[512];

    assert_ok(rp_trace_reader_open(trace_path, &reader, message, sizeof(message)));
    if (needs != NULL)
        rp_trace_reader_brief(reader, needs, NULL);
    while ((status = rp_trace_next(reader, &event)) != RP_END) {
        counts->damages += status == RP_DAMAGED;
        if (status == RP_OK)
            count_event(counts, &event);
    }
    rp_trace_reader_close(reader);
    return counts;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static void assert_same_counts(struct counts *a, struct counts *b)
{
    assert_int_equal(a->row_count, b->row_count);
    qsort(a->rows, a->row_count, sizeof(a->rows[0]), by_key);
    qsort(b->rows, b->row_count, sizeof(b->rows[0]), by_key);
    for (size_t i = 0; i < a->row_count; i++) {
        assert_string_equal(a->rows[i].key, b->rows[i].key);
        assert_int_equal(a->rows[i].count, b->rows[i].count);
        assert_int_equal(a->rows[i].bytes, b->rows[i].bytes);
        assert_int_equal(a->rows[i].most, b->rows[i].most);
    }
}

/* ---- tests ------------------------------------------------------------------------- */

static void rows_say_what_the_events_say(void **state)
{
    (void)state;
    write_trace(random_begin("tally"), 4);
    struct counts *each = count_all(NULL), *rows = count_all(needs_none);
    assert_same_counts(each, rows);
    assert_int_equal(rows->events, each->events);
    assert_int_equal(each->came, ROUNDS * 3);
    assert_true(rows->came < each->came / 10); /* most of it was never unpacked */
    free(each);
    free(rows);
}

static void a_type_that_is_needed_comes_one_by_one(void **state)
{
    (void)state;
    write_trace((struct random){1}, 4);
    struct counts *needed = count_all(needs_launch);
    struct counts *elsewhere = count_all(needs_hazard);
    assert_int_equal(needed->came, ROUNDS * 3);
    assert_true(elsewhere->came < ROUNDS);
    free(needed);
    free(elsewhere);
}

static void more_names_than_a_tally_holds_are_counted_all_the_same(void **state)
{
    (void)state;
    write_trace((struct random){1}, 300);
    struct counts *each = count_all(NULL), *rows = count_all(needs_none);
    assert_same_counts(each, rows);
    assert_int_equal(rows->came, each->came);
    free(each);
    free(rows);
}

/* The first tally's header in the file. */
static uint8_t *find_tally(const struct bytes *file, struct rp_trace_chunk *chunk)
{
    for (size_t at = 0; at + RP_TRACE_CHUNK_BYTES < file->size; at++)
        if (rp_trace_chunk_unpack(file->data + at, chunk) && chunk->flags == RP_TRACE_CHUNK_TALLY)
            return file->data + at;
    fail_msg("no tally");
    return NULL;
}

static void a_damaged_tally_loses_nothing(void **state)
{
    (void)state;
    struct rp_trace_chunk chunk;

    write_trace((struct random){1}, 4);
    struct bytes file = file_read(trace_path);
    find_tally(&file, &chunk)[RP_TRACE_CHUNK_BYTES + 9] ^= 0x10;
    file_write(trace_path, file.data, file.size);
    struct counts *each = count_all(NULL), *rows = count_all(needs_none);
    assert_same_counts(each, rows);
    assert_int_equal(rows->events, ROUNDS * 3);
    assert_int_equal(rows->damages, 1);
    assert_int_equal(each->damages, 1);
    free(each);
    free(rows);
    free(file.data);
}

static void a_tally_of_another_count_is_not_believed(void **state)
{
    (void)state;
    struct rp_trace_chunk chunk;

    write_trace((struct random){1}, 4);
    struct bytes file = file_read(trace_path);
    uint8_t *header = find_tally(&file, &chunk);
    chunk.event_count++;
    rp_trace_chunk_pack(header, &chunk);
    file_write(trace_path, file.data, file.size);
    struct counts *rows = count_all(needs_none);
    assert_int_equal(rows->events, ROUNDS * 3);
    assert_int_equal(rows->damages, 0);
    free(rows);
    free(file.data);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(rows_say_what_the_events_say),
        in_folder(a_type_that_is_needed_comes_one_by_one),
        in_folder(more_names_than_a_tally_holds_are_counted_all_the_same),
        in_folder(a_damaged_tally_loses_nothing),
        in_folder(a_tally_of_another_count_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
