/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's own life: start, the lock, fork, the process's end. */
#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/oracle.h"
#include "cuda/soft/api/pool.h"
#include "cuda/soft/api/races.h"
#include "cuda/soft/api/timeline.h"
#include "cuda/soft/api/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* By this name whoever opened the driver can tell that it is this one. */
extern __attribute__((visibility("default"))) const int reprise_soft_device;
const int reprise_soft_device = 1;

struct soft_state soft = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local struct soft_thread soft_thread;

/* Fixed places, so that addresses are the same in every run where nothing is in the way. */
#define DEVICE_BASE UINT64_C(0x200000000000)
#define HOST_BASE UINT64_C(0x280000000000)
#define VIRTUAL_BASE UINT64_C(0x2c0000000000)
#define DEVICE_STRIDE (UINT64_C(1) << 38)
#define SPACE_BYTES (UINT64_C(1) << 40)
#define FEWEST_BYTES (UINT64_C(1) << 30) /* of a device's addresses */

uint64_t soft_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list arguments)
{
    static const char prefix[] = "reprise software device: ";
    char line[1024];
    size_t used = sizeof prefix - 1;

    memcpy(line, prefix, used);
    int length = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    if (length < 0)
        return;
    used += (size_t)length < sizeof line - used - 1 ? (size_t)length : sizeof line - used - 2;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* there is nobody left to tell */
}

void soft_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

/* Was this text said before? Two threads may both think that it was not. */
static bool is_known(const char *text)
{
    static _Atomic uint64_t known[256];
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i] == hash)
            return true;
        if (known[i] != 0)
            continue;
        known[i] = hash;
        return false;
    }
    return false;
}

CUresult soft_refuse(const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!is_known(text))
        soft_say("not supported: %s", text);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* A child has the parent's memory but none of its threads, and perhaps its lock in mid-call.
 * It gets the answer that a real driver gives it. */
static void after_fork_in_child(void)
{
    if (soft.life == SOFT_READY)
        soft.life = SOFT_FORKED;
}

/* At the process's end the worker threads simply stop being fed. */
__attribute__((destructor)) static void process_ends(void)
{
    if (soft.life == SOFT_READY)
        soft.life = SOFT_LEAVING;
}

CUresult soft_enter_bare(void)
{
    enum soft_life life = soft.life;
    switch (life) {
    case SOFT_OFF:
    case SOFT_FORKED: return CUDA_ERROR_NOT_INITIALIZED;
    case SOFT_LEAVING: return CUDA_ERROR_DEINITIALIZED;
    case SOFT_READY: break;
    }
    if (soft_thread.in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&soft.lock);
    return CUDA_SUCCESS;
}

CUresult soft_enter(struct soft_context **context)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    *context = soft_context_current();
    if (*context == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (!(*context)->alive)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else
        result = (*context)->fault;
    if (result != CUDA_SUCCESS)
        pthread_mutex_unlock(&soft.lock);
    return result;
}

void soft_thread_keep(void)
{
    pthread_setspecific(soft.thread_key, &soft_thread);
}

/* Other libraries' destructors may come later, and call: in a thread like a new one. */
static void thread_ends(void *value)
{
    struct soft_thread *thread = value;
    pthread_mutex_lock(&soft.lock);
    soft_timeline_drop(thread->host_time.moment);
    pthread_mutex_unlock(&soft.lock);
    free(thread->stack);
    *thread = (struct soft_thread){0};
}

static CUresult start_device(int ordinal)
{
    struct soft_device *device = &soft.devices[ordinal];
    /* Addresses are plenty, memory is the limit: fragmentation shall not lower it. */
    uint64_t space = 4 * soft.options.memory_bytes;
    if (space > DEVICE_STRIDE)
        space = DEVICE_STRIDE;
    if (space < FEWEST_BYTES)
        space = FEWEST_BYTES;

    device->ordinal = ordinal;
    device->memory_limit = soft.options.memory_bytes;
    if (!soft_arena_open(&device->arena, DEVICE_BASE + (uint64_t)ordinal * DEVICE_STRIDE, space,
                         PROT_READ | PROT_WRITE))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return soft_pool_create_default(device);
}

static CUresult start(void)
{
    if (!soft_options_read(&soft.options))
        return CUDA_ERROR_INVALID_VALUE;
    if (soft.options.devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (!soft_arena_open(&soft.host_arena, HOST_BASE, SPACE_BYTES, PROT_READ | PROT_WRITE) ||
        !soft_arena_open(&soft.virtual_arena, VIRTUAL_BASE, SPACE_BYTES, PROT_NONE))
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult clock = soft_clock_start();
    if (clock != CUDA_SUCCESS)
        return clock;
    if (!soft_oracle_start() || !soft_races_start())
        return CUDA_ERROR_OPERATING_SYSTEM;
    for (int i = 0; i < (int)soft.options.devices; i++) {
        CUresult result = start_device(i);
        if (result != CUDA_SUCCESS)
            return result;
    }
    if (pthread_key_create(&soft.thread_key, thread_ends) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_scheduler_start();
    pthread_atfork(NULL, NULL, after_fork_in_child);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    static CUresult outcome = CUDA_ERROR_NOT_INITIALIZED;

    if (Flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (soft.life == SOFT_FORKED)
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&soft.lock);
    if (outcome == CUDA_ERROR_NOT_INITIALIZED) {
        outcome = start();
        if (outcome == CUDA_SUCCESS)
            soft.life = SOFT_READY;
    }
    return soft_leave(outcome);
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    if (driverVersion == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = SOFT_DRIVER_VERSION;
    return CUDA_SUCCESS;
}
