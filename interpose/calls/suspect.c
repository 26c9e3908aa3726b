/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/suspect.h"

#include "interpose/calls/object.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <string.h>

static bool is_reached(const struct rp_footprint *call, rp_alloc_id id, enum rp_effect effect)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].id == id && call->reaches[i].effect == effect &&
            call->reaches[i].verdict == RP_VERDICT_REACHABLE)
            return true;
    return false;
}

struct suspicion {
    struct rp_footprint *call;
    unsigned effects; /* enum rp_effect, or both */
};

/* Everything that `address` may lead to, if it is one. */
static enum rp_status reach_suspect(void *ctx, uint64_t address)
{
    const struct suspicion *suspicion = ctx;
    struct rp_footprint *call = suspicion->call;
    rp_alloc_id id;
    for (unsigned effect = RP_READ; effect <= RP_WRITE; effect++) {
        if (!(suspicion->effects & effect) ||
            rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) != RP_OK ||
            is_reached(call, id, (enum rp_effect)effect))
            continue;
        enum rp_status status =
            rp_footprint_root(call, address,
                              (struct rp_reach){.effect = (enum rp_effect)effect,
                                                .verdict = RP_VERDICT_REACHABLE});
        if (status != RP_OK && status != RP_NOT_FOUND)
            return status;
    }
    return RP_OK;
}

/* An argument may point to the end of an allocation, too. */
enum rp_status rp_suspect_reachable(struct rp_footprint *call, const struct rp_launched *launch,
                                    unsigned effects)
{
    const struct rp_launch *geometry = &launch->geometry;
    struct suspicion suspicion = {call, effects};
    enum rp_status status = RP_OK;
    uint64_t lo, hi; /* most eight bytes are no address at all, and not worth looking up */
    rp_memory_bounds(rp_core.bench.memory, &lo, &hi);
    for (size_t at = 0; status == RP_OK && at + 8 <= geometry->param_bytes; at++) {
        uint64_t suspect;
        memcpy(&suspect, geometry->params + at, sizeof suspect);
        if (suspect < lo || suspect > hi || !suspect)
            continue;
        status = reach_suspect(&suspicion, suspect);
        if (status == RP_OK)
            status = reach_suspect(&suspicion, suspect - 1);
    }
    if (status == RP_OK)
        status = rp_object_reach(call, geometry->params, geometry->param_bytes, effects);
    return status == RP_OK ? rp_kernel_globals(launch->kernel, reach_suspect, &suspicion) : status;
}

enum rp_status rp_suspect_everything(struct rp_footprint *call, const struct rp_launched *launch,
                                     const char *reason)
{
    call->reads = call->writes = RP_VERDICT_EVERYTHING;
    call->reason = reason;
    rp_remark(launch->kernel->text, reason);
    enum rp_status status = rp_footprint_everything(call, RP_READ);
    return status == RP_OK ? rp_footprint_everything(call, RP_WRITE) : status;
}

/* Even when its arguments lead nowhere, an unproved kernel has not been proved harmless. */
enum rp_status rp_suspect_unproved(struct rp_footprint *call, const struct rp_launched *launch)
{
    const struct rp_kernel *kernel = launch->kernel;
    bool blind = !launch->gathered && !launch->geometry.param_bytes;
    call->reads = call->writes = RP_VERDICT_REACHABLE;
    call->reason = kernel->proof ? "its parameters could not be read" : kernel->unproved;
    if (kernel->escapes)
        call->reason = kernel->escapes;
    if (kernel->escapes || blind)
        return rp_suspect_everything(call, launch, call->reason);
    rp_remark(kernel->text, call->reason);
    return rp_suspect_reachable(call, launch, RP_READ_WRITE);
}
