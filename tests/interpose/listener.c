/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interpose/listener.h"

#include <stdlib.h>
#include <unistd.h>

static struct listener heard = {.serve = RP_CALL_NONE, .recurse = RP_CALL_NONE};

RP_EXPORT struct listener *reprise_test_listener(void);
RP_EXPORT void reprise_test_listen(unsigned bits);
RP_EXPORT unsigned long reprise_test_count(const char *name);
RP_EXPORT struct rp_lookup_counts reprise_test_lookups(void);
RP_EXPORT const char *reprise_test_unknown(size_t index);

struct listener *reprise_test_listener(void)
{
    return &heard;
}

void reprise_test_listen(unsigned bits)
{
    rp_listen(bits);
}

unsigned long reprise_test_count(const char *name)
{
    enum rp_call_id id = rp_call_find(name);
    return id == RP_CALL_NONE ? 0 : heard.before[id];
}

struct rp_lookup_counts reprise_test_lookups(void)
{
    struct rp_lookup_counts counts;
    rp_lookup_counts(&counts);
    return counts;
}

const char *reprise_test_unknown(size_t index)
{
    return rp_lookup_unknown(index);
}

static void note(char what)
{
    if (heard.order_length + 1 < sizeof(heard.order))
        heard.order[heard.order_length++] = what;
}

unsigned rp_layer_start(void)
{
    const char *bits = getenv("LISTENER_BITS");
    heard.starts++;
    heard.life_at_start = rp_wrap_life();
    if (heard.slow_start)
        usleep(20000);
    return bits != NULL ? (unsigned)atoi(bits) : RP_LISTEN_HANDLERS | RP_LISTEN_TRACE;
}

bool rp_memory_freed_for(struct rp_frame *frame)
{
    (void)frame;
    return false;
}

bool rp_repeat_enter(struct rp_frame *frame)
{
    (void)frame;
    return false;
}

void rp_repeat_leave(struct rp_frame *frame)
{
    (void)frame;
}

void rp_layer_forked(void)
{
    heard.forks++;
}

void rp_record_enter(struct rp_frame *frame)
{
    heard.entered[frame->id]++;
    heard.last_seq = frame->seq;
    note('E');
}

void rp_record_leave(struct rp_frame *frame)
{
    heard.left[frame->id]++;
    heard.last_result = frame->result;
    note('L');
}

static void before(struct rp_frame *frame)
{
    heard.before[frame->id]++;
    note('b');
    frame->scratch[0] = &heard;
    if (frame->id == heard.serve) {
        frame->skip = true;
        frame->result = heard.answer;
    }
    if (frame->id == heard.recurse) {
        CUresult (*again)(void) = (CUresult (*)(void))rp_wrappers[frame->id];
        again();
    }
    if (frame->id == RP_CALL_cuMemsetD8_v2 && heard.change_count)
        ((struct rp_args_cuMemsetD8_v2 *)frame->args)->N--;
}

static void after(struct rp_frame *frame)
{
    heard.after[frame->id]++;
    note(frame->scratch[0] == &heard ? 'a' : '?');
    heard.last_result = frame->result;
    if (heard.change_result)
        frame->result = heard.answer;
}

/* ISO C knows no ranges here; the alternative is a second list of all calls. */
#pragma GCC diagnostic ignored "-Wpedantic"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
const struct rp_handler rp_handlers[RP_CALL_COUNT] = {
    [0 ... RP_CALL_COUNT - 1] = {before, after},
    [RP_CALL_cuCtxSynchronize] = {NULL, NULL},
};
