/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/launch.h"

#include "cuda/switches.h"
#include "interpose/calls/object.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

#include <string.h>

enum { MAX_PARAM_BYTES = 32764 }; /* the driver's own limit since sm_70 */

/* ---- parameters ------------------------------------------------------------------ */

static unsigned char param_block[MAX_PARAM_BYTES]; /* one launch is tracked at a time */

static size_t gather_extra(void **extra, unsigned char *block, size_t size)
{
    const void *given = NULL;
    size_t bytes = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END && i < 8; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            given = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            bytes = *(const size_t *)extra[i + 1];
    }
    if (!given || bytes > size)
        return 0;
    memcpy(block, given, bytes);
    return bytes;
}

/* Most are pointers or numbers: for these a copy is no call. */
static void copy_param(unsigned char *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

static size_t gather_array(const struct rp_kernel_layout *layout, void **params,
                           unsigned char *block, size_t size)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct rp_kernel_param *param = &layout->params[i];
        if (!params[i] || (size_t)param->offset + param->bytes > size)
            return 0;
        copy_param(block + param->offset, params[i], param->bytes);
    }
    return layout->bytes;
}

size_t rp_launched_params(const struct rp_kernel_layout *layout, void **params, void **extra,
                          unsigned char *block, size_t size)
{
    if (extra)
        return gather_extra(extra, block, size);
    return params && layout->known && layout->bytes <= size
               ? gather_array(layout, params, block, size) : 0;
}

void rp_launched_gather(struct rp_launched *launch, void **params, void **extra)
{
    const struct rp_kernel *kernel = launch->kernel;
    size_t bytes = rp_launched_params(&kernel->layout, params, extra, param_block,
                                      sizeof param_block);
    launch->geometry.params = param_block;
    launch->geometry.param_bytes = bytes;
    launch->gathered = kernel->layout.known && bytes >= kernel->layout.bytes &&
                       (!extra || kernel->packed_alike);
}

struct rp_param rp_launched_param(void *ctx, uint32_t position)
{
    const struct rp_launched *launch = ctx;
    const struct rp_kernel *kernel = launch->kernel;
    if (!launch->gathered || position >= kernel->layout.count)
        return (struct rp_param){NULL, 0};
    return (struct rp_param){launch->geometry.params + kernel->layout.params[position].offset,
                             kernel->layout.params[position].bytes};
}

/* ---- footprints ------------------------------------------------------------------- */

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

/* Without a proof: whatever any eight bytes of the arguments may point to, the end of an
 * allocation included, and the module's variables. Speculation (pointers may lie in memory,
 * or in pieces), and named so: REACHABLE is above every proved verdict. */
