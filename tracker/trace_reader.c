/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace front to back, from anything that can be read, in constant memory.
 *
 * Damage costs as little as it can: the lengths in a chunk's header have a check of their own,
 * so a chunk whose payload is broken is skipped; where a header is broken the search for the
 * next one goes byte by byte. */
#include "tracker/trace.h"

#include "tracker/array.h"
#include "tracker/trace_decode.h"
#include "tracker/trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#define READ_BYTES ((size_t)64 << 10)

struct rp_trace_reader {
    char *path;
    char message[512];
    int fd;
    bool is_stdin; /* not ours to close */
    int error;     /* errno of a failed read */
    bool eof;
    bool (*wait)(void *ctx); /* at the end of a file that may grow; NULL: it does not */
    void *wait_ctx;
    bool finished; /* nothing more will come */
    bool broken_off;
    bool damaged;
    struct rp_trace_chunk resumed; /* behind damage: the header that was found */
    bool has_resumed;

    uint8_t *data; /* the window: bytes [begin, end) of it are read but not yet used */
    size_t begin, end, capacity;
    uint64_t offset; /* of `begin` in the file */

    struct property {
        char *key, *value;
    } *properties;
    size_t property_count;

    uint8_t *raw; /* the chunk, unpacked */
    size_t raw_capacity;
    struct rp_trace_decoder decoder;
    struct rp_trace_chunk chunk;
    uint64_t chunk_at; /* where it began */
    uint64_t next_id;
    bool in_chunk;
};

/* ---- messages --------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static enum rp_status
report(struct rp_trace_reader *reader, enum rp_status status, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->message, sizeof(reader->message), "%s: ", reader->path);

    if (used < 0 || (size_t)used >= sizeof(reader->message))
        used = 0; /* a path that long says nothing */
    va_start(arguments, format);
    vsnprintf(reader->message + used, sizeof(reader->message) - (size_t)used, format, arguments);
    va_end(arguments);
    reader->damaged = reader->damaged || status == RP_DAMAGED;
    return status;
}

/* ---- input ------------------------------------------------------------------------ */

/* Reads until the window holds `bytes`, or the input ends or fails. Returns what it holds. */
static size_t want(struct rp_trace_reader *reader, size_t bytes)
{
    size_t have = reader->end - reader->begin;

    if (have >= bytes || reader->eof)
        return have;
    if (reader->begin > 0) {
        memmove(reader->data, reader->data + reader->begin, have);
        reader->begin = 0;
        reader->end = have;
    }
    uint8_t *data = rp_array_reserve(reader->data, &reader->capacity, bytes + READ_BYTES, 1);
    if (data == NULL) {
        reader->error = ENOMEM;
        reader->eof = true;
        return have;
    }
    reader->data = data;
    while (reader->end < bytes && !reader->eof) {
        ssize_t n = read(reader->fd, data + reader->end, reader->capacity - reader->end);
        if (n > 0) {
            reader->end += (size_t)n;
        } else if (n == 0 && reader->wait != NULL && reader->wait(reader->wait_ctx)) {
            continue;
        } else if (n == 0 || errno != EINTR) {
            reader->error = n < 0 ? errno : 0;
            reader->eof = true;
        }
    }
    return reader->end;
}

static const uint8_t *window(const struct rp_trace_reader *reader)
{
    return reader->data + reader->begin;
}

static void skip(struct rp_trace_reader *reader, size_t bytes)
{
    reader->begin += bytes;
    reader->offset += bytes;
}

/* The input ended where more was due: because it can't be read, or there is no more. */
static enum rp_status breaks_off(struct rp_trace_reader *reader, const char *where)
{
    reader->finished = true;
    if (reader->error == ENOMEM)
        return report(reader, RP_NO_MEMORY, "out of memory");
    if (reader->error != 0)
        return report(reader, RP_IO, "can't be read: %s", strerror(reader->error));
    reader->broken_off = true;
    return report(reader, RP_DAMAGED,
                  "breaks off %s, after %" PRIu64 " events (byte %" PRIu64 "): the job was "
                  "killed, or still runs, or the file was cut",
                  where, reader->next_id, reader->offset + (reader->end - reader->begin));
}

