/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and kernels as the driver hands them out, with what their images prove.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_KERNEL_H
#define RP_INTERPOSE_KERNEL_H

#include "cuda/access/memo.h"
#include "interpose/calls/given.h"
#include "interpose/calls/image.h"
#include "tracker/memory.h"

struct rp_kernel {
    uint64_t function;    /* CUfunction or CUkernel */
    uint64_t module;
    uint32_t name;
    const char *text;     /* of the name */
    const struct rp_proof *proof; /* NULL: nothing is known of what it does */
    struct rp_memo *memo; /* of the proof's evaluations; NULL without a proof or memory */
    const char *varies;   /* rp_proof_varies; NULL without a proof */
    const char *unproved; /* why, when proof is NULL */
    const char *escapes;  /* why it may write what neither arguments nor globals lead to */
    struct rp_kernel_layout layout; /* of the parameter block that proof and locators want */
    struct rp_given *given; /* of a known layout; its own */
    bool packed_alike;    /* the block that a job passes as `extra` lies the same way */
    bool is_handle;       /* a CUkernel, which is a function of its own in each context */
    bool by_context;      /* of a library: its variables lie elsewhere in each context */
};

/* `image` was loaded as `module`, a CUmodule or a CUlibrary. */
void rp_kernel_load(uint64_t module, const struct rp_image *image, bool is_library);
/* `module` is another handle of what `known` was loaded from, its globals included. */
void rp_kernel_load_same(uint64_t module, uint64_t known);
/* `buried` is called for each global of the module, which die with it; may be NULL. */
void rp_kernel_unload(uint64_t module, void (*buried)(rp_alloc_id id));

/* The job got `function` by this name. `told` is what the driver says of its parameters. */
void rp_kernel_got(uint64_t function, uint64_t module, const char *name,
                   const struct rp_kernel_layout *told);
/* `function` is another handle of the same kernel as `known`. */
void rp_kernel_same(uint64_t function, uint64_t known);

/* `function` is a CUkernel, which rp_kernel_got has made known. */
void rp_kernel_is_handle(uint64_t function);
/* Nodes of graphs have functions that nobody was handed: where `function` is that of a CUkernel, as
 * `function_of` tells, it is made known. */
void rp_kernel_meet(uint64_t function, uint64_t (*function_of)(uint64_t kernel));

/* Never NULL: a function that nobody looked up under our eyes is an unproved kernel. */
const struct rp_kernel *rp_kernel_find(uint64_t function);

/* Module globals, by name: for locators and for kernels that use them. Those of a library are found
 * in one context after the other, which is told by its number (context.h). */
void rp_kernel_global_found(uint64_t module, unsigned context, const char *symbol,
                            uint64_t address, uint64_t bytes, rp_alloc_id id);
/* Is it known where the kernel's variables are in this context? */
bool rp_kernel_has_met(const struct rp_kernel *kernel, unsigned context);
/* They were looked for in this context. */
void rp_kernel_met(uint64_t module, unsigned context);
/* The library of the kernel, if that has not been done; or 0. */
uint64_t rp_kernel_unmet(const struct rp_kernel *kernel, unsigned context,
                         const struct rp_image **image);
typedef enum rp_status (*rp_kernel_global_fn)(void *ctx, uint64_t address);
enum rp_status rp_kernel_globals(const struct rp_kernel *kernel, rp_kernel_global_fn visit,
                                 void *ctx);
/* rp_symbol_fn for proofs; ctx is a kernel in a context. */
struct rp_kernel_in {
    const struct rp_kernel *kernel;
    unsigned context; /* counts where the kernel is by_context, and there is more than one */
};
uint64_t rp_kernel_symbol(void *ctx, const char *symbol, uint64_t *bytes);

/* What was proved of it turned out wrong: by any handle, it may write anything from now on. */
void rp_kernel_poison(const struct rp_kernel *kernel);

/* After a fork. */
void rp_kernels_forget(void);

#endif
