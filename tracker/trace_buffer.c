/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers between the threads that fill them and the one that writes them. */
#include "tracker/trace_writer.h"

#include <stdlib.h>

#define WORTH_A_TALLY ((size_t)64 << 10)

static struct rp_trace_buffer *buffer_create(size_t bytes)
{
    struct rp_trace_buffer *buffer = malloc(sizeof(*buffer) + bytes);

    if (buffer != NULL) {
        buffer->capacity = (uint32_t)bytes;
        /* Without one the trace is the same but for what it takes to count it. */
        buffer->tally = bytes >= WORTH_A_TALLY ? malloc(sizeof(*buffer->tally)) : NULL;
    }
    return buffer;
}

void rp_trace_buffer_destroy(struct rp_trace_buffer *buffer)
{
    if (buffer != NULL)
        free(buffer->tally);
    free(buffer);
}

void rp_trace_queue(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    buffer->next = NULL;
    *writer->queue_end = buffer;
    writer->queue_end = &buffer->next;
    writer->queued++;
}

static struct rp_trace_buffer *queue_pop(struct rp_trace_writer *writer)
{
    struct rp_trace_buffer *buffer = writer->queue;

    if (buffer != NULL) {
        writer->queue = buffer->next;
        if (writer->queue == NULL)
            writer->queue_end = &writer->queue;
    }
    return buffer;
}

void rp_trace_retire(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    if (buffer->capacity > writer->buffer_bytes) { /* made for one huge event */
        rp_trace_buffer_destroy(buffer);
        writer->buffer_count--;
    } else {
        buffer->next = writer->empty;
        writer->empty = buffer;
    }
}

void rp_trace_drain(struct rp_trace_writer *writer)
{
    struct rp_trace_buffer *buffer;

    while ((buffer = queue_pop(writer)) != NULL) {
        if (!writer->threadless)
            pthread_mutex_unlock(&writer->lock);
        enum rp_status status = rp_trace_file_append(&writer->file, buffer, writer->level);
        if (!writer->threadless)
            pthread_mutex_lock(&writer->lock);
        if (status != RP_OK)
            writer->lost_on_disk += buffer->events;
        writer->error = writer->file.error;
        writer->bytes_raw = writer->file.bytes_raw;
        writer->bytes_written = writer->file.older_bytes + writer->file.offset;
        rp_trace_retire(writer, buffer);
        writer->written++;
        pthread_cond_broadcast(&writer->changed);
    }
}

struct rp_trace_buffer *rp_trace_take(struct rp_trace_writer *writer, size_t bytes, bool may_wait)
{
    struct rp_trace_buffer *buffer = NULL;

    pthread_mutex_lock(&writer->lock);
    if (!writer->started) {
        writer->started = true;
        writer->threadless = !rp_trace_start(writer);
    }
    if (writer->empty == NULL && writer->buffer_count >= writer->buffer_limit && may_wait)
        writer->waits++;
    while (writer->empty == NULL && writer->buffer_count >= writer->buffer_limit && may_wait)
        pthread_cond_wait(&writer->changed, &writer->lock);
    if (writer->empty != NULL) {
        buffer = writer->empty;
        writer->empty = buffer->next;
    } else if (writer->buffer_count < writer->buffer_limit) {
        buffer = buffer_create(writer->buffer_bytes);
        writer->buffer_count += buffer != NULL;
    }
    if (buffer != NULL && buffer->capacity < bytes) {
        rp_trace_buffer_destroy(buffer);
        buffer = buffer_create(bytes);
        if (buffer == NULL) {
            writer->buffer_count--;
            pthread_cond_broadcast(&writer->changed);
        }
    }
    pthread_mutex_unlock(&writer->lock);
    return buffer;
}
