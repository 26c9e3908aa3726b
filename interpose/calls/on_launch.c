/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that launch kernels. */
#include "interpose/calls/handlers.h"

#include "cuda/switches.h"
#include "interpose/calls/audit.h"
#include "interpose/calls/launch.h"
#include "interpose/calls/object.h"
#include "interpose/calls/repeat.h"
#include "interpose/calls/upload.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/overtake.h"
#include "interpose/run/segment.h"
#include "interpose/run/underway.h"

#include <stdlib.h>
#include <string.h>

/* The frame's scratch: what tells a launch that becomes a node, and what is freed after it. */
enum { CAPTURED = 0, BEHIND = 1 };

struct launch {
    struct rp_launched launched;
    CUstream stream;
    bool is_plain; /* the shape and the parameters are all there is to it */
};

void rp_handler_note_launch(const struct rp_launched *launch, const struct rp_footprint *call)
{
    const struct rp_launch *geometry = &launch->geometry;
    RP_DETAIL(launch, RP_U(call->seq), RP_T(launch->kernel->text), RP_U(call->stream),
              RP_U(rp_core.step), RP_U(call->launch), RP_U(geometry->grid[0]),
              RP_U(geometry->grid[1]), RP_U(geometry->grid[2]), RP_U(geometry->block[0]),
              RP_U(geometry->block[1]), RP_U(geometry->block[2]), RP_U(geometry->shared_bytes),
              RP_T(rp_verdict_name(call->writes)), RP_T(rp_verdict_name(call->reads)),
              RP_T(call->reason));
}

/* Where the arguments point, in the first launches of a run that is only observed: from these
 * `reprise discover` makes locators. */
enum { LAUNCHES_WITH_ARGUMENTS = 20000 };

static void note_arguments(struct rp_launched *launched, const struct rp_footprint *call)
{
    static unsigned noted; /* under the core's lock */

    if (!rp_core.trace || rp_core.config.mode != RP_MODE_OBSERVE || !launched->gathered ||
        noted >= LAUNCHES_WITH_ARGUMENTS)
        return;
    noted++;
    for (uint32_t i = 0; i < launched->kernel->layout.count; i++) {
        struct rp_param param = rp_launched_param(launched, i);
        uint64_t address, offset;
        rp_alloc_id id;
        if (param.size != sizeof address)
            continue;
        memcpy(&address, param.bytes, sizeof address);
        if (rp_memory_find(rp_core.bench.memory, address, &id, &offset, NULL) == RP_OK)
            RP_DETAIL(argument, RP_U(call->seq), RP_U(i), RP_U(id), RP_U(offset));
    }
}

static struct rp_shape shape_of(CUfunction function, const struct rp_launch *geometry)
{
    struct rp_shape shape = {.function = RP_HANDLE(function)};
    memcpy(shape.grid, geometry->grid, sizeof shape.grid);
    memcpy(shape.block, geometry->block, sizeof shape.block);
    return shape;
}

static void look_at(CUfunction function, struct rp_launched *launched, void **params, void **extra,
                    rp_stream stream, struct rp_footprint *call)
{
    launched->kernel = rp_kernel_find(RP_HANDLE(function));
    rp_repeat_meet(launched->kernel);
    rp_launched_gather(launched, params, extra);
    rp_footprint_begin(call, launched->kernel->name, stream);
    rp_buffer_meet_launch(launched->kernel->text, rp_launched_param, launched);
    rp_launched_footprint(launched, call);
}

static void track_launch(struct rp_frame *frame, CUfunction function, struct launch *launch,
                         void **params, void **extra)
{
    struct rp_launched *launched = &launch->launched;
    rp_core_lock();
    rp_recompute_await(NULL); /* while nothing is gathered: that is one for all threads */
    rp_stream stream = launch->stream ? rp_handler_stream_of(launch->stream, &rp_calls[frame->id])
                                      : rp_handler_stream(frame);
    if (rp_handler_is_captured(stream)) {
        frame->scratch[CAPTURED] = frame;
        rp_core_unlock();
        return;
    }
    launched->geometry.known = rp_upload_known;
    launched->geometry.known_ctx = &stream;
    launched->geometry.map = rp_object_map_find;
    struct rp_footprint *call = rp_handler_footprint(frame);
    do
        look_at(function, launched, params, extra, stream, call);
    while (rp_recompute_await_captures(call)); /* others were let in */
    if (rp_recompute_is_on())
        call->shape = shape_of(function, &launched->geometry);
    rp_handler_track(frame, call, RP_OK);
    if (!call->denied)
        rp_recompute_launch(launched, RP_HANDLE(function), launch->is_plain, call);
    note_arguments(launched, call);
    call->audited = rp_audit_begin(call);
    if (call->audited)
        return;
    rp_core_unlock();
    rp_underway_linger(call->seq);
}

/* It runs when its graph is launched, which may be in no segment. */
static void captured(const struct rp_frame *frame, CUfunction function)
{
    if (!frame->scratch[CAPTURED] || rp_handler_outcome(frame->result) != RP_OUTCOME_RAN)
        return;
    rp_core_lock();
    if (rp_core.segments_wanted)
        rp_captured_call(rp_thread_self(), rp_kernel_find(RP_HANDLE(function))->name, true);
    rp_core_unlock();
}

