/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/clobber.h"

#include <stdlib.h>

enum rp_status rp_round_up(const struct rp_profile *profile, uint64_t bytes, uint64_t *rounded)
{
    uint64_t quantum = rp_profile_quantum(profile), rest = bytes % quantum;

    if (__builtin_add_overflow(bytes, rest > 0 ? quantum - rest : 0, rounded) ||
        *rounded > INT64_MAX)
        return RP_INVALID;
    return RP_OK;
}

enum rp_status rp_round_pieces(const struct rp_profile *profile, const struct rp_spans *pieces,
                               uint64_t *rounded)
{
    *rounded = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        uint64_t piece;
        if (rp_round_up(profile, pieces->items[i].hi - pieces->items[i].lo, &piece) != RP_OK ||
            piece > INT64_MAX - *rounded)
            return RP_INVALID;
        *rounded += piece;
    }
    return RP_OK;
}

static enum rp_status lay_out(const struct rp_profile *profile, struct rp_clobbers *clobbers)
{
    size_t count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &count);
    uint64_t at = 0;

    clobbers->buffer_start = calloc(count + 1, sizeof(*clobbers->buffer_start));
    if (clobbers->buffer_start == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        clobbers->buffer_start[i] = at;
        if (buffers[i].bytes > INT64_MAX - 1 - at)
            return RP_INVALID;
        at += buffers[i].bytes + 1;
    }
    return RP_OK;
}

static enum rp_status add_ranges(const struct rp_clobbers *clobbers, struct rp_spans *set,
                                 const struct rp_buffer_range *ranges, size_t count)
{
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        uint64_t start = clobbers->buffer_start[ranges[i].buffer];
        status = rp_spans_add(set, start + ranges[i].lo, start + ranges[i].hi);
    }
    return status;
}

static enum rp_status add_buffers(const struct rp_profile *profile,
                                  const struct rp_clobbers *clobbers, struct rp_spans *set,
                                  const struct rp_buffer_range *ranges, size_t count)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        uint64_t start = clobbers->buffer_start[ranges[i].buffer];
        status = rp_spans_add(set, start, start + buffers[ranges[i].buffer].bytes);
    }
    return status;
}

static enum rp_status read_facts(const struct rp_profile *profile, struct rp_clobbers *to,
                                 size_t k)
{
    const struct rp_facts *facts = rp_profile_facts(profile, k);
    enum rp_status status = add_ranges(to, &to->reads[k], facts->reads, facts->read_count);

    if (status == RP_OK)
        status = add_ranges(to, &to->writes[k], facts->writes, facts->write_count);
    if (status == RP_OK)
        status = add_ranges(to, &to->backward_writes[k], facts->backward_writes,
                            facts->backward_write_count);
    if (status == RP_OK)
        status = add_buffers(profile, to, &to->whole[k], facts->reads, facts->read_count);
    if (status == RP_OK)
        status = add_buffers(profile, to, &to->whole[k], facts->writes, facts->write_count);
    return status;
}

/* out += a ∩ b */
static enum rp_status add_common(struct rp_spans *out, const struct rp_spans *a,
                                 const struct rp_spans *b)
{
    struct rp_spans part = {NULL, 0, 0};
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < a->count && status == RP_OK; i++) {
        status = rp_spans_within(b, a->items[i].lo, a->items[i].hi, &part);
        if (status == RP_OK)
            status = rp_spans_add_all(out, &part);
    }
    rp_spans_release(&part);
    return status;
}

/* From the last segment to the first; `later` are the writes between the end of segment k's
 * forward and the replay of k. */
static enum rp_status derive(struct rp_clobbers *clobbers, struct rp_spans *later)
{
    enum rp_status status = RP_OK;

    for (size_t k = clobbers->count; k-- > 0 && status == RP_OK;) {
        status = add_common(&clobbers->clobbered[k], &clobbers->reads[k], later);
        if (status == RP_OK)
            status = add_common(&clobbers->clobbered[k], &clobbers->reads[k],
                                &clobbers->writes[k]);
        if (status == RP_OK)
            status = rp_spans_copy(&clobbers->stashed[k], &clobbers->clobbered[k]);
        if (status == RP_OK)
            status = rp_spans_add_all(&clobbers->stashed[k], &clobbers->writes[k]);
        if (status == RP_OK)
            status = rp_spans_add_all(later, &clobbers->writes[k]);
        if (status == RP_OK)
            status = rp_spans_add_all(later, &clobbers->backward_writes[k]);
    }
    return status;
}

enum { SETS = 6 };

static struct rp_spans **set_of(struct rp_clobbers *clobbers, size_t i)
{
    struct rp_spans **sets[SETS] = {&clobbers->reads,     &clobbers->writes,
                                    &clobbers->whole,     &clobbers->backward_writes,
                                    &clobbers->clobbered, &clobbers->stashed};

    return sets[i];
}

enum rp_status rp_clobbers_create(const struct rp_profile *profile, struct rp_clobbers *clobbers)
{
    struct rp_spans later = {NULL, 0, 0};
    enum rp_status status;

    *clobbers = (struct rp_clobbers){.count = rp_profile_count(profile)};
    status = lay_out(profile, clobbers);
    for (size_t i = 0; i < SETS; i++) {
        *set_of(clobbers, i) = calloc(clobbers->count + 1, sizeof(struct rp_spans));
        if (*set_of(clobbers, i) == NULL)
            status = RP_NO_MEMORY;
    }
    for (size_t k = 0; k < clobbers->count && status == RP_OK; k++)
        status = read_facts(profile, clobbers, k);
    if (status == RP_OK)
        status = derive(clobbers, &later);
    rp_spans_release(&later);
    if (status != RP_OK)
        rp_clobbers_release(clobbers);
    return status;
}

void rp_clobbers_release(struct rp_clobbers *clobbers)
{
    for (size_t i = 0; i < SETS; i++) {
        struct rp_spans *sets = *set_of(clobbers, i);
        for (size_t k = 0; sets != NULL && k < clobbers->count; k++)
            rp_spans_release(&sets[k]);
        free(sets);
    }
    free(clobbers->buffer_start);
    *clobbers = (struct rp_clobbers){.count = 0};
}
