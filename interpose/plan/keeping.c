/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/keeping.h"

static bool is_same(const struct rp_kept_from *a, const struct rp_kept_from *b)
{
    return a->backward == b->backward && a->place == b->place;
}

/* Between the forward of the segment at `place` and its replay. */
static bool is_between(const struct rp_kept_from *from, uint32_t place)
{
    return from->place > place && from->place != UINT32_MAX;
}

static void add_later(struct rp_keeping *keeping, struct rp_kept_from from, uint64_t bytes)
{
    struct rp_kept_from *last =
        keeping->later_count ? &keeping->later[keeping->later_count - 1] : NULL;
    if (last && (is_same(last, &from) || keeping->later_count == RP_KEEPING_LATER)) {
        last->blocks += rp_store_block_bytes(bytes);
    } else {
        from.blocks = rp_store_block_bytes(bytes);
        keeping->later[keeping->later_count++] = from;
    }
}

static struct rp_kept_size *size_of(struct rp_keeping *keeping, uint64_t block)
{
    for (size_t i = 0; i < keeping->size_count && i < RP_KEEPING_SIZES; i++)
        if (keeping->sizes[i].bytes == block)
            return &keeping->sizes[i];
    if (keeping->size_count < RP_KEEPING_SIZES)
        keeping->sizes[keeping->size_count] = (struct rp_kept_size){.bytes = block};
    keeping->size_count += keeping->size_count <= RP_KEEPING_SIZES;
    return keeping->size_count <= RP_KEEPING_SIZES ? &keeping->sizes[keeping->size_count - 1]
                                                   : NULL;
}

static void count_size(struct rp_keeping *keeping, bool early, uint64_t bytes)
{
    struct rp_kept_size *size = size_of(keeping, rp_store_block_bytes(bytes));
    if (!size)
        return;
    size->all++;
    size->early += early;
}

void rp_keeping_add(struct rp_keeping *keeping, uint32_t place, bool early,
                    struct rp_kept_from from, uint64_t bytes)
{
    rp_amount_add(&keeping->all, bytes);
    if (early)
        rp_amount_add(&keeping->early, bytes);
    count_size(keeping, early, bytes);
    if (from.backward && from.place == place)
        return; /* within its own replay, or right before it */
    rp_amount_add(&keeping->held, bytes);
    if (is_between(&from, place))
        add_later(keeping, from, bytes);
}
