/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/gate.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/backing.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/fence.h"

#include <string.h>
#include <time.h>

enum { MOST = 63, PATIENCE_MS = 4000, LONGEST_MS = 60000, PAUSE_US = 200 };

struct gate {
    rp_stream stream;
    CUevent before, behind; /* in its stream; of this slot, for whoever has it */
    bool given;             /* there is something behind it */
};

static struct {
    struct gate items[MOST + 1]; /* the last one is never in use */
    size_t count;
    bool crowded; /* there was one more, of which nothing is known: it counts as shut */
} gates;

void rp_gates_forget(void)
{
    memset(&gates, 0, sizeof gates);
    rp_behind_forget();
}

static bool has_events(struct gate *gate)
{
    const unsigned plain = CU_EVENT_DISABLE_TIMING;
    return (gate->before || rp_real.cuEventCreate(&gate->before, plain) == CUDA_SUCCESS) &&
           (gate->behind || rp_real.cuEventCreate(&gate->behind, plain) == CUDA_SUCCESS);
}

void rp_gate_begins(rp_stream stream)
{
    if (rp_core.captures || rp_backing_is_shared() || !rp_switch_on(RP_SWITCH_GATES))
        return;
    (void)rp_gates_are_shut(); /* those that are open make room */
    if (!gates.count) {
        rp_fence_set(); /* all before it is told from what comes after */
        rp_behind_begins();
    }
    rp_behind_shuts(stream);
    struct gate *gate = &gates.items[gates.count];
    if (gates.count == MOST || !has_events(gate) ||
        rp_real.cuEventRecord(gate->before, rp_driver_stream(stream)) != CUDA_SUCCESS) {
        gates.crowded = true;
        rp_behind_anything();
        return;
    }
    gate->stream = stream;
    gate->given = false;
    gates.count++;
    rp_core_keep_lock(); /* or others would wait, with the lock, for what was never given */
}

static void remove_at(size_t at)
{
    const struct gate spare = gates.items[at];
    gates.items[at] = gates.items[--gates.count];
    gates.items[gates.count] = spare; /* its events serve again */
}

void rp_gates_end(void)
{
    for (size_t i = gates.count; i-- > 0;) {
        struct gate *gate = &gates.items[i];
        if (gate->given)
            continue;
        gate->given = true;
        if (rp_real.cuEventRecord(gate->behind, rp_driver_stream(gate->stream)) != CUDA_SUCCESS)
            remove_at(i); /* the stream is broken: so is every wait */
    }
}

static bool is_ahead(CUevent event)
{
    return rp_real.cuEventQuery(event) == CUDA_ERROR_NOT_READY;
}

bool rp_gates_are_shut(void)
{
    if (rp_core.captures)
        return gates.count > 0 || gates.crowded; /* to ask may break the capture */
    for (size_t i = gates.count; i-- > 0;)
        if (gates.items[i].given && !is_ahead(gates.items[i].behind))
            remove_at(i);
    gates.crowded &= gates.count > 0;
    if (!gates.count)
        rp_behind_ends();
    return gates.count > 0;
}

/* ---- patience ------------------------------------------------------------------------- */

struct patience {
    uint64_t since; /* the device stands at a gate; 0: it does not */
    size_t shut;    /* how many were shut then */
};

/* Work before a gate comes to an end, however long it takes. */
static bool device_stands(void)
{
    for (size_t i = 0; i < gates.count; i++)
        if (!is_ahead(gates.items[i].before))
            return true;
    return gates.crowded;
}

static bool is_left(struct patience *patience)
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    if (!device_stands() || gates.count != patience->shut)
        patience->since = 0;
    else if (!patience->since)
        patience->since = rp_core_now_ms();
    else if (rp_core_now_ms() - patience->since > PATIENCE_MS)
        return false;
    patience->shut = gates.count;
    nanosleep(&pause, NULL);
    return true;
}

bool rp_gates_await(void)
{
    struct patience patience = {0};
    while (rp_gates_are_shut())
        if (rp_core.captures || !is_left(&patience))
            return false;
    return true;
}

bool rp_gates_await_event(void *event)
{
    struct patience patience = {0};
    while (rp_gates_are_shut()) {
        if (!is_ahead(event))
            return true;
        if (rp_core.captures || !is_left(&patience))
            return false;
    }
    return rp_real.cuEventSynchronize(event) == CUDA_SUCCESS;
}

bool rp_gates_let_pass(bool (*it)(void))
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000 / 4};
    struct patience patience = {0};
    uint64_t begun = rp_core_now_ms();
    while (it()) {
        bool stands = !rp_core.captures && rp_gates_are_shut() && !is_left(&patience);
        if (stands || rp_core_now_ms() - begun > LONGEST_MS)
            return false;
        rp_core_unlock();
        nanosleep(&pause, NULL);
        rp_core_lock();
    }
    return true;
}
