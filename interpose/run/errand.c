/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/errand.h"

#include "cuda/driver_real.h"
#include "interpose/run/core.h"
#include "tracker/array.h"

/* Those of a stream that may wait, from the first to the last. All times are moments. */
struct errand {
    rp_stream stream;      /* none_in() its context where it has been destroyed */
    rp_event_handle event; /* behind the last; recorded again for the next; 0: none, as it went */
    uint64_t first, last;  /* when they were given */
    uint64_t over;         /* when they were found to be over, 0: they wait, as far as is known */
    bool is_late;          /* the last is a graph's: the event is still to be recorded */
    bool of_replay;        /* one of them is */
};

static struct {
    struct errand *items; /* one a stream, and those of streams that are gone */
    size_t count, capacity;
    struct errand beyond; /* what could not be noted: nothing is known of it */
    uint64_t now;
    unsigned watches;
    uint64_t watched; /* since when, where there are any */
} errands = {.beyond = {.over = 1}, .now = 1};

static const struct rp_driver *driver(void)
{
    return rp_core.bench.driver;
}

/* No stream, but of the same context: an event is of use there only. */
static rp_stream none_in(rp_stream stream)
{
    return rp_driver_stream_in(0, rp_driver_context_of(stream));
}

static bool mark(struct errand *errand)
{
    const struct rp_driver *real = driver();
    bool captures = true;
    errand->is_late = errand->stream == none_in(errand->stream) ||
                      real->capturing(real->self, errand->stream, &captures) != RP_OK || captures ||
                      real->event_record(real->self, errand->event, errand->stream) != RP_OK;
    return !errand->is_late;
}

/* Nobody may ask while a stream captures: then it waits, as far as is known. */
static bool still_waits(struct errand *errand)
{
    if (errand->over || errand == &errands.beyond || rp_core.captures)
        return !errand->over;
    if ((!errand->is_late || mark(errand)) && driver()->event_done(driver()->self, errand->event))
        errand->over = ++errands.now;
    return !errand->over;
}

/* Nobody is going to ask what waited there. */
static bool is_idle(struct errand *errand)
{
    return !still_waits(errand) && (!errands.watches || errand->over < errands.watched);
}

static struct errand *find(rp_stream stream)
{
    for (size_t i = 0; i < errands.count; i++)
        if (errands.items[i].stream == stream)
            return &errands.items[i];
    return NULL;
}

/* Streams come and go. */
static struct errand *find_idle(rp_stream stream)
{
    for (size_t i = 0; i < errands.count; i++)
        if ((!errands.items[i].event || none_in(errands.items[i].stream) == none_in(stream)) &&
            is_idle(&errands.items[i]))
            return &errands.items[i];
    return NULL;
}

static struct errand *add(void)
{
    struct errand *bigger = rp_array_reserve(errands.items, &errands.capacity, errands.count + 1,
                                             sizeof *bigger);
    if (!bigger)
        return NULL;
    errands.items = bigger;
    bigger[errands.count] = (struct errand){.over = 1};
    return &bigger[errands.count++];
}

static bool settle_in(struct errand *errand, rp_stream stream)
{
    errand->stream = stream;
    return errand->event ||
           driver()->event_create(driver()->self, stream, &errand->event) == RP_OK;
}

static struct errand *errand_of(rp_stream stream)
{
    struct errand *errand = find(stream);
    if (!errand)
        errand = find_idle(stream);
    if (!errand)
        errand = add();
    return errand && settle_in(errand, stream) ? errand : &errands.beyond;
}

void rp_errand_given(const struct rp_footprint *call)
{
    struct errand *errand = errand_of(call->stream);
    bool is_first = is_idle(errand);
    bool waits = still_waits(errand);
    errand->last = ++errands.now;
    if (is_first)
        errand->first = errand->last;
    errand->over = 0;
    errand->is_late = true;
    errand->of_replay = call->replay || (waits && errand->of_replay);
    if (errand != &errands.beyond && !call->in_graph)
        mark(errand);
}

/* What is given to the handle from now on is another stream's. */
void rp_errands_stream_ends(rp_stream stream)
{
    struct errand *errand = find(stream);
    if (!errand)
        return;
    if (!errand->over && errand->is_late)
        mark(errand);
    errand->stream = none_in(stream);
}

void rp_errands_context_gone(unsigned context)
{
    uint64_t now = ++errands.now;
    for (size_t i = 0; i < errands.count; i++) {
        struct errand *errand = &errands.items[i];
        if (rp_driver_context_of(errand->stream) != context)
            continue;
        errand->over = errand->over ? errand->over : now;
        errand->event = 0;
        errand->stream = none_in(errand->stream);
    }
}

/* ---- what is asked of them ---------------------------------------------------------------- */

static struct errand *errand_at(size_t i)
{
    return i < errands.count ? &errands.items[i] : &errands.beyond;
}

bool rp_errands_wait(void)
{
    for (size_t i = 0; i <= errands.count; i++)
        if (errand_at(i)->of_replay && still_waits(errand_at(i)))
            return true;
    return false;
}

void rp_errands_replayed(void)
{
    for (size_t i = 0; i <= errands.count; i++)
        errand_at(i)->of_replay = false;
}

uint64_t rp_errands_watch(void)
{
    bool do_wait = false;
    for (size_t i = 0; i <= errands.count; i++) /* all are asked: who is over now is found now */
        do_wait |= still_waits(errand_at(i));
    if (!do_wait)
        return 0;
    uint64_t now = ++errands.now;
    errands.watched = errands.watches++ ? errands.watched : now;
    return now;
}

/* Of a stream's only one it is known that it waits; of several, that the last does. */
static bool ran(struct errand *errand, uint64_t since)
{
    bool waits = still_waits(errand);
    bool waited = errand->first <= since && (waits || errand->over > since);
    return waited && !(waits && errand->first == errand->last && errand != &errands.beyond);
}

bool rp_errands_ran(uint64_t since)
{
    bool any_ran = false;
    for (size_t i = 0; i <= errands.count; i++)
        any_ran |= ran(errand_at(i), since);
    errands.watches--;
    return any_ran;
}

void rp_errands_forget(void)
{
    errands.count = 0; /* the array is left where it is, as in host.c */
    errands.items = NULL;
    errands.capacity = 0;
    errands.beyond = (struct errand){.over = 1};
    errands.watches = 0;
}
