/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/places.h"

#include "interpose/calls/context.h"
#include "interpose/calls/object.h"
#include "interpose/calls/reach.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- the layer, as far as it is needed ------------------------------------------------- */

struct rp_core rp_core;

bool rp_context_is_one(void)
{
    return true;
}

struct rp_kernel_in rp_launched_in(const struct rp_launched *launch,
                                   const struct rp_footprint *call)
{
    (void)call;
    return (struct rp_kernel_in){launch->kernel, 0};
}

uint64_t rp_kernel_symbol(void *ctx, const char *symbol, uint64_t *bytes)
{
    (void)ctx, (void)symbol, (void)bytes;
    return 0;
}

enum rp_status rp_kernel_globals(const struct rp_kernel *kernel, rp_kernel_global_fn visit,
                                 void *ctx)
{
    (void)kernel, (void)visit, (void)ctx;
    return RP_OK;
}

enum rp_status rp_object_reach(struct rp_footprint *call, const unsigned char *params,
                               size_t bytes, unsigned effects)
{
    (void)call, (void)params, (void)bytes, (void)effects;
    return RP_OK;
}

void rp_remark(const char *name, const char *text)
{
    (void)name, (void)text;
}

bool rp_keep_discovers(void)
{
    return true;
}

uint64_t rp_remarks_made(void)
{
    return 0;
}

/* ---- allocations ----------------------------------------------------------------------- */

#define REGION (UINT64_C(1) << 56)
enum { MOST_PLACES = 16 };

/* All pointers near one multiple of 2^56, and the memory that they may lead to. */
static struct place {
    uint64_t first, last; /* the lowest pointer and the highest */
    uint64_t lo, hi;      /* what is theirs */
} places[MOST_PLACES];
static size_t place_count;

static bool is_near(uint64_t a, uint64_t b)
{
    return a - b + REGION / 2 < REGION;
}

static struct place *place_of(uint64_t address)
{
    for (size_t i = 0; i < place_count; i++)
        if (is_near(address, places[i].first))
            return &places[i];
    return NULL;
}

/* What is in the first region is no pointer. */
static void add_pointer(uint64_t pointer)
{
    struct place *place = place_of(pointer);
    if (pointer < REGION / 2 || pointer > REGION * 0x20 || (!place && place_count == MOST_PLACES))
        return;
    if (!place) {
        place = &places[place_count++];
        place->first = place->last = pointer;
    }
    place->first = pointer < place->first ? pointer : place->first;
    place->last = pointer > place->last ? pointer : place->last;
}

static void add_memory(uint64_t lo, uint64_t hi)
{
    rp_alloc_id id;
    if (hi > lo)
        assert_int_equal(rp_memory_add(rp_core.bench.memory, RP_ALLOC_DEVICE, hi - lo, lo, 0, 1,
                                       NULL, &id), RP_OK);
}

/* A pointer to the end of its memory may as well be one to what begins there. */
static void surround(struct place *place, uint64_t seed)
{
    static const uint64_t sizes[] = {64, 256, 1024, 8192};
    uint64_t before = sizes[seed % 4], after = sizes[seed / 4 % 4];
    bool ends = place->first == place->last && seed / 16 % 3 == 0;
    bool is_last = seed / 48 % 2;
    place->lo = place->first - (ends || seed / 48 % 3 == 0 ? before : 0);
    place->hi = place->last + (ends && is_last ? 0 : after);
    add_memory(place->lo - 512, place->lo);
    add_memory(place->lo, ends ? place->first : place->hi);
    if (ends)
        add_memory(place->first, place->hi);
    if (!ends || !is_last)
        add_memory(place->hi, place->hi + 512);
}

void places_make(const struct generated *launch, uint64_t seed)
{
    assert_int_equal(rp_memory_create(&rp_core.bench.memory), RP_OK);
    place_count = 0;
    for (size_t at = 0; at + 8 <= sizeof launch->params; at += 8) {
        uint64_t word;
        memcpy(&word, launch->params + at, sizeof word);
        add_pointer(word);
    }
    for (int i = 0; i < GENERATED_TABLES; i++)
        for (int j = 0; launch->tables[i].address && j < GENERATED_WORDS; j++)
            add_pointer(launch->tables[i].words[j]);
    for (size_t i = 0; i < place_count; i++, seed = seed * 0x9e3779b97f4a7c15u + 1)
        surround(&places[i], seed >> 20);
}

