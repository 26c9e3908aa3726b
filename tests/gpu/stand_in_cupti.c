/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcupti, for rehearsals: it has a record for each kernel that it was told of by
 * stand_in_launched. Records as in cupti_activity.h, of which only the kind is filled in. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { KIND_CONCURRENT_KERNEL = 10, RECORD_BYTES = 216, END = 12 };

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);
#define EXPORT __attribute__((visibility("default")))
EXPORT int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT void stand_in_launched(uint64_t count);

static request_fn request_buffer;
static complete_fn complete_buffer;
static atomic_ullong launches;

void stand_in_launched(uint64_t count)
{
    launches += count;
}

int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
    request_buffer = request;
    complete_buffer = complete;
    return 0;
}

int cuptiActivityEnable(int kind)
{
    return kind == KIND_CONCURRENT_KERNEL ? 0 : 1;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    const uint32_t kind = KIND_CONCURRENT_KERNEL;
    (void)flag;
    while (launches) {
        uint8_t *buffer = NULL;
        size_t size = 0, most, used = 0;
        request_buffer(&buffer, &size, &most);
        for (; buffer && launches && used + RECORD_BYTES <= size; used += RECORD_BYTES, launches--)
            memcpy(buffer + used, &kind, sizeof(kind));
        complete_buffer(NULL, 0, buffer, size, used);
        if (!used)
            return 1;
    }
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;
    *record = next;
    return (size_t)(next - buffer) < valid ? 0 : END;
}
