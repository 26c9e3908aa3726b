/* SPDX-License-Identifier: Apache-2.0 */
/* cuStreamBeginCapture and its kin. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"

#include <stdlib.h>

/* Live nodes of `graph` for handles from the program; the caller frees *out. */
static CUresult find_nodes(const struct soft_graph *graph, const CUgraphNode *handles,
                           size_t count, struct soft_node ***out)
{
    CUresult result = CUDA_SUCCESS;
    if (count > 0 && handles == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct soft_node **nodes = calloc(count + 1, sizeof(struct soft_node *));
    if (nodes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = soft_node_find(handles[i], &nodes[i]);
        if (result == CUDA_SUCCESS && nodes[i]->graph != graph)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS)
        free(nodes);
    else
        *out = nodes;
    return result;
}

/* ---- begin and end ----------------------------------------------------------------- */

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    struct soft_stream *stream;
    struct soft_capture *capture;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(soft_capture_begin(stream, mode, NULL, &capture));
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream)
{
    return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                             const CUgraphNode *dependencies,
                                             const CUgraphEdgeData *dependencyData,
                                             size_t numDependencies, CUstreamCaptureMode mode)
{
    struct soft_stream *stream;
    struct soft_graph *graph;
    struct soft_capture *capture;
    struct soft_node **nodes;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (dependencyData != NULL)
        return soft_leave(soft_refuse("graph edges with ports"));
    result = soft_graph_find(hGraph, &graph);
    if (result == CUDA_SUCCESS)
        result = find_nodes(graph, dependencies, numDependencies, &nodes);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    result = soft_capture_begin(stream, mode, graph, &capture);
    if (result == CUDA_SUCCESS)
        result = soft_capture_set_fronts(stream, nodes, numDependencies, false);
    free(nodes);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    struct soft_stream *stream;
    struct soft_graph *graph = NULL;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (phGraph == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_capture_end(stream, &graph);
    *phGraph = result == CUDA_SUCCESS ? graph_handle(graph) : NULL;
    return soft_leave(result);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode old = soft_thread.capture_mode;
    soft_thread.capture_mode = *mode;
    *mode = old;
    return soft_leave(CUDA_SUCCESS);
}

/* ---- asking ------------------------------------------------------------------------ */

static CUstreamCaptureStatus status_of(const struct soft_stream *stream)
{
    if (stream->capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (captureStatus == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (soft_capture_blocks_legacy(stream))
        return soft_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *captureStatus = status_of(stream);
    return soft_leave(CUDA_SUCCESS);
}

/* Everything beyond the status may be left out, and is only told while a capture is active.
 * The list of nodes is the stream's own; it stands until the stream's next call. */
CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           size_t *numDependencies_out)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (captureStatus_out == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (soft_capture_blocks_legacy(stream))
        return soft_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *captureStatus_out = status_of(stream);
    if (*captureStatus_out != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return soft_leave(CUDA_SUCCESS);
    if (id_out != NULL)
        *id_out = stream->capture->id;
    if (graph_out != NULL)
        *graph_out = graph_handle(stream->capture->graph);
    if (dependencies_out != NULL)
        *dependencies_out = (const CUgraphNode *)(void *)stream->fronts;
    if (numDependencies_out != NULL)
        *numDependencies_out = stream->front_count;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out)
{
    return cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, NULL, NULL, NULL);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           const CUgraphEdgeData **edgeData_out,
                                           size_t *numDependencies_out)
{
    CUresult result = cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out,
                                                dependencies_out, numDependencies_out);
    if (result == CUDA_SUCCESS && edgeData_out != NULL)
        *edgeData_out = NULL; /* all edges mean "after all of it" */
    return result;
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                                   size_t numDependencies, unsigned int flags)
{
    struct soft_stream *stream;
    struct soft_node **nodes;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (stream->capture == NULL)
        return soft_leave(CUDA_ERROR_ILLEGAL_STATE);
    if (stream->capture->invalid)
        return soft_leave(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    result = find_nodes(stream->capture->graph, dependencies, numDependencies, &nodes);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    result = soft_capture_set_fronts(stream, nodes, numDependencies,
                                     flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    free(nodes);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *dependencyData,
                                                      size_t numDependencies, unsigned int flags)
{
    if (dependencyData != NULL)
        return soft_refuse("graph edges with ports");
    return cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags);
}
