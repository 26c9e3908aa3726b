/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/range.h"

#include <stdlib.h>
#include <string.h>

struct rp_range *rp_ranges_push(struct rp_ranges *ranges, const void *domain)
{
    if (ranges->count == RP_MAX_RANGES) {
        ranges->deeper++;
        return NULL;
    }
    struct rp_range *range = &ranges->open[ranges->count++];
    *range = (struct rp_range){.domain = domain};
    return range;
}

bool rp_ranges_pop(struct rp_ranges *ranges, const void *domain)
{
    if (ranges->deeper) {
        ranges->deeper--;
        return false;
    }
    for (unsigned i = ranges->count; i-- > 0;)
        if (ranges->open[i].domain == domain && !ranges->open[i].ended) {
            ranges->open[i].ended = true;
            return true;
        }
    return false;
}

bool rp_ranges_take(struct rp_ranges *ranges, enum rp_range_kind *opened)
{
    bool holds_others = false;
    for (unsigned i = ranges->count; i-- > 0;) {
        const struct rp_range *range = &ranges->open[i];
        bool is_scope = range->opened == RP_RANGE_SCOPE;
        if (range->ended && !(is_scope && holds_others)) {
            *opened = (enum rp_range_kind)range->opened;
            memmove(&ranges->open[i], &ranges->open[i + 1],
                    (--ranges->count - i) * sizeof *ranges->open);
            return true;
        }
        holds_others = holds_others || is_scope;
    }
    return false;
}

void rp_ranges_push_early(struct rp_ranges *ranges, const void *domain, const char *message)
{
    struct rp_range *range = rp_ranges_push(ranges, domain);
    if (range)
        range->early = strdup(message);
}

void rp_ranges_pop_early(struct rp_ranges *ranges, const void *domain)
{
    enum rp_range_kind opened;
    if (!rp_ranges_pop(ranges, domain))
        return;
    for (unsigned i = 0; i < ranges->count; i++)
        if (ranges->open[i].ended)
            free(ranges->open[i].early);
    rp_ranges_take(ranges, &opened);
}

char *rp_ranges_take_early(struct rp_ranges *ranges, struct rp_range **range)
{
    for (unsigned i = 0; i < ranges->count; i++) {
        char *message = ranges->open[i].early;
        if (!message)
            continue;
        *range = &ranges->open[i];
        (*range)->early = NULL;
        return message;
    }
    return NULL;
}

void rp_ranges_release(struct rp_ranges *ranges)
{
    for (unsigned i = 0; i < ranges->count; i++)
        free(ranges->open[i].early);
    ranges->count = ranges->deeper = 0;
}

unsigned rp_ranges_depth(const struct rp_ranges *ranges, const void *domain)
{
    unsigned depth = ranges->deeper;
    for (unsigned i = 0; i < ranges->count; i++)
        depth += ranges->open[i].domain == domain && !ranges->open[i].ended;
    return depth;
}
