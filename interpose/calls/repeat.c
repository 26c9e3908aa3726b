/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/repeat.h"

#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/calls/handlers.h"
#include "interpose/calls/repeat_key.h"
#include "interpose/run/record.h"
#include "interpose/run/report.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CALLS = 256 };

/* One call, as it was followed in full. */
struct repeated {
    uint64_t changes; /* rp_repeat_changes then; 0: never */
    uint64_t hash;
    uint64_t asked_by; /* the latest frame that means this call */
    bool is_launch;
    enum rp_verdict writes;
    struct rp_trace_group coming, done;
    unsigned moving; /* numbers of its coming that move, 0: not known; and in which arguments */
    uint16_t offsets[RP_TRACE_SLOTS];
    struct rp_repeat_key key;
};

/* One thread's, and after its end another's. */
struct memory {
    struct memory *next;
    _Atomic bool owned;
    _Atomic uint64_t told[RP_VERDICT_EVERYTHING + 1]; /* written by the owner only */
    struct rp_repeat_shape shapes[RP_REPEAT_SHAPES];
    struct repeated calls[CALLS], asked; /* the latest that came, known or not */
};

/* ---- the thread's memory ---------------------------------------------------------- */

static _Atomic(struct memory *) memories;
static _Thread_local struct memory *own;
static pthread_key_t ended_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void thread_ended(void *memory)
{
    own = NULL;
    atomic_store(&((struct memory *)memory)->owned, false);
}

static void make_key(void)
{
    has_key = pthread_key_create(&ended_key, thread_ended) == 0;
}

static struct memory *take_memory(void)
{
    struct memory *memory = atomic_load(&memories);
    for (; memory; memory = memory->next) {
        bool owned = false;
        if (atomic_compare_exchange_strong(&memory->owned, &owned, true))
            return memory;
    }
    memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->owned = true;
    memory->next = atomic_load(&memories);
    while (!atomic_compare_exchange_weak(&memories, &memory->next, memory))
        ;
    return memory;
}

static struct memory *own_memory(void)
{
    if (own)
        return own;
    pthread_once(&key_once, make_key);
    if (has_key)
        own = take_memory();
    if (own)
        pthread_setspecific(ended_key, own);
    return own;
}

void rp_repeat_meet(const struct rp_kernel *kernel)
{
    struct memory *memory = rp_core.only_traces ? own_memory() : NULL;
    if (memory)
        *rp_repeat_shape(memory->shapes, kernel->function) = rp_repeat_shape_of(kernel);
}

uint64_t rp_repeat_changes(void)
{
    return rp_switch_on(RP_SWITCH_CHANGES) ? rp_wrap_changes() : 1;
}

/* ---- a call comes ----------------------------------------------------------------- */

static bool ask(struct repeated *asked, const struct rp_frame *frame)
{
    asked->asked_by = frame->seq;
    asked->changes = rp_repeat_changes();
    if (!rp_repeat_key(frame, own->shapes, &asked->key)) {
        asked->key.bytes = 0;
        return false;
    }
    asked->hash = XXH3_64bits(asked->key.words, asked->key.bytes) + asked->key.call;
    return true;
}

static struct repeated *place_of(uint64_t hash)
{
    return &own->calls[hash % CALLS];
}

static struct repeated *find(const struct repeated *asked)
{
    struct repeated *known = place_of(asked->hash);
    bool same = known->changes == asked->changes && known->hash == asked->hash &&
                known->key.call == asked->key.call && known->key.bytes == asked->key.bytes &&
                memcmp(known->key.words, asked->key.words, asked->key.bytes) == 0;
    return same ? known : NULL;
}

/* What moves from one coming to the next: the call's number, and of launches where on the host
 * their parameters lie. */
static unsigned list_moves(const struct rp_frame *frame, struct rp_trace_move moves[RP_TRACE_SLOTS],
                           uint16_t offsets[RP_TRACE_SLOTS])
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    const struct rp_event_def *def = rp_record_enter_def(frame->id);
    unsigned count = 0;
    moves[count++] = (struct rp_trace_move){def, 0, 0};
    for (unsigned i = 0; rp_repeat_is_launch(frame->id) && i < info->arg_count; i++) {
        if (info->args[i].kind != RP_ARG_POINTER || count == RP_TRACE_SLOTS)
            continue;
        moves[count] = (struct rp_trace_move){def, (uint8_t)(i + 1), (uint8_t)count};
        offsets[count++] = info->args[i].offset;
    }
    return count;
}

static void fill_slots(const struct repeated *known, const struct rp_frame *frame,
                       uint64_t slots[RP_TRACE_SLOTS])
{
    slots[0] = frame->seq;
    for (unsigned i = 1; i < RP_TRACE_SLOTS; i++) {
        slots[i] = 0;
        if (i < known->moving)
            memcpy(&slots[i], (const char *)frame->args + known->offsets[i], sizeof slots[i]);
    }
}

static void tell_coming(struct repeated *known, struct rp_frame *frame)
{
    struct rp_trace_move moves[RP_TRACE_SLOTS];
    uint64_t slots[RP_TRACE_SLOTS];
    if (known && known->moving) {
        fill_slots(known, frame, slots);
        if (rp_trace_again(rp_core.trace, &known->coming, slots))
            return;
    }
    rp_record_enter(frame);
    if (!known)
        return;
    known->moving = list_moves(frame, moves, known->offsets);
    fill_slots(known, frame, slots);
    rp_trace_group(rp_core.trace, 1, moves, known->moving, slots, &known->coming);
}

