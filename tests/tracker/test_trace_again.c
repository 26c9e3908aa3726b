/* SPDX-License-Identifier: Apache-2.0 */
/* Events that come again in one record are read as if they had been emitted one by one. */
#include "tests/tracker/trace_emit.h"
#include "tracker/events.h"

enum { KINDS = 40, ROUNDS = 30000 };

static const struct rp_trace_move launch_moves[] = {{&rp_event_defs[RP_EVENT_launch], 0, 0},
                                                    {&rp_event_defs[RP_EVENT_launch], 4, 1},
                                                    {&rp_event_defs[RP_EVENT_access], 0, 0},
                                                    {&rp_event_defs[RP_EVENT_access], 6, 0},
                                                    {&count_def, 0, 2}};

struct launch {
    struct rp_trace_group group;
    char kernel[24];
    uint64_t bytes;
};

static void set_values(const struct launch *launch, const uint64_t slots[RP_TRACE_SLOTS],
                       union rp_value note[RP_EVENT_MAX_FIELDS],
                       union rp_value access[RP_EVENT_MAX_FIELDS], union rp_value *count)
{
    memset(note, 0, RP_EVENT_MAX_FIELDS * sizeof(*note));
    memset(access, 0, RP_EVENT_MAX_FIELDS * sizeof(*access));
    note[0].u = access[0].u = access[6].u = slots[0];
    note[4].u = slots[1];
    note[1] = text_value(launch->kernel);
    note[12] = note[13] = access[5] = text_value("exact");
    access[1].u = launch->bytes % 7;
    access[3].u = launch->bytes;
    access[4] = text_value("write");
    count->u = slots[2];
}

static void emit_singly(struct rp_trace_writer *writer, struct launch *launch,
                        const uint64_t slots[RP_TRACE_SLOTS])
{
    union rp_value note[RP_EVENT_MAX_FIELDS], access[RP_EVENT_MAX_FIELDS], count;
    set_values(launch, slots, note, access, &count);
    rp_trace_emit(writer, rp_trace_define(writer, &rp_event_defs[RP_EVENT_launch]), note);
    rp_trace_emit(writer, rp_trace_define(writer, &rp_event_defs[RP_EVENT_access]), access);
    emit_count(writer, count.u);
    rp_trace_group(writer, 3, launch_moves, 5, slots, &launch->group);
}

static uint64_t in_short, in_full;

static void emit_launch(struct rp_trace_writer *writer, struct launch *launch,
                        const uint64_t slots[RP_TRACE_SLOTS])
{
    if (rp_trace_again(writer, &launch->group, slots)) {
        in_short++;
        return;
    }
    emit_singly(writer, launch, slots);
    in_full++;
}

static void check_launch(const struct kept_event *events, const struct launch *launch,
                         const uint64_t slots[RP_TRACE_SLOTS])
{
    union rp_value note[RP_EVENT_MAX_FIELDS], access[RP_EVENT_MAX_FIELDS], count;
    set_values(launch, slots, note, access, &count);
    assert_string_equal(events[0].def->name, "launch");
    assert_string_equal(events[1].def->name, "access");
    assert_string_equal(events[2].def->name, "count");
    assert_string_equal(events[0].values[1].t.text, launch->kernel);
    assert_string_equal(events[1].values[4].t.text, "write");
    for (unsigned i = 0; i < 12; i++)
        assert_true(i == 1 || events[0].values[i].u == note[i].u);
    for (unsigned i = 0; i < 7; i++)
        assert_true(i == 4 || i == 5 || events[1].values[i].u == access[i].u);
    assert_int_equal(events[2].values[0].u, slots[2]);
    assert_true(events[0].time_ns <= events[1].time_ns && events[1].time_ns <= events[2].time_ns);
}

static void draw(struct random *random, uint64_t round, uint64_t slots[RP_TRACE_SLOTS])
{
    slots[0] = 3 * round;
    slots[1] = random_below(random, 5) ? round % 100 : UINT64_MAX - round;
    slots[2] = round * round;
}

static void write_rounds(struct launch *launches, size_t buffer_bytes)
{
    const struct rp_trace_options options = {.buffer_bytes = buffer_bytes};
    struct rp_trace_writer *writer = open_writer(&options);
    struct random random = {7};
    in_short = in_full = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t slots[RP_TRACE_SLOTS] = {0};
        size_t kind = random_below(&random, KINDS);
        draw(&random, i, slots);
        emit_launch(writer, &launches[kind], slots);
        if (kind == 0)
            emit_count(writer, i); /* something in between */
    }
    assert_ok(rp_trace_writer_close(writer));
}

