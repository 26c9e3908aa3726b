/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the trace share: a folder of their own, whole files in memory, and all
 * events of a trace in memory, for comparing. */
#ifndef RP_TESTS_TRACKER_TRACE_CHECK_H
#define RP_TESTS_TRACKER_TRACE_CHECK_H

#include "tests/tracker/check.h"
#include "tracker/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

/* ---- files ------------------------------------------------------------------------ */

static char folder[64];
static char trace_path[96];

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/reprise-trace-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(trace_path, sizeof(trace_path), "%s/t.trace", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlink(trace_path);
    return rmdir(folder);
}

/* The same for a ring, whose file is put aside for the next one. */
static char older_path[128];

static inline int make_folder_of_two(void **state)
{
    int made = make_folder(state);
    snprintf(trace_path, sizeof(trace_path), "%s/t.rpt", folder);
    snprintf(older_path, sizeof(older_path), "%s/t.0.rpt", folder);
    return made;
}

static inline int remove_folder_of_two(void **state)
{
    unlink(older_path);
    return remove_folder(state);
}

struct bytes {
    uint8_t *data;
    size_t size;
};

static inline struct bytes file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct bytes bytes = {NULL, 0};

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    bytes.size = (size_t)ftell(file);
    rewind(file);
    bytes.data = malloc(bytes.size + 1);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    fclose(file);
    return bytes;
}

static inline void file_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

/* ---- events ----------------------------------------------------------------------- */

struct kept_event {
    uint64_t id, time_ns, thread;
    const struct rp_event_def *def;
    union rp_value values[RP_EVENT_MAX_FIELDS]; /* texts are copies, terminated */
};

struct kept {
    struct kept_event *events;
    size_t count, capacity;
    unsigned damages;     /* how often RP_DAMAGED came */
    char message[512];    /* of the last */
    bool whole, broke_off;
    struct rp_trace_reader *reader;
};

static inline bool is_text(const struct rp_event_def *def, uint32_t field)
{
    return def->fields[field].type == RP_FIELD_TEXT || def->fields[field].type == RP_FIELD_NAME;
}

static inline void keep_event(struct kept *kept, const struct rp_event *event)
{
    if (kept->count == kept->capacity) {
        kept->capacity = kept->capacity * 2 + 64;
        kept->events = realloc(kept->events, kept->capacity * sizeof(*kept->events));
        assert_non_null(kept->events);
    }
    struct kept_event *copy = &kept->events[kept->count++];
    *copy = (struct kept_event){event->id, event->time_ns, event->thread, event->def, {{0}}};
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        copy->values[i] = event->values[i];
        if (!is_text(event->def, i))
            continue;
        char *text = malloc(event->values[i].t.length + 1);
        memcpy(text, event->values[i].t.text, event->values[i].t.length);
        text[event->values[i].t.length] = '\0';
        copy->values[i].t.text = text;
    }
}

/* Reads on to the end, damage or not. The reader stays open: it owns the definitions. */
static inline struct kept read_all_from(struct rp_trace_reader *reader)
{
    struct kept kept = {.reader = reader};
    struct rp_event event;
    enum rp_status status;

    while ((status = rp_trace_next(reader, &event)) != RP_END) {
        if (status == RP_OK) {
            keep_event(&kept, &event);
            continue;
        }
        assert_int_equal(status, RP_DAMAGED);
        kept.damages++;
        assert_true(kept.damages < 1000);
        snprintf(kept.message, sizeof(kept.message), "%s", rp_trace_reader_message(reader));
    }
    assert_int_equal(rp_trace_next(reader, &event), RP_END);
    kept.whole = rp_trace_reader_whole(reader);
    kept.broke_off = rp_trace_reader_broke_off(reader);
    return kept;
}

static inline struct kept read_all(const char *path)
{
    struct rp_trace_reader *reader = NULL;
    char message[512] = "";

    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return read_all_from(reader);
}

/* For a trace in which nothing is wrong. */
static inline struct kept read_whole(const char *path)
{
    struct kept kept = read_all(path);

    if (kept.damages > 0)
        print_error("%s\n", kept.message);
    assert_int_equal(kept.damages, 0);
    assert_true(kept.whole);
    for (size_t i = 0; i < kept.count; i++)
        assert_int_equal(kept.events[i].id, i);
    return kept;
}

static inline void kept_release(struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        for (uint32_t f = 0; f < kept->events[i].def->field_count; f++) {
            if (is_text(kept->events[i].def, f))
                free((void *)(uintptr_t)kept->events[i].values[f].t.text);
        }
    }
    free(kept->events);
    rp_trace_reader_close(kept->reader);
    *kept = (struct kept){.events = NULL};
}

static inline bool same_value(enum rp_field_type type, const union rp_value *a,
                              const union rp_value *b)
{
    size_t a_length = a->t.text != NULL ? a->t.length : 0;
    size_t b_length = b->t.text != NULL ? b->t.length : 0;

    if (type != RP_FIELD_TEXT && type != RP_FIELD_NAME)
        return a->u == b->u;
    return a_length == b_length && (a_length == 0 || memcmp(a->t.text, b->t.text, a_length) == 0);
}

static inline bool same_def(const struct rp_event_def *a, const struct rp_event_def *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->class_, b->class_) != 0 ||
        a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
            a->fields[i].type != b->fields[i].type)
            return false;
    }
    return true;
}

static inline bool same_event(const struct kept_event *event, const struct rp_event_def *def,
                              const union rp_value *values)
{
    if (!same_def(event->def, def))
        return false;
    for (uint32_t i = 0; i < def->field_count; i++) {
        if (!same_value(def->fields[i].type, &event->values[i], &values[i]))
            return false;
    }
    return true;
}

static inline union rp_value text_value(const char *text)
{
    union rp_value value = {.t = {text, text != NULL ? strlen(text) : 0}};

    return value;
}

#endif
