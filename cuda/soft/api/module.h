/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and functions: PTX text made ready to run in one context.
 *
 * A module lives until it is unloaded and the last work that runs one of its kernels is gone. */
#ifndef RP_CUDA_SOFT_API_MODULE_H
#define RP_CUDA_SOFT_API_MODULE_H

#include "cuda/soft/api/soft.h"
#include "cuda/soft/simt.h"

#define SOFT_PARAM_BYTES 4096 /* of the legacy cuParamSet* calls */

struct soft_allocation;

struct soft_global {
    const struct rp_ptx_var *var;
    struct soft_allocation *memory;
};

struct soft_function {
    struct soft_module *module;
    const char *name;
    const struct simt_kernel *kernel;
    struct simt_kernel_info info;
    unsigned max_dynamic_shared; /* bytes; raised by cuFuncSetAttribute */
    int carveout;
    CUfunc_cache cache_config;
    /* cuFuncSetBlockShape, cuFuncSetSharedSize, cuParamSet*: for cuLaunch* without arguments */
    unsigned block[3], shared, param_bytes;
    unsigned char *params; /* SOFT_PARAM_BYTES, or NULL */
};

struct soft_module {
    struct soft_module *next; /* in its context */
    struct soft_context *context;
    struct soft_library *library; /* that it belongs to, or NULL */
    unsigned references;
    struct rp_ptx_module *ptx;
    struct simt_module *code;
    struct soft_function *functions; /* the entries with a body, in the order of the text */
    size_t function_count;
    struct soft_global *globals;
    size_t global_count;
};

/* The options of cuModuleLoadDataEx and cuLinkCreate that mean something here. */
struct soft_jit {
    char *error_log, *info_log;
    size_t error_bytes, info_bytes;
    unsigned option_count;
    const CUjit_option *options;
    void **values;
};
CUresult soft_jit_read(unsigned count, const CUjit_option *options, void **values,
                       struct soft_jit *jit);
/* Writes the log, and its length back into the options. Without a buffer it goes to stderr. */
void soft_jit_report(struct soft_jit *jit, const char *message);
void soft_jit_clear(struct soft_jit *jit); /* nothing to report */

/* Finds or makes the PTX text in an image: PTX, or a container with PTX inside. The
 * caller frees *text. */
CUresult soft_image_read(const void *image, char **text, size_t *length, char *message,
                         size_t message_size);
/* The whole file, zero-terminated; the caller frees *out. */
CUresult soft_image_load(const char *path, char **out);

/* Loads PTX text into `context`, with the lock. */
CUresult soft_module_load(struct soft_context *context, const char *text, size_t length,
                          struct soft_module **out, char *message, size_t message_size);
void soft_module_destroy(struct soft_module *module); /* unloads: handles die at once */
struct soft_module *soft_module_retain(struct soft_module *module);
void soft_module_release(struct soft_module *module);

struct soft_function *soft_module_function(struct soft_module *module, const char *name);
/* Where a variable is and how large, where asked for: the answer of cuModuleGetGlobal. */
CUresult soft_module_tell_global(const struct soft_module *module, const char *name,
                                 CUdeviceptr *address, size_t *bytes);
/* Why a function can't run goes to stderr, and CUDA_ERROR_NOT_SUPPORTED is the answer. */
CUresult soft_function_check(const struct soft_function *function);

/* A live function for a handle from the program, which may be a CUkernel in disguise. */
CUresult soft_function_find(struct soft_context *context, CUfunction handle,
                            struct soft_function **out);
/* soft_enter, with that function: the lock is not held where there is none. */
CUresult soft_function_enter(CUfunction handle, struct soft_function **out);

#endif
