/* SPDX-License-Identifier: Apache-2.0 */
/* Out of a shelter, into the traces that it belongs to. */
#include "tracker/events.h"
#include "tracker/trace_decode.h"
#include "tracker/trace_format.h"
#include "tracker/trace_shelter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct found {
    const struct rp_trace_buffer *buffer;
    uint64_t order;
};

struct rescue {
    int fd;
    struct rp_shelter_head *head;
    bool ended; /* the job, by itself */
    struct rp_trace_rescue *result;
};

/* ---- slots ---------------------------------------------------------------------- */

static void *map_slot(const struct rescue *rescue, unsigned slot)
{
    void *memory = mmap(NULL, RP_SHELTER_SLOT_BYTES, PROT_READ, MAP_SHARED, rescue->fd,
                        (off_t)(slot * RP_SHELTER_SLOT_BYTES));
    return memory != MAP_FAILED ? memory : NULL;
}

static void unmap_slot(const void *memory)
{
    munmap((void *)(uintptr_t)memory, RP_SHELTER_SLOT_BYTES);
}

/* One that has ended and is not yet asked for counts as ended. */
static bool is_alive(unsigned pid)
{
    char path[32], line[256] = "";

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
    bool read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    const char *name_end = strrchr(line, ')');
    return !read || name_end == NULL || (name_end[1] == ' ' && !strchr("ZX", name_end[2]));
}

/* ---- buffers -------------------------------------------------------------------- */

/* How many bytes the times of so many events take, from the back of the buffer. Each varint stands
 * there in reverse: its first byte is the last. SIZE_MAX: these are no times. */
static size_t times_of(const struct rp_trace_buffer *buffer, uint32_t events, size_t used)
{
    const uint8_t *floor = buffer->data + used, *end = buffer->data + buffer->capacity, *at = end;

    for (; events > 0; events--) {
        int length = 0;
        do {
            if (at == floor || ++length > RP_TRACE_MAX_VARINT)
                return SIZE_MAX;
            at--;
        } while (*at & 0x80);
    }
    return (size_t)(end - at);
}

/* *in_call: its thread has entered a call and not left it. */
static bool makes_sense(const struct rp_trace_buffer *buffer, bool *in_call)
{
    struct rp_trace_decoder decoder = {.at = NULL};
    struct rp_event event;
    enum rp_status status;
    uint32_t events = 0;

    rp_trace_decoder_expect(&decoder, RP_TRACE_VERSION);
    rp_trace_decoder_begin(&decoder, buffer->data, buffer->used, buffer->first_ns, buffer->thread);
    for (; (status = rp_trace_decode(&decoder, &event)) == RP_OK; events++)
        if (strcmp(event.def->class_, "note") != 0)
            *in_call = strcmp(event.def->class_, "enter") == 0;
    rp_trace_decoder_release(&decoder);
    return status == RP_END && events == buffer->events;
}

/* What the process had put into the buffer, sealed; NULL where it is nothing, or nonsense. */
static struct rp_trace_buffer *copy_of(const struct rp_trace_buffer *found, bool *in_call)
{
    uint64_t committed = atomic_load_explicit(&found->committed, memory_order_acquire);
    size_t used = (size_t)(committed >> 32), room = RP_SHELTER_SLOT_BYTES - sizeof(*found);
    uint32_t events = (uint32_t)committed;

    if (found->capacity > room || used > found->capacity || used + events > RP_TRACE_MAX_RAW)
        return NULL;
    size_t times = times_of(found, events, used);
    if (times == SIZE_MAX || used + times > RP_TRACE_MAX_RAW)
        return NULL;
    struct rp_trace_buffer *copy = malloc(sizeof(*copy) + used + times);
    if (copy == NULL)
        return NULL;
    memcpy(copy, found, sizeof(*copy));
    copy->tally = NULL;
    copy->events = events;
    copy->used = copy->capacity = (uint32_t)(used + times);
    copy->times = 0;
    memcpy(copy->data, found->data, used);
    memcpy(copy->data + used, found->data + found->capacity - times, times);
    if (makes_sense(copy, in_call))
        return copy;
    free(copy);
    return NULL;
}

