/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of CUPTI's activity records, as far as the layer uses it: it is loaded where it is
 * there, and never linked. Records grow from release to release, at their ends; what stands here
 * stays where it is. tests/plans/test_cupti_records.c holds it against the header and the library
 * that are installed; it has been with those of CUDA 12.9 and of 13.0. */
#ifndef RP_INTERPOSE_CUPTI_H
#define RP_INTERPOSE_CUPTI_H

#include <stdint.h>

enum {
    RP_CUPTI_KIND_MEMCPY = 1,
    RP_CUPTI_KIND_MEMSET = 2,
    RP_CUPTI_KIND_CONCURRENT_KERNEL = 10,
    RP_CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    RP_CUPTI_EXTERNAL_CUSTOM0 = 3,
};

struct rp_cupti_kernel {
    uint32_t kind, flags[3];
    uint64_t start, end, completed;
    uint32_t others[13], correlation;
};
struct rp_cupti_copy { /* and of sets: what is read stands alike */
    uint32_t kind, flags[3];
    uint64_t start, end;
    uint32_t others[3], correlation;
};
struct rp_cupti_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation;
};

/* The functions, by the names that follow "cuptiActivity". */
#define RP_CUPTI_FUNCTIONS(X)                                                                     \
    X(RegisterCallbacks)                                                                          \
    X(Enable) X(Disable) X(FlushAll) X(GetNextRecord) X(PushExternalCorrelationId)                \
    X(PopExternalCorrelationId)

#endif