/* ---- the header of the file ------------------------------------------------------- */

static char *take_text(const uint8_t **at, const uint8_t *end)
{
    uint64_t length = 0;

    if (!rp_get_varint(at, end, &length) || length > (uint64_t)(end - *at))
        return NULL;
    char *text = strndup((const char *)*at, (size_t)length);
    *at += length;
    return text;
}

static bool parse_properties(struct rp_trace_reader *reader, const uint8_t *at, size_t bytes)
{
    const uint8_t *end = at + bytes;
    uint64_t count = 0;

    if (!rp_get_varint(&at, end, &count) || count > bytes)
        return false;
    reader->properties = calloc((size_t)count + 1, sizeof(*reader->properties));
    if (reader->properties == NULL)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct property *property = &reader->properties[reader->property_count++];
        property->key = take_text(&at, end);
        property->value = take_text(&at, end);
        if (property->key == NULL || property->value == NULL)
            return false;
    }
    return true;
}

static enum rp_status read_header(struct rp_trace_reader *reader)
{
    struct rp_trace_header header;
    size_t have = want(reader, RP_TRACE_HEADER_BYTES);

    if (reader->error != 0)
        return report(reader, RP_IO, "can't be read: %s", strerror(reader->error));
    if (have == 0)
        return report(reader, RP_DAMAGED, "the file is empty");
    size_t magic = have < 8 ? have : 8;
    if (memcmp(window(reader), RP_TRACE_MAGIC, magic) != 0)
        return report(reader, RP_DAMAGED, "this is no trace of reprise");
    if (have < RP_TRACE_HEADER_BYTES)
        return report(reader, RP_DAMAGED, "breaks off in the header of the file");

    enum rp_trace_header_state state = rp_trace_header_unpack(window(reader), &header);
    if (header.properties_bytes > RP_TRACE_MAX_PROPERTIES)
        return report(reader, RP_DAMAGED, "the header of the file is damaged");
    size_t whole = RP_TRACE_HEADER_BYTES + header.properties_bytes;
    if (want(reader, whole) < whole)
        return reader->error != 0
                   ? report(reader, RP_IO, "can't be read: %s", strerror(reader->error))
                   : report(reader, RP_DAMAGED, "breaks off in the header of the file");
    const uint8_t *properties = window(reader) + RP_TRACE_HEADER_BYTES;
    if (!rp_trace_header_matches(window(reader), properties, &header))
        return report(reader, RP_DAMAGED, "the header of the file is damaged");
    if (state == RP_TRACE_HEADER_NEWER)
        return report(reader, RP_DAMAGED,
                      "has format %u, for readers of format %u and newer; this one reads up to %u: "
                      "use the reprise that wrote it",
                      header.version, header.lowest_reader, RP_TRACE_VERSION);
    if (!parse_properties(reader, properties, header.properties_bytes))
        return report(reader, RP_DAMAGED, "the header of the file is damaged");
    skip(reader, whole);
    /* A file that goes on from another one begins with a later event. */
    const char *first = rp_trace_property(reader, "first_event");
    reader->next_id = first != NULL ? strtoull(first, NULL, 10) : 0;
    return RP_OK;
}

/* ---- chunks ----------------------------------------------------------------------- */

/* Looks for the next whole header. True when the window begins with it. */
static bool find_header(struct rp_trace_reader *reader, struct rp_trace_chunk *chunk)
{
    for (;;) {
        skip(reader, 1);
        size_t have = want(reader, READ_BYTES);
        if (have < RP_TRACE_CHUNK_BYTES) {
            skip(reader, have);
            return false;
        }
        size_t last = have - RP_TRACE_CHUNK_BYTES;
        const uint8_t *found = memmem(window(reader), last + 4, RP_TRACE_CHUNK_MARKER, 4);
        if (found == NULL) {
            skip(reader, last);
            continue;
        }
        skip(reader, (size_t)(found - window(reader)));
        if (rp_trace_chunk_unpack(window(reader), chunk))
            return true;
    }
}

static enum rp_status resume_behind_damage(struct rp_trace_reader *reader)
{
    uint64_t begin = reader->offset;

