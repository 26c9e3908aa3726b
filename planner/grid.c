/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/grid.h"

#include <stdlib.h>

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

static enum rp_status fill(const struct rp_profile *profile, uint64_t page,
                           struct rp_profile *grid)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    char message[200];
    enum rp_status status = RP_OK;

    rp_profile_set_base(grid, rp_profile_base(profile));
    rp_profile_set_quantum(grid, rp_profile_quantum(profile));
    rp_profile_set_copy_price(grid, rp_profile_copy_price(profile));
    for (size_t i = 0; i < buffer_count && status == RP_OK; i++)
        status = rp_profile_add_buffer(grid, buffers[i].name, buffers[i].bytes);
    for (size_t k = 0; k < rp_profile_count(profile) && status == RP_OK; k++)
        status = add_segment(profile, k, page, grid);
    return status == RP_OK ? rp_profile_close(grid, message, sizeof(message)) : status;
}

enum rp_status rp_grid_create(const struct rp_profile *profile, uint64_t page,
                              struct rp_profile **out)
{
    *out = NULL;
    if (rp_profile_count(profile) == 0 || rp_profile_facts(profile, 0) == NULL)
        return RP_UNSUPPORTED;
    enum rp_status status = rp_profile_create(out);
    if (status == RP_OK)
        status = fill(profile, page, *out);
    if (status != RP_OK) {
        rp_profile_destroy(*out);
        *out = NULL;
    }
    return status;
}