static void check_rounds(struct launch *launches)
{
    struct kept kept = read_whole(trace_path);
    struct random random = {7};
    size_t at = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t slots[RP_TRACE_SLOTS] = {0};
        size_t kind = random_below(&random, KINDS);
        draw(&random, i, slots);
        check_launch(kept.events + at, &launches[kind], slots);
        at += 3;
        if (kind == 0)
            assert_int_equal(kept.events[at++].values[0].u, i);
    }
    assert_int_equal(at, kept.count);
    kept_release(&kept);
}

static void rounds_with_buffers_of(size_t bytes)
{
    static struct launch launches[KINDS];
    memset(launches, 0, sizeof(launches));
    for (uint64_t i = 0; i < KINDS; i++) {
        snprintf(launches[i].kernel, sizeof(launches[i].kernel), "kernel_%llu",
                 (unsigned long long)i);
        launches[i].bytes = i * 4096;
    }
    write_rounds(launches, bytes);
    check_rounds(launches);
    unlink(trace_path);
}

static void what_comes_again_is_read_as_if_emitted_singly(void **state)
{
    (void)state;
    rounds_with_buffers_of(0);
    assert_true(in_short > 100 * in_full / 10);
}

static void each_chunk_stands_alone(void **state)
{
    (void)state;
    rounds_with_buffers_of(16384); /* many chunks, in each of which all is new */
    assert_true(in_short > in_full);
}

static bool needs_none(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    (void)def;
    return false;
}

/* By who only counts, too. */
static void what_comes_again_is_counted(void **state)
{
    (void)state;
    struct launch launch = {.kernel = "k", .bytes = 4096};
    struct rp_trace_writer *writer = open_writer(NULL);
    struct rp_trace_reader *reader = NULL;
    struct rp_event event;
    uint64_t launches = 0, bytes = 0, came = 0, slots[RP_TRACE_SLOTS] = {0};
    char message[512];
    for (slots[0] = 0; slots[0] < ROUNDS; slots[0]++)
        emit_launch(writer, &launch, slots);
    assert_ok(rp_trace_writer_close(writer));
    assert_ok(rp_trace_reader_open(trace_path, &reader, message, sizeof(message)));
    rp_trace_reader_brief(reader, needs_none, NULL);
    for (; rp_trace_next(reader, &event) == RP_OK; came++) {
        launches += strcmp(event.def->name, "launch") == 0 ? event.count : 0;
        if (strcmp(event.def->name, "access") == 0)
            bytes += rp_event_field(&event, "bytes")->u;
    }
    assert_int_equal(launches, ROUNDS);
    assert_int_equal(bytes, ROUNDS * UINT64_C(4096));
    assert_true(came < ROUNDS / 4);
    rp_trace_reader_close(reader);
    unlink(trace_path);
}

static void no_group_is_made_of_what_is_not_there(void **state)
{
    (void)state;
    struct rp_trace_writer *writer = open_writer(NULL);
    struct rp_trace_group group = {0};
    const struct rp_trace_move name = {&pair_def, 0, 0}, number = {&pair_def, 1, 0},
                               other = {&count_def, 0, 0}, no_slot = {&pair_def, 1, 4};
    const uint64_t slots[RP_TRACE_SLOTS] = {0};
    const union rp_value pair[] = {text_value("who"), {.u = 1}};
    assert_false(rp_trace_again(writer, &group, slots));
    rp_trace_emit(writer, rp_trace_define(writer, &pair_def), pair);
    rp_trace_group(writer, 2, &number, 1, slots, &group); /* one event was emitted */
    assert_false(rp_trace_again(writer, &group, slots));
    rp_trace_group(writer, 1, &name, 1, slots, &group); /* a name does not move */
    assert_false(rp_trace_again(writer, &group, slots));
    rp_trace_group(writer, 1, &other, 1, slots, &group);
    assert_false(rp_trace_again(writer, &group, slots));
    rp_trace_group(writer, 1, &no_slot, 1, slots, &group);
    assert_false(rp_trace_again(writer, &group, slots));
    rp_trace_group(writer, 1, &number, 1, slots, &group);
    assert_true(rp_trace_again(writer, &group, slots));
    assert_ok(rp_trace_writer_flush(writer)); /* the buffer is gone, and the group with it */
    assert_false(rp_trace_again(writer, &group, slots));
    assert_ok(rp_trace_writer_close(writer));
    struct kept kept = read_whole(trace_path);
    assert_int_equal(kept.count, 2);
    kept_release(&kept);
    unlink(trace_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again_is_read_as_if_emitted_singly),
        cmocka_unit_test(each_chunk_stands_alone),
        cmocka_unit_test(what_comes_again_is_counted),
        cmocka_unit_test(no_group_is_made_of_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
