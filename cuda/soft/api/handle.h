/* SPDX-License-Identifier: Apache-2.0 */
/* The set of live handles: which pointers are objects of ours, and of what kind.
 *
 * A handle from the program is looked up here before it is followed. The device's lock
 * guards the set. */
#ifndef RP_CUDA_SOFT_API_HANDLE_H
#define RP_CUDA_SOFT_API_HANDLE_H

#include <stdbool.h>

enum soft_handle_kind {
    SOFT_HANDLE_CONTEXT = 1,
    SOFT_HANDLE_STREAM,
    SOFT_HANDLE_EVENT,
    SOFT_HANDLE_MODULE,
    SOFT_HANDLE_FUNCTION,
    SOFT_HANDLE_LIBRARY,
    SOFT_HANDLE_KERNEL,
    SOFT_HANDLE_POOL,
    SOFT_HANDLE_LINK,
    SOFT_HANDLE_GRAPH,
    SOFT_HANDLE_NODE,
    SOFT_HANDLE_EXEC,
    SOFT_HANDLE_USER_OBJECT,
    SOFT_HANDLE_PHYSICAL,
    SOFT_HANDLE_ARRAY,
    SOFT_HANDLE_MIPMAP,
    SOFT_HANDLE_TEXTURE,
    SOFT_HANDLE_SURFACE,
    SOFT_HANDLE_EXTERNAL,
    SOFT_HANDLE_MULTICAST,
    SOFT_HANDLE_SEMAPHORE,
};

/* False when the host is out of memory. An object is added once. */
bool soft_handle_add(const void *object, enum soft_handle_kind kind);
void soft_handle_remove(const void *object);
bool soft_handle_is(const void *object, enum soft_handle_kind kind);

#endif
