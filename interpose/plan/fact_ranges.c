/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/fact_ranges.h"

#include "interpose/run/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { READ, WRITTEN, WRITTEN_BACKWARD };

/* One range of one segment. */
struct entry {
    uint32_t place;
    enum kind kind;
    struct rp_buffer_range range;
};

struct rp_fact_ranges {
    struct entry *entries; /* sorted by place, kind, buffer and offset */
    struct rp_buffer_range *ranges; /* of the entries, in their order */
    size_t count;
};

/* ---- buffers ---------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By name, so that those of one name stand together. */
static int compare_buffers(const void *a, const void *b)
{
    const struct rp_note *x = a, *y = b;
    int order = compare_numbers(x->name, y->name);
    if (order == 0)
        order = compare_numbers(x->id, y->id);
    if (order == 0)
        order = compare_numbers(x->start, y->start);
    return order ? order : compare_numbers(x->end, y->end);
}

/* Buffers of one name, in memory that came and went, are told apart by where they are. */
static enum rp_status add_buffer(const struct rp_note *note, bool again,
                                 struct rp_profile *profile)
{
    char text[400];
    if (!note->name)
        snprintf(text, sizeof text, "allocation %" PRIu64, (uint64_t)note->id);
    else
        snprintf(text, sizeof text, "%.300s", rp_name(note->name));
    if (again)
        snprintf(text + strlen(text), 60, "@%" PRIu64 "+%" PRIu64, (uint64_t)note->id,
                 note->start);
    return rp_profile_add_buffer(profile, text, note->end - note->start);
}

/* Sorts the notes by buffer. */
static enum rp_status add_buffers(struct rp_note *notes, size_t count, struct rp_profile *profile)
{
    enum rp_status status = RP_OK;
    qsort(notes, count, sizeof *notes, compare_buffers);
    for (size_t i = 0; status == RP_OK && i < count; i++) {
        if (i && compare_buffers(&notes[i - 1], &notes[i]) == 0)
            continue;
        bool again = i && notes[i].name && notes[i - 1].name == notes[i].name;
        status = add_buffer(&notes[i], again, profile);
    }
    return status;
}

/* ---- entries ---------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_numbers(x->place, y->place);
    if (order == 0)
        order = compare_numbers(x->kind, y->kind);
    if (order == 0)
        order = compare_numbers(x->range.buffer, y->range.buffer);
    return order ? order : compare_numbers(x->range.lo, y->range.lo);
}

static void add_entry(struct rp_fact_ranges *ranges, uint32_t place, enum kind kind,
                      struct rp_buffer_range range)
{
    ranges->entries[ranges->count++] = (struct entry){place, kind, range};
}

/* What is kept from a write tells of two: of who reads, and of who writes. */
static void add_entries(struct rp_fact_ranges *ranges, const struct rp_note *notes, size_t count)
{
    uint32_t buffer = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rp_note *note = &notes[i];
        buffer += i && compare_buffers(&notes[i - 1], note) != 0;
        const struct rp_buffer_range range = {buffer, note->lo - note->start,
                                              note->hi - note->start};
        add_entry(ranges, note->place, note->written ? WRITTEN : READ, range);
        if (!note->written)
            add_entry(ranges, note->by, note->backward ? WRITTEN_BACKWARD : WRITTEN, range);
    }
}

static bool is_joined(const struct entry *last, const struct entry *next)
{
    return last->place == next->place && last->kind == next->kind &&
           last->range.buffer == next->range.buffer && next->range.lo <= last->range.hi;
}

static void sort_and_join(struct rp_fact_ranges *ranges)
{
    struct entry *entries = ranges->entries;
    size_t kept = 0;
    qsort(entries, ranges->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < ranges->count; i++) {
        if (kept && is_joined(&entries[kept - 1], &entries[i])) {
            struct rp_buffer_range *last = &entries[kept - 1].range;
            last->hi = entries[i].range.hi > last->hi ? entries[i].range.hi : last->hi;
        } else {
            entries[kept++] = entries[i];
        }
    }
    ranges->count = kept;
    for (size_t i = 0; i < kept; i++)
        ranges->ranges[i] = entries[i].range;
}

enum rp_status rp_fact_ranges_create(const struct rp_notes *notes, struct rp_profile *profile,
                                     struct rp_fact_ranges **out)
{
    size_t count = notes->count, most = 2 * count + 1;
    struct rp_fact_ranges *ranges = calloc(1, sizeof *ranges);
    struct rp_note *sorted = malloc((count + 1) * sizeof *sorted);
    enum rp_status status = RP_NO_MEMORY;
    *out = NULL;
    if (ranges) {
        ranges->entries = malloc(most * sizeof *ranges->entries);
        ranges->ranges = malloc(most * sizeof *ranges->ranges);
    }
    if (ranges && ranges->entries && ranges->ranges && sorted) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = notes->items[i];
        status = add_buffers(sorted, count, profile);
        add_entries(ranges, sorted, count);
        sort_and_join(ranges);
    }
    free(sorted);
    if (status == RP_OK)
        *out = ranges;
    else
        rp_fact_ranges_destroy(ranges);
    return status;
}

void rp_fact_ranges_destroy(struct rp_fact_ranges *ranges)
{
    if (!ranges)
        return;
    free(ranges->entries);
    free(ranges->ranges);
    free(ranges);
}

/* ---- of one segment --------------------------------------------------------- */

static size_t first_of(const struct rp_fact_ranges *ranges, uint32_t place, enum kind kind)
{
    const struct entry wanted = {place, kind, {0, 0, 0}};
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&ranges->entries[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct rp_buffer_range *find(const struct rp_fact_ranges *ranges, uint32_t place,
                                          enum kind kind, size_t *count)
{
    size_t first = first_of(ranges, place, kind), end = first;
    while (end < ranges->count && ranges->entries[end].place == place &&
           ranges->entries[end].kind == kind)
        end++;
    *count = end - first;
    return ranges->ranges + first;
}

void rp_fact_ranges_of(const struct rp_fact_ranges *ranges, uint32_t place, struct rp_facts *facts)
{
    facts->reads = find(ranges, place, READ, &facts->read_count);
    facts->writes = find(ranges, place, WRITTEN, &facts->write_count);
    facts->backward_writes = find(ranges, place, WRITTEN_BACKWARD, &facts->backward_write_count);
}