    reader->has_resumed = find_header(reader, &reader->resumed);
    if (!reader->has_resumed) {
        if (reader->error != 0)
            return breaks_off(reader, "in damaged bytes");
        reader->finished = true;
        return report(reader, RP_DAMAGED,
                      "is damaged from byte %" PRIu64 " to its end, after %" PRIu64 " events",
                      begin, reader->next_id);
    }
    uint64_t first = reader->resumed.first_event;
    uint64_t lost = first > reader->next_id ? first - reader->next_id : 0;
    enum rp_status status =
        report(reader, RP_DAMAGED,
               "is damaged from byte %" PRIu64 " to %" PRIu64 ": %" PRIu64 " events are lost",
               begin, reader->offset - 1, lost);
    reader->next_id = first;
    return status;
}

/* The next header, which stays in the window. */
static enum rp_status next_header(struct rp_trace_reader *reader, struct rp_trace_chunk *chunk)
{
    if (reader->has_resumed) {
        *chunk = reader->resumed;
        reader->has_resumed = false;
        return RP_OK;
    }
    size_t have = want(reader, RP_TRACE_CHUNK_BYTES);
    if (have == 0)
        return breaks_off(reader, "without its end mark");
    size_t marker = have < 4 ? have : 4;
    if (have < RP_TRACE_CHUNK_BYTES && memcmp(window(reader), RP_TRACE_CHUNK_MARKER, marker) == 0)
        return breaks_off(reader, "in the header of a chunk");
    if (have < RP_TRACE_CHUNK_BYTES || !rp_trace_chunk_unpack(window(reader), chunk))
        return resume_behind_damage(reader);
    return RP_OK;
}

/* A chunk that can't be used, though its header can. */
static enum rp_status lose_chunk(struct rp_trace_reader *reader, const struct rp_trace_chunk *chunk,
                                 uint64_t at, const char *why)
{
    enum rp_status status =
        report(reader, RP_DAMAGED, "%s at byte %" PRIu64 ": %" PRIu64 " events are lost", why, at,
               chunk->first_event + chunk->event_count - reader->next_id);

    reader->next_id = chunk->first_event + chunk->event_count;
    reader->in_chunk = false;
    return status;
}

static enum rp_status unpack(struct rp_trace_reader *reader, const struct rp_trace_chunk *chunk,
                             const uint8_t *frame)
{
    uint8_t *raw = rp_array_reserve(reader->raw, &reader->raw_capacity, chunk->raw_bytes, 1);

    if (raw == NULL)
        return RP_NO_MEMORY;
    reader->raw = raw;
    return ZSTD_decompress(raw, chunk->raw_bytes, frame, chunk->stored_bytes) == chunk->raw_bytes
               ? RP_OK
               : RP_DAMAGED;
}

static enum rp_status read_payload(struct rp_trace_reader *reader,
                                   const struct rp_trace_chunk *chunk)
{
    size_t whole = RP_TRACE_CHUNK_BYTES + (size_t)chunk->stored_bytes;
    uint64_t at = reader->offset;

    if (want(reader, whole) < whole)
        return breaks_off(reader, "in a chunk");
    const uint8_t *frame = window(reader) + RP_TRACE_CHUNK_BYTES;
    bool good = rp_trace_hash(frame, chunk->stored_bytes) == chunk->check;
    enum rp_status status = good ? unpack(reader, chunk, frame) : RP_DAMAGED;
    skip(reader, whole);
    if (status == RP_NO_MEMORY)
        return report(reader, status, "out of memory");
    if (status != RP_OK)
        return lose_chunk(reader, chunk, at, "has a damaged chunk");
    reader->chunk = *chunk;
    reader->chunk_at = at;
    reader->in_chunk = true;
    rp_trace_decoder_begin(&reader->decoder, reader->raw, chunk->raw_bytes, chunk->time_ns,
                           chunk->thread);
    return RP_OK;
}

/* Makes the next chunk current. RP_END behind the end mark. */
static enum rp_status next_chunk(struct rp_trace_reader *reader)
{
    struct rp_trace_chunk chunk = {.flags = 0};
    enum rp_status status = next_header(reader, &chunk);

