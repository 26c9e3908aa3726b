/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events that processes share.
 *
 * What is shared is a file in memory of the process that exports: its handle says where that file
 * stands among the process's descriptors, and what in it is meant. The first export of a
 * device's memory moves all of it into such a file, under its addresses. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/ipc.h"
#include "cuda/soft/api/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define MAGIC UINT64_C(0x3143504970657274) /* "trepIPC1" */

/* What both kinds of handles hold. */
struct token {
    uint64_t magic;
    int32_t process, file;
    uint64_t inode;
    uint64_t offset, bytes; /* of memory: where it is in the file */
    int32_t device;
    uint32_t kind; /* enum token_kind */
};
enum token_kind { TOKEN_MEMORY = 1, TOKEN_EVENT };

_Static_assert(sizeof(struct token) <= CU_IPC_HANDLE_SIZE, "a token fits into a handle");

static bool make_token(int file, enum token_kind kind, struct token *token)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return false;
    *token = (struct token){
        .magic = MAGIC, .process = getpid(), .file = file, .inode = status.st_ino, .kind = kind};
    return true;
}

/* A descriptor of the same file, or a negative number when it is gone. */
static int open_token(const struct token *token, enum token_kind kind)
{
    char path[64];
    struct stat status;
    if (token->magic != MAGIC || token->kind != kind)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", token->process, token->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &status) != 0 || status.st_ino != token->inode)) {
        close(file);
        return -1;
    }
    return file;
}

/* ---- memory ------------------------------------------------------------------------ */

/* Kernels and copies must not run while the pages change under their addresses. */
static CUresult share_device(struct soft_device *device)
{
    if (device->shared_file > 0)
        return CUDA_SUCCESS;
    soft_scheduler_hold();
    bool good = soft_arena_share(&device->arena, &device->shared_file);
    soft_scheduler_resume();
    return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct soft_context *context;
    struct token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = soft_memory_find(dptr);
    if (pHandle == NULL || allocation == NULL || allocation->kind != SOFT_MEMORY_DEVICE)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_device *device = allocation->device;
    result = share_device(device);
    /* Waiting gave the lock up. */
    allocation = soft_memory_find(dptr);
    if (result == CUDA_SUCCESS && allocation == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (!make_token(device->shared_file, TOKEN_MEMORY, &token))
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    token.offset = allocation->address - device->arena.base;
    token.bytes = allocation->bytes;
    token.device = device->ordinal;
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &token, sizeof token);
    return soft_leave(CUDA_SUCCESS);
}

/* The same memory may be opened again, and has to be closed as often. */
static struct soft_allocation *find_import(const struct token *token)
{
    uint64_t lo = soft.virtual_arena.base, hi = lo + soft.virtual_arena.bytes;
    struct soft_allocation *each;
    for (uint64_t at = lo; (each = soft_memory_next(at, hi)) != NULL;
         at = each->address + each->bytes)
        if (each->kind == SOFT_MEMORY_IMPORTED && each->import.inode == token->inode &&
            each->import.offset == token->offset)
            return each;
    return NULL;
}

static CUresult map_import(struct soft_allocation *allocation, int file, uint64_t from)
{
    allocation->address = soft_arena_take(&soft.virtual_arena, allocation->reserved, PAGE);
    if (allocation->address == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->address += allocation->offset;
    if (mmap(soft_pointer(allocation->address - allocation->offset), allocation->reserved,
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)from) != MAP_FAILED &&
        soft_memory_add(allocation))
        return CUDA_SUCCESS;
    soft_memory_unmap(allocation);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult import(struct soft_context *context, const struct token *token,
                       struct soft_allocation **out)
{
    struct soft_device *device = soft_device_find(token->device);
    uint64_t from = token->offset / PAGE * PAGE;
    int file = open_token(token, TOKEN_MEMORY);
    if (file < 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (allocation != NULL) {
        *allocation = (struct soft_allocation){
            .bytes = token->bytes,
            .offset = token->offset - from,
            .reserved = soft_round_up(token->offset - from + token->bytes, PAGE),
            .kind = SOFT_MEMORY_IMPORTED,
            .context = context,
            .device = device != NULL ? device : context->device,
            .readers = UINT32_MAX,
            .writers = UINT32_MAX,
            .import = {.inode = token->inode, .offset = token->offset, .opened = 1},
        };
        result = map_import(allocation, file, from);
    }
    close(file);
    if (result == CUDA_SUCCESS)
        *out = allocation;
    else
        free(allocation);
    return result;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    struct soft_context *context;
    struct token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&token, &handle, sizeof token);
    if (pdptr == NULL || (Flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (token.magic == MAGIC && token.process == getpid())
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT); /* no process imports from itself */
    struct soft_allocation *allocation = find_import(&token);
    if (allocation != NULL)
        allocation->import.opened++;
    else
        result = import(context, &token, &allocation);
    if (result == CUDA_SUCCESS)
        *pdptr = allocation->address;
    return soft_leave(result);
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

static struct soft_allocation *find_open(CUdeviceptr address)
{
    struct soft_allocation *allocation = soft_memory_find(address);
    bool is_open = allocation != NULL && allocation->kind == SOFT_MEMORY_IMPORTED &&
                   allocation->address == address;
    return is_open ? allocation : NULL;
}

/* Like freeing, it waits for what may still use the memory. */
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_allocation *allocation = find_open(dptr);
    if (allocation == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_wait(allocation->context);
    if (result == CUDA_SUCCESS && find_open(dptr) != allocation)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && --allocation->import.opened == 0)
        soft_memory_free(allocation);
    return soft_leave(result);
}

/* ---- events ------------------------------------------------------------------------ */

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
    struct token token;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(event, &found);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (pHandle == NULL || found->shared == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (!make_token(found->shared_file, TOKEN_EVENT, &token))
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &token, sizeof token);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct soft_context *context;
    struct soft_event *event;
    struct token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&token, &handle, sizeof token);
    int file = phEvent != NULL ? open_token(&token, TOKEN_EVENT) : -1;
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
           !__atomic_compare_exchange_n(&work->shared->done, &seen, work->number, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
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
