/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/backed.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/calls/handlers.h"
#include "interpose/plan/cost.h"
#include "interpose/recompute/granule.h"
#include "interpose/run/budget.h"
#include "tracker/array.h"

static struct {
    struct rp_backed **items; /* by address */
    size_t count, capacity;
    unsigned home;    /* the number of the context that they are of, while there are any */
    uint64_t mapped, span; /* of all */
    uint64_t staying;
    uint64_t shared; /* the devices that work on it too, a bit each */
} backing;

/* ---- the device ----------------------------------------------------------------- */

uint64_t rp_backing_context(void)
{
    CUcontext context = NULL;
    return rp_real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? RP_HANDLE(context) : 0;
}

static unsigned context_number(void)
{
    return rp_driver_context_of(rp_context_stream(RP_HANDLE(CU_STREAM_LEGACY)));
}

/* Peers reach what the driver makes, and not what is mapped for one device. */
static bool is_number_home(unsigned number)
{
    return !backing.count || number == backing.home;
}

bool rp_backing_is_home(rp_stream stream)
{
    return is_number_home(rp_driver_context_of(stream));
}

bool rp_backing_suits(uint64_t bytes)
{
    uint64_t granule = rp_granule_bytes();
    bool is_worth_it = bytes >= granule || !rp_switch_on(RP_SWITCH_PLENTY);
    return granule && is_worth_it && !backing.shared && bytes <= UINT64_MAX - granule &&
           !rp_core.captures && is_number_home(context_number());
}

/* ---- accounts -------------------------------------------------------------------- */

bool rp_backing_fits(uint64_t bytes)
{
    uint64_t budget = rp_core.config.budget, used = rp_budget_taken();
    return budget == UINT64_MAX || (used <= budget && bytes <= budget - used);
}

void rp_backing_account(uint64_t more, uint64_t less)
{
    backing.mapped += more - less;
    rp_core.device_bytes += more - less;
    rp_budget_share();
    rp_cost_memory();
}

/* ---- allocations ----------------------------------------------------------------- */

