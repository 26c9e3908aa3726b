/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API of the software device: what all of its files share.
 *
 * One lock guards every table and object of the device. A call takes it, checks its
 * arguments, acts, and gives it back; it is never held while a kernel, a copy or a function
 * of the program runs. Work goes through the scheduler (work.h) on threads of its own.
 *
 * Handles are pointers to our objects and are looked up before they are used (handle.h), so
 * that a stale one is an error and not a crash. Device pointers are host pointers.
 *
 * Every entry point has the same three steps: enter (state, current context, lock), act,
 * leave (unlock). What is refused is refused before anything has changed. */
#ifndef RP_CUDA_SOFT_API_SOFT_H
#define RP_CUDA_SOFT_API_SOFT_H

#include "cuda/calls/stubs.h"
#include "cuda/soft/api/arena.h"
#include "cuda/soft/api/handle.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFT_MAX_DEVICES 16
#define SOFT_DRIVER_VERSION 13000

struct soft_context;
struct soft_moment;
struct soft_pool;
struct soft_queue;
struct simt_pool;

/* The environment, read once in cuInit. options.c has the table. */
struct soft_options {
    uint64_t devices;      /* REPRISE_SOFT_DEVICES, default 1 */
    uint64_t capability;   /* REPRISE_SOFT_CAPABILITY, 10 * major + minor, default 80 */
    uint64_t memory_bytes; /* REPRISE_SOFT_MEMORY, a device */
    uint64_t workers;      /* REPRISE_SOFT_WORKERS, default the number of cores */
    uint64_t granularity;  /* REPRISE_SOFT_GRANULARITY, of virtual memory management; bytes */
    uint64_t timeout_ms;   /* REPRISE_SOFT_TIMEOUT, of a launch; 0: none */
    uint64_t seed;         /* REPRISE_SOFT_SCHEDULE */
    bool seeded;           /* whether that was given */
};
/* False, after a line on stderr, when a variable can't be understood. */
bool soft_options_read(struct soft_options *options);

struct soft_device {
    int ordinal;
    uint64_t memory_limit, memory_used; /* bytes of physical memory */
    struct soft_arena arena;            /* where its allocations get their addresses */
    int shared_file;                    /* that holds its memory, once some of it was exported */
    struct soft_context *primary;
    struct soft_pool *default_pool, *current_pool;
};

enum soft_life { SOFT_OFF, SOFT_READY, SOFT_FORKED, SOFT_LEAVING };

struct soft_state {
    pthread_mutex_t lock;
    pthread_key_t thread_key; /* frees what a thread carries */
    _Atomic enum soft_life life;
    struct soft_options options;
    struct soft_device devices[SOFT_MAX_DEVICES];
    struct soft_arena host_arena;    /* pinned and managed memory */
    struct soft_arena virtual_arena; /* address reservations */
    struct soft_context *contexts;   /* all that ever were: a context's handle stays valid */
    uint64_t next_id;                /* contexts, streams, buffers: never given twice */
    struct simt_pool *pool;          /* made at the first launch */
};
extern struct soft_state soft;

/* The model time of a thread (timeline.h): `lag` ns after the moment, or after 0. */
struct soft_host_time {
    struct soft_moment *moment;
    uint64_t lag;
    bool started;
};

/* What a thread of the program carries. */
struct soft_thread {
    struct soft_context **stack; /* current contexts, the top one last */
    unsigned depth, capacity;
    uint64_t id;             /* 0 until asked for */
    bool per_thread_default; /* a _ptds or _ptsz entry is on the stack of calls */
    bool in_host_function;   /* CUDA calls are not permitted now */
    CUstreamCaptureMode capture_mode;
    struct soft_host_time host_time;
    bool in_graph;           /* submissions are nodes of a graph that it launches */
    struct soft_queue *full; /* the call at hand met a full queue (queue.h), */
    unsigned found;          /* with so much in it */
};
/* Reached without a call of the loader: it takes few bytes of a thread's fixed storage.
 * Leak checkers know where that is; of storage that the loader makes later they can only guess. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct soft_thread soft_thread;
void soft_thread_keep(void); /* the thread has something to free when it ends */

/* Take the lock for a call that needs no context, respectively the current one. Anything but
 * CUDA_SUCCESS means that the lock is not held and is what the call answers: not
 * initialised, forked, in a host function, no context, or the context's sticky fault. */
CUresult soft_enter_bare(void);
CUresult soft_enter(struct soft_context **context);
void soft_queue_settle(void);                      /* waits for the full queue that the call met */
static inline CUresult soft_leave(CUresult result) /* gives the lock back */
{
    if (soft_thread.full != NULL)
        soft_queue_settle();
    pthread_mutex_unlock(&soft.lock);
    return result;
}

/* One line on stderr, "reprise software device: ...". */
void soft_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For a call that is right but asks for something that this device does not have: names it, once.
 */
CUresult soft_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t soft_now_ns(void); /* CLOCK_MONOTONIC */

static inline void *soft_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}
static inline uint64_t soft_round_up(uint64_t bytes, uint64_t unit) /* a power of two */
{
    return (bytes + unit - 1) & -unit;
}

/* The program's handles and our objects are the same pointers. */
#define SOFT_CONVERT(handle_type, name)                                                            \
    struct soft_##name;                                                                            \
    static inline struct soft_##name *handle_##name(handle_type handle)                            \
    {                                                                                              \
        return (struct soft_##name *)(void *)handle;                                               \
    }                                                                                              \
    static inline handle_type name##_handle(struct soft_##name *object)                            \
    {                                                                                              \
        return (handle_type)(void *)object;                                                        \
    }
SOFT_CONVERT(CUcontext, context)
SOFT_CONVERT(CUstream, stream)
SOFT_CONVERT(CUevent, event)
SOFT_CONVERT(CUmodule, module)
SOFT_CONVERT(CUfunction, function)
SOFT_CONVERT(CUlibrary, library)
SOFT_CONVERT(CUkernel, kernel)
SOFT_CONVERT(CUmemoryPool, pool)
SOFT_CONVERT(CUlinkState, link)
SOFT_CONVERT(CUgraph, graph)
SOFT_CONVERT(CUgraphNode, node)
SOFT_CONVERT(CUgraphExec, exec)
SOFT_CONVERT(CUuserObject, user_object)
SOFT_CONVERT(CUarray, array)
SOFT_CONVERT(CUmipmappedArray, mipmap)
SOFT_CONVERT(CUexternalMemory, external)
SOFT_CONVERT(CUexternalSemaphore, semaphore)
#undef SOFT_CONVERT

/* ---- devices (device.c) ------------------------------------------------------------ */

struct soft_device *soft_device_find(CUdevice ordinal); /* NULL: no such device */
int soft_device_attribute(const struct soft_device *device, CUdevice_attribute attribute,
                          bool *known);

#endif
