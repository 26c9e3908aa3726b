/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/driver_host.h"

#include <stdlib.h>
#include <string.h>

enum work_kind { WORK_COPY, WORK_RECORD, WORK_WAIT, WORK_RUN };

struct work {
    struct work *next;
    enum work_kind kind;
    void *to;
    const void *from;
    uint64_t bytes;
    uint64_t event, record; /* RECORD: which; WAIT: for which record of it */
    void (*run)(void *ctx);
    void *ctx;
};

struct queue {
    rp_stream stream;
    struct work *first, **last;
};

struct event {
    uint64_t submitted, done; /* records: how many were asked for, how many have run */
    uint64_t done_at;         /* the clock at the last of these */
    bool alive;
};

struct chunk {
    void *memory;
    uint64_t bytes;
};

struct rp_host {
    struct queue **queues; /* by pointer: `last` may point into a queue */
    size_t queue_count;
    struct event *events; /* by handle - 1 */
    size_t event_count;
    struct chunk *chunks;
    size_t chunk_count;
    uint64_t limit, live;
    uint64_t clock; /* nanoseconds; a byte copied takes one */
    rp_stream captured;
};

enum rp_status rp_host_create(uint64_t limit, struct rp_host **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return RP_NO_MEMORY;
    (*out)->limit = limit;
    return RP_OK;
}

void rp_host_destroy(struct rp_host *host)
{
    if (!host)
        return;
    rp_host_run(host, 1);
    for (size_t i = 0; i < host->queue_count; i++)
        free(host->queues[i]);
    for (size_t i = 0; i < host->chunk_count; i++)
        free(host->chunks[i].memory);
    free(host->queues);
    free(host->events);
    free(host->chunks);
    free(host);
}

