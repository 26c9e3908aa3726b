/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of traces on any bytes: as a file, and, since checksums keep most of those out, as
 * the records of one chunk. Ids never go back, texts lie in memory of their own, it always ends. */
#include "tracker/trace.h"
#include "tracker/trace_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sum; /* so that nothing of the reading is left out */

static void use(const struct rp_event *event)
{
    sum += (unsigned)(strlen(event->def->name) + strlen(event->def->class_));
    if (event->def->field_count > RP_EVENT_MAX_FIELDS)
        abort();
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        enum rp_field_type type = event->def->fields[i].type;
        const union rp_value *value = &event->values[i];
        sum += (unsigned)strlen(event->def->fields[i].name);
        if (type != RP_FIELD_TEXT && type != RP_FIELD_NAME)
            sum += (unsigned)value->u;
        else
            for (size_t at = 0; at < value->t.length; at++)
                sum += (unsigned char)value->t.text[at];
    }
}

static void read_chunk(const uint8_t *data, size_t size)
{
    struct rp_trace_decoder decoder = {0};
    struct rp_event event;

    rp_trace_decoder_begin(&decoder, data, size, 0, 1);
    while (rp_trace_decode(&decoder, &event) == RP_OK)
        use(&event);
    rp_trace_decoder_release(&decoder);
}

static bool needs_none(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    (void)def;
    return false;
}

static void read_file(const uint8_t *data, size_t size, bool brief)
{
    struct rp_trace_reader *reader;
    struct rp_event event = {0};
    enum rp_status status;
    char path[64], message[512];
    uint64_t next = 0;
    int fd = memfd_create("trace", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) == RP_OK) {
        if (brief)
            rp_trace_reader_brief(reader, needs_none, NULL);
        while ((status = rp_trace_next(reader, &event)) != RP_END) {
            if (status == RP_OK && !brief && event.id < next &&
                rp_trace_reader_message(reader)[0] == 0)
                abort();
            if (status == RP_OK) {
                next = event.id + event.count;
                use(&event);
            }
        }
        rp_trace_reader_close(reader);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_chunk(data, size);
    read_file(data, size, false);
    read_file(data, size, true);
    return 0;
}
