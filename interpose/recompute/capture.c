/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/capture.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/recompute/gate.h"
#include "interpose/run/core.h"
#include "interpose/run/segment.h"

enum { MOST = 64 };

static struct {
    struct {
        rp_stream stream;
        const struct rp_thread *thread;
    } items[MOST];
    size_t count;
    bool crowded; /* there was one more: it may be anybody's */
} captures;

void rp_captures_forget(void)
{
    captures.count = 0;
    captures.crowded = false;
}

void rp_capture_begun(rp_stream stream)
{
    rp_core.captures++;
    if (captures.count == MOST) {
        captures.crowded = true;
        return;
    }
    captures.items[captures.count].stream = stream;
    captures.items[captures.count++].thread = rp_thread_self();
}

static void remove_at(size_t at)
{
    captures.items[at] = captures.items[--captures.count];
}

static void count_down(void)
{
    if (--rp_core.captures == 0)
        rp_captures_forget();
}

void rp_capture_ended(rp_stream stream)
{
    for (size_t i = captures.count; i-- > 0;)
        if (captures.items[i].stream == stream)
            remove_at(i);
    count_down();
}

bool rp_capture_is_in(rp_stream stream)
{
    for (size_t i = 0; i < captures.count; i++)
        if (captures.items[i].stream == stream)
            return true;
    return false;
}

bool rp_capture_lose_one(unsigned context)
{
    for (size_t i = captures.count; i-- > 0;) {
        if (rp_driver_context_of(captures.items[i].stream) != context)
            continue;
        remove_at(i);
        count_down();
        return true;
    }
    return false;
}

bool rp_capture_is_others(void)
{
    bool is_others = rp_core.captures && !captures.crowded && rp_switch_on(RP_SWITCH_INFLIGHT);
    for (size_t i = 0; is_others && i < captures.count; i++)
        is_others = captures.items[i].thread != rp_thread_self();
    return is_others;
}

bool rp_capture_let_pass(void)
{
    return rp_gates_let_pass(rp_capture_is_others) && !rp_core.captures;
}
