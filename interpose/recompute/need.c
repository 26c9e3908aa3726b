/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/need.h"

#include "cuda/driver_real.h"
#include "interpose/door/real.h"
#include "interpose/recompute/granule.h"
#include "interpose/run/core.h"

static struct {
    uint64_t least, of_calls, expected; /* bytes */
    struct rp_spans met;                /* of one allocation, by the call in hand */
} needs;

void rp_need_forget(void)
{
    needs.least = needs.of_calls = needs.expected = 0;
}

void rp_need_expect(uint64_t bytes)
{
    needs.expected = bytes;
}

uint64_t rp_need_least(void)
{
    return needs.least;
}

uint64_t rp_need_of_calls(void)
{
    return needs.of_calls > needs.expected ? needs.of_calls : needs.expected;
}

static void note_most(uint64_t *most, uint64_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

/* Of the driver's own making, or such that it stays where it is. */
uint64_t rp_need_fixed(void)
{
    return rp_core.device_bytes - rp_backings_mapped() + rp_backings_staying();
}

/* Nothing goes while a stream is captured, nor once a second context works. */
static bool all_stays(void)
{
    return rp_core.captures || rp_backing_is_shared();
}

/* Bytes that there would be if nothing were taken. */
static uint64_t need_of_everything(void)
{
    return rp_need_fixed() - rp_backings_staying() + rp_backings_span();
}

/* As a job finds that asks for more until it is refused. */
bool rp_need_fits_device(uint64_t more)
{
    size_t left, total;
    uint64_t all = need_of_everything();
    return rp_real.cuMemGetInfo_v2(&left, &total) == CUDA_SUCCESS && all <= total &&
           more <= total - all;
}

void rp_need_everything(void)
{
    note_most(&needs.least, need_of_everything());
}

void rp_need_memory(void)
{
    if (all_stays())
        rp_need_everything();
    note_most(&needs.least, rp_need_fixed());
}

/* ---- what a call meets ------------------------------------------------------------------ */

static bool is_first_of_its_allocation(const struct rp_footprint *call, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (call->reaches[i].id == call->reaches[at].id)
            return false;
    return true;
}

/* Gathers what the call meets of one allocation, in whole granules. False when the host is out of
 * memory. */
static bool gather(const struct rp_footprint *call, rp_alloc_id id)
{
    uint64_t granule = rp_granule_bytes();
    rp_spans_clear(&needs.met);
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->id == id && reach->lo < reach->hi &&
            rp_spans_add(&needs.met, reach->lo / granule * granule,
                         (reach->hi + granule - 1) / granule * granule) != RP_OK)
            return false;
    }
    return true;
}

/* Bytes of memory under what the call meets; or of it what is not there. */
static uint64_t met_by(const struct rp_footprint *call, bool only_missing)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_backed *backed = rp_backing_of(call->reaches[i].id);
        if (!backed || rp_backing_stays(backed) || !is_first_of_its_allocation(call, i))
            continue;
        if (!gather(call, call->reaches[i].id)) {
            bytes += rp_backing_end(backed) - rp_backing_address(backed); /* it may be all of it */
            continue;
        }
        for (size_t j = 0; only_missing && j < needs.met.count; j++)
            bytes += rp_backing_missing(backed, needs.met.items[j].lo, needs.met.items[j].hi);
        bytes += only_missing ? 0 : rp_spans_bytes(&needs.met);
    }
    return bytes;
}

uint64_t rp_need_missing(const struct rp_footprint *call)
{
    return met_by(call, true);
}

/* No less than it meets: most calls meet less than an earlier one, and are told by this. */
static uint64_t most_met_by(const struct rp_footprint *call)
{
    uint64_t bytes = 0, granule = rp_granule_bytes();
    for (size_t i = 0; i < call->count; i++)
        bytes += call->reaches[i].hi - call->reaches[i].lo + 2 * granule;
    return bytes;
}

void rp_need_call(const struct rp_footprint *call)
{
    if (rp_footprint_is_unproved(call) || call->in_graph)
        rp_need_everything();
    else if (rp_need_fixed() + most_met_by(call) > needs.of_calls)
        note_most(&needs.of_calls, rp_need_fixed() + met_by(call, false));
    note_most(&needs.least, needs.of_calls);
}
