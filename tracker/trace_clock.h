/* SPDX-License-Identifier: Apache-2.0 */
/* The time of events: CLOCK_MONOTONIC, read from the processor's time stamp counter where the
 * kernel itself does so. Asking the kernel's page costs more than all the rest of an event.
 * Internal to tracker/.
 *
 * The writing thread holds counter and clock against each other now and then, and tells the others
 * by a sequence lock. Between two such moments the error is some ten nanoseconds. Thread-safe. */
#ifndef RP_TRACKER_TRACE_CLOCK_H
#define RP_TRACKER_TRACE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#define RP_TRACE_HAS_TICKS 1
static inline uint64_t rp_trace_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#else
#define RP_TRACE_HAS_TICKS 0
static inline uint64_t rp_trace_ticks(void)
{
    return 0;
}
#endif

__extension__ typedef unsigned __int128 rp_trace_wide;

struct rp_trace_clock {
    uint64_t start_ns;     /* what times count from */
    bool may_tick;         /* the counter can be relied on */
    uint64_t first_ticks, first_ns; /* the first comparison, for the rate */
    atomic_uint_fast64_t turn;      /* odd while the three below change */
    atomic_uint_fast64_t base_ticks, base_ns;
    atomic_uint_fast64_t rate; /* nanoseconds a tick, times 2^32; 0: not known yet */
};

static inline uint64_t rp_trace_clock_monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void rp_trace_clock_start(struct rp_trace_clock *clock);
/* Compares again; one thread at a time. */
void rp_trace_clock_compare(struct rp_trace_clock *clock);

/* Nanoseconds since the start. May go back by some nanoseconds when the clocks were compared. */
static inline uint64_t rp_trace_clock_now(struct rp_trace_clock *clock)
{
    for (;;) {
        uint64_t turn = atomic_load_explicit(&clock->turn, memory_order_acquire);
        uint64_t rate = atomic_load_explicit(&clock->rate, memory_order_relaxed);
        uint64_t ticks = atomic_load_explicit(&clock->base_ticks, memory_order_relaxed);
        uint64_t ns = atomic_load_explicit(&clock->base_ns, memory_order_relaxed);
        if (rate == 0)
            return rp_trace_clock_monotonic() - clock->start_ns;
        atomic_thread_fence(memory_order_acquire);
        if ((turn & 1) != 0 || turn != atomic_load_explicit(&clock->turn, memory_order_relaxed))
            continue;
        /* The processor may have read the counter before it read the rest. */
        uint64_t since = rp_trace_ticks() - ticks;
        return (int64_t)since < 0 ? ns : ns + (uint64_t)((rp_trace_wide)since * rate >> 32);
    }
}

#endif
