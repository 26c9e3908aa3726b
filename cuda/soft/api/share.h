/* SPDX-License-Identifier: Apache-2.0 */
/* What processes share: files in memory, and tokens that lead to them.
 *
 * A token says where the file stands among the descriptors of the process that exports, and what
 * in it is meant. Whoever gets one opens that file by way of /proc. Called with the device's
 * lock. */
#ifndef RP_CUDA_SOFT_API_SHARE_H
#define RP_CUDA_SOFT_API_SHARE_H

#include "cuda/soft/api/memory.h"

enum soft_token_kind {
    SOFT_TOKEN_MEMORY = 1, /* cuIpcGetMemHandle */
    SOFT_TOKEN_EVENT,      /* cuIpcGetEventHandle */
    SOFT_TOKEN_POOL,       /* cuMemPoolExportToShareableHandle */
    SOFT_TOKEN_PIECE,      /* cuMemPoolExportPointer: memory of a pool */
};

struct soft_token {
    uint64_t magic;
    int32_t process, file;
    uint64_t inode;
    uint64_t offset, bytes; /* of memory: where it is in the file */
    int32_t device;
    uint32_t kind; /* enum soft_token_kind */
    uint64_t pool; /* of POOL and PIECE: which one, in the process that exports */
};

bool soft_token_make(int file, enum soft_token_kind kind, struct soft_token *token);
/* Is it one of this kind? Another process may have made it, or nobody. */
bool soft_token_is(const struct soft_token *token, enum soft_token_kind kind);
/* A descriptor of the same file, or a negative number when it is gone. */
int soft_token_open(const struct soft_token *token);

/* A token for an allocation in its device's own memory, all of which moves into a file when the
 * first is made; for that the lock is given up, and the allocation is looked up again. */
CUresult soft_share_memory(uint64_t address, enum soft_memory_kind kind,
                           enum soft_token_kind token_kind, struct soft_token *token);

/* Maps `bytes` of the file from `offset` as IMPORTED memory of `context`, seen by all devices. */
CUresult soft_share_map(struct soft_context *context, struct soft_device *device, int file,
                        uint64_t offset, uint64_t bytes, struct soft_allocation **out);
/* The same for what a token leads to. */
CUresult soft_share_import(struct soft_context *context, const struct soft_token *token,
                           struct soft_allocation **out);

#endif
