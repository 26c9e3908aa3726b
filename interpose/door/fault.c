/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/fault.h"

#include "interpose/door/wrap.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static bool installed;
static unsigned long long nth; /* 0: none fails */
static CUresult answer;
static const char *also; /* calls of this name fail after it, too */
static int log_file = -1;
static _Atomic unsigned long long made;

static void read_environment(const char *fault)
{
    char *end;
    nth = strtoull(fault, &end, 10);
    answer = *end == ':' ? (CUresult)strtoul(end + 1, &end, 10) : CUDA_ERROR_UNKNOWN;
    also = *end == ',' ? end + 1 : NULL;
    const char *path = secure_getenv("REPRISE_TEST_FAULT_LOG");
    if (path != NULL)
        log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void rp_fault_install(void)
{
    const char *fault = secure_getenv("REPRISE_TEST_FAULT");
    if (fault == NULL || installed)
        return;
    read_environment(fault);
    rp_fault_real = rp_real;
    installed = true;
    for (int id = 0; id < RP_CALL_COUNT; id++)
        if (rp_real_has((enum rp_call_id)id))
            __atomic_store_n(&rp_real.by_id[id], rp_fault_thunks[id], __ATOMIC_RELAXED);
}

const struct rp_real *rp_fault_behind(void)
{
    return installed ? &rp_fault_real : &rp_real;
}

static void note(const char *name)
{
    struct iovec line[] = {{(void *)(uintptr_t)name, strlen(name)}, {(void *)(uintptr_t)"\n", 1}};
    if (writev(log_file, line, 2) < 0)
        log_file = -1;
}

bool rp_fault_due(enum rp_call_id id, CUresult *result)
{
    if (!rp_inside)
        return false;
    unsigned long long number = atomic_fetch_add(&made, 1) + 1;
    if (log_file >= 0)
        note(rp_calls[id].name);
    *result = answer;
    return number == nth ||
           (also && number > nth && strcmp(rp_calls[id].name, also) == 0);
}