static enum rp_status reach_suspects(struct rp_footprint *call, const struct rp_launched *launch,
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

static enum rp_status reach_everything(struct rp_footprint *call)
{
    call->reads = call->writes = RP_VERDICT_EVERYTHING;
    enum rp_status status = rp_footprint_everything(call, RP_READ);
    return status == RP_OK ? rp_footprint_everything(call, RP_WRITE) : status;
}

/* Even when its arguments lead nowhere, an unproved kernel has not been proved harmless. */
static enum rp_status reach_unproved(struct rp_footprint *call, const struct rp_launched *launch)
{
    const struct rp_kernel *kernel = launch->kernel;
    bool blind = !launch->gathered && !launch->geometry.param_bytes;
    call->reads = call->writes = RP_VERDICT_REACHABLE;
    call->reason = kernel->proof ? "its parameters could not be read" : kernel->unproved;
    if (kernel->escapes)
        call->reason = kernel->escapes;
    rp_remark(kernel->text, call->reason);
    return kernel->escapes || blind ? reach_everything(call)
                                    : reach_suspects(call, launch, RP_READ_WRITE);
}

/* A wrong proof, for the audit to find. */
static uint64_t claimed_end(uint64_t lo, uint64_t hi, enum rp_effect effect)
{
    bool whole = effect != RP_WRITE || rp_switch_on(RP_SWITCH_WHOLE_CLAIMS);
    return whole ? hi : hi - (hi - lo) / 4;
}

/* Most ranges lie in the mapping that their pointer points into: one look tells. False: not this
 * one. */
static bool reach_near(struct rp_footprint *call, const struct rp_access *access,
                       uint64_t address, const struct rp_reach *like, enum rp_status *status)
{
    rp_alloc_id id;
    uint64_t offset, left, ahead = access->lo - address;
    if (access->lo < address ||
        rp_memory_find(rp_core.bench.memory, address, &id, &offset, &left) != RP_OK ||
        access->hi - address > left)
        return false;
    uint64_t hi = claimed_end(access->lo, access->hi, like->effect);
    *status = hi > access->lo
                  ? rp_footprint_reach_in(call, id, offset + ahead, hi - access->lo, like)
                  : RP_OK;
    return true;
}

/* A range that leaves the memory of its root is clipped to it, under the contract's stated
 * assumption; without that assumption nothing is known any more. Where the assumption is wrong for
 * certain, as each byte of an exact range is touched or none of it is the root's, the addresses
 * count as they are: a kernel may go from one buffer to another by their distance. */
static enum rp_status reach_range(struct rp_footprint *call, const struct rp_access *access,
                                  struct rp_reach like)
{
    uint64_t start, end, address = access->root ? access->root : access->lo;
    enum rp_status status = RP_OK;
    if (access->lo >= access->hi || reach_near(call, access, address, &like, &status))
        return status;
    if (rp_memory_run(rp_core.bench.memory, address, &start, &end) != RP_OK) {
        /* No tracked memory is there: host memory of the job's own, or a wild pointer. */
        like.certain = false;
        return rp_footprint_reach(call, access->lo, access->hi - access->lo, like, NULL);
    }
    bool leaves = access->lo < start || access->hi > end;
    const struct rp_contract *contract = rp_core.config.contract;
    if (leaves && contract && !contract->assume_in_bounds) {
        call->reason = "a range leaves its allocation and \"assume_in_bounds\" is false";
        return rp_footprint_everything(call, like.effect);
    }
    bool elsewhere = access->exact || access->hi <= start || access->lo >= end;
    uint64_t lo = access->lo < start && !elsewhere ? start : access->lo;
    uint64_t hi = access->hi > end && !elsewhere ? end : access->hi;
    like.certain = like.certain && !leaves;
    hi = claimed_end(lo, hi, like.effect);
    return lo < hi ? rp_footprint_reach(call, lo, hi - lo, like, NULL) : RP_OK;
}

static enum rp_status reach_access(struct rp_footprint *call, const struct rp_launched *launch,
                                   const struct rp_access *access)
{
    struct rp_reach like = {.effect = (enum rp_effect)access->effect,
                            .verdict = (enum rp_verdict)access->verdict,
                            .certain = access->exact,
                            .coupled = access->updates};
    switch (like.verdict) {
    case RP_VERDICT_NONE: return RP_OK;
    case RP_VERDICT_EXACT:
    case RP_VERDICT_BOUNDED: return reach_range(call, access, like);
    case RP_VERDICT_ROOT: {
        enum rp_status status = rp_footprint_root(call, access->root, like);
        return status == RP_NOT_FOUND ? RP_OK : status; /* the job's own host memory */
    }
    case RP_VERDICT_REACHABLE: return reach_suspects(call, launch, access->effect);
    case RP_VERDICT_EVERYTHING: return rp_footprint_everything(call, like.effect);
    }
    return RP_OK;
}

static enum rp_status reach_proved(struct rp_footprint *call, const struct rp_launched *launch)
{
    static struct rp_access_set set;
    const struct rp_kernel *kernel = launch->kernel;
    void *ctx = (void *)(uintptr_t)kernel;
    enum rp_status status =
        kernel->memo
            ? rp_memo_evaluate(kernel->memo, &launch->geometry, rp_kernel_symbol, ctx, &set)
            : rp_proof_evaluate(kernel->proof, &launch->geometry, rp_kernel_symbol, ctx, &set);
    for (size_t i = 0; status == RP_OK && i < set.count; i++)
        status = reach_access(call, launch, &set.items[i]);
    if (set.reads > call->reads)
        call->reads = set.reads;
    if (set.writes > call->writes)
        call->writes = set.writes;
    if (!call->reason)
        call->reason = set.reason;
    return status;
}

static uint64_t signature_of(uint32_t name, const struct rp_launch *geometry)
{
    uint64_t hash = name;
    for (int i = 0; i < 3; i++)
        hash = (hash * 0x100000001b3u ^ geometry->grid[i]) * 0x100000001b3u ^ geometry->block[i];
    return hash;
}

/* What the kernel is given by value. Pointers into device memory are left out: a replay may
 * have its activations elsewhere, and what they point to is held against versions. */
static uint64_t values_of(const struct rp_launched *launch)
{
    const struct rp_launch *geometry = &launch->geometry;
    uint64_t hash = geometry->shared_bytes, lo, hi;
    rp_memory_bounds(rp_core.bench.memory, &lo, &hi);
    for (uint32_t i = 0; i < launch->kernel->layout.count; i++) {
        struct rp_param param = rp_launched_param((void *)(uintptr_t)launch, i);
        size_t at = 0;
        for (; at + sizeof hash <= param.size; at += sizeof hash) {
            uint64_t word;
            memcpy(&word, param.bytes + at, sizeof word);
            if (word < lo || word >= hi ||
                rp_memory_find(rp_core.bench.memory, word, NULL, NULL, NULL) != RP_OK)
                hash = (hash ^ word) * 0x100000001b3u;
        }
        for (; at < param.size; at++)
            hash = (hash ^ param.bytes[at]) * 0x100000001b3u;
    }
    return hash;
}

void rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call)
{
    const struct rp_kernel *kernel = launch->kernel;
    call->is_launch = true;
    call->signature = signature_of(kernel->name, &launch->geometry);
    if (launch->gathered && rp_core.segments_wanted)
        call->values = values_of(launch);
    enum rp_status status = kernel->proof && launch->gathered ? reach_proved(call, launch)
                                                              : reach_unproved(call, launch);
    if (status != RP_OK)
        rp_remark(kernel->text, "the host is out of memory: the launch is not followed");
}
