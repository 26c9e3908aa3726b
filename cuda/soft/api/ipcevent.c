/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes share. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/ipc.h"
#include "cuda/soft/api/share.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

/* The page behind a shared event. A record is done when `done` has reached its number. */
struct soft_shared_event {
    _Atomic uint64_t recorded, done;
};

static struct soft_shared_event *map_event(int file)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return page != MAP_FAILED ? page : NULL;
}

bool soft_ipc_make_event(struct soft_event *event)
{
    event->shared_file = memfd_create("reprise-soft-event", MFD_CLOEXEC);
    if (event->shared_file < 0)
        return false;
    if (ftruncate(event->shared_file, (off_t)PAGE) == 0)
        event->shared = map_event(event->shared_file);
    if (event->shared == NULL)
        close(event->shared_file);
    return event->shared != NULL;
}

void soft_ipc_drop_event(struct soft_event *event)
{
    if (event->shared == NULL)
        return;
    munmap(event->shared, PAGE);
    close(event->shared_file);
    event->shared = NULL;
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct soft_event *found;
    struct soft_token token;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(event, &found);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (pHandle == NULL || found->shared == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (!soft_token_make(found->shared_file, SOFT_TOKEN_EVENT, &token))
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &token, sizeof token);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct soft_context *context;
    struct soft_event *event;
    struct soft_token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&token, &handle, sizeof token);
    bool is_event = phEvent != NULL && soft_token_is(&token, SOFT_TOKEN_EVENT);
    int file = is_event ? soft_token_open(&token) : -1;
    if (file < 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_shared_event *shared = map_event(file);
    if (shared == NULL ||
        soft_event_create(context,
                          (unsigned)CU_EVENT_INTERPROCESS | (unsigned)CU_EVENT_DISABLE_TIMING,
                          &event) != CUDA_SUCCESS) {
        if (shared != NULL)
            munmap(shared, PAGE);
        close(file);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    event->shared = shared;
    event->shared_file = file;
    *phEvent = event_handle(event);
    return soft_leave(CUDA_SUCCESS);
}

bool soft_ipc_is_done(const struct soft_event *event)
{
    return event->shared->done >= event->shared->recorded;
}

/* ---- their works ------------------------------------------------------------------- */

/* Holds a mapping of its own: the event may be destroyed before the work has run. */
struct shared_work {
    struct soft_work base;
    struct soft_shared_event *shared;
    uint64_t number;
};

static CUresult record_run(const struct soft_work *base, struct soft_op *op)
{
    const struct shared_work *work = (const struct shared_work *)base;
    uint64_t seen = work->shared->done;
    (void)op;
    while (seen < work->number &&
           !atomic_compare_exchange_strong(&work->shared->done, &seen, work->number))
        ;
    return CUDA_SUCCESS;
}

static bool wait_ready(const struct soft_work *base, const struct soft_op *op)
{
    const struct shared_work *work = (const struct shared_work *)base;
    (void)op;
    return work->shared->done >= work->number;
}

static CUresult wait_run(const struct soft_work *base, struct soft_op *op)
{
    (void)base;
    (void)op;
    return CUDA_SUCCESS;
}

static void shared_release(struct soft_work *base)
{
    munmap(((struct shared_work *)base)->shared, PAGE);
}

static struct soft_work *make_work(const struct soft_event *event,
                                   const struct soft_work_type *type, uint64_t number)
{
    struct soft_shared_event *shared = map_event(event->shared_file);
    if (shared == NULL)
        return NULL;
    struct shared_work *work = soft_work_create(type, sizeof *work);
    if (work == NULL) {
        munmap(shared, PAGE);
        return NULL;
    }
    work->shared = shared;
    work->number = number;
    return &work->base;
}

struct soft_work *soft_ipc_record_work(const struct soft_event *event)
{
    static const struct soft_work_type type = {.name = "shared event",
                                               .class_ = SOFT_WORK_DEVICE,
                                               .run = record_run,
                                               .always = true,
                                               .release = shared_release};
    struct soft_work *work = make_work(event, &type, event->shared->recorded + 1);
    if (work != NULL)
        event->shared->recorded++;
    return work;
}

struct soft_work *soft_ipc_wait_work(const struct soft_event *event)
{
    static const struct soft_work_type type = {.name = "wait for a shared event",
                                               .class_ = SOFT_WORK_DEVICE,
                                               .run = wait_run,
                                               .ready = wait_ready,
                                               .release = shared_release};
    return make_work(event, &type, event->shared->recorded);
}