bool rp_repeat_enter(struct rp_frame *frame)
{
    if (!rp_core.only_traces || rp_core.captures || !rp_switch_on(RP_SWITCH_REPEATS) ||
        !rp_context_is_one() || !own_memory())
        return false;
    struct repeated *asked = &own->asked;
    struct repeated *known = ask(asked, frame) ? find(asked) : NULL;
    tell_coming(known, frame);
    if (known)
        known->asked_by = frame->seq;
    frame->scratch[0] = known;
    return true;
}

/* ---- the driver has answered -------------------------------------------------------- */

enum slot { SEQ, CALL, STEP, INDEX };

static void count(enum rp_verdict writes)
{
    _Atomic uint64_t *told = &own->told[writes];
    uint64_t before = atomic_load_explicit(told, memory_order_relaxed);
    atomic_store_explicit(told, before + 1, memory_order_relaxed);
}

static bool tell_done(const struct repeated *known, const struct rp_frame *frame)
{
    if (frame->result != CUDA_SUCCESS || known->asked_by != frame->seq ||
        known->changes != rp_repeat_changes() ||
        !rp_trace_group_stands(rp_core.trace, &known->done))
        return false;
    const uint64_t slots[RP_TRACE_SLOTS] = {
        [SEQ] = ++rp_core.seq, [CALL] = frame->seq, [STEP] = rp_core.step,
        [INDEX] = known->is_launch ? rp_core.launch_in_step++ : 0};
    if (!rp_trace_again(rp_core.trace, &known->done, slots))
        return false; /* its buffer was taken this moment: these numbers are left out */
    if (known->is_launch)
        count(known->writes);
    return true;
}

/* ---- a call is followed in full ------------------------------------------------------- */

static void learn(const struct rp_frame *frame, const struct rp_settled *settled, unsigned events)
{
    const struct rp_event_def *launch = &rp_event_defs[RP_EVENT_launch];
    const struct rp_event_def *access = &rp_event_defs[RP_EVENT_access];
    const struct rp_trace_move moves[] = {
        {&rp_event_defs[RP_EVENT_argument], 0, SEQ}, {launch, 0, SEQ}, {launch, 3, STEP},
        {launch, 4, INDEX}, {access, 0, SEQ}, {access, 6, SEQ},
        {rp_record_leave_def(frame->id), 0, CALL}};
    const uint64_t slots[RP_TRACE_SLOTS] = {[SEQ] = settled->seq, [CALL] = frame->seq,
                                            [STEP] = rp_core.step, [INDEX] = settled->launch};
    struct repeated *known = place_of(own->asked.hash);
    if (!find(&own->asked))
        *known = own->asked;
    known->is_launch = settled->is_launch;
    known->writes = settled->writes;
    rp_trace_group(rp_core.trace, events, moves, sizeof moves / sizeof *moves, slots,
                   &known->done);
}

/* What was told holds as long as nothing changes, and nothing else was said. */
static bool is_lasting(const struct rp_frame *frame, const struct rp_settled *settled,
                       uint64_t changes)
{
    return frame->result == CUDA_SUCCESS && settled->seq && !settled->remarks &&
           settled->writes < RP_VERDICT_REACHABLE && settled->reads < RP_VERDICT_REACHABLE &&
           changes == rp_repeat_changes();
}

static void follow_in_full(struct rp_frame *frame)
{
    const struct rp_handler *handler = &rp_handlers[frame->id];
    struct repeated *asked = &own->asked;
    uint64_t changes = asked->changes, events = rp_trace_emitted(rp_core.trace);
    rp_handler_settled = (struct rp_settled){0};
    handler->before(frame);
    handler->after(frame);
    rp_record_leave(frame);
    events = rp_trace_emitted(rp_core.trace) - events;
    /* A kernel that was met just now can be told apart now. */
    bool is_asked = asked->asked_by == frame->seq && (asked->key.bytes || ask(asked, frame));
    if (is_asked && events <= RP_TRACE_GROUP_EVENTS &&
        is_lasting(frame, &rp_handler_settled, changes))
        learn(frame, &rp_handler_settled, (unsigned)events);
}

void rp_repeat_leave(struct rp_frame *frame)
{
    const struct repeated *known = frame->scratch[0];
    frame->scratch[0] = NULL;
    if (!known || !tell_done(known, frame))
        follow_in_full(frame);
}

/* ----------------------------------------------------------------------------------- */

void rp_repeat_count(uint64_t counts[RP_VERDICT_EVERYTHING + 1])
{
    for (struct memory *memory = atomic_load(&memories); memory; memory = memory->next)
        for (int verdict = 0; verdict <= RP_VERDICT_EVERYTHING; verdict++)
            counts[verdict] += atomic_load_explicit(&memory->told[verdict], memory_order_relaxed);
}

void rp_repeats_forget(void)
{
    for (struct memory *memory = atomic_load(&memories); memory; memory = memory->next) {
        memory->owned = memory == own; /* the others' threads are not here */
        for (int verdict = 0; verdict <= RP_VERDICT_EVERYTHING; verdict++)
            atomic_store(&memory->told[verdict], 0);
    }
}
