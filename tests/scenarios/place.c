/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/place.h"

#include "tests/laws/driver.h"

#include <pthread.h>

enum { CONTEXTS = 2, STREAMS = 4, PER_THREAD = CONTEXTS * STREAMS, MOST_WAITING = 1024 };

static struct {
    CUcontext context;
    CUmodule module;
    CUstream streams[STREAMS], capturing; /* streams[0]: NULL, the default stream */
    CUevent events[MAX_EVENTS];
} contexts[CONTEXTS];
static int recorded_in[MAX_EVENTS]; /* the context of each event's latest record */

static int context_of(int stream)
{
    return stream == PER_THREAD ? 0 : stream / STREAMS;
}

static int enter(int stream)
{
    static _Thread_local int current = -1;
    int wanted = context_of(stream);
    if (wanted != current)
        CU(CtxSetCurrent, contexts[wanted].context);
    current = wanted;
    return wanted;
}

CUstream place_stream(int stream)
{
    int at = enter(stream);
    return stream == PER_THREAD ? CU_STREAM_PER_THREAD : contexts[at].streams[stream % STREAMS];
}

bool place_is_default(int stream)
{
    return stream != PER_THREAD && stream % STREAMS == 0;
}

CUstream place_capturing(int stream)
{
    return contexts[enter(stream)].capturing;
}

CUmodule place_module(int stream)
{
    return contexts[enter(stream)].module;
}

CUdeviceptr place_allocate(bool second, size_t bytes)
{
    enter(second ? STREAMS : 0);
    CUdeviceptr memory = allocate(bytes);
    CU(StreamSynchronize, NULL); /* zeroed before another stream has it */
    enter(0);
    return memory;
}

void place_record(int event, int stream)
{
    CUstream in = place_stream(stream);
    recorded_in[event] = context_of(stream);
    CU(EventRecord, contexts[recorded_in[event]].events[event], in);
}

void place_wait(int event, int stream)
{
    CU(StreamWaitEvent, place_stream(stream), contexts[recorded_in[event]].events[event], 0);
}

/* ---- threads ------------------------------------------------------------------------------- */

static struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct { place_fn work; const void *what; } waiting[MOST_WAITING];
    size_t given, done;
    bool started;
} workers[MAX_THREADS];

static void *work(void *self)
{
    struct worker *worker = self;
    pthread_mutex_lock(&worker->lock);
    for (;;) {
        while (worker->done == worker->given)
            pthread_cond_wait(&worker->changed, &worker->lock);
        size_t next = worker->done % MOST_WAITING;
        place_fn function = worker->waiting[next].work;
        const void *what = worker->waiting[next].what;
        pthread_mutex_unlock(&worker->lock);
        function(what);
        pthread_mutex_lock(&worker->lock);
        worker->done++;
        pthread_cond_broadcast(&worker->changed);
    }
    return NULL;
}

static void start(struct worker *worker)
{
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    pthread_create(&worker->thread, NULL, work, worker);
    worker->started = true;
}

void place_do(int thread, bool wait, place_fn function, const void *what)
{
    struct worker *worker = &workers[thread];
    if (!thread) {
        function(what);
        return;
    }
    if (!worker->started)
        start(worker);
    pthread_mutex_lock(&worker->lock);
    while (worker->given - worker->done == MOST_WAITING)
        pthread_cond_wait(&worker->changed, &worker->lock);
    size_t next = worker->given++ % MOST_WAITING;
    worker->waiting[next].work = function;
    worker->waiting[next].what = what;
    pthread_cond_broadcast(&worker->changed);
    while (wait && worker->done != worker->given)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
}

void place_join(void)
{
    for (int i = 1; i < MAX_THREADS; i++) {
        struct worker *worker = &workers[i];
        if (!worker->started)
            continue;
        pthread_mutex_lock(&worker->lock);
        while (worker->done != worker->given)
            pthread_cond_wait(&worker->changed, &worker->lock);
        pthread_mutex_unlock(&worker->lock);
    }
}

/* ---- both contexts ------------------------------------------------------------------------- */

void places_drain(void)
{
    place_join();
    for (int i = CONTEXTS; i-- > 0;) {
        enter(i * STREAMS);
        synchronize();
    }
}

static void fill_context(int at)
{
    contexts[at].context = context;
    contexts[at].module = module;
    for (int i = 1; i < STREAMS; i++)
        CU(StreamCreate, &contexts[at].streams[i], CU_STREAM_NON_BLOCKING);
    CU(StreamCreate, &contexts[at].capturing, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < MAX_EVENTS; i++)
        CU(EventCreate, &contexts[at].events[i], CU_EVENT_DISABLE_TIMING);
}

/* Each context's kernels reach the other's memory. */
static void make_peers(void)
{
    for (int i = CONTEXTS; i-- > 0;) {
        enter(i * STREAMS);
        CU(CtxEnablePeerAccess, contexts[1 - i].context, 0);
    }
}

void places_open(void)
{
    int devices;
    CU(DeviceGetCount, &devices);
    fill_context(0);
    open_context_on(devices > 1 ? 1 : 0);
    fill_context(1);
    context = contexts[0].context; /* which everybody else means */
    module = contexts[0].module;
    make_peers();
}