/* The core's lock is held already where the launch is audited. The trace has it now, if it ran;
 * launches that open or close a segment by name are known by the kernel. */
static void launch_done(struct rp_frame *frame, struct launch launch, CUfunction function)
{
    const struct rp_footprint *call = rp_handler_tracked(frame);
    if (!call) {
        captured(frame, function);
        return;
    }
    bool ran = rp_handler_ran(frame);
    uint32_t name = call->name;
    if (!call->audited)
        rp_core_lock();
    launch.launched.kernel = rp_kernel_find(RP_HANDLE(function));
    if (call->audited)
        rp_audit_end(&launch.launched.kernel, 1, call, ran);
    if (ran && rp_core.trace)
        rp_handler_note_launch(&launch.launched, call);
    rp_handler_settle(frame, rp_handler_outcome(frame->result));
    if (ran && rp_core.segments_wanted)
        rp_segment_after_launch(rp_thread_self(), name);
    rp_core_unlock();
}

/* ---- calls ------------------------------------------------------------------------ */

static struct launch launch_of(const struct rp_args_cuLaunchKernel *args)
{
    return (struct launch){
        .launched.geometry = {.grid = {args->gridDimX, args->gridDimY, args->gridDimZ},
                              .block = {args->blockDimX, args->blockDimY, args->blockDimZ},
                              .shared_bytes = args->sharedMemBytes}};
}

static struct launch launch_of_config(const CUlaunchConfig *config)
{
    return (struct launch){
        .launched.geometry = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                              .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                              .shared_bytes = config->sharedMemBytes},
        .stream = config->hStream};
}

void rp_on_launch(struct rp_frame *frame)
{
    const struct rp_args_cuLaunchKernel *args = frame->args;
    struct launch launch = launch_of(args);
    launch.is_plain = true;
    track_launch(frame, args->f, &launch, args->kernelParams, args->extra);
}

void rp_on_launch_cooperative(struct rp_frame *frame)
{
    const struct rp_args_cuLaunchCooperativeKernel *args = frame->args;
    struct launch launch = launch_of(frame->args); /* it starts alike */
    track_launch(frame, args->f, &launch, args->kernelParams, NULL);
}

void rp_on_launch_done(struct rp_frame *frame)
{
    const struct rp_args_cuLaunchKernel *args = frame->args; /* cooperative ones start alike */
    launch_done(frame, launch_of(args), args->f);
}

/* The events that a launch records come about when its blocks say so, before its end: they vouch
 * for nothing (cuda.h, CUlaunchAttributeID). */
static void forget_events(const CUlaunchConfig *config)
{
    if (!config->numAttrs || !rp_core.segments_wanted)
        return;
    rp_core_lock();
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            rp_overtake_event_gone(RP_HANDLE(attribute->value.programmaticEvent.event));
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            rp_overtake_event_gone(RP_HANDLE(attribute->value.launchCompletionEvent.event));
    }
    rp_core_unlock();
}

/* A launch's configuration, changed. */
struct behind {
    CUlaunchConfig config;
    CUlaunchAttribute attributes[];
};

static bool is_dependent(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            config->attrs[i].value.programmaticStreamSerializationAllowed)
            return true;
    return false;
}

/* A dependent launch may begin before the kernel ahead of it has ended, and asks by itself for what
 * it needs of that (cuda.h, CUlaunchAttributeID). Of kernels that make bytes anew right ahead of it
 * the job knows nothing: it is launched as others are, which is always allowed. Copies are waited
 * for whatever is allowed. */
static const CUlaunchConfig *behind_all(struct rp_frame *frame, const CUlaunchConfig *config)
{
    struct behind *changed;
    if (!rp_recompute_is_on() || !rp_switch_on(RP_SWITCH_BEHIND) || !is_dependent(config))
        return config;
    changed = malloc(sizeof *changed + config->numAttrs * sizeof *changed->attributes);
    if (!changed) {
        rp_core_lock();
        rp_handler_not_followed(frame, "the host is out of memory: it may begin early");
        rp_core_unlock();
        return config;
    }
    frame->scratch[BEHIND] = changed;
    changed->config = *config;
    changed->config.attrs = changed->attributes;
    memcpy(changed->attributes, config->attrs, config->numAttrs * sizeof *changed->attributes);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (changed->attributes[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            changed->attributes[i].value.programmaticStreamSerializationAllowed = 0;
    return &changed->config;
}

void rp_on_launch_ex(struct rp_frame *frame)
{
    struct rp_args_cuLaunchKernelEx *args = frame->args;
    if (!args->config)
        return; /* the driver will say so */
    struct launch launch = launch_of_config(args->config);
    launch.is_plain = args->config->numAttrs == 0;
    args->config = behind_all(frame, args->config);
    track_launch(frame, args->f, &launch, args->kernelParams, args->extra);
}

void rp_on_launch_ex_done(struct rp_frame *frame)
{
    const struct rp_args_cuLaunchKernelEx *args = frame->args;
    if (!args->config)
        return;
    launch_done(frame, launch_of_config(args->config), args->f);
    if (rp_handler_ran(frame))
        forget_events(args->config);
    free(frame->scratch[BEHIND]);
}