static enum rp_status host_alloc(void *self, uint64_t bytes, rp_device_ptr *out)
{
    struct rp_host *host = self;
    if (bytes > host->limit - host->live)
        return RP_NO_MEMORY;
    struct chunk *bigger = realloc(host->chunks, (host->chunk_count + 1) * sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    host->chunks = bigger;
    void *memory = malloc(bytes);
    if (!memory)
        return RP_NO_MEMORY;
    memset(memory, 0xdb, bytes); /* what nobody wrote must not look like anything */
    host->chunks[host->chunk_count++] = (struct chunk){memory, bytes};
    host->live += bytes;
    *out = (uintptr_t)memory;
    return RP_OK;
}

static enum rp_status host_free(void *self, rp_device_ptr ptr)
{
    struct rp_host *host = self;
    for (size_t i = 0; i < host->chunk_count; i++) {
        if ((uintptr_t)host->chunks[i].memory != ptr)
            continue;
        host->live -= host->chunks[i].bytes;
        free(host->chunks[i].memory);
        host->chunks[i] = host->chunks[--host->chunk_count];
        return RP_OK;
    }
    return RP_INVALID;
}

static struct queue *queue_get(struct rp_host *host, rp_stream stream)
{
    for (size_t i = 0; i < host->queue_count; i++)
        if (host->queues[i]->stream == stream)
            return host->queues[i];
    struct queue **bigger = realloc(host->queues, (host->queue_count + 1) * sizeof(void *));
    if (!bigger)
        return NULL;
    host->queues = bigger;
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->stream = stream;
    queue->last = &queue->first;
    host->queues[host->queue_count++] = queue;
    return queue;
}

static enum rp_status submit(struct rp_host *host, rp_stream stream, struct work work)
{
    struct queue *queue = queue_get(host, stream);
    struct work *copy = queue ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return RP_NO_MEMORY;
    *copy = work;
    copy->next = NULL;
    *queue->last = copy;
    queue->last = &copy->next;
    return RP_OK;
}

static enum rp_status host_copy(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                                rp_stream stream)
{
    return submit(self, stream, (struct work){.kind = WORK_COPY, .to = (void *)(uintptr_t)to,
                                              .from = (const void *)(uintptr_t)from,
                                              .bytes = bytes});
}

static enum rp_status host_event_create(void *self, rp_stream stream, rp_event_handle *out)
{
    (void)stream;
    struct rp_host *host = self;
    struct event *bigger = realloc(host->events, (host->event_count + 1) * sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    host->events = bigger;
    host->events[host->event_count++] = (struct event){.alive = true};
    *out = host->event_count;
    return RP_OK;
}

static enum rp_status host_event_destroy(void *self, rp_event_handle event)
{
    struct rp_host *host = self;
    if (!event || event > host->event_count || !host->events[event - 1].alive)
        return RP_INVALID;
    host->events[event - 1].alive = false; /* pending records and waits still count */
    return RP_OK;
}

static enum rp_status host_event_record(void *self, rp_event_handle event, rp_stream stream)
{
    struct rp_host *host = self;
    uint64_t record = ++host->events[event - 1].submitted;
    return submit(host, stream,
                  (struct work){.kind = WORK_RECORD, .event = event, .record = record});
}

static enum rp_status host_stream_wait(void *self, rp_stream stream, rp_event_handle event)
{
    struct rp_host *host = self;
    uint64_t record = host->events[event - 1].submitted;
    return submit(host, stream, (struct work){.kind = WORK_WAIT, .event = event, .record = record});
}

static bool host_event_done(void *self, rp_event_handle event)
{
    const struct rp_host *host = self;
    return host->events[event - 1].done == host->events[event - 1].submitted;
}

static enum rp_status host_elapsed(void *self, rp_event_handle from, rp_event_handle to,
                                   int64_t *ns)
{
    const struct rp_host *host = self;
    if (!host_event_done(self, from) || !host_event_done(self, to))
        return RP_INVALID;
    *ns = (int64_t)(host->events[to - 1].done_at - host->events[from - 1].done_at);
    return RP_OK;
}

static enum rp_status host_capturing(void *self, rp_stream stream, bool *yes)
{
    const struct rp_host *host = self;
    *yes = host->captured && host->captured == stream;
    return RP_OK;
}

enum rp_status rp_host_submit(struct rp_host *host, rp_stream stream, void (*run)(void *ctx),
                              void *ctx)
{
    return submit(host, stream, (struct work){.kind = WORK_RUN, .run = run, .ctx = ctx});
}

static bool is_ready(const struct rp_host *host, const struct queue *queue)
{
    const struct work *work = queue->first;
    return work && (work->kind != WORK_WAIT || host->events[work->event - 1].done >= work->record);
}

static void execute_first(struct rp_host *host, struct queue *queue)
{
    struct work *work = queue->first;
    queue->first = work->next;
    if (!queue->first)
        queue->last = &queue->first;
    switch (work->kind) {
    case WORK_COPY:
        memcpy(work->to, work->from, work->bytes);
        host->clock += work->bytes;
        break;
    case WORK_RECORD:
        host->events[work->event - 1].done = work->record;
        host->events[work->event - 1].done_at = host->clock;
        break;
    case WORK_WAIT: break;
    case WORK_RUN:
        work->run(work->ctx);
        free(work->ctx);
        break;
    }
    free(work);
}

static bool is_empty(const struct rp_host *host)
{
    for (size_t i = 0; i < host->queue_count; i++)
        if (host->queues[i]->first)
            return false;
    return true;
}

bool rp_host_run(struct rp_host *host, uint64_t seed)
{
    uint64_t random = seed | 1;
    for (;;) {
        size_t ready = 0;
        for (size_t i = 0; i < host->queue_count; i++)
            ready += is_ready(host, host->queues[i]);
        if (!ready)
            return is_empty(host);
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t chosen = (size_t)(random >> 33) % ready;
        for (size_t i = 0; i < host->queue_count; i++) {
            if (is_ready(host, host->queues[i]) && chosen-- == 0) {
                execute_first(host, host->queues[i]);
                break;
            }
        }
    }
}

void rp_host_capture(struct rp_host *host, rp_stream stream)
{
    host->captured = stream;
}

struct rp_driver rp_host_driver(struct rp_host *host)
{
    return (struct rp_driver){
        .alloc = host_alloc,
        .free = host_free,
        .copy = host_copy,
        .event_create = host_event_create,
        .event_destroy = host_event_destroy,
        .event_record = host_event_record,
        .stream_wait = host_stream_wait,
        .timer_create = host_event_create,
        .event_done = host_event_done,
        .elapsed = host_elapsed,
        .capturing = host_capturing,
        .self = host,
    };
}
