/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/instance.h"

#include <stdlib.h>

enum rp_status rp_instance_create(uint64_t id, uint32_t segment, uint32_t step, uint64_t since,
                                  struct rp_instance **out)
{
    struct rp_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return RP_NO_MEMORY;
    *instance = (struct rp_instance){.id = id, .segment = segment, .step = step, .since = since};
    enum rp_status status = rp_versions_create(&instance->expected);
    if (status == RP_OK)
        status = rp_versions_create(&instance->first_read);
    if (status != RP_OK) {
        rp_instance_destroy(instance);
        return status;
    }
    *out = instance;
    return RP_OK;
}

static void live_release(struct rp_live *live)
{
    rp_spans_release(&live->live_in);
    rp_spans_release(&live->doubtful);
    rp_spans_release(&live->written);
    rp_spans_release(&live->touched);
    rp_spans_release(&live->kept);
    rp_spans_release(&live->replayed);
    rp_spans_release(&live->extra);
    rp_spans_release(&live->first);
    rp_spans_release(&live->recalled);
}

void rp_instance_destroy(struct rp_instance *instance)
{
    if (!instance)
        return;
    for (size_t i = 0; i < instance->live_count; i++)
        live_release(&instance->lives[i]);
    free(instance->lives);
    rp_versions_destroy(instance->expected);
    rp_versions_destroy(instance->first_read);
    free(instance);
}

