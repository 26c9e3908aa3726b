/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: the works behind cuLaunchKernel, for streams and graphs. */
#ifndef RP_CUDA_SOFT_API_LAUNCH_H
#define RP_CUDA_SOFT_API_LAUNCH_H

#include "cuda/soft/api/module.h"
#include "cuda/soft/api/work.h"

struct soft_launch {
    unsigned grid[3], block[3];
    unsigned shared; /* dynamic, bytes */
    bool cooperative;
    bool dependent; /* may begin before the kernel ahead of it in its stream has ended ... */
};

/* Is this geometry possible for the function? */
CUresult soft_launch_check(const struct soft_function *function, const struct soft_launch *launch);
/* The work, with the parameters copied out of `params` or `extra`. Checks what it is given;
 * on success *out has one reference. Called with the lock. */
CUresult soft_launch_work(struct soft_function *function, const struct soft_launch *launch,
                          void **params, void **extra, struct soft_work **out);
/* The same from a parameter block of SOFT_PARAM_BYTES at most. */
CUresult soft_launch_work_packed(struct soft_function *function, const struct soft_launch *launch,
                                 const void *block, size_t bytes, struct soft_work **out);

/* What a work of soft_launch_work holds: for graph nodes that are asked for their parameters.
 */
struct soft_function *soft_launch_read(const struct soft_work *work, struct soft_launch *launch);
unsigned char *soft_launch_params(struct soft_work *work);

/* ... which it does if that kernel lets it (PTX ISA, griddepcontrol.launch_dependents) and it does
 * not ask itself for what that has written (griddepcontrol.wait): here whoever asks waits from the
 * first, as that comes to the same. */
bool soft_launch_overlaps(const struct soft_work *launch, const struct soft_work *ahead);

#endif
