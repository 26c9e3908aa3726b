/* SPDX-License-Identifier: Apache-2.0 */
/* Moments: what threads did, in one order.
 *
 * A trace holds the events of each thread in their order, and the threads one after the other,
 * chunk by chunk. The layer counts calls, and their number is in it; what comes between two of a
 * thread's calls names the last call before it, of any thread. A call with number n has the moment
 * 2n, what stands behind it 2n + 1; a thread's moments never go back. */
#ifndef RP_TOOLS_DISCOVER_MOMENT_H
#define RP_TOOLS_DISCOVER_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_moments {
    struct rp_thread_moment {
        uint64_t thread, latest;
        size_t calls;
    } *threads;
    size_t count, capacity, last;
};

/* Of the thread; NULL when the host is out of memory. Valid until the next one is asked for. */
struct rp_thread_moment *rp_moments_of(struct rp_moments *moments, uint64_t thread);
/* The thread's next call, with this number. */
uint64_t rp_moment_of_call(struct rp_thread_moment *thread, uint64_t seq);
/* What the thread did next beside a call, behind the call with this number; 0: nobody knows. */
uint64_t rp_moment_behind(struct rp_thread_moment *thread, uint64_t seq);
void rp_moments_release(struct rp_moments *moments);

#endif
