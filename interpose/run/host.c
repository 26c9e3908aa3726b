/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/host.h"

#include "cuda/switches.h"
#include "interpose/run/buffer.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"
#include "interpose/run/symbol.h"

#include <stdlib.h>
#include <string.h>

/* One declared variable. */
struct variable {
    const struct rp_buffer_rule *rule;
    size_t number;        /* of the rule */
    unsigned char *at;    /* NULL until it is found */
    size_t bytes;
    size_t place;         /* of its content in a copy of them all */
    rp_alloc_id id;       /* under which reports know it */
};

static struct variable *variables;
static size_t variable_count;
static size_t copy_bytes; /* of all that were found */
static unsigned long long images_seen;
static bool all_found;

static bool begin(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    if (variables || all_found)
        return variables;
    variables = calloc(contract->buffer_count + 1, sizeof *variables);
    for (size_t i = 0; variables && i < contract->buffer_count; i++)
        if (contract->buffers[i].at.kind == RP_AT_HOST_SYMBOL)
            variables[variable_count++] = (struct variable){.rule = &contract->buffers[i],
                                                            .number = i};
    all_found = variable_count == 0; /* then nothing is ever looked for */
    return variables;
}

/* The declared part of a symbol of `size` bytes. */
static bool cut(struct variable *variable, size_t size)
{
    const struct rp_buffer_rule *rule = variable->rule;
    if (rule->offset >= size || (rule->has_bytes && rule->bytes > size - rule->offset)) {
        rp_remark(rule->name, "the declared range does not fit into the variable found");
        return false;
    }
    variable->at += rule->offset;
    variable->bytes = rule->has_bytes ? rule->bytes : size - rule->offset;
    return true;
}

static bool find(struct variable *variable)
{
    size_t size;
    void *at;
    enum rp_status status = rp_symbol_find(variable->rule->at.symbol, &at, &size);
    if (status == RP_INVALID)
        rp_remark(variable->rule->name, "several variables of the job have this name");
    if (status != RP_OK)
        return false;
    variable->at = at;
    if (!cut(variable, size) ||
        rp_memory_add(rp_core.bench.memory, RP_ALLOC_HOST, variable->bytes, 0, -1, ++rp_core.seq,
                      variable->rule->name, &variable->id) != RP_OK) {
        variable->at = NULL;
        return false;
    }
    rp_buffer_note(variable->number, variable->rule->name, variable->id, variable->bytes);
    variable->place = copy_bytes;
    copy_bytes += variable->bytes;
    return true;
}

static void find_all(void)
{
    unsigned long long images;
    if (!begin() || all_found || (images = rp_symbol_images()) == images_seen)
        return;
    images_seen = images;
    all_found = true;
    for (size_t i = 0; i < variable_count; i++)
        all_found = (variables[i].at || find(&variables[i])) && all_found;
}

/* A copy of the live content, NULL when there is none; shorter than a later one may be. */
static struct rp_host_copy *take_copy(void)
{
    struct rp_host_copy *copy = copy_bytes ? malloc(sizeof *copy + copy_bytes) : NULL;
    if (!copy)
        return NULL;
    copy->bytes = copy_bytes;
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].at)
            memcpy(copy->content + variables[i].place, variables[i].at, variables[i].bytes);
    return copy;
}

static bool is_in(const struct variable *variable, const struct rp_host_copy *copy)
{
    return variable->at && copy && variable->place + variable->bytes <= copy->bytes;
}

static void put_back(const struct rp_host_copy *copy)
{
    for (size_t i = 0; i < variable_count; i++)
        if (is_in(&variables[i], copy))
            memcpy(variables[i].at, copy->content + variables[i].place, variables[i].bytes);
}

void rp_host_forward_opens(struct rp_execution *execution)
{
    find_all();
    execution->host = take_copy();
    if (!execution->host && copy_bytes)
        rp_remark("host_symbol", "the host is out of memory: a forward's variables are not kept");
}

/* From the first byte that differs to the last. */
static void report_difference(enum rp_hazard_kind kind, const struct rp_execution *execution,
                              const struct variable *variable, const struct rp_host_copy *copy)
{
    const unsigned char *wanted = copy->content + variable->place;
    size_t lo = 0, hi = variable->bytes;
    while (lo < hi && variable->at[lo] == wanted[lo])
        lo++;
    while (hi > lo && variable->at[hi - 1] == wanted[hi - 1])
        hi--;
    if (lo < hi)
        rp_report(kind, execution, NULL, variable->id, lo, hi, NULL, NULL);
}

static void compare(enum rp_hazard_kind kind, const struct rp_execution *execution,
                    const struct rp_host_copy *copy)
{
    for (size_t i = 0; i < variable_count; i++)
        if (is_in(&variables[i], copy))
            report_difference(kind, execution, &variables[i], copy);
}

/* Declared, and not there to be protected. */
static void report_missing(const struct rp_execution *execution)
{
    for (size_t i = 0; i < variable_count; i++) {
        if (is_in(&variables[i], execution->host))
            continue;
        rp_remark(variables[i].rule->name, "no such variable was found before the forward");
        rp_report(RP_HAZARD_UNPROVED, execution, NULL, 0, 0, 0, NULL, NULL);
    }
}

void rp_host_replay_opens(struct rp_scope *scope)
{
    report_missing(scope->execution);
    if (!scope->execution->host)
        return;
    scope->host = take_copy();
    if (rp_core.config.mode == RP_MODE_CHECK)
        compare(RP_HAZARD_STALE_READ, scope->execution, scope->execution->host);
    else if (!scope->host)
        rp_report(RP_HAZARD_NOT_PRESERVED, scope->execution, NULL, 0, 0, 0, NULL, NULL);
    else if (rp_switch_on(RP_SWITCH_RESTORE))
        put_back(scope->execution->host);
}

void rp_host_replay_closes(struct rp_scope *scope)
{
    if (rp_core.config.mode == RP_MODE_CHECK)
        compare(RP_HAZARD_STATE_LEFT, scope->execution, scope->host);
    else if (rp_switch_on(RP_SWITCH_REINSTATE))
        put_back(scope->host);
    free(scope->host);
    scope->host = NULL;
}

bool rp_host_differs(const struct rp_execution *a, const struct rp_execution *b)
{
    return a->host && b->host &&
           (a->host->bytes != b->host->bytes ||
            memcmp(a->host->content, b->host->content, a->host->bytes) != 0);
}

void rp_host_forget(void)
{
    variables = NULL; /* left where it is: another thread may have held the heap's lock */
    variable_count = copy_bytes = 0;
    images_seen = 0;
    all_found = false;
}
