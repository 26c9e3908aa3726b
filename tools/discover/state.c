/* SPDX-License-Identifier: Apache-2.0 */
/* State: bytes that a forward reads before it writes them, and that anything, the forward and its
 * replay included, overwrites before the replay has ended. */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* What one forward knows of one allocation, and what of it is state in any of them. */
struct memory {
    uint64_t id;
    struct rp_spans written, live_in, proved; /* proved: of live_in, what is read indeed */
    struct rp_spans state, sure;              /* sure: of state, what a forward reads indeed */
    struct rp_spans read;                     /* proved, of all forwards */
};

struct search {
    struct rp_finding *finding;
    struct memory *items; /* in order of meeting */
    size_t count, capacity;
};

static struct memory *memory_of(struct search *search, uint64_t id)
{
    for (size_t i = search->count; i-- > 0;)
        if (search->items[i].id == id)
            return &search->items[i];
    struct memory *grown =
        rp_array_reserve(search->items, &search->capacity, search->count + 1, sizeof(*grown));
    if (!grown) {
        search->finding->no_memory = true;
        return NULL;
    }
    search->items = grown;
    search->items[search->count] = (struct memory){.id = id};
    return &search->items[search->count++];
}

static void note(struct search *search, enum rp_status status)
{
    search->finding->no_memory |= status != RP_OK;
}

/* ---- one forward ------------------------------------------------------------------- */

static void take_read(struct search *search, const struct rp_story_access *access)
{
    struct memory *memory = memory_of(search, access->allocation);
    struct rp_spans unwritten = {0};

    if (!memory)
        return;
    note(search, rp_spans_missing(&memory->written, access->lo, access->hi, &unwritten));
    note(search, rp_spans_add_all(&memory->live_in, &unwritten));
    if (access->proved)
        note(search, rp_spans_add_all(&memory->proved, &unwritten));
    rp_spans_release(&unwritten);
}

/* Whole stretches of what was read belong together: a queue of which a row was written. */
static void add_stretches(struct search *search, const struct rp_spans *read,
                          const struct rp_story_access *access, struct rp_spans *out)
{
    for (size_t i = rp_spans_seek(read, access->lo);
         i < read->count && read->items[i].lo < access->hi; i++)
        note(search, rp_spans_add(out, read->items[i].lo, read->items[i].hi));
}

static void take_clobber(struct search *search, const struct rp_story_access *access)
{
    struct memory *memory = memory_of(search, access->allocation);

    if (!memory)
        return;
    add_stretches(search, &memory->live_in, access, &memory->state);
    add_stretches(search, &memory->proved, access, &memory->sure);
}

static void take_write(struct search *search, const struct rp_story_access *access)
{
    struct memory *memory = memory_of(search, access->allocation);
    if (memory && access->certain)
        note(search, rp_spans_add(&memory->written, access->lo, access->hi));
}

static void note_unproved(struct rp_finding *finding, const struct rp_story_call *call)
{
    if (call->proved)
        return;
    if (finding->unproved++ == 0)
        snprintf(finding->first_unproved, sizeof(finding->first_unproved), "%s",
                 rp_story_name(finding->story, call->name));
}

static void take_call(struct search *search, const struct rp_story_call *call, bool in_forward)
{
    const struct rp_story *story = search->finding->story;
    const struct rp_story_access *accesses = &story->accesses[call->access];

    note_unproved(search->finding, call);
    for (size_t i = 0; in_forward && i < call->access_count; i++)
        if (!accesses[i].write)
            take_read(search, &accesses[i]);
    for (size_t i = 0; i < call->access_count; i++)
        if (accesses[i].write && accesses[i].proved)
            take_clobber(search, &accesses[i]);
    for (size_t i = 0; in_forward && i < call->access_count; i++)
        if (accesses[i].write)
            take_write(search, &accesses[i]);
}

static void take_occurrence(struct search *search, const struct rp_occurrence *occurrence)
{
    const struct rp_story *story = search->finding->story;

    for (size_t i = 0; i < search->count; i++) {
        rp_spans_clear(&search->items[i].written);
        rp_spans_clear(&search->items[i].live_in);
        rp_spans_clear(&search->items[i].proved);
    }
    uint64_t thread = story->calls[occurrence->forward].thread;
    for (size_t i = occurrence->forward; i < occurrence->replay_end; i++)
        take_call(search, &story->calls[i],
                  i < occurrence->forward_end && story->calls[i].thread == thread);
    for (size_t i = 0; i < search->count; i++)
        note(search, rp_spans_add_all(&search->items[i].read, &search->items[i].proved));
}

/* What a call writes that is not proved may lie where none of its arguments leads to. */
static void count_unnamed(struct search *search)
{
    struct rp_unnamed *unnamed = &search->finding->unnamed;

    for (size_t i = 0; search->finding->unproved && i < search->count; i++) {
        struct memory *memory = &search->items[i];
        note(search, rp_spans_remove_all(&memory->read, &memory->state));
        uint64_t bytes = rp_spans_bytes(&memory->read);
        unnamed->count += bytes > 0;
        unnamed->bytes += bytes;
        if (bytes <= unnamed->largest_bytes)
            continue;
        unnamed->largest = memory->id;
        unnamed->largest_bytes = bytes;
    }
}

/* ---- where it is found --------------------------------------------------------------- */

/* The argument that points nearest before the bytes, at best of a call that writes them. */
static bool find_argument(const struct rp_story *story, uint64_t id, const struct rp_span *span,
                          struct rp_found_buffer *buffer)
{
    uint64_t best = UINT64_MAX;

