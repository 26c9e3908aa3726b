/* SPDX-License-Identifier: Apache-2.0 */
/* A process in which no driver call came by, though the driver is there: libraries can be bound so
 * that no preloaded object comes between, and then all of the job went past the layer. */
#include "interpose/door/lookup.h"
#include "interpose/door/real.h"
#include "interpose/door/wrap.h"
#include "interpose/run/report.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char missed_all[] = "the CUDA driver is loaded, but no call of it came by: the job "
                                 "went past the layer";

/* Stops at an object that has the driver's name and is not this one. */
static int is_driver(struct dl_phdr_info *info, size_t size, void *own)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    return info->dlpi_addr != (uintptr_t)own && strncmp(name, "libcuda.so", 10) == 0;
}

static bool driver_is_loaded(void)
{
    Dl_info own;
    return dladdr(missed_all, &own) != 0 && dl_iterate_phdr(is_driver, own.dli_fbase) != 0;
}

/* True when nobody came to the layer, not even to ask for an entry point. */
static bool was_never_asked(void)
{
    struct rp_lookup_counts counts;
    rp_lookup_counts(&counts);
    return rp_wrap_life() == RP_LIFE_UNINIT && !rp_real_found() && !counts.by_dlsym &&
           !counts.by_dlvsym && !counts.by_proc_address;
}

/* At the process's end, when the job has had its say: a guarded job has not succeeded then. */
__attribute__((destructor)) static void tell_what_was_missed(void)
{
    enum { STOPPED = 70 };
    if (!was_never_asked() || !driver_is_loaded())
        return;
    const char *strict = secure_getenv("REPRISE_STRICT");
    if (!strict || !*strict || strcmp(strict, "0") == 0) {
        dprintf(STDERR_FILENO, "reprise: %s\n", missed_all);
        return;
    }
    fflush(NULL);
    rp_stop(STOPPED, missed_all);
}
