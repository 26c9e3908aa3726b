/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/oracle.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "reprise oracle 1\n";

struct soft_oracle_reader {
    FILE *file;
    long at; /* where the next record begins */
    struct soft_oracle_record record;
    unsigned char *bytes; /* of the record that is being read */
    size_t capacity;
};

struct cursor {
    const unsigned char *at, *end;
    bool good;
};

static uint64_t take(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (cursor->at == cursor->end)
            break;
        unsigned char byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->good = false;
    return 0;
}

static void take_name(struct cursor *cursor, char *name, size_t size)
{
    uint64_t length = take(cursor);
    if (length > (uint64_t)(cursor->end - cursor->at) || length >= size) {
        cursor->good = false;
        length = 0;
    }
    memcpy(name, cursor->at, length);
    name[length] = '\0';
    cursor->at += length;
}

static enum rp_status take_spans(struct cursor *cursor, struct rp_spans *spans)
{
    uint64_t at = 0;

    rp_spans_clear(spans);
    for (uint64_t left = take(cursor); left > 0 && cursor->good; left--) {
        uint64_t lo = at + take(cursor), hi = lo + take(cursor);
        if (!cursor->good || lo < at || hi <= lo)
            return RP_DAMAGED;
        enum rp_status status = rp_spans_add(spans, lo, hi);
        if (status != RP_OK)
            return status;
        at = hi;
    }
    return cursor->good ? RP_OK : RP_DAMAGED;
}

enum rp_status soft_oracle_open(const char *path, struct soft_oracle_reader **out)
{
    char head[sizeof magic] = "";
    struct soft_oracle_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return RP_NO_MEMORY;
    reader->file = fopen(path, "rb");
    if (reader->file == NULL) {
        free(reader);
        return RP_IO;
    }
    if (fread(head, 1, sizeof magic - 1, reader->file) != sizeof magic - 1 ||
        strcmp(head, magic) != 0) {
        soft_oracle_close(reader);
        return RP_DAMAGED;
    }
    reader->at = sizeof magic - 1;
    *out = reader;
    return RP_OK;
}

/* The length before a record, or 0 at the end of the file. */
static uint64_t read_length(FILE *file)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        int byte = fgetc(file);
        if (byte == EOF)
            return 0;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    return 0;
}

static bool reserve(struct soft_oracle_reader *reader, uint64_t bytes)
{
    if (bytes <= reader->capacity)
        return true;
    unsigned char *grown = bytes < SIZE_MAX / 2 ? realloc(reader->bytes, bytes) : NULL;
    if (grown == NULL)
        return false;
    reader->bytes = grown;
    reader->capacity = bytes;
    return true;
}

enum rp_status soft_oracle_next(struct soft_oracle_reader *reader,
                                const struct soft_oracle_record **out)
{
    struct soft_oracle_record *record = &reader->record;
    uint64_t bytes;

    /* Also when nothing was read meanwhile: the file may have grown past an end seen before. */
    if (fseek(reader->file, reader->at, SEEK_SET) != 0)
        return RP_IO;
    bytes = read_length(reader->file);
    if (bytes == 0)
        return RP_END;
    if (!reserve(reader, bytes))
        return RP_NO_MEMORY;
    if (fread(reader->bytes, 1, bytes, reader->file) != bytes)
        return RP_END; /* unfinished */
    reader->at = ftell(reader->file);
    struct cursor cursor = {reader->bytes, reader->bytes + bytes, true};
    record->seq = take(&cursor);
    record->stream = take(&cursor);
    record->device = take(&cursor);
    take_name(&cursor, record->name, sizeof record->name);
    enum rp_status status = take_spans(&cursor, &record->reads);
    if (status == RP_OK)
        status = take_spans(&cursor, &record->writes);
    if (status == RP_OK && cursor.at != cursor.end)
        status = RP_DAMAGED;
    if (status == RP_OK)
        *out = record;
    return status;
}

void soft_oracle_close(struct soft_oracle_reader *reader)
{
    fclose(reader->file);
    rp_spans_release(&reader->record.reads);
    rp_spans_release(&reader->record.writes);
    free(reader->bytes);
    free(reader);
}
