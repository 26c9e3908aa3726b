/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interpose/fake.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct fake_state state = {.entries = fake_entries, .last = RP_CALL_NONE,
                                  .failing = RP_CALL_NONE};

EXPORT struct fake_state *fake_state(void);
struct fake_state *fake_state(void)
{
    return &state;
}

CUresult fake_called(enum rp_call_id id, const void *args, size_t bytes)
{
    if (bytes > sizeof(state.args))
        abort();
    state.counts[id]++;
    state.last = id;
    memcpy(state.args, args, bytes);
    return state.succeed && id != state.failing ? CUDA_SUCCESS : FAKE_RESULT(id);
}

/* A call that the table does not know: from a driver younger than the layer. */
EXPORT CUresult cuBrandNew(void);
CUresult cuBrandNew(void)
{
    return (CUresult)77777;
}

/* ---- the driver that looks itself up, as WSL's does -------------------------------- */

static void look_up_self(void *handle)
{
    void *found = dlsym(handle, "cuInit");
    Dl_info info = {0};
    Dl_info own = {0};
    bool itself = dladdr(found, &info) != 0 && dladdr(&state, &own) != 0
                  && strcmp(info.dli_fname, own.dli_fname) == 0;
    state.found_itself = (state.internal_lookups == 0 || state.found_itself) && itself;
    state.internal_lookups++;
}

CUresult cuInit(unsigned int flags)
{
    struct rp_args_cuInit args = {flags};
    Dl_info own;
    if (dladdr(&state, &own) != 0)
        look_up_self(dlopen(own.dli_fname, RTLD_NOW));
    look_up_self(dlopen("libcuda.so.1", RTLD_NOW));
    return fake_called(RP_CALL_cuInit, &args, sizeof(args));
}

/* Calls itself from its constructor, by the way that reaches the layer. */
__attribute__((constructor)) static void start(void)
{
    state.hand_out_thunks = getenv("FAKE_THUNKS") != NULL;
    void *someone = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = someone != NULL ? dlsym(someone, "cuCtxSynchronize") : NULL;
    if (symbol != NULL) {
        CUresult (*call)(void);
        memcpy(&call, &symbol, sizeof(call));
        state.constructor_result = (unsigned long)call();
    }
}

/* Calls back on the spot, as a driver calls the functions that it is given. */
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    struct rp_args_cuLaunchHostFunc args = {stream, function, data};
    function(data);
    return fake_called(RP_CALL_cuLaunchHostFunc, &args, sizeof(args));
}

/* ---- a graph, for a driver that succeeds ------------------------------------------- */

static const struct fake_node *node_of(CUgraphNode handle)
{
    size_t index = (size_t)(uintptr_t)handle;
    bool there = index >= 1 && index <= state.node_count;
    return state.succeed && there ? &state.nodes[index - 1] : NULL;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct rp_args_cuGraphGetNodes args = {graph, nodes, count};
    for (size_t i = 0; state.succeed && nodes != NULL && i < state.node_count; i++)
        nodes[i] = (CUgraphNode)(uintptr_t)(i + 1);
    if (state.succeed && count != NULL)
        *count = state.node_count;
    return fake_called(RP_CALL_cuGraphGetNodes, &args, sizeof(args));
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    struct rp_args_cuGraphNodeGetType args = {node, type};
    const struct fake_node *known = node_of(node);
    if (known != NULL)
        *type = known->type;
    return fake_called(RP_CALL_cuGraphNodeGetType, &args, sizeof(args));
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value)
{
    struct rp_args_cuGraphKernelNodeGetAttribute args = {node, attr, value};
    const struct fake_node *known = node_of(node);
    if (known != NULL)
        value->deviceUpdatableKernelNode.deviceUpdatable = known->updatable;
    return fake_called(RP_CALL_cuGraphKernelNodeGetAttribute, &args, sizeof(args));
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct rp_args_cuGraphMemAllocNodeGetParams args = {node, params};
    const struct fake_node *known = node_of(node);
    if (known != NULL) {
        params->dptr = known->address;
        params->bytesize = known->bytes;
    }
    return fake_called(RP_CALL_cuGraphMemAllocNodeGetParams, &args, sizeof(args));
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    struct rp_args_cuGraphMemFreeNodeGetParams args = {node, address};
    const struct fake_node *known = node_of(node);
    if (known != NULL)
        *address = known->address;
    return fake_called(RP_CALL_cuGraphMemFreeNodeGetParams, &args, sizeof(args));
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    struct rp_args_cuGraphExecGetFlags args = {exec, flags};
    if (state.succeed && flags != NULL)
        *flags = state.graph_flags;
    return fake_called(RP_CALL_cuGraphExecGetFlags, &args, sizeof(args));
}

