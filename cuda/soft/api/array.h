/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: storage for textures and surfaces, without an address for the program.
 *
 * An array's elements lie tightly packed, row after row and slice after slice (layers and faces
 * are slices), in memory of its device that kernels may not touch by address. The levels of
 * a mipmap lie in one storage behind each other; each is an array of its own that can't be
 * destroyed alone. Called with the device's lock held. */
#ifndef RP_CUDA_SOFT_API_ARRAY_H
#define RP_CUDA_SOFT_API_ARRAY_H

#include "cuda/soft/api/memory.h"

/* Limits, in elements: those of all GPUs since compute capability 5.0. */
#define SOFT_ARRAY_1D 131072
#define SOFT_ARRAY_2D_WIDTH 131072
#define SOFT_ARRAY_2D_HEIGHT 65536
#define SOFT_ARRAY_3D 16384
#define SOFT_ARRAY_LAYERS 2048

struct soft_array {
    struct soft_mipmap *mipmap; /* that it is a level of, or NULL */
    struct soft_context *context;
    CUDA_ARRAY3D_DESCRIPTOR described;
    uint64_t address;
    uint64_t width, height, depth; /* bytes a row, rows a slice, slices; none is 0 */
};

CUresult soft_array_find(CUarray handle, struct soft_array **out);
CUresult soft_mipmap_find(CUmipmappedArray handle, struct soft_mipmap **out);
/* Bytes of one element, 0 for a format that the device does not have. */
unsigned soft_array_element(CUarray_format format, unsigned channels);
/* All arrays and mipmaps of a context that is idle. */
void soft_arrays_destroy(struct soft_context *context);

#endif
