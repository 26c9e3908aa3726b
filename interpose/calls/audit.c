/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/real.h"

#include "interpose/calls/audit.h"

#include "cuda/compare.h"
#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "tracker/span.h"

#include <stdio.h>
#include <stdlib.h>

static struct rp_compare *comparer;
static CUcontext comparer_context; /* its kernels are of that */
static uint64_t launches; /* since the last audit */

/* ---- what is kept ----------------------------------------------------------------- */

struct listing {
    const struct rp_footprint *call;
    struct rp_compare_area *areas;
    size_t count, capacity;
    CUdevice device;
    bool left_out; /* what kernels on this device may not read */
    enum rp_status status;
};

static void list_area(struct listing *list, uint64_t address, uint64_t bytes, rp_alloc_id id)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        struct rp_compare_area *bigger = realloc(list->areas, capacity * sizeof *bigger);
        if (!bigger) {
            list->status = RP_NO_MEMORY;
            return;
        }
        list->areas = bigger;
        list->capacity = capacity;
    }
    list->areas[list->count++] = (struct rp_compare_area){address, bytes, id};
}

/* Memory of another context may be closed to this one's kernels, and so may what is mapped. What
 * pools make is no context's own. */
static bool is_open(const struct listing *list, uint64_t address)
{
    const CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = list->device};
    unsigned long long access = 0;
    CUcontext owner = NULL;
    int device;
    if (rp_real.cuMemGetAccess(&access, &here, address) == CUDA_SUCCESS)
        return access != 0;
    if (rp_real.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address) ==
            CUDA_SUCCESS && owner)
        return owner == comparer_context;
    return rp_real.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) ==
               CUDA_SUCCESS && device == list->device;
}

/* Bytes that no mapping shows now can't be reached by the kernel either. */
static void list_span(struct listing *list, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    uint64_t address, bytes;
    while (lo < hi &&
           rp_memory_address(rp_core.bench.memory, id, lo, &address, &bytes) == RP_OK && bytes) {
        bytes = bytes < hi - lo ? bytes : hi - lo;
        if (is_open(list, address))
            list_area(list, address, bytes, id);
        else
            list->left_out = true;
        lo += bytes;
    }
}

static bool only_device_writes(const struct rp_alloc *alloc)
{
    return (alloc->kind == RP_ALLOC_DEVICE || alloc->kind == RP_ALLOC_POOL ||
            alloc->kind == RP_ALLOC_PHYSICAL || alloc->kind == RP_ALLOC_GLOBAL) &&
           !rp_unseen_why(alloc);
}

static void list_unclaimed(void *ctx, const struct rp_alloc *alloc)
{
    struct listing *list = ctx;
    struct rp_spans claimed = {0}, rest = {0};
    if (!only_device_writes(alloc))
        return;
    for (size_t i = 0; list->status == RP_OK && i < list->call->count; i++) {
        const struct rp_reach *reach = &list->call->reaches[i];
        if (reach->id == alloc->id && reach->effect == RP_WRITE)
            list->status = rp_spans_add(&claimed, reach->lo, reach->hi);
    }
    if (list->status == RP_OK)
        list->status = rp_spans_missing(&claimed, 0, alloc->bytes, &rest);
    for (size_t i = 0; list->status == RP_OK && i < rest.count; i++)
        list_span(list, alloc->id, rest.items[i].lo, rest.items[i].hi);
    rp_spans_release(&claimed);
    rp_spans_release(&rest);
}

static bool comparer_is_here(void)
{
    CUcontext now = NULL;
    if (rp_real.cuCtxGetCurrent(&now) != CUDA_SUCCESS || !now ||
        (!comparer && rp_compare_create(&rp_real, &comparer) != RP_OK))
        return false;
    comparer_context = comparer_context ? comparer_context : now;
    return now == comparer_context;
}

static bool keep_unclaimed(const struct rp_footprint *call)
{
    struct listing list = {.call = call, .status = RP_OK};
    if (!comparer_is_here() || rp_real.cuCtxGetDevice(&list.device) != CUDA_SUCCESS)
        return false;
    rp_memory_each(rp_core.bench.memory, list_unclaimed, &list);
    if (list.left_out)
        rp_remark(rp_name(call->name), "an audit of it left out memory that its device may not "
                                       "read");
    if (list.status == RP_OK && rp_real.cuCtxSynchronize() == CUDA_SUCCESS)
        list.status = rp_compare_keep(comparer, list.areas, list.count, CU_STREAM_LEGACY);
    free(list.areas);
    return list.status == RP_OK;
}

