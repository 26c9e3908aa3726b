/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/userobject.h"

#include <stdlib.h>
#include <string.h>

struct soft_user_object {
    struct soft_user_object *next; /* among those whose destructor is still to be called */
    unsigned references;
    CUhostFn destroy;
    void *pointer;
};

static struct soft_user_object *doomed;

/* ---- the end of objects ------------------------------------------------------------ */

/* On a thread of its own, as the program may hold locks of its own around any call. */
static void *destroy_doomed(void *unused)
{
    (void)unused;
    soft_thread.in_host_function = true;
    pthread_mutex_lock(&soft.lock);
    while (doomed != NULL) {
        struct soft_user_object *object = doomed;
        doomed = object->next;
        pthread_mutex_unlock(&soft.lock);
        object->destroy(object->pointer);
        free(object);
        pthread_mutex_lock(&soft.lock);
    }
    pthread_mutex_unlock(&soft.lock);
    return NULL;
}

/* Where no thread can be had, the next object that ends tries again. */
static void release(struct soft_user_object *object, unsigned count)
{
    pthread_attr_t attributes;
    pthread_t thread;

    object->references -= count;
    if (object->references > 0)
        return;
    soft_handle_remove(object);
    object->next = doomed;
    doomed = object;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, destroy_doomed, NULL);
    pthread_attr_destroy(&attributes);
}

/* ---- graphs ------------------------------------------------------------------------ */

static CUresult hold(struct soft_graph *graph, struct soft_user_object *object, unsigned count)
{
    for (size_t i = 0; i < graph->held_count; i++) {
        if (graph->held[i].object == object) {
            graph->held[i].count += count;
            return CUDA_SUCCESS;
        }
    }
    struct soft_held *held = realloc(graph->held, (graph->held_count + 1) * sizeof *held);
    if (held == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    graph->held = held;
    graph->held[graph->held_count++] = (struct soft_held){object, count};
    return CUDA_SUCCESS;
}

bool soft_user_objects_copy(struct soft_graph *copy, const struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->held_count; i++) {
        if (hold(copy, graph->held[i].object, graph->held[i].count) != CUDA_SUCCESS)
            return false;
        graph->held[i].object->references += graph->held[i].count;
    }
    return true;
}

void soft_user_objects_release(struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->held_count; i++)
        release(graph->held[i].object, graph->held[i].count);
    free(graph->held);
    graph->held = NULL;
    graph->held_count = 0;
}

static struct soft_held *find_held(struct soft_graph *graph, const struct soft_user_object *object)
{
    for (size_t i = 0; i < graph->held_count; i++)
        if (graph->held[i].object == object)
            return &graph->held[i];
    return NULL;
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                    unsigned int initialRefcount, unsigned int flags)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (object_out == NULL || destroy == NULL || initialRefcount == 0 ||
        initialRefcount > INT32_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_user_object *object = calloc(1, sizeof *object);
    if (object == NULL || !soft_handle_add(object, SOFT_HANDLE_USER_OBJECT)) {
        free(object);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    object->references = initialRefcount;
    object->destroy = destroy;
    object->pointer = ptr;
    *object_out = user_object_handle(object);
    return soft_leave(CUDA_SUCCESS);
}

static CUresult enter(CUuserObject handle, unsigned count, struct soft_user_object **object)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (count == 0 || count > INT32_MAX || !soft_handle_is(handle, SOFT_HANDLE_USER_OBJECT))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *object = handle_user_object(handle);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct soft_user_object *found;
    CUresult result = enter(object, count, &found);
    if (result != CUDA_SUCCESS)
        return result;
    found->references += count;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct soft_user_object *found;
    CUresult result = enter(object, count, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (count > found->references)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    release(found, count);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                         unsigned int flags)
{
    struct soft_user_object *found;
    struct soft_graph *keeper;
    CUresult result = enter(object, count, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_graph_find(graph, &keeper);
    if (result == CUDA_SUCCESS)
        result = hold(keeper, found, count);
    if (result == CUDA_SUCCESS && flags != CU_GRAPH_USER_OBJECT_MOVE)
        found->references += count; /* else the program's own pass over */
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    struct soft_user_object *found;
    struct soft_graph *keeper;
    CUresult result = enter(object, count, &found);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_find(graph, &keeper);
    struct soft_held *held = result == CUDA_SUCCESS ? find_held(keeper, found) : NULL;
    if (held == NULL || held->count < count)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    held->count -= count;
    if (held->count == 0)
        *held = keeper->held[--keeper->held_count];
    release(found, count);
    return soft_leave(CUDA_SUCCESS);
}
