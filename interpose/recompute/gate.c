/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/gate.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/backing.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/fence.h"
#include "tracker/array.h"

#include <time.h>

enum { MANY = 64, PATIENCE_MS = 4000, LONGEST_MS = 60000, PAUSE_US = 200 };

struct gate {
    rp_stream stream;
    CUevent before, behind; /* in its stream; of this slot, for whoever has it */
    bool given;             /* there is something behind it */
};

static struct {
    struct gate *items;
    size_t count, capacity;
    size_t made;         /* slots that hold events, or may: those behind `count` serve again */
    bool is_one_unknown; /* there was one more, of which nothing tells: it counts as shut */
} gates;

void rp_gates_forget(void)
{
    gates.count = gates.made = 0;
    gates.is_one_unknown = false;
    rp_behind_forget();
}

static struct gate *next_slot(void)
{
    void *bigger = rp_array_reserve(gates.items, &gates.capacity, gates.count + 1,
                                    sizeof *gates.items);
    if (!bigger)
        return NULL;
    gates.items = bigger;
    if (gates.count == gates.made)
        gates.items[gates.made++] = (struct gate){0};
    return &gates.items[gates.count];
}

/* Where there are many, those of one stream are as one, that opens with the last of them. */
static struct gate *one_of_many_in(rp_stream stream)
{
    for (size_t i = 0; gates.count >= MANY && i < gates.count; i++)
        if (gates.items[i].stream == stream)
            return &gates.items[i];
    return NULL;
}

static bool has_events(struct gate *gate)
{
    const unsigned plain = CU_EVENT_DISABLE_TIMING;
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): next_slot clears what is new */
    return (gate->before || rp_real.cuEventCreate(&gate->before, plain) == CUDA_SUCCESS) &&
           (gate->behind || rp_real.cuEventCreate(&gate->behind, plain) == CUDA_SUCCESS);
}

/* NULL where nothing would tell when it opens. */
static struct gate *begin_one(rp_stream stream)
{
    struct gate *gate = next_slot();
    if (!gate || !has_events(gate) ||
        rp_real.cuEventRecord(gate->before, rp_driver_stream(stream)) != CUDA_SUCCESS)
        return NULL;
    gate->stream = stream;
    gates.count++;
    return gate;
}

void rp_gate_begins(rp_stream stream)
{
    if (rp_core.captures || rp_backing_is_shared() || !rp_switch_on(RP_SWITCH_GATES))
        return;
    if (!rp_gates_are_shut()) {
        rp_fence_set(); /* all before it is told from what comes after */
        rp_behind_begins();
    }
    rp_behind_shuts(stream);
    struct gate *gate = one_of_many_in(stream);
    if (!gate && !(gate = begin_one(stream))) {
        gates.is_one_unknown = true;
        rp_behind_anything();
        return;
    }
    gate->given = false;
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
        if (rp_real.cuEventRecord(gate->behind, rp_driver_stream(gate->stream)) == CUDA_SUCCESS)
            continue;
        gates.is_one_unknown = true;
        remove_at(i);
    }
}

/* For sure, that is. */
static bool is_past(CUevent event)
{
    return rp_real.cuEventQuery(event) == CUDA_SUCCESS;
}

bool rp_gates_are_shut(void)
{
    if (rp_core.captures)
        return gates.count > 0 || gates.is_one_unknown; /* to ask may break the capture */
    for (size_t i = gates.count; i-- > 0;)
        if (gates.items[i].given && is_past(gates.items[i].behind))
            remove_at(i);
    bool are_shut = gates.count > 0 || gates.is_one_unknown;
    if (!are_shut)
        rp_behind_ends();
    return are_shut;
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
        if (rp_real.cuEventQuery(gates.items[i].before) != CUDA_ERROR_NOT_READY)
            return true;
    return gates.is_one_unknown;
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
        if (is_past(event))
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
