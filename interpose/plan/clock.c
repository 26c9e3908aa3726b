/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/clock.h"

#include "interpose/door/next.h"
#include "interpose/door/real.h"
#include "interpose/run/profiler.h"

#include <stdio.h>

/* The software device says which GPU its clock is a model of; other drivers know no such call. */
static const char *model(void)
{
    union {
        void *object;
        const char *(*function)(void);
    } found = {rp_real_handle() ? rp_next_dlsym(rp_real_handle(), "reprise_soft_clock") : NULL};
    return found.object ? found.function() : NULL;
}

enum rp_source rp_clock_source(void)
{
    if (rp_profiler_runs())
        return RP_SOURCE_CUPTI;
    return model() ? RP_SOURCE_CLOCK : RP_SOURCE_EVENTS;
}

const char *rp_clock_device(void)
{
    static char text[320];
    CUdevice device;
    char name[256] = "";
    if (*text)
        return text;
    if (rp_real.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        rp_real.cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS || !*name)
        return NULL;
    snprintf(text, sizeof text, "%s%s%s", name, model() ? ", clock " : "", model() ? model() : "");
    return text;
}