    if (status != RP_OK)
        return status;
    if (chunk.first_event != reader->next_id) { /* whole chunks were cut out or put in */
        reader->resumed = chunk;
        reader->has_resumed = true;
        status = report(reader, RP_DAMAGED,
                        "goes on with event %" PRIu64 " where event %" PRIu64
                        " was due, at byte %" PRIu64,
                        chunk.first_event, reader->next_id, reader->offset);
        reader->next_id = chunk.first_event;
        return status;
    }
    if (chunk.flags == RP_TRACE_CHUNK_END) {
        skip(reader, RP_TRACE_CHUNK_BYTES);
        reader->finished = true;
        return RP_END;
    }
    if (chunk.flags != 0 || chunk.stored_bytes > RP_TRACE_MAX_STORED ||
        chunk.raw_bytes > RP_TRACE_MAX_RAW)
        return resume_behind_damage(reader); /* no writer makes such a header */
    return read_payload(reader, &chunk);
}

/* ---- outside ---------------------------------------------------------------------- */

enum rp_status rp_trace_next(struct rp_trace_reader *reader, struct rp_event *event)
{
    enum rp_status status;

    for (;;) {
        if (!reader->in_chunk) {
            status = reader->finished ? RP_END : next_chunk(reader);
            if (status != RP_OK)
                return status;
            continue;
        }
        const struct rp_trace_chunk *chunk = &reader->chunk;
        status = rp_trace_decode(&reader->decoder, event);
        bool all_there = reader->next_id == chunk->first_event + chunk->event_count;
        if (status == RP_OK && !all_there) {
            event->id = reader->next_id++;
            return RP_OK;
        }
        if (status == RP_NO_MEMORY) {
            reader->finished = true;
            reader->in_chunk = false;
            return report(reader, status, "out of memory");
        }
        if (status != RP_END || !all_there)
            return lose_chunk(reader, chunk, reader->chunk_at, "has a chunk that makes no sense");
        reader->in_chunk = false;
    }
}

enum rp_status rp_trace_reader_open(const char *path, struct rp_trace_reader **out, char *message,
                                    size_t message_size)
{
    struct rp_trace_reader *reader = calloc(1, sizeof(*reader));

    *out = NULL;
    if (reader != NULL) {
        reader->is_stdin = strcmp(path, "-") == 0;
        reader->path = strdup(reader->is_stdin ? "standard input" : path);
    }
    if (reader == NULL || reader->path == NULL) {
        free(reader);
        snprintf(message, message_size, "%s: out of memory", path);
        return RP_NO_MEMORY;
    }
    reader->fd = reader->is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum rp_status status = reader->fd >= 0
                                ? read_header(reader)
                                : report(reader, RP_IO, "can't be read: %s", strerror(errno));
    if (status != RP_OK) {
        snprintf(message, message_size, "%s", reader->message);
        rp_trace_reader_close(reader);
        return status;
    }
    *out = reader;
    return RP_OK;
}

void rp_trace_reader_follow(struct rp_trace_reader *reader, bool (*wait)(void *ctx), void *ctx)
{
    reader->wait = wait;
    reader->wait_ctx = ctx;
}

void rp_trace_reader_close(struct rp_trace_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->fd >= 0 && !reader->is_stdin)
        close(reader->fd);
    for (size_t i = 0; i < reader->property_count; i++) {
        free(reader->properties[i].key);
        free(reader->properties[i].value);
    }
    free(reader->properties);
    rp_trace_decoder_release(&reader->decoder);
    free(reader->raw);
    free(reader->data);
    free(reader->path);
    free(reader);
}

const char *rp_trace_reader_message(const struct rp_trace_reader *reader)
{
    return reader->message;
}

bool rp_trace_reader_whole(const struct rp_trace_reader *reader)
{
    return reader->finished && !reader->damaged && reader->error == 0;
}

bool rp_trace_reader_broke_off(const struct rp_trace_reader *reader)
{
    return reader->broken_off;
}

const char *rp_trace_property(const struct rp_trace_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->property_count; i++) {
        if (strcmp(reader->properties[i].key, key) == 0)
            return reader->properties[i].value;
    }
    return NULL;
}

const union rp_value *rp_event_field(const struct rp_event *event, const char *name)
{
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        if (strcmp(event->def->fields[i].name, name) == 0)
            return &event->values[i];
    }
    return NULL;
}
