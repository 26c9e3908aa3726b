/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/memory.h"

#include "tracker/array.h"
#include "tracker/idmap.h"

struct record {
    struct rp_alloc alloc;
    struct record *older, *newer; /* the live ones, in order of birth */
};

struct mapping {
    uint64_t address, length;
    rp_alloc_id id;
    uint64_t offset;
};

/* The way back from an allocation to its mappings: one view for each mapping. */
struct view {
    rp_alloc_id id;
    uint64_t address;
};

/* How many allocations of exactly this size were born so far. */
struct births {
    uint64_t bytes, count;
};

enum { HINTS = 1024 };

struct rp_memory {
    struct rp_idmap records; /* the dead too, until they are forgotten */
    struct record *oldest, *newest;
    rp_alloc_id last_id;
    uint64_t live_bytes;
    size_t live_count;

    struct mapping *mappings; /* by address; never overlap */
    size_t mapping_count, mapping_capacity;
    uint32_t *hints; /* by a hash of an address: the index of the mapping that held it last */
    struct view *views; /* by id, then address */
    size_t view_count, view_capacity;
    struct births *births; /* by size */
    size_t births_count, births_capacity;
};

const char *rp_alloc_kind_name(enum rp_alloc_kind kind)
{
    switch (kind) {
    case RP_ALLOC_DEVICE: return "device";
    case RP_ALLOC_POOL: return "pool";
    case RP_ALLOC_PHYSICAL: return "physical";
    case RP_ALLOC_MANAGED: return "managed";
    case RP_ALLOC_PINNED: return "pinned";
    case RP_ALLOC_GLOBAL: return "global";
    case RP_ALLOC_HOST: return "host";
    case RP_ALLOC_FOREIGN: return "foreign";
    }
    return "unknown";
}

enum rp_status rp_memory_create(struct rp_memory **out)
{
    struct rp_memory *memory = calloc(1, sizeof(*memory));
    uint32_t *hints = calloc(HINTS, sizeof(*hints));

    *out = memory;
    if (memory != NULL && hints != NULL) {
        memory->hints = hints;
        return RP_OK;
    }
    free(memory);
    free(hints);
    *out = NULL;
    return RP_NO_MEMORY;
}

static void record_destroy(struct record *record)
{
    if (record != NULL)
        free(record->alloc.name);
    free(record);
}

void rp_memory_destroy(struct rp_memory *memory)
{
    if (memory == NULL)
        return;
    for (size_t i = 0; i < memory->records.slot_count; i++)
        record_destroy(memory->records.slots[i].value);
    rp_idmap_release(&memory->records);
    free(memory->mappings);
    free(memory->hints);
    free(memory->views);
    free(memory->births);
    free(memory);
}

/* ---- the two orders of mappings ------------------------------------------------- */

/* Whether the mapping of this index ends at `address` or before it: 1 or 0. */
static size_t is_behind(const struct rp_memory *memory, size_t index, uint64_t address)
{
    const struct mapping *m = &memory->mappings[index];

    return m->address + m->length <= address;
}

/* Index of the first mapping that ends after `address`. Every launch looks up each of its ranges:
 * the way through is the same whatever is found, as the processor could not foresee it. */
static size_t seek_mapping(const struct rp_memory *memory, uint64_t address)
{
    size_t low = 0, count = memory->mapping_count;

    while (count > 1) {
        size_t half = count / 2;
        low += half & (0 - is_behind(memory, low + half - 1, address));
        count -= half;
    }
    return count == 1 ? low + is_behind(memory, low, address) : low;
}

