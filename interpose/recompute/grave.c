/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/grave.h"

#include "interpose/calls/handlers.h"
#include "interpose/recompute/recipe.h"
#include "tracker/array.h"

struct grave {
    rp_alloc_id id;
    uint64_t address, bytes;
    struct rp_backed *backed;
    uint64_t context;
};

static struct {
    struct grave *items;
    size_t count, capacity;
} graves;

void rp_graves_forget(void)
{
    graves.count = 0;
}

static bool is_known(rp_alloc_id id, bool read_only)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if (!rp_recipe_is_good(execution))
            continue;
        const struct rp_live *live = rp_instance_live(execution->instance, id);
        if (live && (!read_only || live->live_in.count))
            return true;
    }
    return false;
}

bool rp_grave_is_needed(rp_alloc_id id)
{
    return is_known(id, false);
}

enum rp_status rp_grave_bury(rp_alloc_id id, uint64_t address, uint64_t bytes,
                             struct rp_backed *backed)
{
    void *bigger = rp_array_reserve(graves.items, &graves.capacity, graves.count + 1,
                                    sizeof *graves.items);
    if (!bigger)
        return RP_NO_MEMORY;
    graves.items = bigger;
    graves.items[graves.count++] = (struct grave){id, address, bytes, backed, rp_backing_context()};
    rp_core.device_bytes += bytes; /* its death is about to take them off */
    return RP_OK;
}

struct rp_backed *rp_grave_backed(rp_alloc_id id)
{
    for (size_t i = 0; i < graves.count; i++)
        if (graves.items[i].id == id)
            return graves.items[i].backed;
    return NULL;
}

static void free_grave(const struct grave *grave)
{
    if (grave->backed) {
        rp_backing_destroy(grave->backed);
        return;
    }
    rp_real.cuMemFree_v2(grave->address);
    rp_core.device_bytes -= grave->bytes;
}

void rp_graves_lose(uint64_t context)
{
    for (size_t i = graves.count; i-- > 0;) {
        const struct grave grave = graves.items[i];
        if (grave.context != context)
            continue;
        if (grave.backed)
            rp_backing_destroy(grave.backed);
        else
            rp_core.device_bytes -= grave.bytes; /* the driver has it back already */
        graves.items[i] = graves.items[--graves.count];
    }
}

void rp_graves_sweep(void)
{
    for (size_t i = graves.count; i-- > 0;) {
        if (is_known(graves.items[i].id, false))
            continue;
        free_grave(&graves.items[i]);
        graves.items[i] = graves.items[--graves.count];
    }
}

uint64_t rp_graves_empty(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < graves.count; i++) {
        const struct grave *grave = &graves.items[i];
        if (grave->backed && !is_known(grave->id, true))
            bytes += rp_backing_empty(grave->backed, 0, rp_backing_bytes(grave->backed));
    }
    return bytes;
}
