/* SPDX-License-Identifier: Apache-2.0 */
/* External semaphores: a counter that somebody else has made and may move, by its file.
 *
 * On a GPU a timeline semaphore comes from a graphics interface; here it is a file in memory that
 * begins with the counter, 64 bits. A signal stores its value in stream order, and a wait lasts
 * until the counter has reached its own. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/stream.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

/* Works hold it, too: it may be destroyed before they have run. */
struct soft_semaphore {
    unsigned references;
    uint64_t *counter; /* the first of a page; others move it meanwhile */
};

struct semaphore_work {
    struct soft_work base;
    struct soft_semaphore *semaphore;
    uint64_t value;
};

static void drop(struct soft_semaphore *semaphore)
{
    if (--semaphore->references > 0)
        return;
    munmap(semaphore->counter, PAGE);
    free(semaphore);
}

static CUresult find(CUexternalSemaphore handle, struct soft_semaphore **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_SEMAPHORE))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_semaphore(handle);
    return CUDA_SUCCESS;
}

/* ---- works ------------------------------------------------------------------------- */

static CUresult signal_run(const struct soft_work *base, struct soft_op *op)
{
    const struct semaphore_work *work = (const struct semaphore_work *)base;
    (void)op;
    __atomic_store_n(work->semaphore->counter, work->value, __ATOMIC_SEQ_CST);
    return CUDA_SUCCESS;
}

static bool wait_ready(const struct soft_work *base, const struct soft_op *op)
{
    const struct semaphore_work *work = (const struct semaphore_work *)base;
    (void)op;
    return __atomic_load_n(work->semaphore->counter, __ATOMIC_SEQ_CST) >= work->value;
}

static CUresult wait_run(const struct soft_work *base, struct soft_op *op)
{
    (void)base;
    (void)op;
    return CUDA_SUCCESS;
}

static void release(struct soft_work *base)
{
    drop(((struct semaphore_work *)base)->semaphore);
}

static const struct soft_work_type signal_type = {
    .name = "semaphore signal", .class_ = SOFT_WORK_DEVICE, .run = signal_run, .release = release};
static const struct soft_work_type wait_type = {.name = "semaphore wait",
                                                .class_ = SOFT_WORK_DEVICE,
                                                .run = wait_run,
                                                .ready = wait_ready,
                                                .release = release};

static CUresult submit_one(struct soft_stream *stream, struct soft_semaphore *semaphore,
                           const struct soft_work_type *type, uint64_t value)
{
    struct semaphore_work *work = soft_work_create(type, sizeof *work);
    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    semaphore->references++;
    work->semaphore = semaphore;
    work->value = value;
    return soft_stream_submit(stream, &work->base, NULL);
}

/* The values lie `stride` bytes apart. All handles are looked at before the first is used. */
static CUresult submit(const CUexternalSemaphore *handles, const unsigned long long *values,
                       size_t stride, unsigned count, CUstream stream_handle,
                       const struct soft_work_type *type)
{
    struct soft_stream *stream;
    struct soft_semaphore *semaphore;
    CUresult result = soft_stream_enter(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = find(handles[i], &semaphore);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        const char *at = (const char *)values + i * stride;
        find(handles[i], &semaphore);
        result = submit_one(stream, semaphore, type, *(const unsigned long long *)(const void *)at);
    }
    return soft_leave(result);
}

/* ---- entry points ------------------------------------------------------------------ */

/* The descriptor belongs to the device from here on, when the semaphore could be made. */
CUresult CUDAAPI cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
                                           const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
    struct soft_context *context;
    struct stat status;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (extSem_out == NULL || semHandleDesc == NULL || semHandleDesc->flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (semHandleDesc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
        return soft_leave(soft_refuse("external semaphores of type %d", (int)semHandleDesc->type));
    int file = semHandleDesc->handle.fd;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size < (off_t)sizeof(uint64_t))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    struct soft_semaphore *semaphore = malloc(sizeof *semaphore);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (semaphore == NULL || page == MAP_FAILED ||
        !soft_handle_add(semaphore, SOFT_HANDLE_SEMAPHORE)) {
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        free(semaphore);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    close(file);
    *semaphore = (struct soft_semaphore){.references = 1, .counter = page};
    *extSem_out = semaphore_handle(semaphore);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDestroyExternalSemaphore(CUexternalSemaphore extSem)
{
    struct soft_semaphore *semaphore;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = find(extSem, &semaphore);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    soft_handle_remove(semaphore);
    drop(semaphore);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI
cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                unsigned int numExtSems, CUstream stream)
{
    if (extSemArray == NULL || paramsArray == NULL || numExtSems == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(extSemArray, &paramsArray->params.fence.value, sizeof *paramsArray, numExtSems,
                  stream, &signal_type);
}

CUresult CUDAAPI cuWaitExternalSemaphoresAsync(
    const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
    unsigned int numExtSems, CUstream stream)
{
    if (extSemArray == NULL || paramsArray == NULL || numExtSems == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(extSemArray, &paramsArray->params.fence.value, sizeof *paramsArray, numExtSems,
                  stream, &wait_type);
}
