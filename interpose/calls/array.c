/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/array.h"

#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <stdlib.h>

static struct array {
    uint64_t handle;
    rp_alloc_id id;
} *arrays;
static size_t array_count, array_capacity;

void rp_array_known(uint64_t handle, rp_alloc_id id)
{
    rp_array_forget(handle);
    if (array_count == array_capacity) {
        size_t capacity = array_capacity ? array_capacity * 2 : 16;
        struct array *bigger = realloc(arrays, capacity * sizeof *bigger);
        if (!bigger)
            return; /* copies to it then count as writing everything */
        arrays = bigger;
        array_capacity = capacity;
    }
    arrays[array_count++] = (struct array){handle, id};
}

rp_alloc_id rp_array_find(uint64_t handle)
{
    for (size_t i = 0; i < array_count; i++)
        if (arrays[i].handle == handle)
            return arrays[i].id;
    return 0;
}

void rp_array_forget(uint64_t handle)
{
    for (size_t i = 0; i < array_count; i++)
        if (arrays[i].handle == handle)
            arrays[i--] = arrays[--array_count];
}

enum rp_status rp_array_reach(struct rp_footprint *call, uint64_t handle, enum rp_effect effect)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, rp_array_find(handle));
    if (!alloc || alloc->death_seq) {
        rp_remark(rp_name(call->name),
                  "an array whose making was not seen: it counts as any memory");
        return rp_footprint_everything(call, effect);
    }
    return rp_footprint_add(call, (struct rp_reach){.id = alloc->id, .hi = alloc->bytes,
                                                    .effect = effect,
                                                    .verdict = RP_VERDICT_ROOT});
}

void rp_arrays_forget(void)
{
    array_count = 0;
}