/* Index of the entry of `id`, or of where it would stand: lives are sorted by id. */
static size_t live_seek(const struct rp_instance *instance, rp_alloc_id id)
{
    size_t low = 0, high = instance->live_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (instance->lives[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rp_live *rp_instance_live(const struct rp_instance *instance, rp_alloc_id id)
{
    size_t at = live_seek(instance, id);
    bool found = at < instance->live_count && instance->lives[at].id == id;
    return found ? &instance->lives[at] : NULL;
}

static struct rp_live *live_find(struct rp_instance *instance, rp_alloc_id id)
{
    size_t at = live_seek(instance, id);
    bool found = at < instance->live_count && instance->lives[at].id == id;
    return found ? &instance->lives[at] : NULL;
}

static struct rp_live *live_get(struct rp_instance *instance, rp_alloc_id id)
{
    struct rp_live *live = live_find(instance, id);
    if (live)
        return live;
    size_t at = live_seek(instance, id);
    if (instance->live_count == instance->live_capacity) {
        size_t capacity = instance->live_capacity ? instance->live_capacity * 2 : 16;
        struct rp_live *bigger = realloc(instance->lives, capacity * sizeof *bigger);
        if (!bigger)
            return NULL;
        instance->lives = bigger;
        instance->live_capacity = capacity;
    }
    for (size_t i = instance->live_count++; i > at; i--)
        instance->lives[i] = instance->lives[i - 1];
    instance->lives[at] = (struct rp_live){.id = id};
    return &instance->lives[at];
}

struct expecting {
    struct rp_versions *expected;
    rp_alloc_id id;
};

static enum rp_status expect_version(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *writer)
{
    const struct expecting *expecting = ctx;
    return rp_versions_write(expecting->expected, expecting->id, lo, hi, writer);
}

/* [lo, hi) is read and not written by the forward: what is not live-in yet becomes so. */
static enum rp_status live_in_add(struct rp_instance *instance, struct rp_live *live,
                                  const struct rp_versions *now, struct rp_span read, bool certain)
{
    struct rp_spans fresh = {0};
    struct expecting expecting = {instance->expected, live->id};
    enum rp_status status = rp_spans_missing(&live->live_in, read.lo, read.hi, &fresh);
    for (size_t i = 0; status == RP_OK && i < fresh.count; i++) {
        struct rp_span piece = fresh.items[i];
        status = rp_versions_read(now, live->id, piece.lo, piece.hi, expect_version, &expecting);
        if (status == RP_OK && !certain)
            status = rp_spans_add(&live->doubtful, piece.lo, piece.hi);
    }
    if (status == RP_OK)
        status = rp_spans_add_all(&live->live_in, &fresh);
    /* A later certain read settles the doubt: it sees the same bytes. */
    if (status == RP_OK && certain)
        status = rp_spans_remove(&live->doubtful, read.lo, read.hi);
    rp_spans_release(&fresh);
    return status;
}

/* [lo, hi) is read: what the forward has written itself and reads for the first time. */
static enum rp_status first_add(struct rp_instance *instance, struct rp_live *live,
                                const struct rp_versions *now, uint64_t lo, uint64_t hi)
{
    struct rp_spans own = {0};
    struct expecting expecting = {instance->first_read, live->id};
    enum rp_status status = rp_spans_within(&live->written, lo, hi, &own);
    if (status == RP_OK)
        status = rp_spans_remove_all(&own, &live->first);
    if (status == RP_OK)
        status = rp_spans_remove_all(&own, &live->live_in);
    for (size_t i = 0; status == RP_OK && i < own.count; i++)
        status = rp_versions_read(now, live->id, own.items[i].lo, own.items[i].hi, expect_version,
                                  &expecting);
    if (status == RP_OK)
        status = rp_spans_add_all(&live->first, &own);
    rp_spans_release(&own);
    return status;
}

enum rp_status rp_instance_read(struct rp_instance *instance, const struct rp_versions *now,
                                rp_alloc_id id, uint64_t lo, uint64_t hi, bool certain)
{
    if (lo >= hi)
        return RP_OK;
    struct rp_live *live = live_get(instance, id);
    if (!live)
        return RP_NO_MEMORY;
    struct rp_spans unwritten = {0};
    enum rp_status status = rp_spans_missing(&live->written, lo, hi, &unwritten);
    for (size_t i = 0; status == RP_OK && i < unwritten.count; i++)
        status = live_in_add(instance, live, now, unwritten.items[i], certain);
    rp_spans_release(&unwritten);
    if (status == RP_OK && instance->remembers)
        status = first_add(instance, live, now, lo, hi);
    return status;
}

enum rp_status rp_instance_write(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                 uint64_t hi, bool certain)
{
    if (lo >= hi)
        return RP_OK;
    struct rp_live *live = live_get(instance, id);
    if (!live)
        return RP_NO_MEMORY;
    enum rp_status status = rp_spans_add(&live->touched, lo, hi);
    if (status == RP_OK && certain)
        status = rp_spans_add(&live->written, lo, hi);
    return status;
}

bool rp_instance_is_ambiguous(const struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                              uint64_t hi)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    if (!live || !rp_spans_overlaps(&live->touched, lo, hi))
        return false;
    struct rp_spans possible = {0};
    bool ambiguous = rp_spans_within(&live->touched, lo, hi, &possible) != RP_OK;
    for (size_t i = 0; !ambiguous && i < possible.count; i++) {
        struct rp_span span = possible.items[i];
        /* Bytes read before the possible write are state for certain: no doubt about them. */
        struct rp_spans unsettled = {0};
        ambiguous = rp_spans_missing(&live->written, span.lo, span.hi, &unsettled) != RP_OK ||
                    rp_spans_remove_all(&unsettled, &live->live_in) != RP_OK || unsettled.count > 0;
        rp_spans_release(&unsettled);
    }
    rp_spans_release(&possible);
    return ambiguous;
}

/* ---- live-in against what stands now ---------------------------------------------- */

/* Visits [lo, hi) of `id` in stretches of one version now and one expected. */
struct comparing {
    const struct rp_versions *expected;
    rp_alloc_id id;
    rp_instance_mismatch_fn visit;
    void *ctx;
    const struct rp_writer *found;
};

static enum rp_status compare_expected(void *ctx, uint64_t lo, uint64_t hi,
                                       const struct rp_writer *expected)
{
    const struct comparing *comparing = ctx;
    return comparing->visit(comparing->ctx, comparing->id, lo, hi, comparing->found, expected);
}

static enum rp_status compare_found(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *found)
{
    struct comparing *comparing = ctx;
    comparing->found = found;
    return rp_versions_read(comparing->expected, comparing->id, lo, hi, compare_expected,
                            comparing);
}

struct sorting {
    struct rp_spans *out;
    bool standing; /* collect what stands, or what does not */
};

static enum rp_status sort_stretch(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *found, const struct rp_writer *expected)
{
    (void)id;
    const struct sorting *sorting = ctx;
    bool stands = found->version == expected->version;
    return stands == sorting->standing ? rp_spans_add(sorting->out, lo, hi) : RP_OK;
}

/* Sorts `range` of `set` less `kept`. */
static enum rp_status sort_unkept(const struct rp_versions *expected,
                                  const struct rp_versions *now, rp_alloc_id id,
                                  struct rp_span range, const struct rp_spans *set,
                                  const struct rp_spans *kept, struct sorting *sorting)
{
    struct comparing comparing = {expected, id, sort_stretch, sorting, NULL};
    struct rp_spans unkept = {0};
    enum rp_status status = rp_spans_within(set, range.lo, range.hi, &unkept);
    if (status == RP_OK)
        status = rp_spans_remove_all(&unkept, kept);
    for (size_t i = 0; status == RP_OK && i < unkept.count; i++)
        status = rp_versions_read(now, id, unkept.items[i].lo, unkept.items[i].hi, compare_found,
                                  &comparing);
    rp_spans_release(&unkept);
    return status;
}

static enum rp_status sort_live_in(const struct rp_instance *instance,
                                   const struct rp_versions *now, rp_alloc_id id,
                                   struct rp_span range, struct sorting *sorting)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    rp_spans_clear(sorting->out);
    if (!live || range.lo >= range.hi)
        return RP_OK;
    return sort_unkept(instance->expected, now, id, range, &live->live_in, &live->kept, sorting);
}

enum rp_status rp_instance_exposed(const struct rp_instance *instance,
                                   const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi, struct rp_spans *exposed)
{
    struct sorting sorting = {exposed, true};
    return sort_live_in(instance, now, id, (struct rp_span){lo, hi}, &sorting);
}

enum rp_status rp_instance_displaced(const struct rp_instance *instance,
                                     const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                     uint64_t hi, struct rp_spans *displaced)
{
    struct sorting sorting = {displaced, false};
    return sort_live_in(instance, now, id, (struct rp_span){lo, hi}, &sorting);
}

enum rp_status rp_instance_first_exposed(const struct rp_instance *instance,
                                         const struct rp_versions *now, rp_alloc_id id,
                                         uint64_t lo, uint64_t hi, struct rp_spans *exposed)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    struct sorting sorting = {exposed, true};
    rp_spans_clear(exposed);
    if (!live || !live->first.count || lo >= hi)
        return RP_OK;
    return sort_unkept(instance->first_read, now, id, (struct rp_span){lo, hi}, &live->first,
                       &live->recalled, &sorting);
}

