/* SPDX-License-Identifier: Apache-2.0 */
/* What a call that repeats is told from others by: its name, and all that its meaning follows
 * from. */
#ifndef RP_INTERPOSE_REPEAT_KEY_H
#define RP_INTERPOSE_REPEAT_KEY_H

#include "interpose/calls/kernel.h"
#include "interpose/door/wrap.h"

enum { RP_KEY_MOST_WORDS = 75 };

struct rp_repeat_key {
    uint32_t call;
    uint32_t bytes; /* of `words` */
    uint64_t words[RP_KEY_MOST_WORDS];
};

/* rp_wrap_changes; tests may do without. */
uint64_t rp_repeat_changes(void);

/* How a kernel's parameters lie, as one thread remembers it. */
struct rp_repeat_shape {
    uint64_t changes, function; /* rp_repeat_changes when it was learnt; 0: never */
    struct rp_kernel_layout layout;
    bool packed_alike, has_gaps;
};
enum { RP_REPEAT_SHAPES = 64 };
struct rp_repeat_shape *rp_repeat_shape(struct rp_repeat_shape shapes[RP_REPEAT_SHAPES],
                                        uint64_t function);
struct rp_repeat_shape rp_repeat_shape_of(const struct rp_kernel *kernel);

static inline bool rp_repeat_is_launch(enum rp_call_id id)
{
    return id == RP_CALL_cuLaunchKernel || id == RP_CALL_cuLaunchKernel_ptsz ||
           id == RP_CALL_cuLaunchKernelEx || id == RP_CALL_cuLaunchKernelEx_ptsz ||
           id == RP_CALL_cuLaunchCooperativeKernel || id == RP_CALL_cuLaunchCooperativeKernel_ptsz;
}
/* False when the call can't be told apart: its kernel is not known, or has too many parameters.
 * Without the lock; `shapes` are the calling thread's. */
bool rp_repeat_key(const struct rp_frame *frame, struct rp_repeat_shape shapes[RP_REPEAT_SHAPES],
                   struct rp_repeat_key *key);

#endif
