/* SPDX-License-Identifier: Apache-2.0 */
/* The SIMT interpreter: runs compiled PTX kernels on the CPU.
 *
 * The boundary between the two halves of the software device: simt/ knows PTX and warps and
 * nothing of streams, contexts or CUresult; api/ knows the driver API and nothing of
 * instructions. Device pointers are host pointers. Shared and local memory lie below 2 GiB
 * so that 32-bit shared addresses, generic addresses and cvta are the identity. */
#ifndef RP_CUDA_SOFT_SIMT_H
#define RP_CUDA_SOFT_SIMT_H

#include "cuda/ptx/ptx.h"

struct simt_module; /* compiled code of one PTX module; immutable after creation */
struct simt_kernel; /* one entry of it; lives as long as its module */

/* Compiles every function. `storage` gives the device address at which the module global
 * `var` lives (already filled with its initial contents by the caller, relocations
 * excepted: simt_module_create patches those). A kernel with an instruction that can't be
 * run does not fail the module: see simt_kernel_refusal. */
typedef uint64_t (*simt_storage_fn)(void *ctx, const struct rp_ptx_var *var);
enum rp_status simt_module_create(const struct rp_ptx_module *ptx, simt_storage_fn storage,
                                  void *ctx, struct simt_module **out, char *message,
                                  size_t message_size);
void simt_module_destroy(struct simt_module *module);

const struct simt_kernel *simt_module_kernel(const struct simt_module *module, const char *name);
/* NULL when the kernel can run; else one line that names the opcode, its line and column. */
const char *simt_kernel_refusal(const struct simt_kernel *kernel);

struct simt_kernel_info {
    const struct rp_ptx_function *ptx; /* parameters with offsets and sizes */
    uint32_t static_shared_bytes, local_bytes, registers, max_threads;
};
void simt_kernel_info(const struct simt_kernel *kernel, struct simt_kernel_info *info);

enum simt_fault_kind {
    SIMT_FAULT_NONE, SIMT_FAULT_ADDRESS, SIMT_FAULT_MISALIGNED, SIMT_FAULT_TRAP,
    SIMT_FAULT_TIMEOUT, SIMT_FAULT_BARRIER, SIMT_FAULT_NO_MEMORY, SIMT_FAULT_STACK
};
struct simt_fault {
    enum simt_fault_kind kind;
    uint32_t block[3], thread[3];
    uint64_t address;
    uint32_t line; /* of the PTX instruction */
    bool is_write;
};

/* Bounds: is [address, address+bytes) wholly inside device memory that this launch may
 * touch? Asked on a cache miss only; answers with the surrounding valid range so that the
 * interpreter can cache it. Called from worker threads at the same time. Addresses of
 * shared and local arenas never reach it. */
typedef bool (*simt_bounds_fn)(void *ctx, uint64_t address, uint64_t bytes, uint64_t *range_lo,
                               uint64_t *range_hi);
/* The oracle: every global access, a touch for each warp operation and contiguous run of lanes,
 * in batches; those of one worker come in order. NULL: off. */
struct simt_touch {
    uint64_t address, bytes;
    bool is_write;
};
typedef void (*simt_oracle_fn)(void *ctx, const struct simt_touch *touches, size_t count);

/* What a launch executed, by the unit of a GPU that would do it. A warp's instruction counts for
 * all 32 lanes, whoever is active: that is what it costs. `of` is in lane-instructions (two
 * for 64-bit integers, several for divisions), in multiply-adds for the tensor classes, and for
 * memory (shared memory and shuffles too) in lanes of wavefronts of 128 bytes. */
enum simt_class {
    SIMT_CLASS_CONTROL, SIMT_CLASS_FP32, SIMT_CLASS_FP64, SIMT_CLASS_HALF, SIMT_CLASS_INTEGER,
    SIMT_CLASS_SPECIAL, SIMT_CLASS_CONVERT, SIMT_CLASS_MEMORY, SIMT_CLASS_TENSOR_HALF,
    SIMT_CLASS_TENSOR_TF32, SIMT_CLASS_TENSOR_BYTE, SIMT_CLASS_TENSOR_FP64, SIMT_CLASSES
};
struct simt_counts {
    uint64_t issued; /* lane-instructions of all classes */
    uint64_t of[SIMT_CLASSES];
    bool incomplete; /* for want of host memory */
};

struct simt_launch {
    const struct simt_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    const unsigned char *params; /* kernel->ptx->param_bytes bytes, copied at launch time */
    bool cooperative;            /* all blocks are alive at once; grid barriers work */
    uint64_t timeout_ns;         /* 0: none */
    uint64_t schedule_seed;      /* 0: blocks in order; else a legal order by seed */
    uint64_t grid_id;
    simt_bounds_fn bounds;
    void *bounds_ctx;
    simt_oracle_fn oracle;
    void *oracle_ctx;
    struct simt_counts *counts; /* NULL: nobody wants to know */
    /* NULL, or: called before each block but the first, where one thread runs them all, with how
     * many are done of how many. Answers the ns that it took, which do not count as the
     * launch's. */
    uint64_t (*between)(void *ctx, uint64_t done, uint64_t whole);
    void *between_ctx;
};

/* What %nsmid says, and what the device should answer for its multiprocessor count. */
#define SIMT_MULTIPROCESSORS 8

/* Runs a launch to its end on `workers` threads of the pool (the caller is one of them)
 * and reports the first fault. Several launches may run at the same time. */
struct simt_pool;
enum rp_status simt_pool_create(unsigned workers, struct simt_pool **out);
void simt_pool_destroy(struct simt_pool *pool);
enum rp_status simt_run(struct simt_pool *pool, const struct simt_launch *launch,
                        struct simt_fault *fault);
/* Lane-operations executed by the pool since its creation: for benchmarks and the clock. */
uint64_t simt_pool_operations(const struct simt_pool *pool);
const char *simt_isa_name(void); /* "baseline", "avx2", "avx512": what was chosen at run time */

#endif
