/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/host.h"

#include "cuda/switches.h"
#include "interpose/run/buffer.h"
#include "interpose/run/core.h"
#include "interpose/run/errand.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/symbol.h"

#include <stdlib.h>
#include <string.h>

/* One declared variable. */
struct variable {
    const struct rp_buffer_rule *rule;
    size_t number;        /* of the rule */
    unsigned char *at;    /* NULL as long as no image that is loaded has it */
    size_t bytes;
    size_t place;         /* of its content in a copy of them all, behind a byte: it was there */
    rp_alloc_id id;       /* under which reports know it; 0 until it is found for the first time */
    const char *why;      /* it is not there */
    bool stood;           /* it was there already when it was to be put back */
};

static struct variable *variables;
static size_t variable_count;
static size_t copy_bytes; /* of all that were ever found */
static struct rp_symbol_images images_seen;
static bool none_declared;

static bool begin(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    if (variables || none_declared)
        return variables;
    variables = calloc(contract->buffer_count + 1, sizeof *variables);
    for (size_t i = 0; variables && i < contract->buffer_count; i++)
        if (contract->buffers[i].at.kind == RP_AT_HOST_SYMBOL)
            variables[variable_count++] = (struct variable){.rule = &contract->buffers[i],
                                                            .number = i};
    none_declared = variable_count == 0;
    return variables;
}

/* The declared part of a symbol. */
static bool cut(struct variable *variable, struct rp_symbol *symbol)
{
    const struct rp_buffer_rule *rule = variable->rule;
    if (rule->offset >= symbol->bytes ||
        (rule->has_bytes && rule->bytes > symbol->bytes - rule->offset)) {
        variable->why = "the declared range does not fit into the variable found";
        return false;
    }
    symbol->address += rule->offset;
    symbol->bytes = rule->has_bytes ? rule->bytes : symbol->bytes - rule->offset;
    return true;
}

/* For the first time. */
static bool note_found(struct variable *variable, size_t bytes)
{
    if (rp_memory_add(rp_core.bench.memory, RP_ALLOC_HOST, bytes, 0, -1, ++rp_core.seq,
                      variable->rule->name, &variable->id) != RP_OK) {
        variable->why = "the host is out of memory";
        return false;
    }
    rp_buffer_note(variable->number, variable->rule->name, variable->id, bytes);
    variable->bytes = bytes;
    variable->place = copy_bytes + 1;
    copy_bytes = variable->place + bytes;
    return true;
}

static void find(struct variable *variable)
{
    struct rp_symbol symbol;
    variable->at = NULL;
    if (!rp_symbol_find(variable->rule->at.symbol, &symbol, &variable->why) ||
        !cut(variable, &symbol) || (!variable->id && !note_found(variable, symbol.bytes)))
        return;
    if (symbol.bytes == variable->bytes)
        variable->at = symbol.address;
    else
        variable->why = "a library that was loaded since has another variable of this name";
}

/* What was found is gone with its library, and may come back elsewhere. */
static void find_all(void)
{
    if (!begin() || none_declared)
        return;
    struct rp_symbol_images images = rp_symbol_images();
    bool is_any_gone = images.unloaded != images_seen.unloaded;
    bool is_any_new = images.loaded != images_seen.loaded;
    images_seen = images;
    for (size_t i = 0; i < variable_count; i++)
        if (is_any_gone || (is_any_new && !variables[i].at))
            find(&variables[i]);
}

/* A copy of the live content, NULL when there is none; shorter than a later one may be. */
static struct rp_host_copy *take_copy(void)
{
    struct rp_host_copy *copy = copy_bytes ? calloc(1, sizeof *copy + copy_bytes) : NULL;
    if (!copy)
        return NULL;
    copy->bytes = copy_bytes;
    for (size_t i = 0; i < variable_count; i++) {
        if (!variables[i].at)
            continue;
        copy->content[variables[i].place - 1] = 1;
        memcpy(copy->content + variables[i].place, variables[i].at, variables[i].bytes);
    }
    return copy;
}

static bool is_in(const struct variable *variable, const struct rp_host_copy *copy)
{
    return variable->at && copy && variable->place + variable->bytes <= copy->bytes &&
           copy->content[variable->place - 1];
}

/* What holds it already is not touched: somebody else may write there just now. */
static bool holds(const struct variable *variable, const struct rp_host_copy *copy)
{
    return is_in(variable, copy) &&
           memcmp(variable->at, copy->content + variable->place, variable->bytes) == 0;
}

static void put_back(struct variable *variable, const struct rp_host_copy *copy)
{
    variable->stood = holds(variable, copy);
    if (!variable->stood && is_in(variable, copy))
        memcpy(variable->at, copy->content + variable->place, variable->bytes);
}

static void put_all_back(const struct rp_host_copy *copy)
{
    for (size_t i = 0; i < variable_count; i++)
        put_back(&variables[i], copy);
}