/* Index of the first one that begins after `address`. */
static size_t seek(uint64_t address)
{
    size_t lo = 0, hi = backing.count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (backing.items[mid]->address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

size_t rp_backings_count(void)
{
    return backing.count;
}

uint64_t rp_backings_mapped(void)
{
    return backing.mapped;
}

uint64_t rp_backings_span(void)
{
    return backing.span;
}

struct rp_backed *rp_backings_at(size_t index)
{
    return backing.items[index];
}

struct rp_backed *rp_backing_find(uint64_t address)
{
    size_t at = seek(address);
    struct rp_backed *backed = at ? backing.items[at - 1] : NULL;
    return backed && !backed->parted && address - backed->address < backed->span ? backed : NULL;
}

struct rp_backed *rp_backing_of(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    return alloc && !alloc->death_seq ? rp_backing_find(alloc->address) : NULL;
}

uint64_t rp_backing_address(const struct rp_backed *backed)
{
    return backed->address;
}

uint64_t rp_backing_bytes(const struct rp_backed *backed)
{
    return backed->bytes;
}

uint64_t rp_backing_end(const struct rp_backed *backed)
{
    return backed->address + backed->span;
}

uint64_t rp_backing_owner(const struct rp_backed *backed)
{
    return backed->context;
}

uint64_t rp_backing_number(const struct rp_backed *backed)
{
    return backed->number;
}

void rp_backing_put_into(struct rp_backed *backed, struct rp_pool *pool)
{
    backed->pool = pool;
}

struct rp_pool *rp_backing_pool(const struct rp_backed *backed)
{
    return backed->pool;
}

void rp_backing_stay(struct rp_backed *backed)
{
    backing.staying += backed->stays ? 0 : backed->span;
    backed->stays = true;
}

static void leave(struct rp_backed *backed)
{
    backing.staying -= backed->stays ? backed->span : 0;
    backed->stays = false;
}

uint64_t rp_backings_staying(void)
{
    return backing.staying;
}

bool rp_backing_stays(const struct rp_backed *backed)
{
    return backed->stays;
}

int rp_backing_device(const struct rp_backed *backed)
{
    return backed->device;
}

static enum rp_status enlist(struct rp_backed *backed)
{
    void *bigger = rp_array_reserve(backing.items, &backing.capacity, backing.count + 1,
                                    sizeof *backing.items);
    if (!bigger)
        return RP_NO_MEMORY;
    backing.items = bigger;
    size_t at = seek(backed->address);
    rp_array_splice(backing.items, &backing.count, at, at, &backed, 1, sizeof backed);
    return RP_OK;
}

static uint64_t next_number(void)
{
    static uint64_t made;
    return UINT64_C(1) << 62 | ++made; /* the driver's own count from 1 */
}

static enum rp_status create(uint64_t bytes, bool is_absent, uint64_t *address)
{
    uint64_t count = rp_granule_span(bytes) / rp_granule_bytes();
    struct rp_backed *backed = calloc(1, sizeof *backed + count * sizeof backed->granules[0]);
    if (!backed)
        return RP_NO_MEMORY;
    backed->bytes = bytes;
    backed->span = count * rp_granule_bytes();
    backed->number = next_number();
    backed->device = rp_granule_device();
    backed->context = rp_backing_context();
    /* Whose it is must be known: it goes with its context. */
    enum rp_status status =
        backed->device < 0 || !backed->context
            ? RP_UNSUPPORTED
            : rp_granules_reserve(backed->span, &backed->address);
    if (status == RP_OK)
        status = enlist(backed);
    backing.home = context_number();
    if (status != RP_OK) {
        if (backed->address)
            rp_granules_free(backed->address, backed->span);
        free(backed);
        return status;
    }
    backing.span += backed->span;
    for (size_t i = 0; i < count; i++)
        backed->granules[i].absent = is_absent;
    status = is_absent ? RP_OK : rp_backing_fill(backed, 0, backed->span);
    if (status != RP_OK) {
        rp_backing_destroy(backed);
        return status;
    }
    rp_core.device_bytes -= bytes; /* its birth is about to add them */
    *address = backed->address;
    return RP_OK;
}

enum rp_status rp_backing_create(uint64_t bytes, uint64_t *address)
{
    return create(bytes, false, address);
}

enum rp_status rp_backing_create_absent(uint64_t bytes, uint64_t *address)
{
    return create(bytes, true, address);
}

void rp_backing_destroy(struct rp_backed *backed)
{
    rp_backing_empty(backed, 0, backed->bytes);
    rp_granules_free(backed->address, backed->span);
    size_t at = seek(backed->address);
    rp_array_splice(backing.items, &backing.count, at - 1, at, NULL, 0, sizeof backed);
    backing.span -= backed->parted ? 0 : backed->span;
    leave(backed);
    free(backed);
}

void rp_backing_part(struct rp_backed *backed)
{
    leave(backed);
    backed->parted = true;
    backing.span -= backed->span;
}

void rp_backing_renew(struct rp_backed *backed, uint64_t bytes)
{
    backed->parted = false;
    backing.span += backed->span;
    backed->bytes = bytes;
    backed->number = next_number();
    rp_backing_use(backed, 0, backed->span, rp_core.seq);
}

void rp_backing_share(void)
{
    rp_backing_share_with(rp_granule_device());
}

void rp_backing_share_with(int device)
{
    uint64_t bit = UINT64_C(1) << (device & 63);
    for (size_t i = 0; !(backing.shared & bit) && i < backing.count; i++)
        rp_granules_show(backing.items[i]->address, backing.items[i]->span, device);
    backing.shared |= bit;
}

bool rp_backing_is_shared(void)
{
    return backing.shared != 0;
}

void rp_backing_lose(uint64_t context)
{
    for (size_t i = backing.count; i-- > 0;) {
        struct rp_backed *backed = backing.items[i];
        uint64_t address = backed->address, bytes = backed->bytes;
        rp_alloc_id id;
        if (backed->context != context)
            continue;
        rp_backing_destroy(backed);
        if (rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) != RP_OK)
            continue;
        rp_core.device_bytes += bytes; /* its death takes them off */
        rp_handler_died(id);
    }
}

void rp_backing_forget(void)
{
    backing.count = 0;
    backing.mapped = backing.span = backing.staying = 0;
    rp_granules_forget();
    backing.shared = 0;
}
