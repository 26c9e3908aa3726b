/* SPDX-License-Identifier: Apache-2.0 */
/* An instance's contract against what stands there now: until its replay, and in it. */
#include "tracker/live.h"

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
    const struct rp_versions *now;
    bool standing; /* collect what stands, or what does not */
};

static enum rp_status sort_stretch(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *found, const struct rp_writer *expected)
{
    (void)id;
    const struct sorting *sorting = ctx;
    bool stands = rp_versions_same_bytes(sorting->now, lo, hi, found, expected);
    return stands == sorting->standing ? rp_spans_add(sorting->out, lo, hi) : RP_OK;
}

/* Sorts `range` of `set` less `kept`. */
static enum rp_status sort_unkept(const struct rp_versions *expected,
                                  const struct rp_versions *now, rp_alloc_id id,
                                  struct rp_span range, const struct rp_spans *set,
                                  const struct rp_spans *kept, rp_instance_mismatch_fn sort,
                                  struct sorting *sorting)
{
    struct comparing comparing = {expected, id, sort, sorting, NULL};
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
    return sort_unkept(instance->expected, now, id, range, &live->live_in, &live->kept,
                       sort_stretch, sorting);
}

enum rp_status rp_instance_exposed(const struct rp_instance *instance,
                                   const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi, struct rp_spans *exposed)
{
    struct sorting sorting = {exposed, now, true};
    return sort_live_in(instance, now, id, (struct rp_span){lo, hi}, &sorting);
}

enum rp_status rp_instance_displaced(const struct rp_instance *instance,
                                     const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                     uint64_t hi, struct rp_spans *displaced)
{
    struct sorting sorting = {displaced, now, false};
    return sort_live_in(instance, now, id, (struct rp_span){lo, hi}, &sorting);
}

enum rp_status rp_instance_first_exposed(const struct rp_instance *instance,
                                         const struct rp_versions *now, rp_alloc_id id,
                                         uint64_t lo, uint64_t hi, struct rp_spans *exposed)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    struct sorting sorting = {exposed, now, true};
    rp_spans_clear(exposed);
    if (!live || !live->first.count || lo >= hi)
        return RP_OK;
    return sort_unkept(instance->first_read, now, id, (struct rp_span){lo, hi}, &live->first,
                       &live->recalled, sort_stretch, &sorting);
}

enum rp_status rp_instance_first_missed(const struct rp_instance *instance,
                                        const struct rp_versions *now, rp_alloc_id id,
                                        uint64_t lo, uint64_t hi, struct rp_spans *missed)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    struct sorting sorting = {missed, now, false};
    rp_spans_clear(missed);
    if (!live || !live->recalled.count || lo >= hi)
        return RP_OK;
    enum rp_status status =
        sort_unkept(instance->first_read, now, id, (struct rp_span){lo, hi}, &live->recalled,
                    &live->replayed, sort_stretch, &sorting);
    return status == RP_OK ? rp_spans_remove_all(missed, &live->extra) : status;
}

/* out = what further calls of the replay have written of [lo, hi), and the forward has read. */
static enum rp_status extra_read(const struct rp_live *live, uint64_t lo, uint64_t hi,
                                 struct rp_spans *out)
{
    struct rp_spans unread = {0};
    enum rp_status status = rp_spans_within(&live->extra, lo, hi, out);
    if (status == RP_OK && out->count)
        status = rp_spans_missing(&live->live_in, lo, hi, &unread);
    if (status == RP_OK)
        status = rp_spans_remove_all(out, &unread);
    if (status == RP_OK)
        status = rp_spans_remove_all(out, &live->replayed);
    rp_spans_release(&unread);
    return status;
}

static enum rp_status sort_overlaid(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *found, const struct rp_writer *expected)
{
    return rp_writer_same_value(found, expected) ? RP_OK
                                                 : sort_stretch(ctx, id, lo, hi, found, expected);
}

enum rp_status rp_instance_overlaid(const struct rp_instance *instance,
                                    const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                    uint64_t hi, struct rp_spans *overlaid)
{
    const struct rp_live *live = rp_instance_live(instance, id);
    struct sorting sorting = {overlaid, now, false};
    struct rp_spans read = {0};
    rp_spans_clear(overlaid);
    if (!live || !live->extra.count || lo >= hi)
        return RP_OK;
    enum rp_status status = extra_read(live, lo, hi, &read);
    for (size_t i = 0; status == RP_OK && i < read.count; i++)
        status = sort_unkept(instance->expected, now, id, read.items[i], &live->kept,
                             &live->made, sort_overlaid, &sorting);
    rp_spans_release(&read);
    return status;
}

enum rp_status rp_instance_recall(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                  uint64_t hi)
{
    struct rp_live *live = rp_live_get(instance, id);
    return live ? rp_spans_add(&live->recalled, lo, hi) : RP_NO_MEMORY;
}

enum rp_status rp_instance_keep(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                uint64_t hi)
{
    struct rp_live *live = rp_live_get(instance, id);
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
    const struct rp_versions *now;
    rp_instance_mismatch_fn visit;
    void *ctx;
};

static enum rp_status report_stale(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *found, const struct rp_writer *expected)
{
    const struct checking *checking = ctx;
    return rp_versions_same_bytes(checking->now, lo, hi, found, expected)
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
    struct checking checking = {now, visit, ctx};
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

static enum rp_status report_put(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 const struct rp_writer *found, const struct rp_writer *expected)
{
    return rp_writer_same_value(found, expected) ? RP_OK
                                                 : report_stale(ctx, id, lo, hi, found, expected);
}

enum rp_status rp_instance_check_extra(const struct rp_instance *instance,
                                       const struct rp_versions *now, rp_alloc_id id, uint64_t lo,
                                       uint64_t hi, rp_instance_mismatch_fn visit, void *ctx)
{
    struct checking checking = {now, visit, ctx};
    struct comparing comparing = {instance->expected, id, report_put, &checking, NULL};
    const struct rp_live *live = rp_instance_live(instance, id);
    struct rp_spans read = {0};
    enum rp_status status = live ? extra_read(live, lo, hi, &read) : RP_OK;
    for (size_t i = 0; status == RP_OK && i < read.count; i++)
        status = rp_versions_read(now, id, read.items[i].lo, read.items[i].hi, compare_found,
                                  &comparing);
    rp_spans_release(&read);
    return status;
}

enum rp_status rp_instance_rewrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi)
{
    struct rp_live *live = rp_live_get(instance, id);
    enum rp_status status = live ? rp_spans_add(&live->replayed, lo, hi) : RP_NO_MEMORY;
    return status == RP_OK ? rp_spans_add(&live->made, lo, hi) : status;
}

enum rp_status rp_instance_write_extra(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                       uint64_t hi)
{
    struct rp_live *live = rp_live_get(instance, id);
    return live ? rp_spans_add(&live->extra, lo, hi) : RP_NO_MEMORY;
}

enum rp_status rp_instance_unwrite(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                   uint64_t hi)
{
    struct rp_live *live = rp_live_find(instance, id);
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
        rp_spans_clear(&instance->lives[i].made);
        rp_spans_clear(&instance->lives[i].extra);
    }
}
