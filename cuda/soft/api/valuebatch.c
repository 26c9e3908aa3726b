/* SPDX-License-Identifier: Apache-2.0 */
/* cuStreamWaitValue* and its kin, batches of them, and the graph nodes that hold such a batch. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/node.h"
#include "cuda/soft/api/stream.h"
#include "cuda/soft/api/value.h"

#include <stdlib.h>
#include <string.h>

#define MOST_OPERATIONS 256 /* the limit that cuda.h names */

/* A work that consists of others, to be done one after the other. */
struct batch {
    struct soft_work base;
    unsigned count; /* of operations, as they were told, and ... */
    CUstreamBatchMemOpParams *told;
    unsigned part_count; /* ... of works: a barrier is none */
    struct soft_work **parts;
};

/* ---- making ------------------------------------------------------------------------ */

static CUresult read_operation(const CUstreamBatchMemOpParams *source, struct soft_value *out)
{
    const struct CUstreamMemOpWaitValueParams_st *wait = &source->waitValue;
    const struct CUstreamMemOpWriteValueParams_st *write = &source->writeValue;
    switch (source->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        *out = (struct soft_value){true, wait->address, wait->value, 4, wait->flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *out = (struct soft_value){true, wait->address, wait->value64, 8, wait->flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *out = (struct soft_value){false, write->address, write->value, 4, write->flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *out = (struct soft_value){false, write->address, write->value64, 8, write->flags};
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static void batch_release(struct soft_work *base)
{
    struct batch *batch = (struct batch *)base;
    for (unsigned i = 0; i < batch->part_count; i++)
        soft_work_release(batch->parts[i]);
    free(batch->parts);
    free(batch->told);
}

static struct soft_work *const *batch_parts(const struct soft_work *base, size_t *count)
{
    const struct batch *batch = (const struct batch *)base;
    *count = batch->part_count;
    return batch->parts;
}

static struct batch *empty_batch(const CUstreamBatchMemOpParams *list, unsigned count)
{
    static const struct soft_work_type type = {.name = "batch of values",
                                               .class_ = SOFT_WORK_MARKER,
                                               .node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                               .capturable = true,
                                               .parts = batch_parts,
                                               .release = batch_release};
    struct batch *batch = soft_work_create(&type, sizeof *batch);
    if (batch == NULL)
        return NULL;
    batch->told = calloc(count, sizeof *batch->told);
    batch->parts = calloc(count, sizeof(struct soft_work *));
    if (batch->told == NULL || batch->parts == NULL) {
        soft_work_release(&batch->base);
        return NULL;
    }
    memcpy(batch->told, list, count * sizeof *list);
    batch->count = count;
    return batch;
}

static CUresult add_part(struct batch *batch, const struct soft_context *context,
                         const CUstreamBatchMemOpParams *operation)
{
    struct soft_value value;
    /* Operations of a stream are in order, and all of memory sees them in that order. */
    if (operation->operation == CU_STREAM_MEM_OP_BARRIER)
        return CUDA_SUCCESS;
    CUresult result = read_operation(operation, &value);
    if (result == CUDA_SUCCESS)
        result = soft_value_check(context, &value);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_work *part = soft_value_work(&value);
    if (part == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    batch->parts[batch->part_count++] = part;
    return CUDA_SUCCESS;
}

/* All are checked before there is a work. */
static CUresult make_batch(const struct soft_context *context, const CUstreamBatchMemOpParams *list,
                           unsigned count, struct batch **out)
{
    CUresult result = CUDA_SUCCESS;
    struct batch *batch = empty_batch(list, count);
    if (batch == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = add_part(batch, context, &list[i]);
    if (result == CUDA_SUCCESS)
        *out = batch;
    else
        soft_work_release(&batch->base);
    return result;
}

/* ---- in streams -------------------------------------------------------------------- */

static CUresult submit(CUstream handle, const CUstreamBatchMemOpParams *list, unsigned count)
{
    struct soft_stream *stream;
    struct batch *batch;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_batch(stream->context, list, count, &batch);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (stream->capture != NULL)
        return soft_leave(soft_stream_submit(stream, &batch->base, NULL));
    for (unsigned i = 0; i < batch->part_count && result == CUDA_SUCCESS; i++)
        result = soft_stream_submit(stream, soft_work_retain(batch->parts[i]), NULL);
    soft_work_release(&batch->base);
    return soft_leave(result);
}

static CUresult submit_write(CUstream stream, CUstreamBatchMemOpType operation, uint64_t address,
                             uint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams op = {.writeValue = {.operation = operation, .address = address}};
    op.writeValue.value64 = value; /* of which the 32-bit form takes the low half */
    op.writeValue.flags = flags;
    return submit(stream, &op, 1);
}

static CUresult submit_wait(CUstream stream, CUstreamBatchMemOpType operation, uint64_t address,
                            uint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams op = {.waitValue = {.operation = operation, .address = address}};
    op.waitValue.value64 = value;
    op.waitValue.flags = flags;
    return submit(stream, &op, 1);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return submit_write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return submit_write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags)
{
    return submit_wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return submit_wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

/* The first version of these four calls differs in nothing that shows here. */
CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue32_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue64_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue32_v2(stream, addr, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue64_v2(stream, addr, value, flags);
}

static bool is_batch(const CUstreamBatchMemOpParams *list, unsigned count, unsigned flags)
{
    return list != NULL && count > 0 && count <= MOST_OPERATIONS && flags == 0;
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return is_batch(paramArray, count, flags) ? submit(stream, paramArray, count)
                                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return cuStreamBatchMemOp_v2(stream, count, paramArray, flags);
}

/* ---- in graphs --------------------------------------------------------------------- */

/* With the lock. */
static CUresult made_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct soft_made *out)
{
    struct batch *batch;
    CUresult result = soft_context_find(params->ctx, true, &out->context);
    if (result == CUDA_SUCCESS && !is_batch(params->paramArray, params->count, params->flags))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = make_batch(out->context, params->paramArray, params->count, &batch);
    if (result == CUDA_SUCCESS)
        out->work = &batch->base;
    return result;
}

static CUresult make_node(const void *params, struct soft_made *out)
{
    return made_batch(params, out);
}

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, make_node, nodeParams);
}

CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    struct soft_node *node;
    CUresult result =
        soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &node);
    if (result != CUDA_SUCCESS)
        return result;
    const struct batch *batch = (const struct batch *)node->work;
    *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
        .ctx = context_handle(node->context), .count = batch->count, .paramArray = batch->told};
    return soft_leave(CUDA_SUCCESS);
}

/* The parameters may be the node's own, from the call above. */
static CUresult set(struct soft_node *node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct soft_made made = {NULL, NULL};
    CUresult result = made_batch(params, &made);
    if (result != CUDA_SUCCESS)
        return result;
    soft_node_set_work(node, made.work);
    node->context = made.context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams, &node);
    return result == CUDA_SUCCESS ? soft_leave(set(node, nodeParams)) : result;
}

CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec graphExec, CUgraphNode node,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct soft_node *found;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = nodeParams != NULL
                 ? soft_exec_node(graphExec, node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &found)
                 : CUDA_ERROR_INVALID_VALUE;
    return soft_leave(result == CUDA_SUCCESS ? set(found, nodeParams) : result);
}
