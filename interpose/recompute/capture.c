/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/capture.h"

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
    if (captures.count == MOST) {
        captures.crowded = true;
        return;
    }
    captures.items[captures.count].stream = stream;
    captures.items[captures.count++].thread = rp_thread_self();
}

void rp_capture_ended(rp_stream stream)
{
    for (size_t i = captures.count; i-- > 0;)
        if (captures.items[i].stream == stream)
            captures.items[i] = captures.items[--captures.count];
    if (!rp_core.captures)
        rp_captures_forget();
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
