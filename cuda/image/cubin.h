/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code for one architecture, an ELF file: its kernels, how their parameters lie, and
 * what it holds that no argument leads to.
 *
 * Nothing of the format is published; what is read here was measured on the output of CUDA
 * 13.0's ptxas. Each kernel NAME has a section `.nv.info.NAME` of records
 *
 *     u8 format, u8 attribute, u16 x [, x bytes of payload when the format is 4]
 *
 * and variables are symbols in `.nv.global`, `.nv.global.init` and `.nv.constant3`. Machine
 * code itself is not looked at.
 *
 * The file is read by hand and not through libelf: Debian's libelf.a keeps its error state in
 * thread-local storage that a shared object cannot take in (R_X86_64_TPOFF32), and the
 * preloaded object carries its third-party code inside it. Every offset is checked against
 * the size. Names point into the image, which must outlive the result. */
#ifndef RP_CUDA_IMAGE_CUBIN_H
#define RP_CUDA_IMAGE_CUBIN_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_cubin_param {
    uint32_t offset, bytes; /* in the parameter block, as the device has it */
};

struct rp_cubin_kernel {
    const char *name;
    struct rp_cubin_param *params; /* in order; NULL when their layout can't be told */
    uint32_t param_count, param_bytes;
    bool layout_known;
    /* Why it may write where neither an argument nor a variable of the module leads, or NULL:
     * it calls into the driver (malloc, printf, launches), or something in its records is not
     * known. Static text. */
    const char *escapes;
};

struct rp_cubin_global {
    const char *name;
    uint64_t bytes;
};

struct rp_cubin {
    struct rp_cubin_kernel *kernels;
    size_t kernel_count;
    struct rp_cubin_global *globals;
    size_t global_count;
    /* Some kernel takes the address of a variable or of a function, of which one cannot be
     * told (the relocations of `.nv.constant4` are the module's). */
    bool takes_addresses;
};

/* The bytes that the file's own header speaks for; 0 when that is no 64-bit ELF header. 64
 * bytes must be there. */
size_t rp_cubin_bytes(const void *image);

/* RP_DAMAGED when the file can't be read, RP_NO_MEMORY; `cubin` is empty then. */
enum rp_status rp_cubin_read(const void *image, size_t bytes, struct rp_cubin *cubin);
void rp_cubin_release(struct rp_cubin *cubin);

#endif