static int by_order(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* The buffers of a trace that are not in its file, in the order of their writing. Those that nobody
 * had queued come last: no thread has two of them. */
static size_t find_buffers(const struct rescue *rescue, unsigned trace, uint64_t written,
                           struct found *found)
{
    unsigned owner = atomic_load(&rescue->head->owner[trace]);
    unsigned kind = owner - RP_SHELTER_TRACE + RP_SHELTER_BUFFER;
    size_t count = 0;

    for (unsigned slot = 1; slot < RP_SHELTER_SLOTS; slot++) {
        if (atomic_load(&rescue->head->owner[slot]) != kind)
            continue;
        const struct rp_trace_buffer *buffer = map_slot(rescue, slot);
        if (buffer == NULL)
            continue;
        uint64_t order = atomic_load(&buffer->order);
        if (buffer->trace_slot == trace && order > written && (uint32_t)buffer->committed > 0)
            found[count++] = (struct found){buffer, order};
        else
            unmap_slot(buffer);
    }
    qsort(found, count, sizeof(*found), by_order);
    return count;
}

/* ---- a file that was put aside --------------------------------------------------- */

static bool has_first_event(const char *path, uint64_t events)
{
    struct rp_trace_reader *reader;
    char message[256], expected[24];

    /* Torn in its header, and so without an event. */
    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        return true;
    const char *first = rp_trace_property(reader, "first_event");
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)events);
    bool same = first != NULL && strcmp(first, expected) == 0;
    rp_trace_reader_close(reader);
    return same;
}

/* The next file of the ring as far as it came, or none. What it may have of events is still in the
 * shelter. Another program of the same process may have begun a trace of this name. */
static bool is_replaceable(const char *path, uint64_t events)
{
    char begin[sizeof(RP_TRACE_MAGIC) - 1];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT;
    struct stat info;
    bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    ssize_t count = is_file ? read(fd, begin, sizeof(begin)) : -1;
    close(fd);
    return count == 0 || (count > 0 && memcmp(begin, RP_TRACE_MAGIC, (size_t)count) == 0 &&
                          has_first_event(path, events));
}

/* A process that was killed while its ring turned has put its file aside, and not gone on. */
static void take_back(const struct rp_shelter_trace *trace, const struct rp_shelter_progress *at)
{
    struct stat info;
    char *older = trace->keep == RP_TRACE_KEEP_LAST ? rp_trace_file_older(trace->path) : NULL;

    if (older != NULL && lstat(older, &info) == 0 && info.st_dev == at->device &&
        info.st_ino == at->inode && is_replaceable(trace->path, at->events))
        (void)rename(older, trace->path); /* else the file is not found, and that is told */
    free(older);
}

/* ---- traces --------------------------------------------------------------------- */

/* A file that goes on, and what it lacks. */
struct going_on {
    struct rp_trace_file file;
    int level;
    unsigned process;
    uint64_t missing, dropped, latest_ns;
    bool in_call; /* a thread is */
};

static void add_buffer(const struct rescue *rescue, struct going_on *on,
                       const struct rp_trace_buffer *found)
{
    bool in_call = false;
    struct rp_trace_buffer *copy = copy_of(found, &in_call);

    on->in_call |= in_call;
    if (copy == NULL) {
        rescue->result->lost += (uint32_t)found->committed;
        return;
    }
    if (copy->last_ns > on->latest_ns)
        on->latest_ns = copy->last_ns;
    if (rp_trace_file_append(&on->file, copy, on->level) == RP_OK)
        rescue->result->events += copy->events;
    else
        on->missing += copy->events;
    free(copy);
}

/* A chunk of one event, at the trace's end. */
static enum rp_status add_gap(struct going_on *on)
{
    const union rp_value lost = {.u = on->missing + on->dropped};
    struct rp_trace_type *type = rp_trace_type_create(&rp_event_defs[RP_EVENT_gap], 0);
    size_t room = type != NULL ? rp_trace_bound(type, &lost) + 3 * RP_TRACE_MAX_VARINT : 0;
    struct rp_trace_buffer *buffer = calloc(1, sizeof(*buffer) + room);
    struct rp_trace_coder coder = {0};
    enum rp_status status = RP_NO_MEMORY;

    rp_trace_coder_begin(&coder);
    if (type != NULL && buffer != NULL)
        status = rp_trace_coder_prepare(&coder, type);
    if (status == RP_OK) {
        buffer->thread = on->process;
        buffer->capacity = (uint32_t)room;
        rp_trace_encode(&coder, buffer, type, &lost, on->latest_ns);
        status = rp_trace_file_append(&on->file, buffer, on->level);
    }
    rp_trace_coder_release(&coder);
    rp_trace_type_destroy(type);
    free(buffer);
    return status;
}

/* Behind a part that could not be written nothing is put: where something is missing, a trace ends,
 * or says so. */