/* Index of the first view of `id` at `address` or above, or of what follows it. */
static size_t seek_view(const struct rp_memory *memory, rp_alloc_id id, uint64_t address)
{
    size_t low = 0, high = memory->view_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct view *v = &memory->views[middle];
        if (v->id > id || (v->id == id && v->address >= address))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void splice_mappings(struct rp_memory *memory, size_t first, size_t last,
                            const struct mapping *with, size_t n)
{
    rp_array_splice(memory->mappings, &memory->mapping_count, first, last, with, n, sizeof(*with));
}

static void view_add(struct rp_memory *memory, rp_alloc_id id, uint64_t address)
{
    size_t at = seek_view(memory, id, address);
    struct view view = {id, address};

    rp_array_splice(memory->views, &memory->view_count, at, at, &view, 1, sizeof(view));
}

static void view_remove(struct rp_memory *memory, rp_alloc_id id, uint64_t address)
{
    size_t at = seek_view(memory, id, address);

    rp_array_splice(memory->views, &memory->view_count, at, at + 1, NULL, 0,
                    sizeof(*memory->views));
}

/* Room for `more` mappings and their views. */
static enum rp_status reserve_mappings(struct rp_memory *memory, size_t more)
{
    struct mapping *mappings = rp_array_reserve(memory->mappings, &memory->mapping_capacity,
                                                memory->mapping_count + more, sizeof(*mappings));
    if (mappings == NULL)
        return RP_NO_MEMORY;
    memory->mappings = mappings;

    struct view *views = rp_array_reserve(memory->views, &memory->view_capacity,
                                          memory->view_count + more, sizeof(*views));
    if (views == NULL)
        return RP_NO_MEMORY;
    memory->views = views;
    return RP_OK;
}

/* Removes what is mapped in [lo, hi). Needs room for one mapping more: a hole in the middle
 * of one leaves two. */
static void cut(struct rp_memory *memory, uint64_t lo, uint64_t hi)
{
    size_t first = seek_mapping(memory, lo), last = first;
    struct mapping rest[2];
    size_t n = 0;

    for (; last < memory->mapping_count && memory->mappings[last].address < hi; last++) {
        struct mapping m = memory->mappings[last];
        uint64_t end = m.address + m.length;
        view_remove(memory, m.id, m.address);
        if (m.address < lo)
            rest[n++] = (struct mapping){m.address, lo - m.address, m.id, m.offset};
        if (end > hi)
            rest[n++] = (struct mapping){hi, end - hi, m.id, m.offset + (hi - m.address)};
    }
    splice_mappings(memory, first, last, rest, n);
    for (size_t i = 0; i < n; i++)
        view_add(memory, rest[i].id, rest[i].address);
}

/* Shows a range that is known to be good. Needs room for two mappings more. */
static void show(struct rp_memory *memory, struct mapping mapping)
{
    cut(memory, mapping.address, mapping.address + mapping.length);
    size_t at = seek_mapping(memory, mapping.address);
    splice_mappings(memory, at, at, &mapping, 1);
    view_add(memory, mapping.id, mapping.address);
}

static bool wraps(uint64_t start, uint64_t length)
{
    return start > UINT64_MAX - length;
}

/* ---- allocations ------------------------------------------------------------------ */

static struct record *find_record(const struct rp_memory *memory, rp_alloc_id id)
{
    return rp_idmap_find(&memory->records, id);
}

static struct record *find_live(const struct rp_memory *memory, rp_alloc_id id)
{
    struct record *record = find_record(memory, id);

    return record != NULL && record->alloc.death_seq == 0 ? record : NULL;
}

/* The births of one size, made when this is the first. NULL when the host is out of memory. */
static struct births *births_of(struct rp_memory *memory, uint64_t bytes)
{
    size_t low = 0, high = memory->births_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->births[middle].bytes >= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < memory->births_count && memory->births[low].bytes == bytes)
        return &memory->births[low];

    struct births *births = rp_array_reserve(memory->births, &memory->births_capacity,
                                             memory->births_count + 1, sizeof(*births));
    if (births == NULL)
        return NULL;
    memory->births = births;
    struct births fresh = {bytes, 0};
    rp_array_splice(births, &memory->births_count, low, low, &fresh, 1, sizeof(fresh));
    return &births[low];
}

static void enlist(struct rp_memory *memory, struct record *record)
{
    record->older = memory->newest;
    *(record->older != NULL ? &record->older->newer : &memory->oldest) = record;
    memory->newest = record;
    memory->live_bytes += record->alloc.bytes;
    memory->live_count++;
}

static void delist(struct rp_memory *memory, struct record *record)
{
    *(record->older != NULL ? &record->older->newer : &memory->oldest) = record->newer;
    *(record->newer != NULL ? &record->newer->older : &memory->newest) = record->older;
    memory->live_bytes -= record->alloc.bytes;
    memory->live_count--;
}

enum rp_status rp_memory_add(struct rp_memory *memory, enum rp_alloc_kind kind, uint64_t bytes,
                             uint64_t address, int device, uint64_t seq, const char *name,
                             rp_alloc_id *out)
{
    if (bytes == 0 || wraps(address, bytes))
        return RP_INVALID;

    struct births *births = births_of(memory, bytes);
    struct record *record = calloc(1, sizeof(*record));
    char *copy = name != NULL ? strdup(name) : NULL;
    if (births == NULL || record == NULL || (name != NULL && copy == NULL) ||
        reserve_mappings(memory, 2) != RP_OK ||
        rp_idmap_insert(&memory->records, memory->last_id + 1, record) != RP_OK) {
        free(record);
        free(copy);
        return RP_NO_MEMORY;
    }

    record->alloc = (struct rp_alloc){.id = ++memory->last_id,
                                      .kind = kind,
                                      .bytes = bytes,
                                      .address = address,
                                      .birth_seq = seq,
                                      .nth = births->count++,
                                      .device = device,
                                      .name = copy};
    enlist(memory, record);
    if (address != 0)
        show(memory, (struct mapping){address, bytes, record->alloc.id, 0});
    *out = record->alloc.id;
    return RP_OK;
}

