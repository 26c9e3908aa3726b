/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/view.h"

#include "cuda/soft/api/array.h"
#include "cuda/soft/api/context.h"

#include <stdlib.h>

struct soft_view {
    struct soft_view *next; /* in its context */
    struct soft_context *context;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;  /* of a texture */
    CUDA_RESOURCE_VIEW_DESC as; /* of a texture, where ... */
    bool has_as;                /* ... this says so */
};

/* ---- checks ------------------------------------------------------------------------ */

/* Linear memory: what is read there is read by address, so the context must reach it. */
static CUresult check_linear(const struct soft_context *context, CUdeviceptr address,
                             uint64_t bytes, unsigned element, uint64_t most)
{
    if (element == 0 || bytes == 0 || bytes / element > most ||
        address % SOFT_TEXTURE_ALIGNMENT != 0 ||
        !soft_memory_allows(context, address, bytes, false))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult check_pitched(const struct soft_context *context, const CUDA_RESOURCE_DESC *is)
{
    unsigned element = soft_array_element(is->res.pitch2D.format, is->res.pitch2D.numChannels);
    uint64_t pitch = is->res.pitch2D.pitchInBytes, bytes;

    if (is->res.pitch2D.width > SOFT_ARRAY_2D_WIDTH ||
        is->res.pitch2D.height > SOFT_ARRAY_2D_HEIGHT || is->res.pitch2D.height == 0 ||
        pitch % SOFT_TEXTURE_PITCH_ALIGNMENT != 0 || pitch < is->res.pitch2D.width * element ||
        __builtin_mul_overflow(pitch, is->res.pitch2D.height - 1, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    bytes += is->res.pitch2D.width * element;
    return check_linear(context, is->res.pitch2D.devPtr, bytes, element, UINT64_MAX);
}

static CUresult check_resource(const struct soft_context *context, const CUDA_RESOURCE_DESC *is)
{
    struct soft_mipmap *mipmap;
    struct soft_array *array;

    if (is->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)is->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return soft_array_find(is->res.array.hArray, &array);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return soft_mipmap_find(is->res.mipmap.hMipmappedArray, &mipmap);
    case CU_RESOURCE_TYPE_LINEAR:
        return check_linear(context, is->res.linear.devPtr, is->res.linear.sizeInBytes,
                            soft_array_element(is->res.linear.format, is->res.linear.numChannels),
                            SOFT_TEXTURE_1D_LINEAR);
    case CU_RESOURCE_TYPE_PITCH2D: return check_pitched(context, is);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult check_texture(const CUDA_TEXTURE_DESC *texture)
{
    if (texture == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++)
        if (texture->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
    bool filters = texture->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
                   texture->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR;
    return filters ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* "resType must be CU_RESOURCE_TYPE_ARRAY", and the array made for it, says cuda.h. */
static CUresult check_surface(const CUDA_RESOURCE_DESC *is)
{
    struct soft_array *array;
    if (is->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_array_find(is->res.array.hArray, &array);
    if (result != CUDA_SUCCESS)
        return result;
    return (array->described.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0 ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE;
}

/* ---- life -------------------------------------------------------------------------- */

/* An empty view in `context`, or NULL. */
static struct soft_view *view_create(struct soft_context *context, enum soft_handle_kind kind)
{
    struct soft_view *view = calloc(1, sizeof *view);
    if (view == NULL || !soft_handle_add(view, kind)) {
        free(view);
        return NULL;
    }
    view->context = context;
    view->next = context->views;
    context->views = view;
    return view;
}

static void destroy(struct soft_view *view)
{
    struct soft_view **at = &view->context->views;
    while (*at != view)
        at = &(*at)->next;
    *at = view->next;
    soft_handle_remove(view);
    free(view);
}

void soft_views_destroy(struct soft_context *context)
{
    while (context->views != NULL)
        destroy(context->views);
}

/* Enters with a live view; `argument` is where the call's answer goes. */
static CUresult enter(unsigned long long handle, enum soft_handle_kind kind, const void *argument,
                      struct soft_view **view)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    *view = soft_pointer(handle);
    if (argument == NULL || !soft_handle_is(*view, kind))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult drop(unsigned long long handle, enum soft_handle_kind kind)
{
    struct soft_view *view;
    CUresult result = enter(handle, kind, &view, &view);
    if (result != CUDA_SUCCESS)
        return result;
    destroy(view);
    return soft_leave(CUDA_SUCCESS);
}

static CUresult get_resource(CUDA_RESOURCE_DESC *out, unsigned long long handle,
                             enum soft_handle_kind kind)
{
    struct soft_view *view;
    CUresult result = enter(handle, kind, out, &view);
    if (result != CUDA_SUCCESS)
        return result;
    *out = view->resource;
    return soft_leave(CUDA_SUCCESS);
}

/* ---- textures ---------------------------------------------------------------------- */

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc,
                                   const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pTexObject == NULL || pResDesc == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = check_resource(context, pResDesc);
    if (result == CUDA_SUCCESS)
        result = check_texture(pTexDesc);
    bool is_array = pResDesc->resType == CU_RESOURCE_TYPE_ARRAY ||
                    pResDesc->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (result == CUDA_SUCCESS && pResViewDesc != NULL && !is_array)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_view *view = view_create(context, SOFT_HANDLE_TEXTURE);
    if (view == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    view->resource = *pResDesc;
    view->texture = *pTexDesc;
    view->has_as = pResViewDesc != NULL;
    if (view->has_as)
        view->as = *pResViewDesc;
    *pTexObject = (uintptr_t)view;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
    return drop(texObject, SOFT_HANDLE_TEXTURE);
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    return get_resource(pResDesc, texObject, SOFT_HANDLE_TEXTURE);
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct soft_view *view;
    CUresult result = enter(texObject, SOFT_HANDLE_TEXTURE, pTexDesc, &view);
    if (result != CUDA_SUCCESS)
        return result;
    *pTexDesc = view->texture;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                                CUtexObject texObject)
{
    struct soft_view *view;
    CUresult result = enter(texObject, SOFT_HANDLE_TEXTURE, pResViewDesc, &view);
    if (result != CUDA_SUCCESS)
        return result;
    if (!view->has_as)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pResViewDesc = view->as;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                    CUarray_format format, unsigned numChannels,
                                                    CUdevice dev)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (maxWidthInElements == NULL || soft_array_element(format, numChannels) == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (soft_device_find(dev) == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    else
        *maxWidthInElements = SOFT_TEXTURE_1D_LINEAR;
    return soft_leave(result);
}

/* ---- surfaces ---------------------------------------------------------------------- */

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pSurfObject == NULL || pResDesc == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = check_resource(context, pResDesc);
    if (result == CUDA_SUCCESS)
        result = check_surface(pResDesc);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_view *view = view_create(context, SOFT_HANDLE_SURFACE);
    if (view == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    view->resource = *pResDesc;
    *pSurfObject = (uintptr_t)view;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    return drop(surfObject, SOFT_HANDLE_SURFACE);
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    return get_resource(pResDesc, surfObject, SOFT_HANDLE_SURFACE);
}
