/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/shared_version.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BITS 64

/* ---- epochs: stretches of bytes between two writes ---------------------------- */

/* The segments that preserve the bytes [lo, hi) between two writes, in order; at least one. */
typedef enum rp_status (*epoch_fn)(void *context, uint64_t lo, uint64_t hi,
                                   const size_t *readers, size_t count);

static int compare_bounds(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void add_bounds(uint64_t *bounds, size_t *count, const struct rp_spans *set)
{
    for (size_t i = 0; i < set->count; i++) {
        bounds[(*count)++] = set->items[i].lo;
        bounds[(*count)++] = set->items[i].hi;
    }
}

/* Between two neighbouring bounds all bytes have the same history. The caller frees them. */
static enum rp_status find_bounds(const struct rp_clobbers *clobbers, uint64_t **out,
                                  size_t *out_count)
{
    size_t most = 1, count = 0, kept = 0;

    for (size_t k = 0; k < clobbers->count; k++)
        most += 2 * (clobbers->clobbered[k].count + clobbers->writes[k].count);
    uint64_t *bounds = malloc(most * sizeof(*bounds));
    if (bounds == NULL)
        return RP_NO_MEMORY;
    for (size_t k = 0; k < clobbers->count; k++) {
        add_bounds(bounds, &count, &clobbers->clobbered[k]);
        add_bounds(bounds, &count, &clobbers->writes[k]);
    }
    qsort(bounds, count, sizeof(*bounds), compare_bounds);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || bounds[i] != bounds[kept - 1])
            bounds[kept++] = bounds[i];
    *out = bounds;
    *out_count = kept;
    return RP_OK;
}

static enum rp_status visit_history(const struct rp_clobbers *clobbers, uint64_t lo, uint64_t hi,
                                    size_t *readers, epoch_fn visit, void *context)
{
    enum rp_status status = RP_OK;
    size_t count = 0;

    for (size_t k = 0; k < clobbers->count && status == RP_OK; k++) {
        if (rp_spans_overlaps(&clobbers->clobbered[k], lo, hi))
            readers[count++] = k;
        if (count > 0 && rp_spans_overlaps(&clobbers->writes[k], lo, hi)) {
            status = visit(context, lo, hi, readers, count);
            count = 0;
        }
    }
    if (count > 0 && status == RP_OK)
        status = visit(context, lo, hi, readers, count);
    return status;
}

static enum rp_status visit_epochs(const struct rp_clobbers *clobbers, epoch_fn visit,
                                   void *context)
{
    uint64_t *bounds = NULL;
    size_t count = 0, *readers = calloc(clobbers->count + 1, sizeof(*readers));
    enum rp_status status = RP_NO_MEMORY;

    if (readers != NULL)
        status = find_bounds(clobbers, &bounds, &count);
    for (size_t i = 0; i + 1 < count && status == RP_OK; i++)
        status = visit_history(clobbers, bounds[i], bounds[i + 1], readers, visit, context);
    free(readers);
    free(bounds);
    return status;
}

/* ---- from epochs to versions -------------------------------------------------- */

struct version {
    size_t *readers, reader_count;
    unsigned bit;
    struct version *next; /* another one with the same first reader */
};

struct builder {
    const struct rp_clobbers *clobbers;
    struct rp_shared_versions *to;
    struct version **by_first; /* one list a segment */
};

static struct version *find_version(const struct builder *builder, const size_t *readers,
                                    size_t count)
{
    struct version *version = builder->by_first[readers[0]];

    while (version != NULL &&
           (version->reader_count != count ||
            memcmp(version->readers, readers, count * sizeof(*readers)) != 0))
        version = version->next;
    return version;
}

static enum rp_status collect_version(void *context, uint64_t lo, uint64_t hi,
                                      const size_t *readers, size_t count)
{
    struct builder *builder = context;

    (void)lo;
    (void)hi;
    if (count == 1 || find_version(builder, readers, count) != NULL)
        return RP_OK;
    struct version *version = calloc(1, sizeof(*version));
    if (version != NULL)
        version->readers = malloc(count * sizeof(*readers));
    if (version == NULL || version->readers == NULL) {
        free(version);
        return RP_NO_MEMORY;
    }
    memcpy(version->readers, readers, count * sizeof(*readers));
    version->reader_count = count;
    version->next = builder->by_first[readers[0]];
    builder->by_first[readers[0]] = version;
    return RP_OK;
}

static size_t last_reader(const struct version *version)
{
    return version->readers[version->reader_count - 1];
}

static void give_bit(struct builder *builder, struct version *version, unsigned bit)
{
    struct rp_shared_versions *to = builder->to;
    uint64_t mask = (uint64_t)1 << bit;

    version->bit = bit;
    to->first_read[version->readers[0]] |= mask;
    for (size_t i = 0; i < version->reader_count; i++)
        to->read[version->readers[i]] |= mask;
    for (size_t k = version->readers[0]; k < last_reader(version); k++)
        to->wanted_after[k] |= mask;
}

/* A bit is free again after its version's last reader. */
static enum rp_status assign_bits(struct builder *builder)
{
    size_t busy_until[MAX_BITS] = {0}; /* one past the last reader */