void places_clear(void)
{
    rp_memory_destroy(rp_core.bench.memory);
    rp_core.bench.memory = NULL;
}

/* ---- claims ---------------------------------------------------------------------------- */

static struct scalar_ranges claims_of(const struct rp_footprint *call, enum rp_effect effect)
{
    struct scalar_ranges claims = {0};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        uint64_t address = rp_memory_get(rp_core.bench.memory, reach->id)->address;
        if (reach->effect == effect)
            scalar_add(&claims, address + reach->lo, address + reach->hi);
    }
    scalar_tidy(&claims);
    return claims;
}

/* Of [lo, hi) what is to be claimed: what lies in the memory of the pointers there, or without any
 * assumption in any memory. */
static bool is_claimed(const struct scalar_ranges *claims, struct scalar_range range, bool assumed)
{
    const struct place *place = place_of(range.lo);
    if (!place)
        return true;
    uint64_t lo = place->lo, hi = place->hi, start, end;
    if (!assumed && rp_memory_find(rp_core.bench.memory, place->lo - 1, NULL, NULL, NULL) == RP_OK)
        lo -= 512;
    if (!assumed && rp_memory_run(rp_core.bench.memory, place->hi, &start, &end) == RP_OK)
        hi = end;
    range.lo = range.lo < lo ? lo : range.lo;
    range.hi = range.hi > hi ? hi : range.hi;
    return range.lo >= range.hi || scalar_covers(claims, range.lo, range.hi);
}

static bool check_effect(const struct rp_footprint *call, enum rp_effect effect,
                         const struct scalar_ranges *touched, bool assumed, char message[160])
{
    struct scalar_ranges claims = claims_of(call, effect);
    bool good = true;
    for (size_t i = 0; i < touched->count && good; i++) {
        good = is_claimed(&claims, touched->items[i], assumed);
        if (!good)
            snprintf(message, 160, "%s [%#llx, %#llx) in the memory of its pointer, not claimed%s",
                     effect == RP_WRITE ? "wrote" : "read",
                     (unsigned long long)touched->items[i].lo,
                     (unsigned long long)touched->items[i].hi,
                     assumed ? "" : " (assume_in_bounds: false)");
    }
    scalar_release(&claims);
    return good;
}

static bool check_certain(const struct rp_footprint *call, const struct scalar_trace *trace,
                          char message[160])
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        uint64_t address = rp_memory_get(rp_core.bench.memory, reach->id)->address;
        const struct scalar_ranges *touched = reach->effect == RP_WRITE ? &trace->writes
                                                                        : &trace->reads;
        if (!reach->certain || scalar_covers(touched, address + reach->lo, address + reach->hi))
            continue;
        snprintf(message, 160, "did not %s all of [%#llx, %#llx), said to be certain",
                 reach->effect == RP_WRITE ? "write" : "read",
                 (unsigned long long)(address + reach->lo),
                 (unsigned long long)(address + reach->hi));
        return false;
    }
    return true;
}

/* What is reachable at best is speculation, and called so. */
static bool check_once(const struct rp_kernel *kernel, const struct rp_launch *launch,
                       const struct scalar_trace *trace, bool assumed, char message[160])
{
    struct rp_contract contract = {.assume_in_bounds = assumed};
    struct rp_footprint *call = rp_footprint_take();
    const struct rp_launched launched = {.kernel = kernel, .geometry = *launch, .gathered = true};
    rp_core.config.contract = &contract;
    rp_footprint_begin(call, 0, 0);
    assert_int_equal(rp_reach_proved(call, &launched), RP_OK);
    bool good = check_certain(call, trace, message) &&
                (call->reads >= RP_VERDICT_REACHABLE ||
                 check_effect(call, RP_READ, &trace->found, assumed, message)) &&
                (call->writes >= RP_VERDICT_REACHABLE ||
                 check_effect(call, RP_WRITE, &trace->writes, assumed, message));
    rp_footprint_give(call);
    rp_core.config.contract = NULL;
    return good;
}

bool places_check(const struct rp_proof *proof, struct rp_memo *memo,
                  const struct rp_launch *launch, const struct scalar_trace *trace,
                  char message[160])
{
    const struct rp_kernel kernel = {.proof = proof, .memo = memo};
    return check_once(&kernel, launch, trace, true, message) &&
           check_once(&kernel, launch, trace, true, message) && /* as it is remembered */
           check_once(&kernel, launch, trace, false, message);
}
