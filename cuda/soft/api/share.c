/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/share.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/work.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define MAGIC UINT64_C(0x3143504970657274) /* "trepIPC1" */

_Static_assert(sizeof(struct soft_token) <= CU_IPC_HANDLE_SIZE, "a token fits into a handle");
_Static_assert(sizeof(struct soft_token) <= sizeof(CUmemPoolPtrExportData), "and into a pool's");

/* ---- tokens ------------------------------------------------------------------------ */

bool soft_token_make(int file, enum soft_token_kind kind, struct soft_token *token)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return false;
    *token = (struct soft_token){
        .magic = MAGIC, .process = getpid(), .file = file, .inode = status.st_ino, .kind = kind};
    return true;
}

bool soft_token_is(const struct soft_token *token, enum soft_token_kind kind)
{
    return token->magic == MAGIC && token->kind == kind;
}

int soft_token_open(const struct soft_token *token)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", token->process, token->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &status) != 0 || status.st_ino != token->inode)) {
        close(file);
        return -1;
    }
    return file;
}

/* ---- going ------------------------------------------------------------------------- */

/* Kernels and copies must not run while the pages change under their addresses. */
static CUresult share_device(struct soft_device *device)
{
    if (device->shared_file > 0)
        return CUDA_SUCCESS;
    soft_scheduler_hold();
    /* Waiting gave the lock up: another thread may have been here. */
    bool good = device->shared_file > 0 || soft_arena_share(&device->arena, &device->shared_file);
    soft_scheduler_resume();
    return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_share_memory(uint64_t address, enum soft_memory_kind kind,
                           enum soft_token_kind token_kind, struct soft_token *token)
{
    const struct soft_allocation *allocation = soft_memory_find(address);
    if (allocation == NULL || allocation->kind != kind)
        return CUDA_ERROR_INVALID_VALUE;
    struct soft_device *device = allocation->device;
    CUresult result = share_device(device);
    allocation = soft_memory_find(address);
    if (result == CUDA_SUCCESS && (allocation == NULL || allocation->kind != kind))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_token_make(device->shared_file, token_kind, token))
        return CUDA_ERROR_OPERATING_SYSTEM;
    token->offset = allocation->address - device->arena.base;
    token->bytes = allocation->bytes;
    token->device = device->ordinal;
    return CUDA_SUCCESS;
}

/* ---- coming ------------------------------------------------------------------------ */

static CUresult map(struct soft_allocation *allocation, int file, uint64_t from)
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

CUresult soft_share_map(struct soft_context *context, struct soft_device *device, int file,
                        uint64_t offset, uint64_t bytes, struct soft_allocation **out)
{
    uint64_t from = offset / PAGE * PAGE;
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *allocation = (struct soft_allocation){
        .bytes = bytes,
        .offset = offset - from,
        .reserved = soft_round_up(offset - from + bytes, PAGE),
        .kind = SOFT_MEMORY_IMPORTED,
        .context = context,
        .device = device,
        .readers = UINT32_MAX,
        .writers = UINT32_MAX,
    };
    CUresult result = map(allocation, file, from);
    if (result == CUDA_SUCCESS)
        *out = allocation;
    else
        free(allocation);
    return result;
}

CUresult soft_share_import(struct soft_context *context, const struct soft_token *token,
                           struct soft_allocation **out)
{
    struct soft_device *device = soft_device_find(token->device);
    int file = soft_token_open(token);
    if (file < 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_share_map(context, device != NULL ? device : context->device, file,
                                     token->offset, token->bytes, out);
    close(file);
    return result;
}