    for (size_t i = 0; i < story->call_count && best > 0; i++) {
        const struct rp_story_call *call = &story->calls[i];
        for (size_t at = 0; at < call->argument_count; at++) {
            const struct rp_story_argument *argument = &story->arguments[call->argument + at];
            if (argument->allocation != id || argument->offset > span->lo ||
                span->lo - argument->offset >= best)
                continue;
            best = span->lo - argument->offset;
            buffer->by_kernel = true;
            buffer->param = argument->param;
            buffer->param_offset = best;
            snprintf(buffer->kernel, sizeof(buffer->kernel), "%s",
                     rp_story_name(story, call->name));
        }
    }
    return best != UINT64_MAX;
}

static const char *first_writer(const struct rp_story *story, uint64_t id,
                                const struct rp_span *span, size_t from)
{
    for (size_t i = from; i < story->call_count; i++) {
        const struct rp_story_call *call = &story->calls[i];
        for (size_t at = 0; at < call->access_count; at++) {
            const struct rp_story_access *access = &story->accesses[call->access + at];
            if (access->write && access->allocation == id && access->lo < span->hi &&
                access->hi > span->lo)
                return rp_story_name(story, call->name);
        }
    }
    return "unknown";
}

static void find_size(const struct rp_story *story, struct rp_found_buffer *buffer)
{
    uint64_t alike = 0;

    for (size_t i = 0; i < story->allocation_count; i++) {
        const struct rp_story_allocation *other = &story->allocations[i];
        if (other->bytes != buffer->allocation_bytes)
            continue;
        if (other->id < buffer->allocation)
            buffer->nth++;
        alike++;
    }
    buffer->alone = alike == 1;
}

static struct rp_found_buffer *new_buffer(struct rp_finding *finding)
{
    struct rp_found_buffer *grown =
        rp_array_reserve(finding->buffers, &finding->buffer_capacity, finding->buffer_count + 1,
                         sizeof(*finding->buffers));
    if (!grown) {
        finding->no_memory = true;
        return NULL;
    }
    finding->buffers = grown;
    struct rp_found_buffer *buffer = &finding->buffers[finding->buffer_count++];
    memset(buffer, 0, sizeof(*buffer));
    return buffer;
}

/* Two buffers must not have one name, and a kernel's parameter is one locator however many
 * buffers it leads to. */
static void name_buffer(struct rp_finding *finding, struct rp_found_buffer *buffer,
                        const char *writer)
{
    unsigned same = 0;

    snprintf(buffer->name, sizeof(buffer->name), "%.100s", writer);
    for (size_t i = 0; i + 1 < finding->buffer_count; i++) {
        size_t length = strlen(buffer->name);
        const char *other = finding->buffers[i].name;
        same += strncmp(other, writer, length) == 0 && (other[length] == 0 || other[length] == '_');
    }
    if (same > 0)
        snprintf(buffer->name, sizeof(buffer->name), "%.100s_%u", writer, same + 1);
}

static void add_buffer(struct rp_finding *finding, const struct memory *memory,
                       const struct rp_span *span, size_t from)
{
    uint64_t id = memory->id;
    const struct rp_story *story = finding->story;
    const struct rp_story_allocation *allocation = rp_story_allocation(story, id);
    struct rp_found_buffer *buffer = new_buffer(finding);

    if (!buffer)
        return;
    buffer->allocation = id;
    buffer->offset = span->lo;
    buffer->bytes = span->hi - span->lo;
    buffer->allocation_bytes = allocation ? allocation->bytes : 0;
    const char *writer = first_writer(story, id, span, from);
    name_buffer(finding, buffer, writer);
    if (allocation)
        find_size(story, buffer);
    if (!find_argument(story, id, span, buffer) && !allocation)
        finding->buffer_count--; /* a module's variable: discovery alone can protect it */
    buffer->guess = !rp_spans_overlaps(&memory->sure, span->lo, span->hi);
    snprintf(buffer->evidence, sizeof(buffer->evidence),
             "bytes %llu to %llu of allocation %llu (%llu bytes) are %s by a forward and "
             "overwritten before its replay ends, first by %.80s%s",
             (unsigned long long)span->lo, (unsigned long long)span->hi - 1,
             (unsigned long long)id, (unsigned long long)buffer->allocation_bytes,
             buffer->guess ? "possibly read" : "read", writer,
             buffer->guess ? "; strike it out if they are output" : "");
}

void rp_find_state(struct rp_finding *finding)
{
    struct search search = {.finding = finding};
    size_t from = SIZE_MAX;

    for (size_t i = 0; i < finding->segment_count; i++)
        for (size_t at = 0; at < finding->segments[i].count; at++) {
            const struct rp_occurrence *occurrence = &finding->segments[i].occurrences[at];
            take_occurrence(&search, occurrence);
            from = occurrence->forward < from ? occurrence->forward : from;
        }
    for (size_t i = 0; i < search.count; i++)
        for (size_t at = 0; at < search.items[i].state.count; at++)
            add_buffer(finding, &search.items[i], &search.items[i].state.items[at], from);
    count_unnamed(&search);
    for (size_t i = 0; i < search.count; i++) {
        rp_spans_release(&search.items[i].read);
        rp_spans_release(&search.items[i].written);
        rp_spans_release(&search.items[i].live_in);
        rp_spans_release(&search.items[i].state);
        rp_spans_release(&search.items[i].proved);
        rp_spans_release(&search.items[i].sure);
    }
    free(search.items);
}
