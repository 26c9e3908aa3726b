/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/profiler.h"

#include "interpose/door/next.h"
#include "interpose/run/cupti.h"
#include "tracker/array.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ------------------------------------------------------------------------ */

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*complete_fn)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);

static struct {
    int (*RegisterCallbacks)(request_fn request, complete_fn complete);
    int (*Enable)(int kind);
    int (*Disable)(int kind);
    int (*FlushAll)(uint32_t flag);
    int (*GetNextRecord)(uint8_t *buffer, size_t valid, void **record);
    int (*PushExternalCorrelationId)(int kind, uint64_t id);
    int (*PopExternalCorrelationId)(int kind, uint64_t *last);
} cupti;

/* ---- records ---------------------------------------------------------------------------- */

enum { BUFFER_BYTES = 1 << 20, ALIGNMENT = 8, MOST_RECORDS = 1 << 20 };

struct known {
    uint64_t value; /* a tag, or a time */
    uint32_t correlation;
};

struct list {
    struct known *items;
    size_t count, capacity;
};

static struct {
    pthread_mutex_t lock;
    struct list tags, times;
    bool tried, runs;
    const char *refused;
} profiler = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local uint64_t tagged; /* what this thread's calls belong to; 0 for nothing */

/* What comes past the limit is lost, and what it belonged to takes less time than it did; no
 * step that is worth planning has a million kernels. */
static void add(struct list *list, uint64_t value, uint32_t correlation)
{
    if (list->count >= MOST_RECORDS)
        return;
    struct known *bigger = rp_array_reserve(list->items, &list->capacity, list->count + 1,
                                            sizeof(*bigger));
    if (!bigger)
        return;
    list->items = bigger;
    list->items[list->count++] = (struct known){value, correlation};
}

static void take_record(const void *record)
{
    const struct rp_cupti_kernel *kernel = record;
    const struct rp_cupti_copy *copy = record;
    const struct rp_cupti_external *external = record;
    switch (kernel->kind) {
    case RP_CUPTI_KIND_CONCURRENT_KERNEL:
        add(&profiler.times, kernel->end - kernel->start, kernel->correlation);
        break;
    case RP_CUPTI_KIND_MEMCPY:
    case RP_CUPTI_KIND_MEMSET:
        add(&profiler.times, copy->end - copy->start, copy->correlation);
        break;
    case RP_CUPTI_KIND_EXTERNAL_CORRELATION:
        if (external->external_kind == RP_CUPTI_EXTERNAL_CUSTOM0)
            add(&profiler.tags, external->external, external->correlation);
        break;
    default: break;
    }
}

static void request_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most = 0; /* as many as fit */
}

static void complete_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
    (void)context, (void)stream, (void)size;
    void *record = NULL;
    pthread_mutex_lock(&profiler.lock);
    while (valid && cupti.GetNextRecord(buffer, valid, &record) == 0)
        take_record(record);
    pthread_mutex_unlock(&profiler.lock);
    free(buffer);
}

/* ---- starting ----------------------------------------------------------------------------- */

static const char *find_library(void **library)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    const char *injected = secure_getenv("CUDA_INJECTION64_PATH");
    if (injected && *injected)
        return "another profiler is there (CUDA_INJECTION64_PATH)";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD))
            return "another profiler may be there: libcupti is loaded already";
    for (size_t i = 0; i < sizeof names / sizeof *names && !*library; i++)
        *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return *library ? NULL : "libcupti was not found";
}

static bool look_up(void *library, const char *name, void *function)
{
    void *found = rp_next_dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool look_all_up(void *library)
{
    bool all = true;
#define LOOK_UP(name) all = all && look_up(library, "cuptiActivity" #name, &cupti.name);
    RP_CUPTI_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return all;
}

static const char *start(void)
{
    static const int kinds[] = {RP_CUPTI_KIND_EXTERNAL_CORRELATION,
                                RP_CUPTI_KIND_CONCURRENT_KERNEL, RP_CUPTI_KIND_MEMCPY,
                                RP_CUPTI_KIND_MEMSET};
    void *library = NULL;
    const char *refused = find_library(&library);
    if (refused)
        return refused;
    if (!look_all_up(library))
        return "libcupti has not what is needed";
    if (cupti.RegisterCallbacks(request_buffer, complete_buffer) != 0)
        return "CUPTI takes no callbacks";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (cupti.Enable(kinds[i]) == 0)
            continue;
        while (i-- > 0)
            cupti.Disable(kinds[i]);
        return "CUPTI does not record activity on this device";
    }
    return NULL;
}

bool rp_profiler_start(void)
{
    const char *wanted = secure_getenv("REPRISE_TIMES");
    if (profiler.tried || !wanted || strcmp(wanted, "cupti") != 0)
        return profiler.runs;
    profiler.tried = true;
    profiler.refused = start();
    return profiler.runs = !profiler.refused;
}

bool rp_profiler_runs(void)
{
    return profiler.runs;
}

const char *rp_profiler_refused(void)
{
    return profiler.refused;
}

/* ---- tags ------------------------------------------------------------------------------------ */

void rp_profiler_tag(uint64_t tag)
{
    uint64_t last;
    if (!profiler.runs || tag == tagged)
        return;
    if (tagged)
        cupti.PopExternalCorrelationId(RP_CUPTI_EXTERNAL_CUSTOM0, &last);
    if (tag)
        cupti.PushExternalCorrelationId(RP_CUPTI_EXTERNAL_CUSTOM0, tag);
    tagged = tag;
}

static int compare(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static const struct known *time_of(const struct known *tag)
{
    return bsearch(tag, profiler.times.items, profiler.times.count, sizeof *tag, compare);
}

/* Steps end one after the other: what a tag up to `last` has no time for, never gets one. */
static void forget_until(uint64_t last)
{
    size_t kept = 0;
    for (size_t i = 0; i < profiler.tags.count; i++) {
        struct known tag = profiler.tags.items[i];
        struct known *time = (struct known *)(uintptr_t)time_of(&tag);
        if (tag.value > last)
            profiler.tags.items[kept++] = tag;
        else if (time)
            time->value = UINT64_MAX; /* taken */
    }
    profiler.tags.count = kept;
    kept = 0;
    for (size_t i = 0; i < profiler.times.count; i++)
        if (profiler.times.items[i].value != UINT64_MAX)
            profiler.times.items[kept++] = profiler.times.items[i];
    profiler.times.count = kept;
}

void rp_profiler_take(uint64_t first, uint64_t last, rp_profiler_fn visit, void *ctx)
{
    if (!profiler.runs)
        return;
    cupti.FlushAll(0);
    pthread_mutex_lock(&profiler.lock);
    qsort(profiler.times.items, profiler.times.count, sizeof(struct known), compare);
    for (size_t i = 0; i < profiler.tags.count; i++) {
        const struct known *tag = &profiler.tags.items[i], *time = time_of(tag);
        if (time && tag->value >= first && tag->value <= last)
            visit(ctx, tag->value, time->value);
    }
    forget_until(last);
    pthread_mutex_unlock(&profiler.lock);
}
