/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: who owns what, and the sticky fault.
 *
 * A context's record is never freed, so that a stale CUcontext answers "destroyed". Its
 * contents (memory, streams, events, modules) go when it is destroyed, after its work. */
#ifndef RP_CUDA_SOFT_API_CONTEXT_H
#define RP_CUDA_SOFT_API_CONTEXT_H

#include "cuda/soft/api/soft.h"

struct soft_event;
struct soft_mipmap;
struct soft_module;
struct soft_view;

#define SOFT_LIMITS 8

struct soft_context {
    struct soft_context *next; /* in soft.contexts */
    struct soft_device *device;
    uint64_t id;
    unsigned flags, api_version;
    bool primary, alive;
    unsigned retained;           /* of a primary context: cuDevicePrimaryCtxRetain */
    unsigned attached;           /* of another one: cuCtxAttach; destroyed at 0 */
    CUresult fault;              /* CUDA_SUCCESS, or what every later call answers */
    struct soft_stream *legacy;  /* the default stream; first of `streams` */
    struct soft_stream *streams; /* the destroyed ones too, until their work is done */
    struct soft_event *events;
    struct soft_module *modules;
    struct soft_mipmap *arrays;
    struct soft_view *views;    /* texture and surface objects */
    size_t limits[SOFT_LIMITS]; /* by CUlimit */
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    bool peers[SOFT_MAX_DEVICES]; /* devices whose memory this context may touch */
};

struct soft_context *soft_context_current(void); /* NULL: none */
/* A live context for a handle from the program; NULL means the current one where
 * `current_too` is set. */
CUresult soft_context_find(CUcontext handle, bool current_too, struct soft_context **out);

#define SOFT_CONTEXT_FLAGS 0xffu /* what there is of CUctx_flags */

CUresult soft_context_create(struct soft_device *device, unsigned flags, struct soft_context **out);
/* Makes `context` ready for use: a new one, or a primary context that was released. */
CUresult soft_context_start(struct soft_context *context, struct soft_device *device,
                            unsigned flags);
/* Waits for its work, then frees what it owns. */
void soft_context_destroy(struct soft_context *context);
CUresult soft_context_push(struct soft_context *context); /* on the calling thread's stack */

/* Waits, without the lock, for all work that was submitted before; answers the fault. */
CUresult soft_context_wait(struct soft_context *context);

/* The first fault stays. */
void soft_context_fail(struct soft_context *context, CUresult fault);

#endif
