/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/reach.h"

#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/calls/suspect.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"

#include <string.h>

/* A wrong proof, for the audit to find. */
static uint64_t claimed_end(uint64_t lo, uint64_t hi, enum rp_effect effect)
{
    bool whole = effect != RP_WRITE || rp_switch_on(RP_SWITCH_WHOLE_CLAIMS);
    return whole ? hi : hi - (hi - lo) / 4;
}

/* Most ranges lie in the mapping that their pointer points into: one look tells. [lo, hi) counts
 * from the pointer on, and may wrap. False: not this one. */
static inline bool reach_near(struct rp_footprint *call, uint64_t lo, uint64_t hi,
                              uint64_t pointer, const struct rp_reach *like,
                              enum rp_status *status)
{
    rp_alloc_id id;
    uint64_t offset, left;
    if (lo > hi ||
        rp_memory_find(rp_core.bench.memory, pointer, &id, &offset, &left) != RP_OK || hi > left)
        return false;
    hi = claimed_end(lo, hi, like->effect);
    if (hi > lo)
        *status = rp_footprint_reach_in(call, id, offset + lo, hi - lo, like);
    return true;
}

/* Whoever points where something begins means that, as a rule, and not what ends there. Discovery
 * can't rely on it; where state is declared, it is enough that none of it may be meant. */
static bool may_mean_end(const struct rp_footprint *call, uint64_t before, uint64_t end)
{
    rp_alloc_id id;
    uint64_t offset;
    if (!rp_core.segments_wanted || rp_keep_discovers() ||
        rp_memory_find(rp_core.bench.memory, before, &id, &offset, NULL) != RP_OK ||
        rp_memory_get(rp_core.bench.memory, id)->bytes - offset < end - before ||
        rp_state_of(rp_core.state, id))
        return true;
    rp_remark(rp_name(call->name), "points where memory begins that undeclared bytes end at: taken "
                                   "for a pointer to what begins there");
    return false;
}

/* The memory that a pointer may belong to: what it points into and, as a pointer may be one past
 * the last byte of its memory, what ends there. False: neither is tracked. */
static bool find_home(const struct rp_footprint *call, uint64_t address, uint64_t *start,
                      uint64_t *end)
{
    uint64_t before, until;
    bool into = rp_memory_run(rp_core.bench.memory, address, start, end) == RP_OK;
    if ((into && *start < address) ||
        rp_memory_run(rp_core.bench.memory, address - 1, &before, &until) != RP_OK ||
        until != address || (into && !may_mean_end(call, before, until)))
        return into;
    *start = before;
    *end = into ? *end : until;
    return true;
}

static bool stays_in_bounds(struct rp_footprint *call, const char *otherwise)
{
    const struct rp_contract *contract = rp_core.config.contract;
    if (!contract || contract->assume_in_bounds)
        return true;
    call->reason = otherwise;
    return false;
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
    if (access->lo >= access->hi ||
        reach_near(call, access->lo - address, access->hi - address, address, &like, &status))
        return status;
    if (!access->root || !find_home(call, address, &start, &end)) {
        /* Of no pointer in particular; or host memory of the job's own, or a wild pointer. */
        like.certain = false;
        return rp_footprint_reach(call, access->lo, access->hi - access->lo, like, NULL);
    }
    bool leaves = access->lo < start || access->hi > end;
    if (leaves &&
        !stays_in_bounds(call, "a range leaves its allocation and \"assume_in_bounds\" is false"))
        return rp_footprint_everything(call, like.effect);
    bool elsewhere = access->exact || access->hi <= start || access->lo >= end;
    uint64_t lo = access->lo < start && !elsewhere ? start : access->lo;
    uint64_t hi = access->hi > end && !elsewhere ? end : access->hi;
    like.certain = like.certain && !leaves;
    hi = claimed_end(lo, hi, like.effect);
    return lo < hi ? rp_footprint_reach(call, lo, hi - lo, like, NULL) : RP_OK;
}

/* Somewhere about a pointer. */
static enum rp_status reach_root(struct rp_footprint *call, uint64_t root, struct rp_reach like)
{
    uint64_t start, end;
    if (!stays_in_bounds(call, "an index that nobody knows, and \"assume_in_bounds\" is false"))
        return rp_footprint_everything(call, like.effect);
    like.certain = false;
    return find_home(call, root, &start, &end)
               ? rp_footprint_reach(call, start, end - start, like, NULL)
               : RP_OK; /* the job's own host memory */
}

