/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/graphmem.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/node.h"
#include "cuda/soft/api/touched.h"

#include <string.h>

/* ---- works ------------------------------------------------------------------------- */

struct graph_memory {
    struct soft_work base;
    struct soft_allocation *allocation; /* owned by the work that allocates */
    uint64_t address, bytes;
};

static CUresult allocate_run(const struct soft_work *base, struct soft_op *op)
{
    const struct graph_memory *work = (const struct graph_memory *)base;
    soft_memory_spoil(work->address, work->bytes);
    soft_touched_note(op, work->address, work->bytes, true);
    return CUDA_SUCCESS;
}

static void allocate_release(struct soft_work *base)
{
    soft_memory_free(((struct graph_memory *)base)->allocation);
}

static CUresult free_run(const struct soft_work *base, struct soft_op *op)
{
    (void)base;
    (void)op;
    return CUDA_SUCCESS;
}

CUresult soft_graph_allocate(struct soft_device *device, uint64_t bytes, struct soft_work **out,
                             CUdeviceptr *address)
{
    static const struct soft_work_type type = {.name = "allocation",
                                               .class_ = SOFT_WORK_DEVICE,
                                               .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                               .capturable = true,
                                               .run = allocate_run,
                                               .release = allocate_release};
    struct soft_allocation *allocation;
    CUresult result = soft_memory_allocate(device, NULL, SOFT_MEMORY_GRAPH, bytes, &allocation);
    if (result != CUDA_SUCCESS)
        return result;
    struct graph_memory *work = soft_work_create(&type, sizeof *work);
    if (work == NULL) {
        soft_memory_free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    work->allocation = allocation;
    work->address = *address = allocation->address;
    work->bytes = bytes;
    *out = &work->base;
    return CUDA_SUCCESS;
}

CUresult soft_graph_free(CUdeviceptr address, struct soft_work **out)
{
    static const struct soft_work_type type = {.name = "free",
                                               .class_ = SOFT_WORK_DEVICE,
                                               .node = CU_GRAPH_NODE_TYPE_MEM_FREE,
                                               .capturable = true,
                                               .run = free_run};
    const struct soft_allocation *allocation = soft_memory_find(address);
    if (allocation == NULL || allocation->address != address ||
        allocation->kind != SOFT_MEMORY_GRAPH)
        return CUDA_ERROR_INVALID_VALUE;
    struct graph_memory *work = soft_work_create(&type, sizeof *work);
    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->address = address;
    work->bytes = allocation->bytes;
    *out = &work->base;
    return CUDA_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------ */

static CUresult check_properties(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *params,
                                 struct soft_device **device)
{
    const CUmemPoolProps *pool = &params->poolProps;
    if (pool->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        pool->handleTypes != CU_MEM_HANDLE_TYPE_NONE || params->bytesize == 0 ||
        (params->accessDescCount > 0 && params->accessDescs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (pool->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return soft_refuse("graph memory on the host");
    *device = soft_device_find(pool->location.id);
    return *device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies,
                                        CUDA_MEM_ALLOC_NODE_PARAMS_v1 *nodeParams)
{
    struct soft_place place;
    struct soft_made made = {NULL, NULL};
    struct soft_device *device = NULL;
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_place_begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = check_properties(nodeParams, &device);
    if (result == CUDA_SUCCESS)
        result = soft_graph_allocate(device, nodeParams->bytesize, &made.work, &nodeParams->dptr);
    return soft_leave(
        soft_place_end(&place, result, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       CUdeviceptr dptr)
{
    struct soft_place place;
    struct soft_made made = {NULL, NULL};
    CUresult result = soft_place_begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_free(dptr, &made.work);
    return soft_leave(
        soft_place_end(&place, result, CU_GRAPH_NODE_TYPE_MEM_FREE, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
                                              CUDA_MEM_ALLOC_NODE_PARAMS_v1 *params_out)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &node);
    if (result != CUDA_SUCCESS)
        return result;
    const struct graph_memory *work = (const struct graph_memory *)node->work;
    *params_out = (CUDA_MEM_ALLOC_NODE_PARAMS_v1){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                   .id = work->allocation->device->ordinal}},
        .bytesize = work->bytes,
        .dptr = work->address,
    };
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &node);
    if (result != CUDA_SUCCESS)
        return result;
    *dptr_out = ((const struct graph_memory *)node->work)->address;
    return soft_leave(CUDA_SUCCESS);
}

/* Memory of graphs is theirs until they go: there is nothing to trim, and no reserve. */
CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_device_find(device) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

static uint64_t graph_bytes(const struct soft_device *device)
{
    uint64_t lo = device->arena.base, hi = lo + device->arena.bytes, bytes = 0;
    const struct soft_allocation *each;
    for (uint64_t at = lo; (each = soft_memory_next(at, hi)) != NULL;
         at = each->address + each->bytes)
        bytes += each->kind == SOFT_MEMORY_GRAPH ? each->reserved : 0;
    return bytes;
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_device *found = soft_device_find(device);
    if (found == NULL || value == NULL || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    uint64_t bytes = graph_bytes(found);
    memcpy(value, &bytes, sizeof bytes);
    return soft_leave(CUDA_SUCCESS);
}

/* Only the highest figures can be set, to 0; here they are those of now anyway. */
CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    uint64_t wanted;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (soft_device_find(device) == NULL || value == NULL ||
        (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(&wanted, value, sizeof wanted);
    return soft_leave(wanted == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
