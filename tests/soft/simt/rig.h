/* SPDX-License-Identifier: Apache-2.0 */
/* A bench for kernels: PTX in, memory, a launch, and what came of it. */
#ifndef RP_TESTS_SIMT_RIG_H
#define RP_TESTS_SIMT_RIG_H

#include "cuda/soft/simt.h"

#define RIG_MAX_BUFFERS 64

struct rig {
    struct rp_ptx_module *ptx;
    struct simt_module *module;
    struct simt_pool *pool;
    struct { unsigned char *at; size_t bytes; } buffers[RIG_MAX_BUFFERS];
    size_t buffer_count;
    struct { const struct rp_ptx_var *var; unsigned char *at; } globals[RIG_MAX_BUFFERS];
    size_t global_count;
    /* Used by the next launches; everything else is 0. */
    struct simt_launch options;
    struct simt_fault fault;
};

/* Any failure up to the launch fails the test. `workers` threads. */
void rig_open(struct rig *rig, const char *ptx, unsigned workers);
void rig_open_file(struct rig *rig, const char *path, unsigned workers);
void rig_close(struct rig *rig);

/* Device memory, zeroed; every byte outside of buffers and module variables is out of bounds. */
void *rig_buffer(struct rig *rig, size_t bytes);
/* The storage of a module variable. */
void *rig_global(struct rig *rig, const char *name);

struct rig_size { uint32_t x, y, z; };
/* Launches and waits; `args` has a pointer for each parameter of the kernel. */
enum rp_status rig_try(struct rig *rig, const char *kernel, struct rig_size grid,
                       struct rig_size block, const void *const *args);
/* The same, and a fault fails the test. */
void rig_run(struct rig *rig, const char *kernel, struct rig_size grid, struct rig_size block,
             const void *const *args);

#define RIG_ARGS(...) ((const void *const[]){__VA_ARGS__})
#define RIG_X(n) ((struct rig_size){(n), 1, 1})
#define RIG_XY(n, m) ((struct rig_size){(n), (m), 1})

#endif
