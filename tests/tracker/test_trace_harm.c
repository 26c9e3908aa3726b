/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are made to harm their reader: all checks are right. */
#include "tests/tracker/trace_spoil.h"

#include <zstd.h>

/* The good file header, then one chunk of these raw bytes, all checks right, and an end. */
static void be_raw(const void *raw, size_t bytes, struct rp_trace_chunk chunk)
{
    size_t bound = ZSTD_compressBound(bytes);
    uint8_t *file = malloc(chunk_at[0] + 2 * RP_TRACE_CHUNK_BYTES + bound);
    uint8_t *header = file + chunk_at[0], *frame = header + RP_TRACE_CHUNK_BYTES;
    const struct rp_trace_chunk end = {.flags = RP_TRACE_CHUNK_END,
                                       .first_event = chunk.event_count};

    memcpy(file, good.data, chunk_at[0]);
    size_t stored = ZSTD_compress(frame, bound, raw, bytes, 1);
    if (chunk.stored_bytes == 0)
        chunk.stored_bytes = (uint32_t)stored;
    if (chunk.raw_bytes == 0)
        chunk.raw_bytes = (uint32_t)bytes;
    chunk.check = rp_trace_hash(frame, stored);
    rp_trace_chunk_pack(header, &chunk);
    rp_trace_chunk_pack(frame + stored, &end);
    be(file, (size_t)(frame + stored - file) + RP_TRACE_CHUNK_BYTES);
    free(file);
}

static void assert_one_damage(const char *why, size_t events)
{
    struct kept kept = read_all(memory_path);
    char at[256];

    assert_int_equal(kept.count, events);
    assert_int_equal(kept.damages, 1);
    snprintf(at, sizeof(at), "%s at byte %zu: ", why, chunk_at[0]);
    if (strstr(kept.message, at) == NULL)
        fail_msg("%s", kept.message);
    kept_release(&kept);
}

#define NONSENSE "has a chunk that makes no sense"

/* The record that defines type 0 with no fields, and one event of it. */
#define DEFINE_BARE "\0\4bare\4note\0"
#define DEFINE_BARE_BYTES 12

#define FIVE "\1f\0\1f\0\1f\0\1f\0\1f\0" /* fields */

static void bytes_behind_the_end_mark_are_told(void **state)
{
    (void)state;
    const size_t tails[] = {1, RP_TRACE_CHUNK_BYTES, good.size};
    uint8_t *longer = malloc(2 * good.size);

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        memcpy(longer, good.data, good.size);
        memcpy(longer + good.size, good.data, tails[i]); /* of another trace, say */
        be(longer, good.size + tails[i]);
        struct kept kept = read_all(memory_path);
        assert_int_equal(kept.count, good_events.count);
        assert_int_equal(kept.damages, 1);
        assert_non_null(strstr(kept.message, "goes on behind its end mark"));
        assert_false(kept.whole || kept.broke_off);
        kept_release(&kept);
    }
    free(longer);
}

static void records_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size, events;
    } rows[] = {
        {"\4\0", 2, 0},                                    /* a type that nobody defined */
        {"\0", 1, 0},                                      /* a definition that ends */
        {"\0\xFF\xFF\xFF\xFF\x7F", 6, 0},                  /* a string longer than the chunk */
        {"\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, 0}, /* and one of 2^64 - 1 */
        {"\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11, 0}, /* more than 64 bits */
        {"\0\4ba\0e\4note\0\2\0", 14, 0},                  /* a zero inside a string */
        {"\0\1a\1b\x19" FIVE FIVE FIVE FIVE FIVE, 81, 0},  /* 25 fields */
        {"\0\1a\1b\1\1f", 8, 0},                          /* a field without its type */
        {"\0\1a\1b\1\1f\7", 9, 0},                         /* a field of type 7 */
        {"\0\1a\1b\1\1f\0\4\x80\0", 11, 0},                /* a number that ends */
        {"\0\1a\1b\1\1f\5\4\1\0", 11, 0},                  /* a name that nobody defined */
        {"\0\1a\1b\1\1f\4\4\5abc\0", 15, 0},               /* a text that ends */
        {"\0\1a\1b\1\1f\6\4\1\2\3\0", 13, 0},              /* half a double */
        {"\1\5abc", 5, 0},                                 /* a name that ends */
        {DEFINE_BARE "\4\x80\0", DEFINE_BARE_BYTES + 3, 1}, /* an event, then half a tag */
        {DEFINE_BARE "\4\4\0", DEFINE_BARE_BYTES + 3, 1},  /* an event without its time */
        {DEFINE_BARE "\4\x80", DEFINE_BARE_BYTES + 2, 0},  /* a time that ends */
        {DEFINE_BARE "\4\2\0", DEFINE_BARE_BYTES + 3, 1},  /* a group that ends */
        {DEFINE_BARE "\4\2\2\0\0", DEFINE_BARE_BYTES + 5, 1}, /* of more events than came */
        {DEFINE_BARE "\4\2\0\0\0", DEFINE_BARE_BYTES + 5, 1}, /* of none */
        {DEFINE_BARE "\4\2\1\5\0", DEFINE_BARE_BYTES + 5, 1}, /* with moves that end */
        {DEFINE_BARE "\4\2\1\1\0\0\0\0", DEFINE_BARE_BYTES + 8, 1}, /* of no field */
        {DEFINE_BARE "\4\3\0\0\0\0\0\0", DEFINE_BARE_BYTES + 8, 1}, /* a group nobody made */
        {DEFINE_BARE "\4\2\1\0\3\0\0\0\0", DEFINE_BARE_BYTES + 9, 1}, /* again, that ends */
        {DEFINE_BARE "\4\2\1\0\3\0\0\0\0\0\0", DEFINE_BARE_BYTES + 11, 1}, /* or has no time */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        be_raw(rows[i].bytes, rows[i].size,
               (struct rp_trace_chunk){.event_count = (uint32_t)rows[i].events});
        assert_one_damage(NONSENSE, rows[i].events);
    }
    be_raw(DEFINE_BARE "\4\4\0\0", DEFINE_BARE_BYTES + 4,
           (struct rp_trace_chunk){.event_count = 2}); /* the frame of all this is right */
    struct kept kept = read_whole(memory_path);
    assert_int_equal(kept.count, 2);
    kept_release(&kept);
}

static void a_wrong_count_of_events_is_noticed(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 4; count++) {
        be_raw(DEFINE_BARE "\4\4\0\0", DEFINE_BARE_BYTES + 4,
               (struct rp_trace_chunk){.event_count = count});
        if (count != 2)
            assert_one_damage(NONSENSE, count < 2 ? count : 2);
    }
}