enum rp_status rp_instance_first_missed(const struct rp_instance *instance,
                                        const struct rp_versions *now, rp_alloc_id id,
                                        uint64_t lo, uint64_t hi, struct rp_spans *missed)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    struct sorting sorting = {missed, false};
    rp_spans_clear(missed);
    if (!live || !live->recalled.count || lo >= hi)
        return RP_OK;
    enum rp_status status =
        sort_unkept(instance->first_read, now, id, (struct rp_span){lo, hi}, &live->recalled,
                    &live->replayed, &sorting);
    return status == RP_OK ? rp_spans_remove_all(missed, &live->extra) : status;
}

enum rp_status rp_instance_recall(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                  uint64_t hi)
{
    struct rp_live *live = live_get(instance, id);
    return live ? rp_spans_add(&live->recalled, lo, hi) : RP_NO_MEMORY;
}

enum rp_status rp_instance_keep(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                uint64_t hi)
{
    struct rp_live *live = live_get(instance, id);
    return live ? rp_spans_add(&live->kept, lo, hi) : RP_NO_MEMORY;
}

void rp_instance_lose(struct rp_instance *instance)
{
    for (size_t i = 0; i < instance->live_count; i++) {
        rp_spans_clear(&instance->lives[i].kept);
        rp_spans_clear(&instance->lives[i].recalled);
    }
}

/* ---- replay ------------------------------------------------------------------------- */

