/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers between the threads that fill them and the one that writes them. */
#include "tracker/trace_writer.h"

#include <stdlib.h>

#define WORTH_A_TALLY ((size_t)64 << 10)

static struct rp_trace_buffer *buffer_create(struct rp_trace_writer *writer, size_t bytes)
{
    struct rp_trace_buffer *buffer = NULL;
    unsigned slot = 0;

    if (writer->shelter != NULL)
        buffer = rp_shelter_take(writer->shelter, RP_SHELTER_BUFFER, sizeof(*buffer) + bytes,
                                 &slot);
    if (buffer == NULL) {
        slot = 0;
        buffer = malloc(sizeof(*buffer) + bytes);
    }
    if (buffer != NULL) {
        buffer->slot = slot;
        buffer->trace_slot = slot > 0 ? writer->shelter->trace_slot : 0;
        buffer->capacity = (uint32_t)bytes;
        /* Without one the trace is the same but for what it takes to count it. */
        buffer->tally = bytes >= WORTH_A_TALLY ? malloc(sizeof(*buffer->tally)) : NULL;
    }
    return buffer;
}

void rp_trace_buffer_destroy(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    if (buffer == NULL)
        return;
    free(buffer->tally);
    if (buffer->slot > 0)
        rp_shelter_give(writer->shelter, buffer->slot, buffer,
                        sizeof(*buffer) + buffer->capacity,
                        rp_trace_phase_of(writer) == RP_TRACE_FORKED);
    else
        free(buffer);
}

void rp_trace_queue(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    buffer->next = NULL;
    *writer->queue_end = buffer;
    writer->queue_end = &buffer->next;
    atomic_store_explicit(&buffer->order, ++writer->queued, memory_order_release);
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
        rp_trace_buffer_destroy(writer, buffer);
        writer->buffer_count--;
    } else {
        atomic_store_explicit(&buffer->order, 0, memory_order_release);
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
        if (writer->shelter != NULL)
            rp_shelter_progress(writer->shelter->trace, &writer->file, buffer,
                                writer->lost_on_disk);
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
        buffer = buffer_create(writer, writer->buffer_bytes);
        writer->buffer_count += buffer != NULL;
    }
    if (buffer != NULL && buffer->capacity < bytes) {
        rp_trace_buffer_destroy(writer, buffer);
        buffer = buffer_create(writer, bytes);
        if (buffer == NULL) {
            writer->buffer_count--;
            pthread_cond_broadcast(&writer->changed);
        }
    }
    pthread_mutex_unlock(&writer->lock);
    return buffer;
}
