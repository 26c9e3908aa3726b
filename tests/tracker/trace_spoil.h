/* SPDX-License-Identifier: Apache-2.0 */
/* A good trace, to be spoilt: what is made of it is read from a file in memory. */
#ifndef RP_TESTS_TRACKER_TRACE_SPOIL_H
#define RP_TESTS_TRACKER_TRACE_SPOIL_H

#include "tests/tracker/random.h"
#include "tests/tracker/trace_check.h"
#include "tracker/events.h"
#include "tracker/trace_format.h"

#include <sys/mman.h>

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

#endif