enum rp_status rp_memory_map(struct rp_memory *memory, uint64_t address, uint64_t length,
                             rp_alloc_id id, uint64_t offset)
{
    const struct record *record = find_live(memory, id);

    if (record == NULL)
        return RP_NOT_FOUND;
    if (length == 0 || wraps(address, length) || wraps(offset, length) ||
        offset + length > record->alloc.bytes)
        return RP_INVALID;
    if (reserve_mappings(memory, 2) != RP_OK)
        return RP_NO_MEMORY;
    show(memory, (struct mapping){address, length, id, offset});
    return RP_OK;
}

enum rp_status rp_memory_unmap(struct rp_memory *memory, uint64_t address, uint64_t length)
{
    if (wraps(address, length))
        return RP_INVALID;
    if (reserve_mappings(memory, 1) != RP_OK)
        return RP_NO_MEMORY;
    cut(memory, address, address + length);
    return RP_OK;
}

static void hide(struct rp_memory *memory, rp_alloc_id id)
{
    size_t first = seek_view(memory, id, 0), last = first;

    for (; last < memory->view_count && memory->views[last].id == id; last++) {
        size_t at = seek_mapping(memory, memory->views[last].address);
        splice_mappings(memory, at, at + 1, NULL, 0);
    }
    if (first < last)
        rp_array_splice(memory->views, &memory->view_count, first, last, NULL, 0,
                        sizeof(*memory->views));
}

enum rp_status rp_memory_free(struct rp_memory *memory, rp_alloc_id id, uint64_t seq)
{
    struct record *record = find_live(memory, id);

    if (record == NULL)
        return RP_NOT_FOUND;
    if (seq == 0)
        return RP_INVALID;
    hide(memory, id);
    delist(memory, record);
    record->alloc.death_seq = seq;
    return RP_OK;
}

void rp_memory_forget(struct rp_memory *memory, rp_alloc_id id)
{
    struct record *record = find_record(memory, id);

    if (record == NULL)
        return;
    if (record->alloc.death_seq == 0) {
        hide(memory, id);
        delist(memory, record);
    }
    record_destroy(rp_idmap_remove(&memory->records, id));
}

/* ---- looking up ------------------------------------------------------------------- */

const struct rp_alloc *rp_memory_get(const struct rp_memory *memory, rp_alloc_id id)
{
    const struct record *record = find_record(memory, id);

    return record != NULL ? &record->alloc : NULL;
}

static bool holds(const struct mapping *m, uint64_t address)
{
    return address - m->address < m->length;
}

/* The mapping at `address`, or NULL. Programs come to few addresses, and to each again and again:
 * where it was last is looked at first, and is right if the mapping there holds the address, as
 * no two do. */
static const struct mapping *find_mapping(const struct rp_memory *memory, uint64_t address)
{
    uint32_t *hint = &memory->hints[(address * 0x9e3779b97f4a7c15u) >> 54];

    if (*hint < memory->mapping_count && holds(&memory->mappings[*hint], address))
        return &memory->mappings[*hint];
    size_t at = seek_mapping(memory, address);
    if (at == memory->mapping_count || !holds(&memory->mappings[at], address))
        return NULL;
    *hint = (uint32_t)at;
    return &memory->mappings[at];
}

enum rp_status rp_memory_find(const struct rp_memory *memory, uint64_t address, rp_alloc_id *id,
                              uint64_t *offset, uint64_t *bytes_left)
{
    const struct mapping *m = find_mapping(memory, address);

    if (m == NULL)
        return RP_NOT_FOUND;
    if (id != NULL)
        *id = m->id;
    if (offset != NULL)
        *offset = m->offset + (address - m->address);
    if (bytes_left != NULL)
        *bytes_left = m->length - (address - m->address);
    return RP_OK;
}

void rp_memory_bounds(const struct rp_memory *memory, uint64_t *lo, uint64_t *hi)
{
    size_t count = memory->mapping_count;
    *lo = count ? memory->mappings[0].address : 0;
    *hi = count ? memory->mappings[count - 1].address + memory->mappings[count - 1].length : 0;
}

static bool is_piecewise(const struct rp_memory *memory, const struct mapping *m)
{
    const struct rp_alloc *alloc = rp_memory_get(memory, m->id);
    return alloc != NULL && (alloc->kind == RP_ALLOC_PHYSICAL || alloc->kind == RP_ALLOC_FOREIGN);
}

