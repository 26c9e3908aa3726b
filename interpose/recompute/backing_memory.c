/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/backed.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/granule.h"

static uint64_t address_of(const struct rp_backed *backed, size_t at)
{
    return backed->address + at * rp_granule_bytes();
}

static enum rp_status fill_granule(struct rp_backed *backed, size_t at)
{
    struct rp_granule *granule = &backed->granules[at];
    if (granule->handle)
        return RP_OK;
    if (!rp_backing_fits(rp_granule_bytes()))
        return RP_NO_MEMORY;
    enum rp_status status =
        rp_granule_fill(address_of(backed, at), backed->device, &granule->handle);
    if (status != RP_OK)
        return status;
    granule->absent = false;
    rp_backing_account(rp_granule_bytes(), 0);
    return RP_OK;
}

static uint64_t empty_granule(struct rp_backed *backed, size_t at)
{
    struct rp_granule *granule = &backed->granules[at];
    if (!granule->handle)
        return 0;
    rp_granule_empty(address_of(backed, at), granule->handle);
    granule->handle = 0;
    rp_backing_account(0, rp_granule_bytes());
    return rp_granule_bytes();
}

/* The granules that [lo, hi) touches. */
static void touched(const struct rp_backed *backed, uint64_t lo, uint64_t hi, size_t *first,
                    size_t *end)
{
    if (hi > backed->span)
        hi = backed->span;
    *first = lo / rp_granule_bytes();
    *end = (hi + rp_granule_bytes() - 1) / rp_granule_bytes();
}

uint64_t rp_backing_missing(const struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    size_t first, end;
    uint64_t bytes = 0;
    touched(backed, lo, hi, &first, &end);
    for (size_t i = first; i < end; i++)
        bytes += backed->granules[i].handle ? 0 : rp_granule_bytes();
    return bytes;
}

enum rp_status rp_backing_fill(struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    size_t first, end;
    touched(backed, lo, hi, &first, &end);
    if (!rp_backing_fits(rp_backing_missing(backed, lo, hi)))
        return RP_NO_MEMORY;
    for (size_t i = first; i < end; i++) {
        enum rp_status status = fill_granule(backed, i);
        if (status != RP_OK)
            return status; /* what was filled is empty memory, and can be taken again */
    }
    return RP_OK;
}

void rp_backing_inside(const struct rp_backed *backed, uint64_t *lo, uint64_t *hi)
{
    uint64_t end = *hi >= backed->bytes ? backed->span : *hi;
    *lo = (*lo + rp_granule_bytes() - 1) / rp_granule_bytes() * rp_granule_bytes();
    end = end / rp_granule_bytes() * rp_granule_bytes();
    *hi = end > backed->bytes ? backed->bytes : end;
    if (*lo > *hi)
        *lo = *hi;
}

uint64_t rp_backing_empty(struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    uint64_t bytes = 0;
    size_t first, end;
    rp_backing_inside(backed, &lo, &hi);
    touched(backed, lo, hi, &first, &end);
    for (size_t i = first; lo < hi && i < end; i++)
        bytes += empty_granule(backed, i);
    return bytes;
}

void rp_backing_use(struct rp_backed *backed, uint64_t lo, uint64_t hi, uint64_t call)
{
    size_t first, end;
    touched(backed, lo, hi, &first, &end);
    for (size_t i = first; i < end; i++) {
        backed->granules[i].used = call;
        backed->granules[i].fence = rp_fence_now();
    }
}

void rp_backing_run(const struct rp_backed *backed, uint64_t lo, uint64_t *hi, bool *is_there,
                    struct rp_use *used)
{
    size_t first, end, i;
    touched(backed, lo, *hi, &first, &end);
    *is_there = backed->granules[first].handle != 0;
    *used = (struct rp_use){backed->granules[first].used, backed->granules[first].fence};
    for (i = first + 1; i < end; i++)
        if (backed->granules[i].used != used->call || backed->granules[i].fence != used->fence ||
            (backed->granules[i].handle != 0) != *is_there)
            break;
    if (i < end)
        *hi = i * rp_granule_bytes();
}

uint64_t rp_backing_make_absent(struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    size_t first, end;
    touched(backed, lo, hi, &first, &end);
    uint64_t bytes = rp_backing_empty(backed, lo, hi);
    for (size_t i = first; i < end; i++)
        backed->granules[i].absent = !backed->granules[i].handle;
    return bytes;
}

bool rp_backing_is_absent(const struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    size_t first, end;
    touched(backed, lo, hi, &first, &end);
    while (first < end && !backed->granules[first].absent)
        first++;
    return first < end && !backed->parted;
}
