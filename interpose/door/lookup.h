/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol look-up: every way that leads from a name to a driver function leads to the
 * wrapper of that function.
 *
 * The preloaded object bears the soname libcuda.so.1, which catches linked programs and
 * whoever opens the driver by name. It also defines dlsym and dlvsym (dlsym.S), which
 * catches what is looked up in handles of the driver's own file. Look-ups that concern
 * nobody here, those of the driver itself, and those whose answer depends on who asks
 * (RTLD_NEXT, RTLD_DEFAULT) go on by a jump, so that the next dlsym sees the true caller. */
#ifndef RP_INTERPOSE_LOOKUP_H
#define RP_INTERPOSE_LOOKUP_H

#include "cuda/calls/calls.h"

/* What dlsym and dlvsym do: jump to `forward` with their own arguments or, when that is NULL,
 * return `answer`. Two registers on every machine that matters: dlsym.S relies on it. */
struct rp_route {
    void *forward;
    void *answer;
};
struct rp_route rp_lookup_dlsym(void *handle, const char *name, void *caller);
struct rp_route rp_lookup_dlvsym(void *handle, const char *name, const char *version,
                                 void *caller);

/* What the wrappers of cuGetProcAddress go on to: the driver is asked first, and its answer
 * exchanged for the wrapper of the same symbol. What is not known stays as it is. */
CUresult rp_lookup_cuGetProcAddress(const char *symbol, void **pfn, int version,
                                    cuuint64_t flags);
CUresult rp_lookup_cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                       cuuint64_t flags, CUdriverProcAddressQueryResult *status);

/* Counts since the start of the process, for the summary and for doctor. */
struct rp_lookup_counts {
    uint64_t by_dlsym, by_dlvsym, by_proc_address; /* answered with a wrapper */
    uint64_t unknown; /* driver functions handed out unseen: younger than the call table */
};
void rp_lookup_counts(struct rp_lookup_counts *out);
/* The first of the unknown names, in order of appearance; NULL past the end. */
const char *rp_lookup_unknown(size_t index);

#endif