enum rp_status rp_memory_run(const struct rp_memory *memory, uint64_t address, uint64_t *start,
                             uint64_t *end)
{
    const struct mapping *all = memory->mappings;
    size_t first = seek_mapping(memory, address), last = first;

    if (first == memory->mapping_count || all[first].address > address)
        return RP_NOT_FOUND;
    if (is_piecewise(memory, &all[first])) {
        while (first > 0 && all[first - 1].address + all[first - 1].length == all[first].address &&
               is_piecewise(memory, &all[first - 1]))
            first--;
        while (last + 1 < memory->mapping_count &&
               all[last].address + all[last].length == all[last + 1].address &&
               is_piecewise(memory, &all[last + 1]))
            last++;
    }
    *start = all[first].address;
    *end = all[last].address + all[last].length;
    return RP_OK;
}

enum rp_status rp_memory_resolve(const struct rp_memory *memory, uint64_t address, uint64_t length,
                                 rp_memory_piece_fn visit, void *ctx)
{
    if (wraps(address, length))
        return RP_INVALID;

    const uint64_t end = address + length;
    enum rp_status status = RP_OK;
    size_t i = seek_mapping(memory, address);
    while (address < end && status == RP_OK) {
        const struct mapping *m = i < memory->mapping_count ? &memory->mappings[i] : NULL;
        uint64_t stop = end;
        if (m == NULL || m->address > address) {
            if (m != NULL && m->address < end)
                stop = m->address;
            status = visit(ctx, address, stop - address, 0, 0);
        } else {
            if (m->address + m->length < end)
                stop = m->address + m->length;
            status = visit(ctx, address, stop - address, m->id, m->offset + (address - m->address));
            i++;
        }
        address = stop;
    }
    return status;
}

enum rp_status rp_memory_address(const struct rp_memory *memory, rp_alloc_id id, uint64_t offset,
                                 uint64_t *address, uint64_t *bytes_left)
{
    for (size_t i = seek_view(memory, id, 0); i < memory->view_count && memory->views[i].id == id;
         i++) {
        const struct mapping *m = &memory->mappings[seek_mapping(memory, memory->views[i].address)];
        if (offset < m->offset || offset - m->offset >= m->length)
            continue;
        if (address != NULL)
            *address = m->address + (offset - m->offset);
        if (bytes_left != NULL)
            *bytes_left = m->length - (offset - m->offset);
        return RP_OK;
    }
    return RP_NOT_FOUND;
}

void rp_memory_each(const struct rp_memory *memory, rp_memory_each_fn visit, void *ctx)
{
    for (const struct record *r = memory->oldest; r != NULL; r = r->newer)
        visit(ctx, &r->alloc);
}

uint64_t rp_memory_live_bytes(const struct rp_memory *memory)
{
    return memory->live_bytes;
}

size_t rp_memory_live_count(const struct rp_memory *memory)
{
    return memory->live_count;
}

/* ---- invariants ------------------------------------------------------------------- */

static bool validate_mappings(const struct rp_memory *memory)
{
    if (memory->mapping_count != memory->view_count)
        return false;
    for (size_t i = 0; i < memory->mapping_count; i++) {
        const struct mapping *m = &memory->mappings[i];
        const struct record *record = find_live(memory, m->id);
        size_t view = seek_view(memory, m->id, m->address);
        if (record == NULL || m->length == 0 || wraps(m->address, m->length))
            return false;
        if (i > 0 && m[-1].address + m[-1].length > m->address)
            return false;
        if (m->offset + m->length > record->alloc.bytes)
            return false;
        if (view == memory->view_count || memory->views[view].id != m->id ||
            memory->views[view].address != m->address)
            return false;
    }
    return true;
}

static bool validate_live(const struct rp_memory *memory)
{
    const struct record *older = NULL;
    uint64_t bytes = 0;
    size_t count = 0;

    for (const struct record *r = memory->oldest; r != NULL; older = r, r = r->newer) {
        if (r->older != older || r->alloc.death_seq != 0 || find_live(memory, r->alloc.id) != r)
            return false;
        if (older != NULL && older->alloc.id >= r->alloc.id)
            return false;
        bytes += r->alloc.bytes;
        count++;
    }
    return memory->newest == older && bytes == memory->live_bytes && count == memory->live_count;
}

bool rp_memory_validate(const struct rp_memory *memory)
{
    for (size_t i = 1; i < memory->view_count; i++) {
        const struct view *a = &memory->views[i - 1], *b = &memory->views[i];
        if (a->id > b->id || (a->id == b->id && a->address >= b->address))
            return false;
    }
    for (size_t i = 1; i < memory->births_count; i++) {
        if (memory->births[i - 1].bytes >= memory->births[i].bytes)
            return false;
    }
    return rp_idmap_validate(&memory->records) && validate_live(memory) &&
           validate_mappings(memory);
}
