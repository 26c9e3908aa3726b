/* SPDX-License-Identifier: Apache-2.0 */
/* The call frame: what stands between the job's call and the driver.
 *
 * cuda/calls/generate.py makes one exported wrapper for each driver call. While nobody
 * listens it is a load, a test and a jump to the driver. Otherwise it copies its arguments
 * into a structure and goes
 *
 *     record enter, before(), the driver, after(), record leave
 *
 * A wrapper takes no lock, allocates nothing, reads no environment and makes no system
 * call; whether a handler does is the handler's business. The first call of the process,
 * and the first after a fork in a child, starts the layer. */
#ifndef RP_INTERPOSE_WRAP_H
#define RP_INTERPOSE_WRAP_H

#include "cuda/calls/calls.h"
#include "interpose/door/lookup.h"
#include "interpose/door/real.h"

#include <stdatomic.h>

struct rp_frame {
    enum rp_call_id id;
    void *args;      /* struct rp_args_<call>. What before() changes here, the driver gets */
    CUresult result; /* the driver's, valid in after(); what after() leaves here is returned */
    bool skip;       /* set by before(): `result` is the answer, neither the driver nor
                        after() is called */
    bool served;     /* set by before(), with skip: the layer did the driver's part, and after()
                        is called all the same */
    uint64_t seq;    /* number among the heard calls of the process, from 1; a child counts on */
    void *scratch[4]; /* belongs to the call's handler; NULL at before() */
    unsigned again;     /* how often it was made again for want of memory */
    bool put_off;       /* all that there is to do is done when the driver has answered */
    unsigned listening; /* rp_listening as it was when the call came in */
};

/* Who wants to see one call. Either function may be NULL. Both run on the job's thread, with
 * the layer's guard up: driver calls that they make through the wrappers pass straight on. */
struct rp_handler {
    void (*before)(struct rp_frame *frame);
    void (*after)(struct rp_frame *frame);
    bool changes; /* what is known of memory, modules or streams may be another behind it */
    bool repeats; /* it means the same whenever it comes with the same arguments */
};
extern const struct rp_handler rp_handlers[RP_CALL_COUNT] RP_HIDDEN;

/* The recorder of all calls, asked only while RP_LISTEN_TRACE is set. */
void rp_record_enter(struct rp_frame *frame);
void rp_record_leave(struct rp_frame *frame);

/* The driver had no memory for a call. True when there is more of it now. */
bool rp_memory_freed_for(struct rp_frame *frame);

/* Grows by each call after which what other calls mean may be other than before. Never 0. */
uint64_t rp_wrap_changes(void);
/* Calls that repeat, asked while RP_LISTEN_TRACE is set. The first is true when the call's coming
 * was told, and all the rest is left to the second, which sees to before() and after(). */
bool rp_repeat_enter(struct rp_frame *frame);
void rp_repeat_leave(struct rp_frame *frame);

/* Calls that somebody listened to in this process so far. */
uint64_t rp_wrap_calls(void);

/* ---- life ----------------------------------------------------------------------- */

enum rp_life { RP_LIFE_UNINIT, RP_LIFE_INITIALISING, RP_LIFE_READY, RP_LIFE_DISABLED };
enum rp_life rp_wrap_life(void);

enum {
    RP_LISTEN_START = 1,    /* the layer has not been started in this process */
    RP_LISTEN_HANDLERS = 2, /* rp_handlers are called */
    RP_LISTEN_TRACE = 4     /* rp_record_enter and rp_record_leave are called */
};
/* Changes who listens, from the next call on. Only in a layer that is READY. */
void rp_listen(unsigned bits);

/* The layer itself, called from here. rp_layer_start runs once in a process, on the thread
 * of the first driver call, before that call goes anywhere; other threads wait. It returns
 * the RP_LISTEN_ bits that it wants; none means DISABLED, and every call passes from then
 * on. It is not called when there is no driver. It must not open or look up libraries:
 * the thread may hold the loader's lock. */
unsigned rp_layer_start(void);
/* In the child of a fork, when the parent's layer had been started: forget the parent's
 * locks, threads and files. The child's first driver call starts the layer anew. */
void rp_layer_forked(void);

/* ---- the wrappers' side --------------------------------------------------------- */

#define RP_EXPORT __attribute__((visibility("default")))
#define RP_SLOW static __attribute__((noinline))

extern _Atomic unsigned rp_listening RP_HIDDEN;
/* True while this thread is inside a handler, the recorder, or the layer's start. */
extern _Thread_local bool rp_inside RP_HIDDEN;
/* Where each wrapper is, by id. */
extern void (*const rp_wrappers[RP_CALL_COUNT])(void) RP_HIDDEN;

/* Opens the driver and starts the layer where that has not been done. Returns the new word. */
unsigned rp_wrap_start(void);
/* Returns true when the driver is to be called. */
bool rp_wrap_enter(struct rp_frame *frame);
/* The driver had no memory for the call. Returns true when it is to be asked once more. */
bool rp_wrap_again(struct rp_frame *frame);
CUresult rp_wrap_leave(struct rp_frame *frame);

/* Acquire: whoever sees 0 also sees the entry points that were filled in before. */
static inline bool rp_wrap_idle(void)
{
    unsigned listening = atomic_load_explicit(&rp_listening, memory_order_acquire);
    return __builtin_expect(listening == 0, 1);
}

static inline bool rp_wrap_wanted(enum rp_call_id id)
{
    if (rp_inside)
        return false;
    unsigned listening = atomic_load_explicit(&rp_listening, memory_order_acquire);
    if (__builtin_expect(listening & RP_LISTEN_START, 0))
        listening = rp_wrap_start();
    if (listening & RP_LISTEN_TRACE)
        return true;
    return (listening & RP_LISTEN_HANDLERS)
           && (rp_handlers[id].before != NULL || rp_handlers[id].after != NULL);
}

#endif