bool rp_audit_begin(const struct rp_footprint *call)
{
    if (!rp_core.config.audit || ++launches < rp_core.config.audit)
        return false;
    if (rp_core.captures || call->served || call->writes >= RP_VERDICT_EVERYTHING)
        return false; /* the next one, then */
    launches = 0;
    if (keep_unclaimed(call))
        return true;
    rp_core.figures.audits_failed++;
    rp_remark(rp_name(call->name), "an audit of it found no memory, no device to work on, or "
                                   "another context than the first audit's");
    return false;
}

/* ---- what was found --------------------------------------------------------------- */

static void describe_claim(const struct rp_footprint *call, rp_alloc_id id, char *text,
                           size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", rp_verdict_name(call->writes));
    unsigned shown = 0;
    for (size_t i = 0; i < call->count && shown < 4 && used < size; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->id != id || reach->effect != RP_WRITE)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s [%llu, %llu)", shown ? "," : ":",
                                 (unsigned long long)reach->lo, (unsigned long long)reach->hi);
        shown++;
    }
    if (!shown && used < size)
        snprintf(text + used, size - used, ", none of this allocation");
}

static void name_kernels(const struct rp_kernel *const *kernels, size_t count, char *text,
                         size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s%s", count > 1 ? "a graph of " : "",
                                   kernels[0]->text);
    for (size_t i = 1; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i + 1 < count ? ", " : " and ", kernels[i]->text);
}

static void report(const struct rp_kernel *const *kernels, size_t count,
                   const struct rp_footprint *call, const struct rp_change *change)
{
    char claim[256], bytes[64] = "bytes", name[256], line[1024];
    rp_alloc_id id = change->area.tag;
    uint64_t address = change->area.address + change->offset, offset = 0;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    (void)rp_memory_find(rp_core.bench.memory, address, NULL, &offset, NULL);
    describe_claim(call, id, claim, sizeof claim);
    name_kernels(kernels, count, name, sizeof name);
    if (change->count)
        snprintf(bytes, sizeof bytes, "%llu byte%s", (unsigned long long)change->count,
                 change->count == 1 ? "" : "s");
    snprintf(line, sizeof line,
             "stopped: an audit caught %s changing %s outside its access set, from byte %llu of "
             "allocation %llu (%s%s%llu bytes); it was said to write: %s; report this with the "
             "kernel's PTX, or set \"assume_in_bounds\" to false",
             name, bytes, (unsigned long long)offset, (unsigned long long)id,
             alloc && alloc->name ? alloc->name : "", alloc && alloc->name ? ", " : "",
             (unsigned long long)(alloc ? alloc->bytes : 0), claim);
    RP_NOTE(audit, RP_U(call->seq), RP_T(name), RP_U(id), RP_U(offset), RP_U(change->count),
            RP_T(claim));
    rp_core.figures.audit_misses++;
    for (size_t i = 0; i < count; i++)
        rp_kernel_poison(kernels[i]);
    const struct rp_contract *contract = rp_core.config.contract;
    if (!contract || contract->on_violation != RP_VIOLATION_REPORT)
        rp_stop(rp_core.config.error_exitcode, line);
    for (size_t i = 0; i < count; i++)
        rp_remark(kernels[i]->text, "an audit caught it changing bytes outside its access set");
}

void rp_audit_end(const struct rp_kernel *const *kernels, size_t count,
                  const struct rp_footprint *call, bool ran)
{
    struct rp_change change;
    bool done = ran && rp_real.cuCtxSynchronize() == CUDA_SUCCESS;
    enum rp_status status = rp_compare_check(comparer, CU_STREAM_LEGACY, &change);
    if (!done) {
        rp_core.figures.audits_failed += ran;
        return;
    }
    rp_core.figures.audits += status == RP_OK || status == RP_END;
    rp_core.figures.audits_failed += status != RP_OK && status != RP_END;
    if (status == RP_OK)
        report(kernels, count, call, &change);
}

void rp_audit_lost(CUcontext context)
{
    if (!comparer || context != comparer_context)
        return;
    rp_compare_abandon(comparer);
    comparer = NULL;
    comparer_context = NULL;
}

/* The parent's device memory is not the child's to give back. */
void rp_audit_forget(void)
{
    comparer = NULL;
    comparer_context = NULL;
    launches = 0;
}
