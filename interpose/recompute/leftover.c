/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/leftover.h"

#include "interpose/recompute/fence.h"
#include "interpose/run/core.h"
#include "tracker/array.h"

struct leftover {
    struct rp_backed *backed;
    uint64_t fence; /* when it was freed, by rp_fence_now */
};

static struct {
    struct leftover *items;
    size_t count, capacity;
} leftovers;

bool rp_leftover_add(struct rp_backed *backed)
{
    void *bigger = rp_array_reserve(leftovers.items, &leftovers.capacity, leftovers.count + 1,
                                    sizeof *leftovers.items);
    rp_backing_part(backed);
    if (!bigger)
        return false;
    leftovers.items = bigger;
    leftovers.items[leftovers.count++] = (struct leftover){backed, rp_fence_now()};
    return true;
}

static void destroy_at(size_t at)
{
    rp_backing_destroy(leftovers.items[at].backed);
    leftovers.items[at] = leftovers.items[--leftovers.count];
}

uint64_t rp_leftovers_reclaim(void)
{
    uint64_t before = rp_backings_mapped();
    for (size_t i = leftovers.count; i-- > 0;) {
        uint64_t fence = leftovers.items[i].fence;
        if (fence < rp_fence_reach() && rp_fence_wait(fence))
            destroy_at(i);
    }
    return before - rp_backings_mapped();
}

void rp_leftovers_lose(uint64_t context)
{
    for (size_t i = leftovers.count; i-- > 0;)
        if (rp_backing_owner(leftovers.items[i].backed) == context)
            destroy_at(i);
}

void rp_leftovers_forget(void)
{
    leftovers.count = 0;
}