struct checking {
    rp_instance_mismatch_fn visit;
    void *ctx;
};

static enum rp_status report_stale(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *found, const struct rp_writer *expected)
{
    const struct checking *checking = ctx;
    return found->version == expected->version
               ? RP_OK
               : checking->visit(checking->ctx, id, lo, hi, found, expected);
}

static enum rp_status report_foreign(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *found)
{
    const struct comparing *comparing = ctx;
    const struct checking *checking = comparing->ctx;
    return checking->visit(checking->ctx, comparing->id, lo, hi, found, NULL);
}

/* Splits the read into what the forward read too and what it did not. */
static enum rp_status check_unwritten(const struct rp_live *live, const struct rp_versions *now,
                                      struct rp_span read, struct comparing *comparing)
{
    struct rp_spans part = {0};
    enum rp_status status = rp_spans_within(&live->live_in, read.lo, read.hi, &part);
    for (size_t i = 0; status == RP_OK && i < part.count; i++)
        status = rp_versions_read(now, live->id, part.items[i].lo, part.items[i].hi, compare_found,
                                  comparing);
    if (status == RP_OK)
        status = rp_spans_missing(&live->live_in, read.lo, read.hi, &part);
    for (size_t i = 0; status == RP_OK && i < part.count; i++)
        status = rp_versions_read(now, live->id, part.items[i].lo, part.items[i].hi,
                                  report_foreign, comparing);
    rp_spans_release(&part);
    return status;
}

enum rp_status rp_instance_check(const struct rp_instance *instance, const struct rp_versions *now,
                                 rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 rp_instance_mismatch_fn visit, void *ctx)
{
    static const struct rp_live stranger;
    struct checking checking = {visit, ctx};
    struct comparing comparing = {instance->expected, id, report_stale, &checking, NULL};
    const struct rp_live *live = rp_instance_live(instance, id);
    struct rp_live unknown = stranger;
    unknown.id = id;
    if (!live)
        live = &unknown;
    struct rp_spans own = {0};
    enum rp_status status = rp_spans_missing(&live->replayed, lo, hi, &own);
    if (status == RP_OK)
        status = rp_spans_remove_all(&own, &live->extra);
    for (size_t i = 0; status == RP_OK && i < own.count; i++)
        status = check_unwritten(live, now, own.items[i], &comparing);
    rp_spans_release(&own);
    return status;
}

enum rp_status rp_instance_rewrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi)
{
    struct rp_live *live = live_get(instance, id);
    return live ? rp_spans_add(&live->replayed, lo, hi) : RP_NO_MEMORY;
}

enum rp_status rp_instance_write_extra(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                       uint64_t hi)
{
    struct rp_live *live = live_get(instance, id);
    return live ? rp_spans_add(&live->extra, lo, hi) : RP_NO_MEMORY;
}

enum rp_status rp_instance_unwrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi)
{
    struct rp_live *live = live_find(instance, id);
    enum rp_status status = live ? rp_spans_remove(&live->replayed, lo, hi) : RP_OK;
    return live && status == RP_OK ? rp_spans_remove(&live->extra, lo, hi) : status;
}

/* What the forward did not read is historic when it was not written since. */
static enum rp_status find_young(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 const struct rp_writer *found, const struct rp_writer *expected)
{
    (void)id, (void)lo, (void)hi;
    const struct rp_instance *instance = ctx;
    return !expected && found->seq <= instance->since ? RP_OK : RP_END;
}

bool rp_instance_is_historic(const struct rp_instance *instance, const struct rp_versions *now,
                             rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    return rp_instance_check(instance, now, id, lo, hi, find_young,
                             (void *)(uintptr_t)instance) == RP_OK;
}

void rp_instance_replay_again(struct rp_instance *instance)
{
    for (size_t i = 0; i < instance->live_count; i++) {
        rp_spans_clear(&instance->lives[i].replayed);
        rp_spans_clear(&instance->lives[i].extra);
    }
}

uint64_t rp_instance_live_in_bytes(const struct rp_instance *instance)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < instance->live_count; i++)
        bytes += rp_spans_bytes(&instance->lives[i].live_in);
    return bytes;
}
