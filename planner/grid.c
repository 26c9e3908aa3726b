/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/grid.h"

#include <stdlib.h>
#include <string.h>

/* The caller frees *to. */
static enum rp_status widen(const struct rp_profile *profile, const struct rp_buffer_range *ranges,
                            size_t count, uint64_t page, const struct rp_buffer_range **to)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    struct rp_buffer_range *wide = calloc(count + 1, sizeof(*wide));

    *to = wide;
    for (size_t i = 0; wide != NULL && i < count; i++) {
        uint64_t most = buffers[ranges[i].buffer].bytes, over = ranges[i].hi % page;
        uint64_t hi = over > 0 ? ranges[i].hi - over + page : ranges[i].hi; /* below 2^64 */
        wide[i] = (struct rp_buffer_range){ranges[i].buffer, ranges[i].lo - ranges[i].lo % page,
                                           hi < most ? hi : most};
    }
    return wide != NULL ? RP_OK : RP_NO_MEMORY;
}

static void release(const struct rp_facts *facts)
{
    free((void *)(uintptr_t)facts->reads);
    free((void *)(uintptr_t)facts->writes);
    free((void *)(uintptr_t)facts->backward_writes);
}

static enum rp_status add_segment(const struct rp_profile *profile, size_t k, uint64_t page,
                                  struct rp_profile *grid)
{
    const struct rp_facts *fine = rp_profile_facts(profile, k);
    struct rp_facts facts = *fine;

    facts.reads = facts.writes = facts.backward_writes = NULL;
    enum rp_status status = widen(profile, fine->reads, fine->read_count, page, &facts.reads);
    if (status == RP_OK)
        status = widen(profile, fine->writes, fine->write_count, page, &facts.writes);
    if (status == RP_OK)
        status = widen(profile, fine->backward_writes, fine->backward_write_count, page,
                       &facts.backward_writes);
    if (status == RP_OK)
        status = rp_profile_add_facts(grid, rp_profile_segment(profile, k)->name, &facts);
    release(&facts);
    return status;
}

static enum rp_status fill_head(const struct rp_profile *profile, struct rp_profile *grid)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    enum rp_status status = RP_OK;

    rp_profile_set_base(grid, rp_profile_base(profile));
    rp_profile_set_quantum(grid, rp_profile_quantum(profile));
    rp_profile_set_copy_price(grid, rp_profile_copy_price(profile));
    for (size_t i = 0; i < buffer_count && status == RP_OK; i++)
        status = rp_profile_add_buffer(grid, buffers[i].name, buffers[i].bytes);
    return status;
}

static enum rp_status fill(const struct rp_profile *profile, uint64_t page,
                           struct rp_profile *grid)
{
    char message[200];
    enum rp_status status = fill_head(profile, grid);

    for (size_t k = 0; k < rp_profile_count(profile) && status == RP_OK; k++)
        status = add_segment(profile, k, page, grid);
    return status == RP_OK ? rp_profile_close(grid, message, sizeof(message)) : status;
}

/* The rows that the facts alone give when ranges are widened. */
static enum rp_status derive(const struct rp_profile *profile, uint64_t page,
                             struct rp_profile **out)
{
    *out = NULL;
    enum rp_status status = rp_profile_create(out);
    if (status == RP_OK)
        status = fill(profile, page, *out);
    if (status != RP_OK) {
        rp_profile_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- rows of their own --------------------------------------------------------- */

/* What was measured, and what pages add to it (or take from it). */
static void shift(struct rp_cost *cost, const struct rp_cost *fine, const struct rp_cost *wide)
{
    for (int t = 0; t < RP_TERM_COUNT; t++) {
        uint64_t from = fine->terms[t].value, to = wide->terms[t].value;
        struct rp_measure *term = &cost->terms[t];
        if (from == to)
            continue;
        if (to > from) /* both are below 2^63; what the sum leaves is found on closing */
            term->value += to - from;
        else
            term->value -= from - to < term->value ? from - to : term->value;
        term->source = RP_SOURCE_DERIVED;
    }
}

/* What pages add counts from the forward on. Where they take away more than is held later, all
 * does. */
static void keep_later(struct rp_cost *cost)
{
    uint64_t later = 0;

    for (size_t i = 0; i < cost->later_count; i++)
        later += cost->later[i].bytes; /* no more than what was held */
    if (later > cost->terms[RP_TERM_HOLD].value)
        cost->later_count = 0;
}

static enum rp_status shift_segment(const struct rp_profile *profile, size_t k,
                                    const struct rp_profile *fine, const struct rp_profile *wide,
                                    struct rp_profile *grid)
{
    const struct rp_segment *segment = rp_profile_segment(profile, k);
    struct rp_cost costs[RP_CHOICE_COUNT];

    memcpy(costs, segment->costs, sizeof(costs));
    if (costs[RP_CHOICE_REGIONS].allowed)
        shift(&costs[RP_CHOICE_REGIONS], &rp_profile_segment(fine, k)->costs[RP_CHOICE_REGIONS],
              &rp_profile_segment(wide, k)->costs[RP_CHOICE_REGIONS]);
    keep_later(&costs[RP_CHOICE_REGIONS]);
    return rp_profile_add_both(grid, segment->name, costs, rp_profile_facts(wide, k));
}

/* Replaces *grid, which was derived from the facts alone. */
static enum rp_status shift_rows(const struct rp_profile *profile, struct rp_profile **grid)
{
    struct rp_profile *wide = *grid, *fine = NULL;
    char message[200];

    *grid = NULL;
    enum rp_status status = derive(profile, 1, &fine);
    if (status == RP_OK)
        status = rp_profile_create(grid);
    if (status == RP_OK)
        status = fill_head(profile, *grid);
    for (size_t k = 0; k < rp_profile_count(profile) && status == RP_OK; k++)
        status = shift_segment(profile, k, fine, wide, *grid);
    if (status == RP_OK)
        status = rp_profile_close(*grid, message, sizeof(message));
    rp_profile_destroy(fine);
    rp_profile_destroy(wide);
    return status;
}

enum rp_status rp_grid_create(const struct rp_profile *profile, uint64_t page,
                              struct rp_profile **out)
{
    *out = NULL;
    if (rp_profile_count(profile) == 0 || rp_profile_facts(profile, 0) == NULL)
        return RP_UNSUPPORTED;
    enum rp_status status = derive(profile, page, out);
    if (status == RP_OK && rp_profile_has_rows(profile))
        status = shift_rows(profile, out);
    if (status != RP_OK) {
        rp_profile_destroy(*out);
        *out = NULL;
    }
    return status;
}