static void tell_what_is_missing(const struct rescue *rescue, struct going_on *on)
{
    bool may_tell = on->missing == 0 || rp_trace_file_last_word(&on->file);

    if (on->missing + on->dropped == 0)
        return;
    if (may_tell && add_gap(on) == RP_OK) {
        rescue->result->past_limit += on->missing;
        rescue->result->dropped += on->dropped;
    } else {
        rescue->result->lost += on->missing + on->dropped;
    }
}

static void lose(const struct rescue *rescue, const struct going_on *on, const struct found *found,
                 size_t count)
{
    rescue->result->lost += on->missing + on->dropped;
    for (size_t i = 0; i < count; i++)
        rescue->result->lost += (uint32_t)found[i].buffer->committed;
}

/* All that was sheltered is in the file of a process that ended as it meant to, by _exit, or since
 * another program took its place. How each process of a job ended is not known: one whose thread is
 * in a call was likely killed there. */
static void close_file(const struct rescue *rescue, struct going_on *on, uint64_t lost_before)
{
    bool is_whole = rescue->result->lost == lost_before && !on->in_call;

    if (rescue->ended && is_whole)
        (void)rp_trace_file_finish(&on->file); /* without its mark it breaks off, as before */
    else
        rp_trace_file_release(&on->file);
}

static enum rp_status go_on(const struct rp_shelter_trace *trace,
                            const struct rp_shelter_progress *at, struct rp_trace_file *file)
{
    bool has_failed = at->missing > 0 && !at->is_full;

    if (has_failed || memchr(trace->path, 0, sizeof(trace->path)) == NULL)
        return RP_IO;
    take_back(trace, at);
    enum rp_status status = rp_trace_file_resume(file, trace->path, at->device, at->inode,
                                                 at->offset, at->events);
    if (status == RP_OK && trace->keep == RP_TRACE_KEEP_FIRST)
        rp_trace_file_limit(file, RP_TRACE_KEEP_FIRST, trace->limit);
    if (status == RP_OK && at->is_full)
        rp_trace_file_fill(file);
    return status;
}

static void add_buffers(const struct rescue *rescue, const struct rp_shelter_trace *trace,
                        unsigned process, const struct found *found, size_t count)
{
    const struct rp_shelter_progress *at = &trace->progress[atomic_load(&trace->which) & 1];
    struct going_on on = {.level = trace->level,
                          .process = process,
                          .missing = at->missing,
                          .dropped = atomic_load(&trace->dropped),
                          .latest_ns = at->latest_ns};
    uint64_t lost_before = rescue->result->lost;

    if (go_on(trace, at, &on.file) != RP_OK) {
        lose(rescue, &on, found, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_buffer(rescue, &on, found[i].buffer);
    tell_what_is_missing(rescue, &on);
    close_file(rescue, &on, lost_before);
    rescue->result->traces++;
}

static void rescue_trace(const struct rescue *rescue, unsigned slot, struct found *found)
{
    const struct rp_shelter_trace *trace = map_slot(rescue, slot);
    size_t count = 0;

    if (trace == NULL)
        return;
    const struct rp_shelter_progress *at = &trace->progress[atomic_load(&trace->which) & 1];
    bool over = atomic_load(&trace->over);
    if (!over)
        count = find_buffers(rescue, slot, at->written, found);
    bool lacks_any = count > 0 || at->missing > 0 || atomic_load(&trace->dropped) > 0;
    if (!over && (lacks_any || rescue->ended))
        add_buffers(rescue, trace, atomic_load(&rescue->head->owner[slot]) / 4, found, count);
    for (size_t i = 0; i < count; i++)
        unmap_slot(found[i].buffer);
    unmap_slot(trace);
}

void rp_trace_shelter_rescue(int fd, bool ended, struct rp_trace_rescue *result)
{
    struct rescue rescue = {.fd = fd, .ended = ended, .result = result};
    struct found *found = calloc(RP_SHELTER_SLOTS, sizeof(*found));

    *result = (struct rp_trace_rescue){0};
    rescue.head = mmap(NULL, sizeof(*rescue.head), PROT_READ, MAP_SHARED, fd, 0);
    for (unsigned slot = 1; found && rescue.head != MAP_FAILED && slot < RP_SHELTER_SLOTS; slot++) {
        unsigned owner = atomic_load(&rescue.head->owner[slot]);
        if (owner % 4 == RP_SHELTER_TRACE && !is_alive(owner / 4))
            rescue_trace(&rescue, slot, found);
    }
    if (rescue.head != MAP_FAILED)
        munmap(rescue.head, sizeof(*rescue.head));
    free(found);
}