    for (size_t k = 0; k < builder->clobbers->count; k++) {
        for (struct version *v = builder->by_first[k]; v != NULL; v = v->next) {
            unsigned bit = 0;
            while (bit < MAX_BITS && busy_until[bit] > k)
                bit++;
            if (bit == MAX_BITS)
                return RP_UNSUPPORTED;
            busy_until[bit] = last_reader(v) + 1;
            give_bit(builder, v, bit);
        }
    }
    return RP_OK;
}

static enum rp_status add_share(struct rp_shared_span *span, uint64_t version, uint64_t bytes)
{
    for (size_t i = 0; i < span->count; i++)
        if (span->shares[i].version == version) {
            span->shares[i].bytes += bytes;
            return RP_OK;
        }
    struct rp_shared_share *shares =
        realloc(span->shares, (span->count + 1) * sizeof(*shares));
    if (shares == NULL)
        return RP_NO_MEMORY;
    span->shares = shares;
    shares[span->count++] = (struct rp_shared_share){version, bytes};
    return RP_OK;
}

static enum rp_status collect_span(void *context, uint64_t lo, uint64_t hi,
                                   const size_t *readers, size_t count)
{
    struct builder *builder = context;
    const struct version *version = count > 1 ? find_version(builder, readers, count) : NULL;
    uint64_t bit = version != NULL ? (uint64_t)1 << version->bit : 0;
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        size_t k = readers[i];
        size_t span = rp_spans_seek(&builder->clobbers->clobbered[k], lo);
        status = add_share(&builder->to->spans[k][span], bit, hi - lo);
    }
    return status;
}

static enum rp_status allot(const struct rp_clobbers *clobbers, struct rp_shared_versions *to)
{
    size_t count = clobbers->count;
    bool good;

    *to = (struct rp_shared_versions){
        .count = count,
        .read = calloc(count + 1, sizeof(uint64_t)),
        .first_read = calloc(count + 1, sizeof(uint64_t)),
        .wanted_after = calloc(count + 1, sizeof(uint64_t)),
        .spans = calloc(count + 1, sizeof(*to->spans)),
        .span_count = calloc(count + 1, sizeof(size_t)),
    };
    good = to->read && to->first_read && to->wanted_after && to->spans && to->span_count;
    for (size_t k = 0; good && k < count; k++) {
        to->span_count[k] = clobbers->clobbered[k].count;
        to->spans[k] = calloc(to->span_count[k] + 1, sizeof(**to->spans));
        good = to->spans[k] != NULL;
    }
    return good ? RP_OK : RP_NO_MEMORY;
}

static void free_versions(struct version **by_first, size_t count)
{
    for (size_t k = 0; by_first != NULL && k < count; k++) {
        while (by_first[k] != NULL) {
            struct version *version = by_first[k];
            by_first[k] = version->next;
            free(version->readers);
            free(version);
        }
    }
    free(by_first);
}

enum rp_status rp_shared_versions_create(const struct rp_clobbers *clobbers,
                                         struct rp_shared_versions *versions)
{
    struct builder builder = {
        clobbers, versions, calloc(clobbers->count + 1, sizeof(struct version *))};
    enum rp_status status = allot(clobbers, versions);

    if (status == RP_OK && builder.by_first == NULL)
        status = RP_NO_MEMORY;
    if (status == RP_OK)
        status = visit_epochs(clobbers, collect_version, &builder);
    if (status == RP_OK)
        status = assign_bits(&builder);
    if (status == RP_OK)
        status = visit_epochs(clobbers, collect_span, &builder);
    free_versions(builder.by_first, clobbers->count);
    if (status != RP_OK)
        rp_shared_versions_release(versions);
    return status;
}

void rp_shared_versions_release(struct rp_shared_versions *versions)
{
    for (size_t k = 0; versions->spans != NULL && k < versions->count; k++) {
        for (size_t i = 0; versions->spans[k] != NULL && i < versions->span_count[k]; i++)
            free(versions->spans[k][i].shares);
        free(versions->spans[k]);
    }
    free(versions->read);
    free(versions->first_read);
    free(versions->wanted_after);
    free(versions->spans);
    free(versions->span_count);
    *versions = (struct rp_shared_versions){.count = 0};
}

void rp_shared_missing(const struct rp_shared_versions *versions,
                       const struct rp_profile *profile, size_t k, uint64_t preserved,
                       uint64_t *bytes, uint64_t *pieces, uint64_t *held)
{
    *bytes = *pieces = *held = 0;
    for (size_t i = 0; i < versions->span_count[k]; i++) {
        const struct rp_shared_span *span = &versions->spans[k][i];
        uint64_t missing = 0, rounded = 0;
        for (size_t j = 0; j < span->count; j++)
            if ((span->shares[j].version & preserved) == 0)
                missing += span->shares[j].bytes;
        (void)rp_round_up(profile, missing, &rounded); /* the whole span's fits */
        *bytes += missing;
        *pieces += missing > 0;
        *held += rounded;
    }
}
