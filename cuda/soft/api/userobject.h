/* SPDX-License-Identifier: Apache-2.0 */
/* User objects: things of the program that graphs keep alive. Called with the device's lock. */
#ifndef RP_CUDA_SOFT_API_USEROBJECT_H
#define RP_CUDA_SOFT_API_USEROBJECT_H

#include "cuda/soft/api/graph.h"

/* What a graph holds of one object. */
struct soft_held {
    struct soft_user_object *object;
    unsigned count;
};

/* `copy` holds what `graph` holds; false for want of host memory. */
bool soft_user_objects_copy(struct soft_graph *copy, const struct soft_graph *graph);
void soft_user_objects_release(struct soft_graph *graph);

#endif
