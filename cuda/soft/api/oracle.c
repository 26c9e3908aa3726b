/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/oracle.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    int file; /* -1: there is none */
    bool said;
} oracle = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

/* ---- the record -------------------------------------------------------------------- */

struct buffer {
    unsigned char *bytes;
    size_t used, capacity;
    bool failed;
};

static void put_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
    if (count == 0)
        return; /* an empty buffer has no bytes to point at */
    if (buffer->used + count > buffer->capacity) {
        size_t capacity = 2 * (buffer->used + count);
        unsigned char *grown = realloc(buffer->bytes, capacity);
        if (grown == NULL) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->used, bytes, count);
    buffer->used += count;
}

static void put(struct buffer *buffer, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    put_bytes(buffer, bytes, count);
}

/* The ranges of one side. Those of neighbouring pages join. */
static void put_ranges(struct buffer *buffer, struct soft_touched *touched, enum soft_access side)
{
    struct buffer ranges = {NULL, 0, 0, false};
    uint64_t count = 0, written = 0, lo = 0, hi = 0;
    size_t page_count;
    const struct soft_page *pages = soft_touched_pages(touched, &page_count);

    for (size_t i = 0; i < page_count; i++) {
        uint64_t base = pages[i].number << SOFT_PAGE_SHIFT;
        const uint64_t *bits = pages[i].bits[side];
        for (unsigned at = soft_page_find(bits, 0, true); at < SOFT_PAGE_BYTES;) {
            unsigned end = soft_page_find(bits, at, false);
            if (hi != lo && base + at == hi) {
                hi = base + end;
            } else {
                if (hi != lo) {
                    put(&ranges, lo - written);
                    put(&ranges, hi - lo);
                    written = hi;
                    count++;
                }
                lo = base + at;
                hi = base + end;
            }
            at = soft_page_find(bits, end, true);
        }
    }
    if (hi != lo) {
        put(&ranges, lo - written);
        put(&ranges, hi - lo);
        count++;
    }
    put(buffer, count);
    put_bytes(buffer, ranges.bytes != NULL ? ranges.bytes : (const unsigned char *)"", ranges.used);
    buffer->failed |= ranges.failed;
    free(ranges.bytes);
}

static void complain(const char *what)
{
    if (!oracle.said)
        soft_say("oracle: %s; records are missing", what);
    oracle.said = true;
}

void soft_oracle_write(const struct soft_op *op, const char *name)
{
    struct buffer body = {NULL, 0, 0, false}, record = {NULL, 0, 0, false};
    size_t length = strlen(name) < 255 ? strlen(name) : 255;

    if (oracle.file < 0)
        return;
    put(&body, op->seq);
    put(&body, op->stream);
    put(&body, (uint64_t)op->context->device->ordinal);
    put(&body, length);
    put_bytes(&body, name, length);
    put_ranges(&body, op->touched, SOFT_READS);
    put_ranges(&body, op->touched, SOFT_WRITES);
    put(&record, body.used);
    put_bytes(&record, body.bytes, body.used);
    pthread_mutex_lock(&oracle.lock);
    if (body.failed || record.failed)
        complain("no host memory");
    else if (!soft_output_write(oracle.file, record.bytes, record.used))
        complain(strerror(errno));
    pthread_mutex_unlock(&oracle.lock);
    free(body.bytes);
    free(record.bytes);
}

/* ---- the file ----------------------------------------------------------------------- */

bool soft_oracle_is_on(void)
{
    return oracle.file >= 0;
}

bool soft_oracle_start(void)
{
    static const char magic[] = "reprise oracle 1\n";

    if (!soft_output_open("REPRISE_SOFT_ORACLE", &oracle.file))
        return false;
    if (oracle.file >= 0 && !soft_output_write(oracle.file, magic, sizeof magic - 1))
        complain(strerror(errno));
    return true;
}