static struct rp_reach reach_like(const struct rp_access *access)
{
    return (struct rp_reach){.effect = (enum rp_effect)access->effect,
                             .verdict = (enum rp_verdict)access->verdict,
                             .certain = access->exact,
                             .coupled = access->updates};
}

static enum rp_status reach_access(struct rp_footprint *call, const struct rp_launched *launch,
                                   const struct rp_access *access)
{
    struct rp_reach like = reach_like(access);
    switch (like.verdict) {
    case RP_VERDICT_NONE: return RP_OK;
    case RP_VERDICT_EXACT:
    case RP_VERDICT_BOUNDED: return reach_range(call, access, like);
    case RP_VERDICT_ROOT: return reach_root(call, access->root, like);
    case RP_VERDICT_REACHABLE: return rp_suspect_reachable(call, launch, access->effect);
    case RP_VERDICT_EVERYTHING: return rp_footprint_everything(call, like.effect);
    }
    return RP_OK;
}

/* ---- a launch --------------------------------------------------------------------- */

/* What is remembered of a launch like this one: most of it lies near the launch's own pointers,
 * and is added without a detour by addresses. */
static enum rp_status reach_item(struct rp_footprint *call, const struct rp_launched *launch,
                                 const struct rp_access *item)
{
    enum rp_status status = RP_OK;
    if (item->root_param != UINT32_MAX && item->lo < item->hi &&
        item->verdict <= RP_VERDICT_BOUNDED) {
        const struct rp_reach like = reach_like(item);
        uint64_t pointer;
        memcpy(&pointer, launch->geometry.params + item->root_param, sizeof pointer);
        if (reach_near(call, item->lo, item->hi, pointer, &like, &status)) {
            call->pointers |= rp_pointer_bit(item->root_param);
            return status;
        }
    }
    struct rp_access access = rp_remembered_access(item, &launch->geometry);
    return reach_access(call, launch, &access);
}

static enum rp_status reach_remembered(struct rp_footprint *call,
                                       const struct rp_launched *launch,
                                       const struct rp_remembered *known)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < known->count; i++)
        status = reach_item(call, launch, &known->items[i]);
    return status;
}

/* NULL: nothing is remembered. A memo wants variables to stand where they stood. */
static struct rp_memo *memo_of(const struct rp_kernel *kernel)
{
    bool stand = !kernel->by_context || rp_context_is_one();
    return stand && rp_switch_on(RP_SWITCH_MEMO) ? kernel->memo : NULL;
}

static enum rp_status reach_new(struct rp_footprint *call, const struct rp_launched *launch,
                                struct rp_access_set *set)
{
    struct rp_memo *memo = memo_of(launch->kernel);
    struct rp_kernel_in in = rp_launched_in(launch, call);
    enum rp_status status =
        memo ? rp_memo_evaluate(memo, &launch->geometry, rp_kernel_symbol, &in, set)
             : rp_proof_evaluate(launch->kernel->proof, &launch->geometry, rp_kernel_symbol, &in,
                                 set);
    for (size_t i = 0; status == RP_OK && i < set->count; i++)
        status = reach_access(call, launch, &set->items[i]);
    return status;
}

static void say(struct rp_footprint *call, enum rp_verdict reads, enum rp_verdict writes,
                const char *reason)
{
    call->reads = reads > call->reads ? reads : call->reads;
    call->writes = writes > call->writes ? writes : call->writes;
    call->reason = call->reason ? call->reason : reason;
}

enum rp_status rp_reach_proved(struct rp_footprint *call, const struct rp_launched *launch)
{
    static struct rp_access_set set;
    struct rp_memo *memo = memo_of(launch->kernel);
    const struct rp_remembered *known = memo ? rp_memo_find(memo, &launch->geometry) : NULL;
    rp_core.figures.launches_remembered += known != NULL;
    enum rp_status status = known ? reach_remembered(call, launch, known)
                                  : reach_new(call, launch, &set);
    if (known)
        say(call, known->reads, known->writes, known->reason);
    else
        say(call, set.reads, set.writes, set.reason);
    return status;
}