static void a_chunk_cannot_claim_memory(void **state)
{
    (void)state;
    static const char event[] = DEFINE_BARE "\2\0";
    const size_t size = sizeof(event) - 1, much = (size_t)17 << 20;
    static const struct rp_trace_chunk impossible[] = {
        {.event_count = 1, .raw_bytes = UINT32_MAX},
        {.event_count = 1, .stored_bytes = UINT32_MAX},
        {.event_count = 1, .flags = 4},
    };
    char *zeros = calloc(1, much), why[64];

    snprintf(why, sizeof(why), "is damaged from byte %zu to ", chunk_at[0]);
    for (size_t i = 0; i < 3; i++) {
        be_raw(event, size, impossible[i]);
        struct kept kept = read_all(memory_path);
        assert_int_equal(kept.count, 0);
        assert_int_equal(kept.damages, 1);
        assert_non_null(strstr(kept.message, why));
        kept_release(&kept);
    }
    /* A frame that unpacks to more, and to less, than it says. */
    be_raw(zeros, much, (struct rp_trace_chunk){.event_count = 1, .raw_bytes = 1000});
    assert_one_damage("has a damaged chunk", 0);
    be_raw(event, size, (struct rp_trace_chunk){.event_count = 1, .raw_bytes = 16u << 20});
    assert_one_damage("has a damaged chunk", 0);
    free(zeros);
}

static void a_chunk_cannot_define_without_limit(void **state)
{
    (void)state;
    const size_t count = RP_TRACE_MAX_NAMES + 1;
    uint8_t *raw = malloc(count * 3), *out = raw;

    for (size_t i = 0; i < count; i++)
        out = rp_put_bytes(rp_put_varint(out, RP_TRACE_TAG_NAME), "x", 1);
    be_raw(raw, (size_t)(out - raw), (struct rp_trace_chunk){.event_count = 0});
    assert_one_damage(NONSENSE, 0);

    out = raw;
    for (size_t i = 0; i <= RP_TRACE_MAX_EVENT_TYPES; i++) {
        memcpy(out, "\0\1a\1b\0", 6);
        out += 6;
    }
    be_raw(raw, (size_t)(out - raw), (struct rp_trace_chunk){.event_count = 0});
    assert_one_damage(NONSENSE, 0);
    free(raw);
}

static void garbled_records_never_break_the_reader(void **state)
{
    (void)state;
    struct random random = random_begin("records");
    struct rp_trace_chunk chunk;
    uint8_t raw[4096];

    rp_trace_chunk_unpack(good.data + chunk_at[0], &chunk);
    assert_true(chunk.raw_bytes <= sizeof(raw));
    for (int round = 0; round < 3000; round++) {
        ZSTD_decompress(raw, sizeof(raw), good.data + chunk_at[0] + RP_TRACE_CHUNK_BYTES,
                        chunk.stored_bytes);
        for (uint64_t i = 1 + random_below(&random, 4); i > 0; i--) {
            uint64_t value = random_next(&random);
            raw[random_below(&random, chunk.raw_bytes)] =
                (uint8_t)(value & 0x100 ? value : value & 7);
        }
        be_raw(raw, chunk.raw_bytes, (struct rp_trace_chunk){.event_count = EACH});
        struct kept kept = read_all(memory_path);
        assert_true(kept.count <= EACH && kept.damages <= 1);
        kept_release(&kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_behind_the_end_mark_are_told),
        cmocka_unit_test(records_that_make_no_sense_are_refused),
        cmocka_unit_test(a_wrong_count_of_events_is_noticed),
        cmocka_unit_test(a_chunk_cannot_claim_memory),
        cmocka_unit_test(a_chunk_cannot_define_without_limit),
        cmocka_unit_test(garbled_records_never_break_the_reader),
    };
    return cmocka_run_group_tests_name("trace harm", tests, setup, teardown);
}
