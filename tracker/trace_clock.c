/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A rate from a shorter stretch than this is not exact enough. */
#define LEAST_STRETCH_NS UINT64_C(20000000)

/* The kernel has tried the counter on all processors; where it trusts another clock, so do we. */
static bool kernel_trusts_ticks(void)
{
    char name[8] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    ssize_t length = read(file, name, sizeof(name) - 1);
    close(file);
    return length >= 4 && memcmp(name, "tsc\n", 4) == 0;
}

/* Ticks between the two looks at the counter: more, and the thread was interrupted there. */
#define MOST_APART UINT64_C(50000)

/* Counter and clock at one moment: the clock is read between two looks at the counter, and of
 * some tries the closest counts. False when each was interrupted. */
static bool look(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 4; i++) {
        uint64_t before = rp_trace_ticks(), now = rp_trace_clock_monotonic();
        uint64_t took = rp_trace_ticks() - before;
        if (took >= best)
            continue;
        best = took;
        *ticks = before + took / 2;
        *ns = now;
    }
    return best <= MOST_APART;
}

void rp_trace_clock_start(struct rp_trace_clock *clock)
{
    clock->start_ns = rp_trace_clock_monotonic();
    clock->may_tick = RP_TRACE_HAS_TICKS && kernel_trusts_ticks() &&
                      look(&clock->first_ticks, &clock->first_ns);
}

void rp_trace_clock_compare(struct rp_trace_clock *clock)
{
    uint64_t ticks, ns;

    if (!clock->may_tick || !look(&ticks, &ns))
        return;
    uint64_t stretch_ns = ns - clock->first_ns, stretch = ticks - clock->first_ticks;
    if (stretch_ns < LEAST_STRETCH_NS || stretch == 0)
        return;
    uint64_t turn = atomic_load_explicit(&clock->turn, memory_order_relaxed);
    atomic_store_explicit(&clock->turn, turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&clock->rate,
                          (uint64_t)(((rp_trace_wide)stretch_ns << 32) / stretch),
                          memory_order_relaxed);
    atomic_store_explicit(&clock->base_ticks, ticks, memory_order_relaxed);
    atomic_store_explicit(&clock->base_ns, ns - clock->start_ns, memory_order_relaxed);
    atomic_store_explicit(&clock->turn, turn + 2, memory_order_release);
}
