/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/compare.h"

#include "compare_ptx.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (UINT64_C(1) << 16)
#define THREADS 128
#define MARGIN_BYTES (UINT64_C(64) << 20) /* of device memory, left to the job */

struct chunk { /* as in compare.cu */
    uint64_t at, bytes, packed;
};

struct outcome { /* of a chunk: a difference, or the two sums */
    uint64_t a, b;
};

struct rp_compare {
    const struct rp_real *real;
    CUcontext context; /* that the kernels are loaded in */
    CUmodule module;
    CUfunction gather, compare, hash;
    bool sums_wanted, has_sums;

    struct rp_compare_area *areas;
    size_t area_count;
    struct chunk *chunks;
    size_t *owners; /* of a chunk: the area */
    size_t chunk_count;
    struct outcome *before, *now;
    CUdeviceptr device_chunks, packed, outcomes;
};

#define REAL(call) (compare->real->call == CUDA_SUCCESS)

/* ---- kernels -------------------------------------------------------------------- */

static bool load(struct rp_compare *compare)
{
    CUcontext context = NULL;
    if (!REAL(cuCtxGetCurrent(&context)) || !context)
        return false;
    if (compare->module && context == compare->context)
        return true;
    compare->context = context;
    compare->module = NULL;
    return REAL(cuModuleLoadData(&compare->module, compare_ptx)) &&
           REAL(cuModuleGetFunction(&compare->gather, compare->module, "rp_gather")) &&
           REAL(cuModuleGetFunction(&compare->compare, compare->module, "rp_compare")) &&
           REAL(cuModuleGetFunction(&compare->hash, compare->module, "rp_hash"));
}

static bool launch(struct rp_compare *compare, CUfunction function, CUdeviceptr *second,
                   CUdeviceptr *third, CUstream stream)
{
    void *params[] = {&compare->device_chunks, second, third};
    return !compare->chunk_count ||
           REAL(cuLaunchKernel(function, (unsigned)compare->chunk_count, 1, 1, THREADS, 1, 1, 0,
                               stream, params, NULL));
}

/* ---- chunks --------------------------------------------------------------------- */

static void forget(struct rp_compare *compare)
{
    CUdeviceptr *const memory[] = {&compare->device_chunks, &compare->packed, &compare->outcomes};
    for (int i = 0; i < 3; i++) {
        if (*memory[i])
            compare->real->cuMemFree_v2(*memory[i]);
        *memory[i] = 0;
    }
    void *const lists[] = {compare->areas, compare->chunks, compare->owners, compare->before,
                           compare->now};
    for (int i = 0; i < 5; i++)
        free(lists[i]);
    compare->areas = NULL;
    compare->chunks = NULL;
    compare->owners = NULL;
    compare->before = compare->now = NULL;
    compare->area_count = compare->chunk_count = 0;
}

static size_t chunks_in(const struct rp_compare_area *areas, size_t count)
{
    size_t chunks = 0;
    for (size_t i = 0; i < count; i++)
        chunks += (size_t)((areas[i].bytes + CHUNK_BYTES - 1) / CHUNK_BYTES);
    return chunks;
}

/* Returns the bytes that a copy of all takes; 0 without areas. */
static uint64_t cut(struct rp_compare *compare)
{
    uint64_t packed = 0;
    for (size_t i = 0; i < compare->area_count; i++)
        for (uint64_t at = 0; at < compare->areas[i].bytes; at += CHUNK_BYTES) {
            uint64_t left = compare->areas[i].bytes - at;
            uint64_t bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;
            compare->owners[compare->chunk_count] = i;
            compare->chunks[compare->chunk_count++] =
                (struct chunk){compare->areas[i].address + at, bytes, packed};
            packed += (bytes + 15) & ~UINT64_C(15);
        }
    return packed;
}

static enum rp_status take(struct rp_compare *compare, const struct rp_compare_area *areas,
                           size_t count)
{
    size_t chunks = chunks_in(areas, count);
    compare->areas = malloc((count + 1) * sizeof *areas);
    compare->chunks = malloc((chunks + 1) * sizeof *compare->chunks);
    compare->owners = malloc((chunks + 1) * sizeof *compare->owners);
    compare->before = calloc(chunks + 1, sizeof *compare->before);
    compare->now = calloc(chunks + 1, sizeof *compare->now);
    if (!compare->areas || !compare->chunks || !compare->owners || !compare->before ||
        !compare->now)
        return RP_NO_MEMORY;
    if (count)
        memcpy(compare->areas, areas, count * sizeof *areas);
    compare->area_count = count;
    return RP_OK;
}