/* ---- what is where ----------------------------------------------------------------- */

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
                              const char *name)
{
    struct rp_args_cuModuleGetGlobal_v2 args = {address, bytes, module, name};
    if (state.succeed && state.variable && address != NULL)
        *address = state.variable;
    if (state.succeed && state.variable && bytes != NULL)
        *bytes = state.variable_bytes;
    return fake_called(RP_CALL_cuModuleGetGlobal_v2, &args, sizeof(args));
}

static void tell(CUpointer_attribute attribute, CUdeviceptr address, void *data)
{
    int managed = state.variable && address == state.variable;
    unsigned type = state.on_host && address == state.on_host ? CU_MEMORYTYPE_HOST
                                                              : CU_MEMORYTYPE_DEVICE;
    if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
        memcpy(data, &managed, sizeof(managed));
    else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        memcpy(data, &type, sizeof(type));
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct rp_args_cuPointerGetAttribute args = {data, attribute, address};
    if (state.succeed && data != NULL)
        tell(attribute, address, data);
    return fake_called(RP_CALL_cuPointerGetAttribute, &args, sizeof(args));
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    struct rp_args_cuPointerGetAttributes args = {count, attributes, data, address};
    for (unsigned i = 0; state.succeed && attributes != NULL && data != NULL && i < count; i++)
        tell(attributes[i], address, data[i]);
    return fake_called(RP_CALL_cuPointerGetAttributes, &args, sizeof(args));
}

#ifdef FAKE_OLD
/* Drivers let symbols share a function where a new version changed nothing. */
CUresult cuCtxDestroy_v2(CUcontext context)
{
    struct rp_args_cuCtxDestroy_v2 args = {context};
    return fake_called(RP_CALL_cuCtxDestroy_v2, &args, sizeof(args));
}
CUresult cuCtxDestroy(CUcontext context) __attribute__((alias("cuCtxDestroy_v2")));
#endif

/* ---- cuGetProcAddress ------------------------------------------------------------- */

static CUresult proc_address(const char *symbol, void **pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    CUdriverProcAddressQueryResult ignored;
    soft_entry entry = NULL;
    enum rp_call_id id = rp_call_resolve(symbol, version, (flags & 2) != 0);
    if (id == RP_CALL_cuCtxGetDevice_v2)
        id = RP_CALL_cuCtxGetDevice; /* the toolkit's two headers disagree; so may a driver */
    if (found == NULL)
        found = &ignored;
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    if (id != RP_CALL_NONE)
        entry = (state.hand_out_thunks ? fake_thunks : fake_entries)[id];
    else if (strcmp(symbol, "cuBrandNew") == 0)
        entry = (soft_entry)cuBrandNew;
    else
        *found = rp_call_base_known(symbol) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    memcpy(pfn, &entry, sizeof(*pfn));
    return entry != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    state.counts[RP_CALL_cuGetProcAddress]++;
    return proc_address(symbol, pfn, version, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    state.counts[RP_CALL_cuGetProcAddress_v2]++;
    return proc_address(symbol, pfn, version, flags, found);
}
