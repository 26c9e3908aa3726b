/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are not what a writer left: cut, garbled, cut together, or made to harm. */
#include "tests/tracker/random.h"
#include "tests/tracker/trace_check.h"
#include "tracker/events.h"
#include "tracker/trace_format.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <zstd.h>

#define CHUNKS 5
#define EACH 6 /* events in a chunk */

static struct bytes good;         /* a whole trace of CHUNKS * EACH events */
static struct kept good_events;   /* what is in it */
static size_t chunk_at[CHUNKS + 2]; /* where each chunk begins, the end mark, the end */
static int memory_file;
static char memory_path[64];

static void write_good_trace(void)
{
    static const char *const kernels[] = {"bn_forward", "enqueue_keys", "philox"};
    static const char *const properties[][2] = {{"command", "python train.py"}};
    const struct rp_trace_options options = {.properties = properties, .property_count = 1};
    struct rp_trace_writer *writer = NULL;

    assert_ok(rp_trace_writer_open(trace_path, &options, &writer));
    for (uint64_t i = 0; i < CHUNKS * EACH; i++) {
        const struct rp_event_def *def =
            &rp_event_defs[i % 3 == 0 ? RP_EVENT_route : i % 3 == 1 ? RP_EVENT_unknown
                                                                    : RP_EVENT_mapping];
        union rp_value values[RP_EVENT_MAX_FIELDS] = {{.u = 0}};
        for (uint32_t f = 0; f < def->field_count; f++) {
            if (is_text(def, f))
                values[f] = text_value(kernels[(i + f) % 3]);
            else
                values[f].u = i * 1000003 + f;
        }
        rp_trace_emit(writer, rp_trace_define(writer, def), values);
        if (i % EACH == EACH - 1)
            assert_ok(rp_trace_writer_flush(writer));
    }
    assert_ok(rp_trace_writer_close(writer));
}

static int setup(void **state)
{
    struct rp_trace_header header;
    struct rp_trace_chunk chunk;

    if (make_folder(state) != 0)
        return -1;
    write_good_trace();
    good = file_read(trace_path);
    good_events = read_whole(trace_path);
    rp_trace_header_unpack(good.data, &header);
    chunk_at[0] = RP_TRACE_HEADER_BYTES + header.properties_bytes;
    for (size_t i = 0; i <= CHUNKS; i++) {
        assert_true(rp_trace_chunk_unpack(good.data + chunk_at[i], &chunk));
        assert_int_equal(chunk.event_count, i < CHUNKS ? EACH : 0);
        chunk_at[i + 1] = chunk_at[i] + RP_TRACE_CHUNK_BYTES + chunk.stored_bytes;
    }
    assert_int_equal(chunk_at[CHUNKS + 1], good.size);
    memory_file = memfd_create("trace", 0);
    snprintf(memory_path, sizeof(memory_path), "/proc/self/fd/%d", memory_file);
    return 0;
}

static int teardown(void **state)
{
    close(memory_file);
    kept_release(&good_events);
    free(good.data);
    return remove_folder(state);
}

/* The file at memory_path. */
static void be(const void *data, size_t size)
{
    assert_int_equal(ftruncate(memory_file, 0), 0);
    assert_int_equal(pwrite(memory_file, data, size, 0), size);
}

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

/* ---- made to harm ----------------------------------------------------------------- */

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
        cmocka_unit_test(bytes_behind_the_end_mark_are_told),
        cmocka_unit_test(whole_chunks_that_are_missing_are_missed),
        cmocka_unit_test(records_that_make_no_sense_are_refused),
        cmocka_unit_test(a_wrong_count_of_events_is_noticed),
        cmocka_unit_test(a_chunk_cannot_claim_memory),
        cmocka_unit_test(a_chunk_cannot_define_without_limit),
        cmocka_unit_test(garbled_records_never_break_the_reader),
        cmocka_unit_test(a_trace_is_read_from_a_pipe),
    };
    return cmocka_run_group_tests_name("trace damage", tests, setup, teardown);
}