void rp_host_forward_opens(struct rp_execution *execution)
{
    find_all();
    if (rp_core_guards())
        execution->errands = rp_errands_watch();
    execution->host = take_copy();
    if (!execution->host && copy_bytes)
        rp_remark("host_symbol", "the host is out of memory: a forward's variables are not kept");
}

/* Most often it has nothing to do with the variable, which the forward steps by itself. */
void rp_host_forward_closes(struct rp_execution *execution)
{
    bool any_ran = execution->errands && rp_errands_ran(execution->errands);
    for (size_t i = 0; any_ran && i < variable_count; i++)
        if (is_in(&variables[i], execution->host) && !holds(&variables[i], execution->host))
            rp_remark(variables[i].rule->name,
                      "it changed in a forward in whose midst a host function has perhaps run that "
                      "waited before: the replay finds what was there when the forward began");
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
        rp_report(kind, (struct rp_met){.execution = execution, .id = variable->id, .lo = lo,
                                        .hi = hi});
}

static void compare(enum rp_hazard_kind kind, const struct rp_execution *execution,
                    const struct rp_host_copy *copy)
{
    for (size_t i = 0; i < variable_count; i++)
        if (is_in(&variables[i], copy))
            report_difference(kind, execution, &variables[i], copy);
}

#define NOT_KEPT                                                                                 \
    "nothing was kept of it when its forward began: no image that was loaded had it, memory was "  \
    "short, or the job had not called the driver yet"

/* Declared, and not there to be protected. */
static void report_missing(const struct rp_execution *execution)
{
    for (size_t i = 0; i < variable_count; i++) {
        if (is_in(&variables[i], execution->host))
            continue;
        rp_report_missing(execution, variables[i].rule->name,
                          variables[i].at ? NOT_KEPT : variables[i].why);
    }
}

void rp_host_function_given(const struct rp_footprint *call)
{
    if (!rp_core_guards())
        return;
    if (begin() && variable_count)
        rp_errand_given(call);
    else if (call->repeats)
        rp_remark(rp_name(call->name),
                  "a replay makes it again: what the function steps on the host is stepped twice, "
                  "unless that is declared by \"host_symbol\"");
}

#define ON_ITS_WAY                                                                               \
    "a host function that the replay has given to a stream still waits there: what it does to the "\
    "variable comes after that was put back; let the job wait for the stream inside the range"
#define IN_ITS_MIDST                                                                             \
    "a host function that waited in a stream when the replay began has perhaps run in its midst: " \
    "what it does to the variable is undone, and the replay may have met it; let the job wait "   \
    "for the stream before the range"

/* Neither the replay nor anybody else has changed it, and nothing was put there. */
static bool stood_still(const struct rp_scope *scope, const struct variable *variable)
{
    const struct rp_host_copy *found = scope->execution->host;
    return variable->stood && is_in(variable, found) &&
           memcmp(found->content + variable->place, scope->host->content + variable->place,
                  variable->bytes) == 0;
}

static void report_errands(const struct rp_scope *scope)
{
    bool any_waits = rp_errands_wait();
    bool any_ran = scope->errands && rp_errands_ran(scope->errands);
    rp_errands_replayed();
    for (size_t i = 0; scope->host && i < variable_count; i++) {
        const struct variable *variable = &variables[i];
        if (is_in(variable, scope->host) && any_waits)
            rp_report_missing(scope->execution, variable->rule->name, ON_ITS_WAY);
        else if (is_in(variable, scope->host) && any_ran && !stood_still(scope, variable))
            rp_report_missing(scope->execution, variable->rule->name, IN_ITS_MIDST);
    }
}

void rp_host_replay_opens(struct rp_scope *scope)
{
    find_all();
    report_missing(scope->execution);
    if (!scope->execution->host)
        return;
    if (rp_core_guards())
        scope->errands = rp_errands_watch();
    scope->host = take_copy();
    if (rp_core.config.mode == RP_MODE_CHECK)
        compare(RP_HAZARD_STALE_READ, scope->execution, scope->execution->host);
    else if (!scope->host)
        rp_report(RP_HAZARD_NOT_PRESERVED, (struct rp_met){.execution = scope->execution});
    else if (rp_switch_on(RP_SWITCH_RESTORE))
        put_all_back(scope->execution->host);
}

void rp_host_replay_closes(struct rp_scope *scope)
{
    find_all();
    if (rp_core.config.mode == RP_MODE_CHECK)
        compare(RP_HAZARD_STATE_LEFT, scope->execution, scope->host);
    else if (rp_switch_on(RP_SWITCH_REINSTATE))
        put_all_back(scope->host);
    if (rp_core_guards())
        report_errands(scope);
    free(scope->host);
    scope->host = NULL;
}

bool rp_host_holds(uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < variable_count; i++) {
        uint64_t at = (uintptr_t)variables[i].at;
        if (at && at <= address && address - at < variables[i].bytes &&
            bytes <= variables[i].bytes - (address - at))
            return true;
    }
    return false;
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
    images_seen = (struct rp_symbol_images){0};
    none_declared = false;
    rp_errands_forget();
}
