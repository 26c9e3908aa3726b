/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/live.h"

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

void rp_instance_destroy(struct rp_instance *instance)
{
    if (!instance)
        return;
    rp_lives_release(instance);
    rp_versions_destroy(instance->expected);
    rp_versions_destroy(instance->first_read);
    free(instance);
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

enum rp_status rp_instance_read(struct rp_instance *instance, const struct rp_versions *now,
                                rp_alloc_id id, uint64_t lo, uint64_t hi, bool certain)
{
    if (lo >= hi)
        return RP_OK;
    struct rp_live *live = rp_live_get(instance, id);
    if (!live)
        return RP_NO_MEMORY;
    struct rp_spans unwritten = {0};
    enum rp_status status = rp_spans_missing(&live->written, lo, hi, &unwritten);
    for (size_t i = 0; status == RP_OK && i < unwritten.count; i++)
        status = live_in_add(instance, live, now, unwritten.items[i], certain);
    rp_spans_release(&unwritten);
    return status;
}

enum rp_status rp_instance_tear(struct rp_instance *instance, const struct rp_versions *now,
                                rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_live *live = lo < hi ? rp_live_find(instance, id) : NULL;
    if (!live)
        return RP_OK;
    struct rp_spans rest = {0};
    enum rp_status status = rp_spans_missing(&live->live_in, lo, hi, &rest);
    if (status == RP_OK)
        status = rp_spans_remove_all(&rest, &live->written);
    bool is_most = rest.count && rp_spans_bytes(&rest) < (hi - lo) / 2;
    for (size_t i = 0; status == RP_OK && is_most && i < rest.count; i++)
        status = live_in_add(instance, live, now, rest.items[i], true);
    if (status == RP_OK && is_most)
        status = rp_spans_add_all(&live->torn, &rest);
    rp_spans_release(&rest);
    return status;
}

enum rp_status rp_instance_read_own(struct rp_instance *instance, const struct rp_versions *now,
                                    rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_live *live = lo < hi ? rp_live_find(instance, id) : NULL;
    if (!live)
        return RP_OK;
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

enum rp_status rp_instance_write(struct rp_instance *instance, rp_alloc_id id, uint64_t lo,
                                 uint64_t hi, bool certain)
{
    if (lo >= hi)
        return RP_OK;
    struct rp_live *live = rp_live_get(instance, id);
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
