/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/array.h"

#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/pool.h"

#include <stdlib.h>

#define MOST_LEVELS 18 /* of a side of 131072 */

/* A storage and its levels; a plain array is one with a single level. */
struct soft_mipmap {
    struct soft_mipmap *next; /* in its context */
    struct soft_context *context;
    struct soft_allocation *storage;
    bool is_plain;
    unsigned count;
    struct soft_array levels[];
};

/* ---- shapes ------------------------------------------------------------------------ */

static unsigned channel_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

unsigned soft_array_element(CUarray_format format, unsigned channels)
{
    return channels == 1 || channels == 2 || channels == 4 ? channels * channel_bytes(format) : 0;
}

static bool is_cubemap_wrong(const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    bool layered = (is->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    return is->Width != is->Height || (layered ? is->Depth % 6 != 0 : is->Depth != 6);
}

/* "Width, Height, and Depth are the width, height, and depth of the CUDA array": cuda.h tells of
 * cuArray3DCreate which of them may be 0. */
static bool is_shape(const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    bool slices = (is->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;

    if (is->Width == 0 || (slices && is->Depth == 0))
        return false;
    if ((is->Flags & CUDA_ARRAY3D_CUBEMAP) != 0 && is_cubemap_wrong(is))
        return false;
    if (!slices && is->Depth > 0)
        return is->Height > 0 && is->Width <= SOFT_ARRAY_3D && is->Height <= SOFT_ARRAY_3D &&
               is->Depth <= SOFT_ARRAY_3D;
    if (is->Depth > SOFT_ARRAY_LAYERS)
        return false;
    return is->Height == 0 ? is->Width <= SOFT_ARRAY_1D
                           : is->Width <= SOFT_ARRAY_2D_WIDTH && is->Height <= SOFT_ARRAY_2D_HEIGHT;
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                           CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                           CUDA_ARRAY3D_COLOR_ATTACHMENT;
    const unsigned refused = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;

    if (is == NULL || (is->Flags & ~(known | refused)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((is->Flags & refused) != 0)
        return soft_refuse("sparse arrays and arrays that are mapped later");
    if (is->NumChannels != 1 && is->NumChannels != 2 && is->NumChannels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (channel_bytes(is->Format) == 0)
        return soft_refuse("arrays of format %#x", (unsigned)is->Format);
    return is_shape(is) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static size_t halved(size_t size, unsigned times)
{
    size_t smaller = size >> times;
    return size > 0 && smaller == 0 ? 1 : smaller;
}

/* Level `level` of a mipmap: layers and faces do not become fewer. */
static CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR *is, unsigned level)
{
    bool slices = (is->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    CUDA_ARRAY3D_DESCRIPTOR smaller = *is;
    smaller.Width = halved(is->Width, level);
    smaller.Height = halved(is->Height, level);
    smaller.Depth = slices ? is->Depth : halved(is->Depth, level);
    return smaller;
}

static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    size_t side = is->Width > is->Height ? is->Width : is->Height;
    unsigned levels = 1;
    if ((is->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0 && is->Depth > side)
        side = is->Depth;
    for (; side > 1 && levels < MOST_LEVELS; side /= 2)
        levels++;
    return levels;
}

/* ---- life -------------------------------------------------------------------------- */

static uint64_t array_bytes(const struct soft_array *array)
{
    return soft_round_up(array->width * array->height * array->depth, SOFT_ALIGNMENT);
}

/* Fills in the levels, each with its offset as address; answers the bytes of all. */
static uint64_t lay_out(struct soft_mipmap *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    unsigned element = soft_array_element(is->Format, is->NumChannels);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < mipmap->count; i++) {
        struct soft_array *level = &mipmap->levels[i];
        CUDA_ARRAY3D_DESCRIPTOR described = level_of(is, i);
        *level = (struct soft_array){
            .mipmap = mipmap,
            .context = mipmap->context,
            .described = described,
            .address = bytes,
            .width = described.Width * element,
            .height = described.Height > 0 ? described.Height : 1,
            .depth = described.Depth > 0 ? described.Depth : 1,
        };
        bytes += array_bytes(level);
    }
    return bytes;
}

static CUresult store(struct soft_mipmap *mipmap, uint64_t bytes)
{
    struct soft_device *device = mipmap->context->device;
    CUresult result =
        soft_memory_allocate(device, mipmap->context, SOFT_MEMORY_ARRAY, bytes, &mipmap->storage);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && soft_pool_trim_all(device))
        result = soft_memory_allocate(device, mipmap->context, SOFT_MEMORY_ARRAY, bytes,
                                      &mipmap->storage);
    for (unsigned i = 0; i < mipmap->count && result == CUDA_SUCCESS; i++)
        mipmap->levels[i].address += mipmap->storage->address;
    return result;
}

static void forget_handles(struct soft_mipmap *mipmap)
{
    soft_handle_remove(mipmap);
    for (unsigned i = 0; i < mipmap->count; i++)
        soft_handle_remove(&mipmap->levels[i]);
}

static bool add_handles(struct soft_mipmap *mipmap)
{
    bool good = mipmap->is_plain || soft_handle_add(mipmap, SOFT_HANDLE_MIPMAP);
    for (unsigned i = 0; i < mipmap->count && good; i++)
        good = soft_handle_add(&mipmap->levels[i], SOFT_HANDLE_ARRAY);
    if (!good)
        forget_handles(mipmap);
    return good;
}

static CUresult make(struct soft_context *context, const CUDA_ARRAY3D_DESCRIPTOR *is,
                     unsigned levels, bool is_plain, struct soft_mipmap **out)
{
    struct soft_mipmap *mipmap = calloc(1, sizeof *mipmap + levels * sizeof mipmap->levels[0]);
    if (mipmap == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mipmap->context = context;
    mipmap->is_plain = is_plain;
    mipmap->count = levels;
    CUresult result = store(mipmap, lay_out(mipmap, is));
    if (result == CUDA_SUCCESS && !add_handles(mipmap)) {
        soft_memory_free(mipmap->storage);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        free(mipmap);
        return result;
    }
    mipmap->next = context->arrays;
    context->arrays = mipmap;
    *out = mipmap;
    return CUDA_SUCCESS;
}

static void destroy(struct soft_mipmap *mipmap)
{
    struct soft_mipmap **at = &mipmap->context->arrays;
    while (*at != mipmap)
        at = &(*at)->next;
    *at = mipmap->next;
    forget_handles(mipmap);
    soft_memory_free(mipmap->storage);
    free(mipmap);
}

void soft_arrays_destroy(struct soft_context *context)
{
    while (context->arrays != NULL)
        destroy(context->arrays);
}

/* Enters, makes an array or a mipmap, and leaves with it spoiled. */
static CUresult create(const CUDA_ARRAY3D_DESCRIPTOR *is, unsigned levels, bool is_plain,
                       struct soft_mipmap **out)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = levels > 0 ? check(is) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && levels > most_levels(is))
        levels = most_levels(is); /* "clamped to the range", says cuda.h */
    if (result == CUDA_SUCCESS)
        result = soft_capture_forbid_unsafe(context);
    if (result == CUDA_SUCCESS)
        result = make(context, is, levels, is_plain, out);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    uint64_t address = (*out)->storage->address, bytes = (*out)->storage->bytes;
    soft_leave(CUDA_SUCCESS);
    soft_memory_spoil(address, bytes); /* nobody else can know it yet */
    return CUDA_SUCCESS;
}

/* ---- handles ----------------------------------------------------------------------- */

CUresult soft_array_find(CUarray handle, struct soft_array **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_array(handle);
    return CUDA_SUCCESS;
}

CUresult soft_mipmap_find(CUmipmappedArray handle, struct soft_mipmap **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_mipmap(handle);
    return CUDA_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle,
                                    const CUDA_ARRAY3D_DESCRIPTOR_v2 *pAllocateArray)
{
    struct soft_mipmap *made;
    if (pHandle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = create(pAllocateArray, 1, true, &made);
    if (result == CUDA_SUCCESS)
        *pHandle = array_handle(&made->levels[0]);
    return result;
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v2 *pAllocateArray)
{
    if (pAllocateArray == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR is = {.Width = pAllocateArray->Width,
                                  .Height = pAllocateArray->Height,
                                  .Format = pAllocateArray->Format,
                                  .NumChannels = pAllocateArray->NumChannels};
    return cuArray3DCreate_v2(pHandle, &is);
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                        const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct soft_mipmap *made;
    if (pHandle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = create(pMipmappedArrayDesc, numMipmapLevels, false, &made);
    if (result == CUDA_SUCCESS)
        *pHandle = mipmap_handle(made);
    return result;
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                          unsigned int level)
{
    struct soft_mipmap *mipmap;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_mipmap_find(hMipmappedArray, &mipmap);
    if (result == CUDA_SUCCESS && (pLevelArray == NULL || level >= mipmap->count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *pLevelArray = array_handle(&mipmap->levels[level]);
    return soft_leave(result);
}

/* Like freeing, it waits for what may still use the storage; with the lock, given back here. */
static CUresult wait_and_destroy(struct soft_mipmap *mipmap, const void *handle,
                                 enum soft_handle_kind kind)
{
    CUresult result = soft_capture_forbid_unsafe(mipmap->context);
    if (result == CUDA_SUCCESS)
        result = soft_context_wait(mipmap->context);
    if (result == CUDA_SUCCESS && !soft_handle_is(handle, kind))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        destroy(mipmap);
    return soft_leave(result);
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
    struct soft_context *context;
    struct soft_array *array;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_array_find(hArray, &array);
    if (result == CUDA_SUCCESS && !array->mipmap->is_plain)
        result = CUDA_ERROR_INVALID_VALUE; /* a level goes with its mipmap */
    return result == CUDA_SUCCESS ? wait_and_destroy(array->mipmap, hArray, SOFT_HANDLE_ARRAY)
                                  : soft_leave(result);
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    struct soft_context *context;
    struct soft_mipmap *mipmap;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_mipmap_find(hMipmappedArray, &mipmap);
    return result == CUDA_SUCCESS ? wait_and_destroy(mipmap, hMipmappedArray, SOFT_HANDLE_MIPMAP)
                                  : soft_leave(result);
}
