/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/offload.h"

#include "cuda/switches.h"
#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST = 1024, SMALL = 64 };

/* Rings: the oldest are overwritten. A job may read a number of a few bytes from the device time
 * and again, which must not push out what is to come back. */
static struct ring {
    struct offloaded {
        XXH128_hash_t hash;
        struct rp_provenance provenance; /* the latest: others may have made the same */
    } list[MOST];
    size_t next;
} rings[2];

static struct ring *ring_of(uint64_t bytes)
{
    return &rings[bytes < SMALL];
}

static enum rp_status take(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct rp_provenance *found = ctx;
    uint64_t begin = lo - writer->place;
    bool goes_on = !found->maker || (found->maker == rp_writer_maker(writer) &&
                                     found->begin + found->bytes == begin);
    if (!writer->version || writer->speculative || !goes_on ||
        !rp_versions_trust(rp_core.bench.versions, rp_writer_maker(writer)))
        return RP_END;
    if (!found->maker)
        found->begin = begin;
    found->maker = rp_writer_maker(writer);
    found->bytes += hi - lo;
    return RP_OK;
}

/* Of what the call reads: maker 0 where it was made in several goes, or others may write it. */
static struct rp_provenance provenance_of(const struct rp_footprint *call)
{
    struct rp_provenance found = {0};
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *read = &call->reaches[i];
        const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, read->id);
        if (!read->certain || !alloc || rp_unseen_why(alloc) ||
            rp_versions_read(rp_core.bench.versions, read->id, read->lo, read->hi, take,
                             &found) != RP_OK)
            return (struct rp_provenance){0};
    }
    return found;
}

static size_t count_of(const struct ring *ring)
{
    return ring->next < MOST ? ring->next : MOST;
}

/* Hashing is what costs here: most of what goes out has no match in size. */
static bool has_size(const struct ring *ring, uint64_t bytes)
{
    for (size_t i = 0; i < count_of(ring); i++)
        if (ring->list[i].provenance.bytes == bytes)
            return true;
    return false;
}

static struct offloaded *find(struct ring *ring, uint64_t bytes, XXH128_hash_t hash)
{
    for (size_t i = 0; i < count_of(ring); i++)
        if (ring->list[i].provenance.bytes == bytes && XXH128_isEqual(ring->list[i].hash, hash) &&
            rp_versions_trust(rp_core.bench.versions, ring->list[i].provenance.maker))
            return &ring->list[i];
    return NULL;
}

void rp_offload_note(const struct rp_footprint *call)
{
    if (!rp_switch_on(RP_SWITCH_COPIES))
        return;
    struct rp_provenance provenance = provenance_of(call);
    if (!provenance.maker || provenance.bytes != call->host.taken_bytes)
        return;
    struct ring *ring = ring_of(call->host.taken_bytes);
    XXH128_hash_t hash = XXH3_128bits(call->host.taken, call->host.taken_bytes);
    struct offloaded *known = find(ring, call->host.taken_bytes, hash);
    if (known) {
        (void)rp_versions_alike(rp_core.bench.versions, known->provenance, provenance);
        known->provenance = provenance;
        return;
    }
    ring->list[ring->next++ % MOST] = (struct offloaded){hash, provenance};
}

struct rp_provenance rp_offload_find(const void *host, uint64_t bytes)
{
    struct ring *ring = ring_of(bytes);
    if (!has_size(ring, bytes))
        return (struct rp_provenance){0};
    const struct offloaded *known = find(ring, bytes, XXH3_128bits(host, bytes));
    return known ? known->provenance : (struct rp_provenance){0};
}
