/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer believes of CUPTI (interpose/run/cupti.h) against the real header, with which this
 * is compiled, and the real library: it has every function that is looked up, and walks over
 * records that are laid out by the header as the layer reads them. No GPU is needed for that.
 *
 * usage: test_cupti_records [LIBRARY]; 77 where the library is not found */
#include "interpose/run/cupti.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The records of the header's version (28: CUDA 12.9), under one name each. */
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 real_kernel;
typedef CUpti_ActivityMemcpy6 real_copy;
#elif CUPTI_API_VERSION >= 28
typedef CUpti_ActivityKernel9 real_kernel;
typedef CUpti_ActivityMemcpy6 real_copy;
#else
typedef CUpti_ActivityKernel9 real_kernel;
typedef CUpti_ActivityMemcpy5 real_copy;
#endif
typedef CUpti_ActivityMemset4 real_set;
typedef CUpti_ActivityExternalCorrelation real_external;

#define SAME(ours, our, real, their)                                                              \
    _Static_assert(offsetof(struct ours, our) == offsetof(real, their) &&                         \
                       sizeof((struct ours){0}.our) == sizeof((real){0}.their),                   \
                   #ours "." #our " is " #real "." #their)
#define SAME_TIMES(ours, real)                                                                    \
    SAME(ours, kind, real, kind);                                                                 \
    SAME(ours, start, real, start);                                                               \
    SAME(ours, end, real, end);                                                                   \
    SAME(ours, correlation, real, correlationId)
SAME_TIMES(rp_cupti_kernel, real_kernel);
SAME_TIMES(rp_cupti_copy, real_copy);
SAME_TIMES(rp_cupti_copy, real_set);
SAME(rp_cupti_external, external_kind, real_external, externalKind);
SAME(rp_cupti_external, external, real_external, externalId);
SAME(rp_cupti_external, correlation, real_external, correlationId);

_Static_assert((int)RP_CUPTI_KIND_MEMCPY == CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
_Static_assert((int)RP_CUPTI_KIND_MEMSET == CUPTI_ACTIVITY_KIND_MEMSET, "sets");
_Static_assert((int)RP_CUPTI_KIND_CONCURRENT_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
               "kernels");
_Static_assert((int)RP_CUPTI_KIND_EXTERNAL_CORRELATION ==
                   CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
               "tags");
_Static_assert((int)RP_CUPTI_EXTERNAL_CUSTOM0 == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, "ours");

static bool has_all(void *library)
{
    bool all = true;
    char name[80];
#define HAS(function)                                                                             \
    snprintf(name, sizeof name, "cuptiActivity%s", #function);                                    \
    if (!dlsym(library, name)) {                                                                  \
        printf("%s is not in the library\n", name);                                               \
        all = false;                                                                              \
    }
    RP_CUPTI_FUNCTIONS(HAS)
#undef HAS
    return all;
}

/* Records one after another, as CUPTI fills a buffer. */
static _Alignas(8) unsigned char buffer[4096];
static size_t filled;

static void append(const void *record, size_t size)
{
    memcpy(buffer + filled, record, size);
    filled += size;
}

static void fill(void)
{
    const real_kernel kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .start = 10,
                                .end = 25, .correlationId = 1};
    const real_copy copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .start = 30, .end = 37,
                            .correlationId = 2};
    const real_set set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = 40, .end = 43,
                          .correlationId = 3};
    const real_external external = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                    .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                    .externalId = 77, .correlationId = 4};
    append(&kernel, sizeof kernel);
    append(&copy, sizeof copy);
    append(&set, sizeof set);
    append(&external, sizeof external);
}

/* A kernel's or a copy's; read as the layer reads it. */
static bool is_timed(const void *record, uint32_t kind, uint64_t ns, uint32_t correlation)
{
    const struct rp_cupti_kernel *kernel = record;
    const struct rp_cupti_copy *copy = record;
    bool is_kernel = kind == RP_CUPTI_KIND_CONCURRENT_KERNEL;
    return kernel->kind == kind && copy->end - copy->start == ns &&
           (is_kernel ? kernel->correlation : copy->correlation) == correlation;
}

static bool is_tag(const void *record)
{
    const struct rp_cupti_external *external = record;
    return external->kind == RP_CUPTI_KIND_EXTERNAL_CORRELATION &&
           external->external_kind == RP_CUPTI_EXTERNAL_CUSTOM0 && external->external == 77 &&
           external->correlation == 4;
}

static bool walks_over_them(void *library)
{
    union {
        void *object;
        CUptiResult (*next)(uint8_t *buffer, size_t valid, CUpti_Activity **record);
    } found = {dlsym(library, "cuptiActivityGetNextRecord")};
    CUpti_Activity *record = NULL;
    fill();
    bool good = found.next(buffer, filled, &record) == CUPTI_SUCCESS &&
                is_timed(record, RP_CUPTI_KIND_CONCURRENT_KERNEL, 15, 1);
    good = good && found.next(buffer, filled, &record) == CUPTI_SUCCESS &&
           is_timed(record, RP_CUPTI_KIND_MEMCPY, 7, 2);
    good = good && found.next(buffer, filled, &record) == CUPTI_SUCCESS &&
           is_timed(record, RP_CUPTI_KIND_MEMSET, 3, 3);
    good = good && found.next(buffer, filled, &record) == CUPTI_SUCCESS && is_tag(record);
    return good && found.next(buffer, filled, &record) == CUPTI_ERROR_MAX_LIMIT_REACHED;
}

int main(int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "libcupti.so.%d", CUDA_VERSION / 1000);
    void *library = dlopen(argc > 1 ? argv[1] : name, RTLD_LAZY);
    if (!library) {
        printf("the header agrees; not loaded: %s\n", dlerror());
        return 77;
    }
    if (!has_all(library))
        return 1;
    if (!walks_over_them(library)) {
        printf("the library walks over the records otherwise\n");
        return 1;
    }
    printf("header and library agree, version %d\n", CUPTI_API_VERSION);
    return 0;
}