/* Room for a copy, or else for nothing but sums. */
static enum rp_status reserve(struct rp_compare *compare, uint64_t packed)
{
    size_t room = 0, all = 0, chunks = compare->chunk_count + 1;
    if (!REAL(cuMemAlloc_v2(&compare->device_chunks, chunks * sizeof(struct chunk))) ||
        !REAL(cuMemAlloc_v2(&compare->outcomes, chunks * sizeof(struct outcome))))
        return RP_NO_MEMORY;
    compare->has_sums = compare->sums_wanted || !REAL(cuMemGetInfo_v2(&room, &all)) ||
                        room < packed + MARGIN_BYTES ||
                        !REAL(cuMemAlloc_v2(&compare->packed, packed + 16));
    return RP_OK;
}

/* ---- keeping and checking ------------------------------------------------------- */

static bool fetch(struct rp_compare *compare, struct outcome *to, CUstream stream)
{
    return REAL(cuMemcpyDtoHAsync_v2(to, compare->outcomes,
                                     compare->chunk_count * sizeof(struct outcome), stream)) &&
           REAL(cuStreamSynchronize(stream));
}

static bool sum_up(struct rp_compare *compare, struct outcome *to, CUstream stream)
{
    size_t words = compare->chunk_count * sizeof(struct outcome) / 4;
    return REAL(cuMemsetD32Async(compare->outcomes, 0, words, stream)) &&
           launch(compare, compare->hash, &compare->outcomes, NULL, stream) &&
           fetch(compare, to, stream);
}

static bool keep(struct rp_compare *compare, CUstream stream)
{
    if (!REAL(cuMemcpyHtoDAsync_v2(compare->device_chunks, compare->chunks,
                                   compare->chunk_count * sizeof(struct chunk), stream)))
        return false;
    return compare->has_sums ? sum_up(compare, compare->before, stream)
                             : launch(compare, compare->gather, &compare->packed, NULL, stream) &&
                                   REAL(cuStreamSynchronize(stream));
}

enum rp_status rp_compare_keep(struct rp_compare *compare, const struct rp_compare_area *areas,
                               size_t count, CUstream stream)
{
    forget(compare);
    if (!load(compare))
        return RP_UNSUPPORTED;
    enum rp_status status = take(compare, areas, count);
    uint64_t packed = status == RP_OK ? cut(compare) : 0;
    if (status == RP_OK && compare->chunk_count)
        status = reserve(compare, packed);
    if (status == RP_OK && compare->chunk_count && !keep(compare, stream))
        status = RP_IO;
    if (status != RP_OK)
        forget(compare);
    return status;
}

static bool find_differences(struct rp_compare *compare, CUstream stream)
{
    if (compare->has_sums)
        return sum_up(compare, compare->now, stream);
    for (size_t i = 0; i < compare->chunk_count; i++)
        compare->now[i] = (struct outcome){UINT64_MAX, 0};
    return REAL(cuMemcpyHtoDAsync_v2(compare->outcomes, compare->now,
                                     compare->chunk_count * sizeof(struct outcome), stream)) &&
           launch(compare, compare->compare, &compare->packed, &compare->outcomes, stream) &&
           fetch(compare, compare->now, stream);
}

static bool differs(const struct rp_compare *compare, size_t chunk)
{
    const struct outcome *now = &compare->now[chunk], *before = &compare->before[chunk];
    return compare->has_sums ? now->a != before->a || now->b != before->b : now->b > 0;
}

static void describe(const struct rp_compare *compare, size_t chunk, struct rp_change *change)
{
    size_t owner = compare->owners[chunk];
    change->area = compare->areas[owner];
    change->offset = compare->chunks[chunk].at - change->area.address;
    change->count = 0;
    if (compare->has_sums)
        return;
    change->offset += compare->now[chunk].a;
    for (size_t i = chunk; i < compare->chunk_count && compare->owners[i] == owner; i++)
        change->count += compare->now[i].b;
}

enum rp_status rp_compare_check(struct rp_compare *compare, CUstream stream,
                                struct rp_change *change)
{
    enum rp_status status = RP_END;
    if (compare->chunk_count && !find_differences(compare, stream))
        status = RP_IO;
    for (size_t i = 0; status == RP_END && i < compare->chunk_count; i++)
        if (differs(compare, i)) {
            describe(compare, i, change);
            status = RP_OK;
        }
    forget(compare);
    return status;
}

void rp_compare_use_sums(struct rp_compare *compare, bool sums)
{
    compare->sums_wanted = sums;
}

enum rp_status rp_compare_create(const struct rp_real *real, struct rp_compare **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return RP_NO_MEMORY;
    (*out)->real = real;
    return RP_OK;
}

void rp_compare_destroy(struct rp_compare *compare)
{
    if (!compare)
        return;
    forget(compare);
    if (compare->module)
        compare->real->cuModuleUnload(compare->module);
    free(compare);
}

void rp_compare_abandon(struct rp_compare *compare)
{
    if (compare)
        compare->module = NULL;
    rp_compare_destroy(compare);
}
