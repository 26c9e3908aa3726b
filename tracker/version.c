/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/version.h"

#include "tracker/array.h"
#include "tracker/idmap.h"

struct range {
    uint64_t lo, hi;
    struct rp_writer writer;
};

/* The ranges of one allocation: sorted, disjoint; touching ones have different writers; what
 * was never written is absent. */
struct map {
    struct range *ranges;
    size_t count, capacity;
};

struct rp_versions {
    struct rp_idmap maps;
    struct rp_contents *contents; /* NULL until some were alike */
    struct rp_idmap distrusted;   /* makers; what they lead to says nothing */
};

static const struct rp_writer nobody;

static bool same_writer(const struct rp_writer *a, const struct rp_writer *b)
{
    return a->version == b->version && a->origin == b->origin && a->source == b->source &&
           a->seq == b->seq && a->place == b->place && a->deed == b->deed && a->value == b->value &&
           a->launch == b->launch && a->stream == b->stream && a->step == b->step &&
           a->name == b->name && a->made_in == b->made_in &&
           a->settled == b->settled && a->uploaded == b->uploaded && a->copied == b->copied &&
           a->speculative == b->speculative;
}

enum rp_status rp_versions_create(struct rp_versions **out)
{
    *out = calloc(1, sizeof(**out));
    return *out != NULL ? RP_OK : RP_NO_MEMORY;
}

static void map_destroy(struct map *map)
{
    if (map != NULL)
        free(map->ranges);
    free(map);
}

void rp_versions_clear(struct rp_versions *versions)
{
    for (size_t i = 0; i < versions->maps.slot_count; i++)
        map_destroy(versions->maps.slots[i].value);
    rp_idmap_release(&versions->maps);
    rp_idmap_release(&versions->distrusted);
    free(versions->contents);
    versions->contents = NULL;
}

void rp_versions_destroy(struct rp_versions *versions)
{
    if (versions != NULL)
        rp_versions_clear(versions);
    free(versions);
}

void rp_versions_forget(struct rp_versions *versions, rp_alloc_id id)
{
    map_destroy(rp_idmap_remove(&versions->maps, id));
}

static struct map *find_or_make(struct rp_versions *versions, rp_alloc_id id)
{
    struct map *map = rp_idmap_find(&versions->maps, id);

    if (map != NULL)
        return map;
    map = calloc(1, sizeof(*map));
    if (map != NULL && rp_idmap_insert(&versions->maps, id, map) != RP_OK) {
        free(map);
        return NULL;
    }
    return map;
}

