/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/real.h"

#include "cuda/find_driver.h"
#include "interpose/door/fault.h"
#include "interpose/door/next.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct rp_real rp_real;

enum { CLOSED, ABSENT, OPEN };
static _Atomic int state = CLOSED;
static void *_Atomic driver_handle;
static const char *_Atomic driver_path = "";
static _Atomic bool is_soft;
static _Thread_local bool opening;

static CUresult no_driver(void)
{
    return CUDA_ERROR_NO_DEVICE;
}

static CUresult too_old(void)
{
    return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
}

/* Both take no arguments and serve calls with any: the caller cleans up on every machine
 * that the driver exists for. */
static void (*const filler_no_driver)(void) = (void (*)(void))no_driver;
static void (*const filler_too_old)(void) = (void (*)(void))too_old;

/* While the driver is being opened its constructors may already call. Another thread may
 * be further: what it found stays. */
static void fill_empty_slots(void)
{
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        void (*empty)(void) = NULL;
        __atomic_compare_exchange_n(&rp_real.by_id[id], &empty, filler_no_driver, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

static void fill_slots(void *handle)
{
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        void *symbol = rp_next_dlsym(handle, rp_calls[id].name);
        void (*function)(void) = filler_too_old;
        if (symbol != NULL)
            memcpy(&function, &symbol, sizeof(function));
        __atomic_store_n(&rp_real.by_id[id], function, __ATOMIC_RELAXED);
    }
}

struct attempt {
    void *handle;
    char refused[PATH_MAX + 128]; /* the first candidate that would not do, and why */
};

static bool try_candidate(void *ctx, const char *path, enum rp_driver_verdict verdict)
{
    struct attempt *attempt = ctx;
    const char *reason = rp_driver_verdict_text(verdict);
    size_t length = strlen(path);
    if (verdict == RP_DRIVER_USABLE) {
        attempt->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (attempt->handle != NULL)
            return true;
        reason = dlerror();
        if (strncmp(reason, path, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
            reason += length + 2;
    }
    if (attempt->refused[0] == '\0')
        snprintf(attempt->refused, sizeof(attempt->refused), " (%s: %s)", path, reason);
    return false;
}

static void say_absent(const struct attempt *attempt)
{
    char line[sizeof(attempt->refused) + 128];
    int length = snprintf(line, sizeof(line),
                          "reprise: no CUDA driver found%s; CUDA calls answer \"no device\"\n",
                          attempt->refused);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nobody reads stderr: nothing to be done about it */
}

static void publish(const struct attempt *attempt)
{
    int expected = CLOSED;
    if (attempt->handle == NULL) {
        if (atomic_compare_exchange_strong(&state, &expected, ABSENT))
            say_absent(attempt);
        return;
    }
    struct link_map *map;
    fill_slots(attempt->handle);
    rp_fault_install();
    if (dlinfo(attempt->handle, RTLD_DI_LINKMAP, &map) == 0)
        atomic_store(&driver_path, map->l_name);
    atomic_store(&is_soft, rp_next_dlsym(attempt->handle, "reprise_soft_device") != NULL);
    atomic_store(&driver_handle, attempt->handle);
    atomic_store(&state, OPEN);
}

bool rp_real_open(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) != CLOSED)
        return true;
    if (opening)
        return false;
    opening = true;
    fill_empty_slots();
    struct rp_driver_search search;
    struct attempt attempt = {0};
    Dl_info own;
    rp_driver_search_default(&search);
    if (dladdr(&rp_real, &own) != 0)
        search.itself = own.dli_fname;
    rp_driver_find(&search, try_candidate, &attempt);
    publish(&attempt);
    opening = false;
    return true;
}

bool rp_real_found(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == OPEN;
}

const char *rp_real_path(void)
{
    return atomic_load(&driver_path);
}

void *rp_real_handle(void)
{
    return atomic_load(&driver_handle);
}

bool rp_real_runs_machine_code(void)
{
    return !atomic_load(&is_soft);
}

bool rp_real_has(enum rp_call_id id)
{
    void (*function)(void) = rp_fault_behind()->by_id[id];
    return function != NULL && function != filler_too_old && function != filler_no_driver;
}

/* ---- from pointer to symbol -----------------------------------------------------
 * A look through all entry points costs a fraction of a microsecond, and jobs ask for each
 * once: an index would only be state to guard. */

enum rp_call_id rp_real_identify(void *pointer, enum rp_call_id wanted)
{
    uintptr_t address = (uintptr_t)pointer;
    const struct rp_real *exports = rp_fault_behind();
    if (wanted != RP_CALL_NONE && (uintptr_t)exports->by_id[wanted] == address)
        return wanted;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        if ((uintptr_t)exports->by_id[id] == address)
            return (enum rp_call_id)id;
    }
    return RP_CALL_NONE;
}

static bool hands_out_export(const char *base, int version, cuuint64_t flags)
{
    void *pointer = NULL;
    CUresult result;
    if (rp_real_has(RP_CALL_cuGetProcAddress_v2))
        result = rp_real.cuGetProcAddress_v2(base, &pointer, version, flags, NULL);
    else
        result = rp_real.cuGetProcAddress(base, &pointer, version, flags);
    return result != CUDA_SUCCESS || pointer == NULL
           || rp_real_identify(pointer, RP_CALL_NONE) != RP_CALL_NONE;
}

/* Calls that every driver has had for long, in both stream modes. */
static bool measure_identity(void)
{
    static const struct {
        const char *base;
        int version;
    } probes[] = {{"cuInit", 2000}, {"cuMemAlloc", 3020}, {"cuMemcpyHtoD", 7000},
                  {"cuLaunchKernel", 7000}, {"cuStreamSynchronize", 7000}, {"cuMemsetD8", 7000}};
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (!hands_out_export(probes[i].base, probes[i].version, CU_GET_PROC_ADDRESS_LEGACY_STREAM)
            || !hands_out_export(probes[i].base, probes[i].version,
                                 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
            return false;
    }
    return true;
}

bool rp_real_hands_out_exports(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int known = UNKNOWN; /* two threads would measure the same */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == UNKNOWN) {
        answer = measure_identity() ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}
