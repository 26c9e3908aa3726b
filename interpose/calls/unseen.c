/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/unseen.h"

#include "interpose/door/real.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <stdlib.h>

static const char in_managed[] = "host code may write managed memory unseen";

static struct shared {
    rp_alloc_id id;
    const char *why;
} *shared; /* exports are few */
static size_t shared_count, shared_capacity;
static const char *everything_shared; /* set when one could not be written down */

void rp_unseen_share(rp_alloc_id id, const char *why)
{
    rp_remark("memory", why);
    rp_versions_disown(rp_core.bench.versions, id);
    rp_recompute_shared(id);
    if (shared_count == shared_capacity) {
        size_t capacity = shared_capacity ? shared_capacity * 2 : 16;
        struct shared *bigger = realloc(shared, capacity * sizeof *bigger);
        if (!bigger) {
            everything_shared = why;
            return;
        }
        shared = bigger;
        shared_capacity = capacity;
    }
    shared[shared_count++] = (struct shared){id, why};
}

void rp_unseen_ask(rp_alloc_id id, uint64_t address)
{
    int is_managed = 0;
    if (!id)
        return;
    CUresult result = rp_real.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                                    address);
    if (result == CUDA_SUCCESS && is_managed)
        rp_unseen_share(id, in_managed);
}

const char *rp_unseen_why(const struct rp_alloc *alloc)
{
    if (everything_shared)
        return everything_shared;
    if (alloc->kind == RP_ALLOC_FOREIGN)
        return "memory that others made may change unseen";
    if (alloc->kind == RP_ALLOC_MANAGED)
        return in_managed;
    if (alloc->kind == RP_ALLOC_PINNED)
        return "host code may write host memory unseen";
    for (size_t i = 0; i < shared_count; i++)
        if (shared[i].id == alloc->id)
            return shared[i].why;
    return NULL;
}

void rp_unseen_forget(rp_alloc_id id)
{
    for (size_t i = 0; i < shared_count; i++)
        if (shared[i].id == id)
            shared[i--] = shared[--shared_count];
}

void rp_unseen_forget_all(void)
{
    shared_count = 0;
    everything_shared = NULL;
}