/* Index of the first range that ends at `at` or after it. */
static size_t seek_end(const struct map *map, uint64_t at)
{
    size_t low = 0, high = map->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->ranges[middle].hi >= at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Index of the first range from `from` on that begins after `at`. */
static size_t seek_begin(const struct map *map, size_t from, uint64_t at)
{
    size_t low = from, high = map->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->ranges[middle].lo > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum rp_status rp_versions_write(struct rp_versions *versions, rp_alloc_id id, uint64_t lo,
                                 uint64_t hi, const struct rp_writer *writer)
{
    if (id == 0 || lo > hi)
        return RP_INVALID;
    if (lo == hi)
        return RP_OK;

    struct map *map = find_or_make(versions, id);
    if (map == NULL)
        return RP_NO_MEMORY;
    struct range *ranges =
        rp_array_reserve(map->ranges, &map->capacity, map->count + 2, sizeof(*ranges));
    if (ranges == NULL)
        return RP_NO_MEMORY;
    map->ranges = ranges;

    /* [first, last) overlap or touch [lo, hi). What sticks out on either side stays as it
     * is, unless it has the same writer: then it melts into the new range. */
    size_t first = seek_end(map, lo), last = seek_begin(map, first, hi);
    struct range fresh = {lo, hi, *writer}, pieces[3];
    size_t n = 0;
    if (first < last && ranges[first].lo < lo) {
        if (same_writer(&ranges[first].writer, writer))
            fresh.lo = ranges[first].lo;
        else
            pieces[n++] = (struct range){ranges[first].lo, lo, ranges[first].writer};
    }
    size_t middle = n++;
    if (first < last && ranges[last - 1].hi > hi) {
        if (same_writer(&ranges[last - 1].writer, writer))
            fresh.hi = ranges[last - 1].hi;
        else
            pieces[n++] = (struct range){hi, ranges[last - 1].hi, ranges[last - 1].writer};
    }
    if (same_writer(writer, &nobody)) /* restored to "never written": absence */
        rp_array_splice(pieces, &n, middle, middle + 1, NULL, 0, sizeof(*pieces));
    else
        pieces[middle] = fresh;
    rp_array_splice(ranges, &map->count, first, last, pieces, n, sizeof(*pieces));
    return RP_OK;
}

enum rp_status rp_versions_read(const struct rp_versions *versions, rp_alloc_id id, uint64_t lo,
                                uint64_t hi, rp_versions_fn visit, void *ctx)
{
    const struct map *map = rp_idmap_find(&versions->maps, id);
    enum rp_status status = RP_OK;

    if (id == 0 || lo > hi)
        return RP_INVALID;
    for (size_t i = map != NULL ? seek_end(map, lo + 1) : 0; lo < hi && status == RP_OK;) {
        const struct range *range = map != NULL && i < map->count ? &map->ranges[i] : NULL;
        const struct rp_writer *writer = &nobody;
        uint64_t stop = hi;
        if (range != NULL && range->lo <= lo) {
            writer = &range->writer;
            stop = range->hi < hi ? range->hi : hi;
            i++;
        } else if (range != NULL && range->lo < hi) {
            stop = range->lo;
        }
        status = visit(ctx, lo, stop, writer);
        lo = stop;
    }
    return status;
}

/* ---- content ------------------------------------------------------------------------ */

enum rp_status rp_versions_alike(struct rp_versions *versions, struct rp_provenance a,
                                 struct rp_provenance b)
{
    return rp_contents_alike(&versions->contents, a, b);
}

enum rp_status rp_versions_distrust(struct rp_versions *versions, rp_version maker)
{
    if (maker == 0 || !rp_versions_trust(versions, maker))
        return RP_OK;
    return rp_idmap_insert(&versions->distrusted, maker, versions);
}

bool rp_versions_trust(const struct rp_versions *versions, rp_version maker)
{
    return rp_idmap_find(&versions->distrusted, maker) == NULL;
}

static struct rp_provenance made_at(const struct rp_writer *writer, uint64_t lo, uint64_t hi)
{
    return (struct rp_provenance){rp_writer_maker(writer), lo - writer->place, hi - lo};
}

enum rp_status rp_versions_each_alike(const struct rp_versions *versions, uint64_t lo, uint64_t hi,
                                      const struct rp_writer *writer, rp_content_fn visit,
                                      void *ctx)
{
    if (!rp_versions_trust(versions, rp_writer_maker(writer)))
        return RP_OK;
    return rp_contents_each(versions->contents, made_at(writer, lo, hi), visit, ctx);
}

static enum rp_status is_it(void *ctx, struct rp_provenance other)
{
    const struct rp_provenance *wanted = ctx;
    return other.maker == wanted->maker && other.begin == wanted->begin ? RP_END : RP_OK;
}

bool rp_versions_same_bytes(const struct rp_versions *versions, uint64_t lo, uint64_t hi,
                            const struct rp_writer *a, const struct rp_writer *b)
{
    struct rp_provenance wanted = made_at(b, lo, hi);
    if (a->version == b->version)
        return true;
    if (!rp_versions_trust(versions, rp_writer_maker(a)) ||
        !rp_versions_trust(versions, wanted.maker))
        return false;
    return rp_writer_same_bytes(a, b) ||
           rp_versions_each_alike(versions, lo, hi, a, is_it, &wanted) == RP_END;
}

static bool has_part(const struct range *range, struct rp_provenance made)
{
    uint64_t begin = range->lo - range->writer.place;
    return rp_writer_maker(&range->writer) == made.maker && begin < made.begin + made.bytes &&
           made.begin < begin + (range->hi - range->lo);
}

bool rp_versions_have(const struct rp_versions *versions, struct rp_provenance made)
{
    for (size_t i = 0; i < versions->maps.slot_count; i++) {
        const struct map *map = versions->maps.slots[i].value;
        for (size_t j = 0; map != NULL && j < map->count; j++)
            if (has_part(&map->ranges[j], made))
                return true;
    }
    return false;
}

void rp_versions_disown(struct rp_versions *versions, rp_alloc_id id)
{
    struct map *map = rp_idmap_find(&versions->maps, id);

    for (size_t i = 0; map != NULL && i < map->count; i++) {
        struct rp_writer *writer = &map->ranges[i].writer;
        if (writer->source == 0)
            continue;
        writer->source = writer->value = 0;
        writer->place = 0 - (id << 48); /* no two bytes of the copy are the same, anywhere */
    }
}

struct dirty {
    struct rp_spans *out;
    uint64_t seq;
};

static enum rp_status add_dirty(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    const struct dirty *dirty = ctx;

    return writer->seq > dirty->seq ? rp_spans_add(dirty->out, lo, hi) : RP_OK;
}

enum rp_status rp_versions_dirty_since(const struct rp_versions *versions, rp_alloc_id id,
                                       uint64_t lo, uint64_t hi, uint64_t seq, struct rp_spans *out)
{
    struct dirty dirty = {out, seq};

    rp_spans_clear(out);
    return rp_versions_read(versions, id, lo, hi, add_dirty, &dirty);
}

static bool validate_map(const struct map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct range *range = &map->ranges[i];
        if (range->lo >= range->hi || same_writer(&range->writer, &nobody))
            return false;
        if (i > 0 && range[-1].hi > range->lo)
            return false;
        if (i > 0 && range[-1].hi == range->lo && same_writer(&range[-1].writer, &range->writer))
            return false;
    }
    return map->count <= map->capacity;
}

bool rp_versions_validate(const struct rp_versions *versions)
{
    for (size_t i = 0; i < versions->maps.slot_count; i++) {
        const struct map *map = versions->maps.slots[i].value;
        if (map != NULL && !validate_map(map))
            return false;
    }
    return rp_idmap_validate(&versions->maps);
}
