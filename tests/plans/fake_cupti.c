/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcupti: one kernel of a microsecond for each tag that is set, and one copy of
 * two, of which the tag comes last. FAKE_CUPTI=refuse lets nothing be recorded; with
 * FAKE_CUPTI=taken another has registered its callbacks already.
 *
 * Record layouts as in CUPTI's cupti_activity.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMCPY = 1, KERNEL = 10, EXTERNAL = 39, ENOUGH = 1 << 16 };
enum { END = 12, REFUSED = 15, TAKEN = 33 };
enum { KERNEL_BYTES = 216, COPY_BYTES = 72, EXTERNAL_BYTES = 24 };

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);

#define EXPORT __attribute__((visibility("default")))
EXPORT int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
EXPORT int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last);

static request_fn request_buffer;
static complete_fn complete_buffer;
static uint64_t tags[ENOUGH];
static uint32_t count, done, depth;

static bool says(const char *word)
{
    const char *said = getenv("FAKE_CUPTI");
    return said && strcmp(said, word) == 0;
}

int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
    if (says("taken"))
        return TAKEN;
    request_buffer = request;
    complete_buffer = complete;
    return 0;
}

int cuptiActivityEnable(int kind)
{
    (void)kind;
    return says("refuse") ? REFUSED : 0;
}

int cuptiActivityDisable(int kind)
{
    (void)kind;
    return 0;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    if (kind != 3 || depth++ != 0 || count == ENOUGH)
        abort(); /* tags are no stack: one is taken away before the next is put there */
    tags[count++] = id;
    return 0;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    if (kind != 3 || depth-- != 1)
        abort();
    *last = tags[count - 1];
    return 0;
}

static void put32(uint8_t *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof value);
}

static void put64(uint8_t *record, size_t at, uint64_t value)
{
    memcpy(record + at, &value, sizeof value);
}

static size_t write_timed(uint8_t *at, uint32_t kind, uint64_t ns, uint32_t correlation)
{
    size_t bytes = kind == KERNEL ? KERNEL_BYTES : COPY_BYTES;
    memset(at, 0, bytes);
    put32(at, 0, kind);
    put64(at, 16, 1000000);
    put64(at, 24, 1000000 + ns);
    put32(at, kind == KERNEL ? 92 : 44, correlation);
    return bytes;
}

static size_t write_external(uint8_t *at, uint64_t tag, uint32_t correlation)
{
    memset(at, 0, EXTERNAL_BYTES);
    put32(at, 0, EXTERNAL);
    put32(at, 4, 3);
    put64(at, 8, tag);
    put32(at, 16, correlation);
    return EXTERNAL_BYTES;
}

static size_t write_tag(uint8_t *at, uint32_t i)
{
    size_t used = write_timed(at, KERNEL, 1000, 2 * i);
    used += write_timed(at + used, MEMCPY, 2000, 2 * i + 1);
    used += write_external(at + used, tags[i], 2 * i);
    return used + write_external(at + used, tags[i], 2 * i + 1);
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    while (done < count) {
        uint8_t *buffer = NULL;
        size_t size = 0, most, used = 0;
        request_buffer(&buffer, &size, &most);
        while (buffer && done < count && used + 512 <= size)
            used += write_tag(buffer + used, done++);
        complete_buffer(NULL, 0, buffer, size, used);
    }
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    static const size_t sizes[] = {[MEMCPY] = COPY_BYTES, [KERNEL] = KERNEL_BYTES,
                                   [EXTERNAL] = EXTERNAL_BYTES};
    uint8_t *next = buffer;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        next = (uint8_t *)*record + sizes[kind];
    }
    *record = next;
    return (size_t)(next - buffer) < valid ? 0 : END;
}
