/* SPDX-License-Identifier: Apache-2.0 */
/* Finding entry points by name, and those that are not there. */
#include "cuda/soft/api/soft.h"

#include <stdatomic.h>
#include <string.h>

/* One line for each call that is not implemented, the first time. */
CUresult soft_unsupported(enum rp_call_id id)
{
    static atomic_bool said[RP_CALL_COUNT];
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    soft_leave(CUDA_SUCCESS);
    if (!atomic_exchange(&said[id], true))
        soft_say("%s is not supported", rp_calls[id].name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define KNOWN_FLAGS                                                                                \
    ((cuuint64_t)CU_GET_PROC_ADDRESS_LEGACY_STREAM |                                               \
     (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* Works before cuInit: the runtime library asks first and initialises later. */
CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;

    if (symbol == NULL || pfn == NULL || cudaVersion > SOFT_DRIVER_VERSION ||
        (flags & ~KNOWN_FLAGS) != 0 || flags == KNOWN_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    enum rp_call_id id = rp_call_resolve(symbol, cudaVersion, per_thread);
    *pfn = NULL;
    if (id != RP_CALL_NONE)
        memcpy(pfn, &soft_entries[id], sizeof *pfn);
    else if (rp_call_base_known(symbol))
        status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    else
        status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (symbolStatus != NULL)
        *symbolStatus = status;
    return CUDA_SUCCESS;
}

/* The first version has no status and says it with its result. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
    return result == CUDA_SUCCESS && *pfn == NULL ? CUDA_ERROR_NOT_FOUND : result;
}

/* The private tables of NVIDIA's own libraries. */
CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (ppExportTable == NULL || pExportTableId == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}
