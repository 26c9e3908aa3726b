/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/buffer.h"

#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t *found; /* by rule */

uint64_t rp_buffer_found(size_t rule)
{
    return found ? found[rule] : 0;
}

static bool start(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    if (!contract || !contract->buffer_count)
        return false;
    if (!found)
        found = calloc(contract->buffer_count, sizeof *found);
    return found;
}

static void member_name(char *text, size_t size, const char *family, uint64_t index)
{
    if (index)
        snprintf(text, size, "%s[%llu]", family, (unsigned long long)index);
    else
        snprintf(text, size, "%s", family);
}

/* Bytes [at, at+length) of the allocation belong to the rule; a second finding makes the
 * rule a family, whose members are numbered in order of appearance. */
static void add(size_t rule, const struct rp_alloc *alloc, uint64_t at, const char *kernel,
                uint32_t param)
{
    const struct rp_buffer_rule *buffer = &rp_core.config.contract->buffers[rule];
    uint64_t lo = at + buffer->offset;
    uint64_t hi = buffer->has_bytes ? lo + buffer->bytes : alloc->bytes;
    if (lo < at || lo >= alloc->bytes || hi > alloc->bytes || hi <= lo) {
        rp_remark(buffer->name, "the declared range does not fit into the allocation found");
        return;
    }
    if (rp_state_has(rp_core.state, buffer->name, alloc->id, lo, hi))
        return;
    char name[256];
    member_name(name, sizeof name, buffer->name, found[rule]);
    bool added;
    if (rp_state_add(rp_core.state, name, alloc->id, lo, hi, &added) != RP_OK) {
        rp_remark(buffer->name, "the host is out of memory: the buffer is not protected");
        return;
    }
    found[rule] += added;
    RP_NOTE(buffer, RP_T(name), RP_U(alloc->id), RP_U(lo), RP_U(hi - lo), RP_T(kernel),
            RP_U(param));
}

void rp_buffer_note(size_t rule, const char *name, rp_alloc_id id, uint64_t bytes)
{
    if (start())
        found[rule]++;
    RP_NOTE(buffer, RP_T(name), RP_U(id), RP_U(0), RP_U(bytes), RP_T(""), RP_U(0));
}

void rp_buffer_meet_allocation(const struct rp_alloc *alloc)
{
    for (size_t i = 0; start() && i < rp_core.config.contract->buffer_count; i++) {
        const struct rp_locator *at = &rp_core.config.contract->buffers[i].at;
        bool fits = at->kind == RP_AT_ALLOCATION && alloc->kind != RP_ALLOC_GLOBAL &&
                    at->bytes == alloc->bytes && (!at->has_nth || at->nth == alloc->nth);
        bool is_global = at->kind == RP_AT_GLOBAL && alloc->kind == RP_ALLOC_GLOBAL &&
                         alloc->name && strcmp(at->symbol, alloc->name) == 0;
        if (fits || is_global)
            add(i, alloc, 0, "", 0);
    }
}

static void meet_param(size_t rule, const char *kernel, struct rp_param param)
{
    const struct rp_locator *at = &rp_core.config.contract->buffers[rule].at;
    uint64_t field = at->has_field ? at->field : 0, address, offset;
    rp_alloc_id id;
    if (!param.bytes || field > param.size || param.size - field < sizeof address) {
        /* Declared, and not to be found: it would go unprotected, and nobody would know. */
        const struct rp_footprint call = {.name = rp_names_id(rp_core.names, kernel)};
        rp_remark(rp_core.config.contract->buffers[rule].name,
                  "the kernel has no pointer at this parameter, or its parameters are not known: "
                  "locate the buffer by its allocation");
        if (rp_core.segments_wanted)
            rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.call = &call});
        return;
    }
    memcpy(&address, param.bytes + field, sizeof address);
    if (!address)
        return; /* a NULL pointer is no buffer yet */
    if (rp_memory_find(rp_core.bench.memory, address, &id, &offset, NULL) != RP_OK) {
        rp_remark(rp_core.config.contract->buffers[rule].name,
                  "the parameter points into no known allocation");
        return;
    }
    add(rule, rp_memory_get(rp_core.bench.memory, id), offset, kernel, at->param);
}

void rp_buffer_meet_launch(const char *kernel, rp_param_fn param, void *ctx)
{
    for (size_t i = 0; start() && i < rp_core.config.contract->buffer_count; i++) {
        const struct rp_locator *at = &rp_core.config.contract->buffers[i].at;
        if (at->kind == RP_AT_KERNEL && rp_glob_match(at->kernel, kernel, NULL, 0))
            meet_param(i, kernel, param(ctx, at->param));
    }
}
