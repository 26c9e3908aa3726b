/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/memory.h"

#include "tracker/array.h"
#include "tracker/idmap.h"
#include "tracker/mapping.h"

struct record {
    struct rp_alloc alloc;
    struct record *older, *newer; /* the live ones, in order of birth */
};

/* How many allocations of exactly this size were born so far. */
struct births {
    uint64_t bytes, count;
};

struct rp_memory {
    struct rp_idmap records; /* the dead too, until they are forgotten */
    struct record *oldest, *newest;
    rp_alloc_id last_id;
    uint64_t live_bytes;
    size_t live_count;

    struct rp_mappings mappings;
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

    *out = NULL;
    if (memory == NULL || rp_mappings_create(&memory->mappings) != RP_OK) {
        free(memory);
        return RP_NO_MEMORY;
    }
    *out = memory;
    return RP_OK;
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
    rp_mappings_release(&memory->mappings);
    free(memory->births);
    free(memory);
}

/* ---- allocations ------------------------------------------------------------------ */

static bool wraps(uint64_t start, uint64_t length)
{
    return start > UINT64_MAX - length;
}

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
        rp_mappings_reserve(&memory->mappings, 2) != RP_OK ||
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
        rp_mappings_show(&memory->mappings,
                         (struct rp_mapping){address, bytes, record->alloc.id, 0});
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
    if (rp_mappings_reserve(&memory->mappings, 2) != RP_OK)
        return RP_NO_MEMORY;
    rp_mappings_show(&memory->mappings, (struct rp_mapping){address, length, id, offset});
    return RP_OK;
}

enum rp_status rp_memory_unmap(struct rp_memory *memory, uint64_t address, uint64_t length)
{
    if (wraps(address, length))
        return RP_INVALID;
    if (rp_mappings_reserve(&memory->mappings, 1) != RP_OK)
        return RP_NO_MEMORY;
    rp_mappings_cut(&memory->mappings, address, address + length);
    return RP_OK;
}

enum rp_status rp_memory_free(struct rp_memory *memory, rp_alloc_id id, uint64_t seq)
{
    struct record *record = find_live(memory, id);

    if (record == NULL)
        return RP_NOT_FOUND;
    if (seq == 0)
        return RP_INVALID;
    rp_mappings_hide(&memory->mappings, id);
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
        rp_mappings_hide(&memory->mappings, id);
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

enum rp_status rp_memory_find(const struct rp_memory *memory, uint64_t address, rp_alloc_id *id,
                              uint64_t *offset, uint64_t *bytes_left)
{
    const struct rp_mapping *m = rp_mappings_find(&memory->mappings, address);

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

void rp_memory_expect(const struct rp_memory *memory, uint64_t address)
{
    rp_mappings_expect(&memory->mappings, address);
}

void rp_memory_bounds(const struct rp_memory *memory, uint64_t *lo, uint64_t *hi)
{
    const struct rp_mapping *all = memory->mappings.items;
    size_t count = memory->mappings.count;

    *lo = count > 0 ? all[0].address : 0;
    *hi = count > 0 ? all[count - 1].address + all[count - 1].length : 0;
}

static bool is_piecewise(const struct rp_memory *memory, const struct rp_mapping *m)
{
    const struct rp_alloc *alloc = rp_memory_get(memory, m->id);
    return alloc != NULL && (alloc->kind == RP_ALLOC_PHYSICAL || alloc->kind == RP_ALLOC_FOREIGN);
}

enum rp_status rp_memory_run(const struct rp_memory *memory, uint64_t address, uint64_t *start,
                             uint64_t *end)
{
    const struct rp_mapping *all = memory->mappings.items;
    size_t count = memory->mappings.count;
    size_t first = rp_mappings_seek(&memory->mappings, address), last = first;

    if (first == count || all[first].address > address)
        return RP_NOT_FOUND;
    if (is_piecewise(memory, &all[first])) {
        while (first > 0 && all[first - 1].address + all[first - 1].length == all[first].address &&
               is_piecewise(memory, &all[first - 1]))
            first--;
        while (last + 1 < count &&
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
    size_t i = rp_mappings_seek(&memory->mappings, address);
    while (address < end && status == RP_OK) {
        const struct rp_mapping *m =
            i < memory->mappings.count ? &memory->mappings.items[i] : NULL;
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
    const struct rp_mapping *m = rp_mappings_reach(&memory->mappings, id, offset);

    if (m == NULL)
        return RP_NOT_FOUND;
    if (address != NULL)
        *address = m->address + (offset - m->offset);
    if (bytes_left != NULL)
        *bytes_left = m->length - (offset - m->offset);
    return RP_OK;
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

/* Only what lives is mapped, and no more than there is of it. */
static bool validate_shown(const struct rp_memory *memory)
{
    for (size_t i = 0; i < memory->mappings.count; i++) {
        const struct rp_mapping *m = &memory->mappings.items[i];
        const struct record *record = find_live(memory, m->id);
        if (record == NULL || m->offset + m->length > record->alloc.bytes)
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
    for (size_t i = 1; i < memory->births_count; i++) {
        if (memory->births[i - 1].bytes >= memory->births[i].bytes)
            return false;
    }
    return rp_idmap_validate(&memory->records) && validate_live(memory) &&
           rp_mappings_validate(&memory->mappings) && validate_shown(memory);
}
