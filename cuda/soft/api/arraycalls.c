/* SPDX-License-Identifier: Apache-2.0 */
/* What arrays can be asked, and the oldest names of their calls. */
#include "cuda/soft/api/array.h"

static CUresult describe(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    struct soft_array *array;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_array_find(handle, &array);
    if (result == CUDA_SUCCESS)
        *out = array->described;
    return soft_leave(result);
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR_v2 *pArrayDescriptor,
                                           CUarray hArray)
{
    return pArrayDescriptor != NULL ? describe(hArray, pArrayDescriptor) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR_v2 *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    if (pArrayDescriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = describe(hArray, &is);
    if (result == CUDA_SUCCESS)
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR_v2){.Width = is.Width,
                                                       .Height = is.Height,
                                                       .Format = is.Format,
                                                       .NumChannels = is.NumChannels};
    return result;
}

/* ---- with 32-bit sizes ------------------------------------------------------------- */

CUresult CUDAAPI cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
    if (pAllocateArray == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR is = {.Width = pAllocateArray->Width,
                                  .Height = pAllocateArray->Height,
                                  .Depth = pAllocateArray->Depth,
                                  .Format = pAllocateArray->Format,
                                  .NumChannels = pAllocateArray->NumChannels,
                                  .Flags = pAllocateArray->Flags};
    return cuArray3DCreate_v2(pHandle, &is);
}

CUresult CUDAAPI cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
    if (pAllocateArray == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY_DESCRIPTOR is = {.Width = pAllocateArray->Width,
                                .Height = pAllocateArray->Height,
                                .Format = pAllocateArray->Format,
                                .NumChannels = pAllocateArray->NumChannels};
    return cuArrayCreate_v2(pHandle, &is);
}

CUresult CUDAAPI cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *pArrayDescriptor,
                                        CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    if (pArrayDescriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = describe(hArray, &is);
    if (result == CUDA_SUCCESS)
        *pArrayDescriptor = (CUDA_ARRAY3D_DESCRIPTOR_v1){.Width = (unsigned)is.Width,
                                                         .Height = (unsigned)is.Height,
                                                         .Depth = (unsigned)is.Depth,
                                                         .Format = is.Format,
                                                         .NumChannels = is.NumChannels,
                                                         .Flags = is.Flags};
    return result;
}

CUresult CUDAAPI cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    if (pArrayDescriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = describe(hArray, &is);
    if (result == CUDA_SUCCESS)
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR_v1){.Width = (unsigned)is.Width,
                                                       .Height = (unsigned)is.Height,
                                                       .Format = is.Format,
                                                       .NumChannels = is.NumChannels};
    return result;
}

/* ---- what these arrays are not ------------------------------------------------------- */

/* No format here has planes. */
CUresult CUDAAPI cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    (void)planeIdx;
    CUresult result = describe(hArray, &is);
    return result == CUDA_SUCCESS || pPlaneArray == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

/* None is sparse. */
CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES_v1 *sparseProperties,
                                            CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    CUresult result = describe(array, &is);
    return result == CUDA_SUCCESS || sparseProperties == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

/* None is mapped later, which is what the requirements are for. */
CUresult CUDAAPI cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 *memoryRequirements,
                                              CUarray array, CUdevice device)
{
    CUDA_ARRAY3D_DESCRIPTOR is;
    (void)device;
    CUresult result = describe(array, &is);
    return result == CUDA_SUCCESS || memoryRequirements == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

static CUresult ask_mipmap(CUmipmappedArray handle, const void *argument)
{
    struct soft_mipmap *mipmap;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_mipmap_find(handle, &mipmap);
    return soft_leave(result == CUDA_SUCCESS || argument == NULL ? CUDA_ERROR_INVALID_VALUE
                                                                 : result);
}

CUresult CUDAAPI cuMipmappedArrayGetSparseProperties(
    CUDA_ARRAY_SPARSE_PROPERTIES_v1 *sparseProperties, CUmipmappedArray mipmap)
{
    return ask_mipmap(mipmap, sparseProperties);
}

CUresult CUDAAPI cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 *memoryRequirements, CUmipmappedArray mipmap, CUdevice device)
{
    (void)device;
    return ask_mipmap(mipmap, memoryRequirements);
}
