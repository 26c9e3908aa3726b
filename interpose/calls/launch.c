/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/launch.h"

#include "cuda/driver_real.h"
#include "interpose/calls/context.h"
#include "interpose/calls/handlers.h"
#include "interpose/calls/reach.h"
#include "interpose/calls/suspect.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <string.h>

enum { MAX_PARAM_BYTES = 32764 }; /* the driver's own limit since sm_70 */

/* ---- parameters ------------------------------------------------------------------ */

static unsigned char param_block[MAX_PARAM_BYTES]; /* one launch is tracked at a time */

static size_t gather_extra(void **extra, unsigned char *block, size_t size)
{
    const void *given = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
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
    if (extra) /* with both, the driver refuses the launch unread */
        return params ? 0 : gather_extra(extra, block, size);
    return params && layout->known && layout->bytes <= size
               ? gather_array(layout, params, block, size) : 0;
}

enum { EXPECTED_BYTES = 256 }; /* of parameters: few kernels have more */

/* What pointers point into is asked for more than once, and soon. */
static void expect_pointers(size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes && at < EXPECTED_BYTES; at += 8) {
        uint64_t word;
        memcpy(&word, param_block + at, sizeof word);
        rp_memory_expect(rp_core.bench.memory, word);
    }
}

void rp_launched_gather(struct rp_launched *launch, void **params, void **extra)
{
    const struct rp_kernel *kernel = launch->kernel;
    if (kernel->memo)
        rp_memo_expect(kernel->memo);
    rp_given_expect(kernel->given);
    size_t bytes = rp_launched_params(&kernel->layout, params, extra, param_block,
                                      sizeof param_block);
    expect_pointers(bytes);
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

static uint64_t signature_of(uint32_t name, const struct rp_launch *geometry)
{
    uint64_t hash = name;
    for (int i = 0; i < 3; i++)
        hash = (hash * 0x100000001b3u ^ geometry->grid[i]) * 0x100000001b3u ^ geometry->block[i];
    return hash;
}

/* Into device memory. What the footprint was made of was looked up for it. */
static bool is_pointer(const struct rp_footprint *call, uint32_t at, uint64_t word)
{
    return (call->pointers & rp_pointer_bit(at)) ||
           rp_memory_find(rp_core.bench.memory, word, NULL, NULL, NULL) == RP_OK;
}

/* What the kernel is given by value. Pointers into device memory are left out: a replay may
 * have its activations elsewhere, and what they point to is held against versions. */
static uint64_t values_of(const struct rp_launched *launch, const struct rp_footprint *call)
{
    const struct rp_given *given = launch->kernel->given;
    uint64_t hash = launch->geometry.shared_bytes, lo, hi;
    rp_memory_bounds(rp_core.bench.memory, &lo, &hi);
    for (size_t i = 0; i < given->count; i++) {
        const struct rp_given_word *at = &given->words[i];
        uint64_t word = rp_given_load(launch->geometry.params + at->at, at->bytes) & at->counts;
        if (at->bytes < sizeof word || word < lo || word >= hi || !is_pointer(call, at->at, word))
            hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

struct rp_kernel_in rp_launched_in(const struct rp_launched *launch,
                                   const struct rp_footprint *call)
{
    unsigned context = launch->of_graph ? RP_DRIVER_CONTEXTS : rp_driver_context_of(call->stream);
    return (struct rp_kernel_in){launch->kernel, context};
}

static bool knows_variables(const struct rp_launched *launch, const struct rp_footprint *call)
{
    unsigned context = rp_context_is_one() ? 0 : rp_launched_in(launch, call).context;
    if (rp_kernel_has_met(launch->kernel, context))
        return true;
    rp_handler_meet_variables(launch->kernel, context);
    return rp_kernel_has_met(launch->kernel, context);
}

/* It was looked at in part, or not at all. */
static void give_up(const struct rp_kernel *kernel, struct rp_footprint *call)
{
    call->reads = call->writes = RP_VERDICT_EVERYTHING;
    call->reason = "the host is out of memory: the launch is not followed";
    rp_remark(kernel->text, call->reason);
}

void rp_launched_footprint(const struct rp_launched *launch, struct rp_footprint *call)
{
    const struct rp_kernel *kernel = launch->kernel;
    call->is_launch = true;
    call->signature = signature_of(kernel->name, &launch->geometry);
    call->varies = kernel->varies;
    enum rp_status status;
    if (kernel->by_context && !knows_variables(launch, call))
        status = rp_suspect_everything(call, launch, "where its library's variables are in its "
                                                     "context is not known");
    else
        status = kernel->proof && launch->gathered ? rp_reach_proved(call, launch)
                                                   : rp_suspect_unproved(call, launch);
    if (launch->gathered && kernel->given && rp_core.segments_wanted)
        call->values = values_of(launch, call);
    if (status != RP_OK)
        give_up(kernel, call);
}
