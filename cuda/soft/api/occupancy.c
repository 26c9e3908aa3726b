/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy: how many blocks are resident at once. Warps, shared memory and the number of blocks
 * limit it, by the formula of NVIDIA's occupancy calculator; registers do not, as the interpreter
 * has as many as it needs (function.c tells as few as never limit it). */
#include "cuda/soft/api/occupancy.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"

#define WARP 32u
#define SHARED_UNIT 128 /* in which it is given out */

static unsigned attribute(const struct soft_function *function, CUdevice_attribute which)
{
    bool known;
    return (unsigned)soft_device_attribute(function->module->context->device, which, &known);
}

static unsigned thread_limit(const struct soft_function *function)
{
    unsigned own = function->info.max_threads;
    return own != 0 && own < SOFT_MAX_THREADS_PER_BLOCK ? own : SOFT_MAX_THREADS_PER_BLOCK;
}

unsigned soft_occupancy_blocks(const struct soft_function *function, unsigned threads,
                               uint64_t dynamic_shared)
{
    unsigned resident = attribute(function, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    uint64_t shared_all =
        attribute(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    uint64_t shared = function->info.static_shared_bytes + dynamic_shared +
                      attribute(function, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    unsigned blocks = attribute(function, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);

    if (threads == 0 || threads > thread_limit(function) ||
        dynamic_shared > function->max_dynamic_shared)
        return 0;
    unsigned by_threads = resident / (unsigned)soft_round_up(threads, WARP);
    if (by_threads < blocks)
        blocks = by_threads;
    shared = soft_round_up(shared, SHARED_UNIT);
    if (shared > 0 && shared_all / shared < blocks)
        blocks = (unsigned)(shared_all / shared);
    return blocks;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(func, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (numBlocks == NULL || blockSize <= 0 ||
        (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *numBlocks = (int)soft_occupancy_blocks(function, (unsigned)blockSize, dynamicSMemSize);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                             int blockSize, size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

/* The block size, from the largest down, that keeps most threads resident. `shared_for` is a
 * function of the program and is called without the lock. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                           CUfunction func,
                                                           CUoccupancyB2DSize shared_for,
                                                           size_t dynamicSMemSize,
                                                           int blockSizeLimit, unsigned int flags)
{
    struct soft_function *function;
    int best_threads = 0, best_blocks = 0;

    if (minGridSize == NULL || blockSize == NULL || blockSizeLimit < 0 ||
        (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_function_enter(func, &function);
    if (result != CUDA_SUCCESS)
        return result;
    int most = (int)thread_limit(function);
    soft_leave(CUDA_SUCCESS);
    if (blockSizeLimit != 0 && blockSizeLimit < most)
        most = blockSizeLimit;
    for (int threads = most; threads > 0; threads = (threads - 1) & ~(int)(WARP - 1)) {
        int blocks;
        size_t shared = shared_for != NULL ? shared_for(threads) : dynamicSMemSize;
        result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, threads, shared);
        if (result != CUDA_SUCCESS)
            return result;
        if (blocks * threads > best_blocks * best_threads) {
            best_blocks = blocks;
            best_threads = threads;
        }
    }
    *minGridSize = best_blocks * SOFT_MULTIPROCESSORS;
    *blockSize = best_threads;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize shared_for,
                                                  size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, shared_for,
                                                     dynamicSMemSize, blockSizeLimit, 0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(func, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (dynamicSmemSize == NULL || numBlocks <= 0 || blockSize <= 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    uint64_t all = attribute(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    uint64_t each = all / (unsigned)numBlocks / SHARED_UNIT * SHARED_UNIT;
    uint64_t own = function->info.static_shared_bytes +
                   attribute(function, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    uint64_t available = each > own ? each - own : 0;
    *dynamicSmemSize =
        available < function->max_dynamic_shared ? available : function->max_dynamic_shared;
    return soft_leave(CUDA_SUCCESS);
}
