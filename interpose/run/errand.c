/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/errand.h"

#include "interpose/run/core.h"

enum { MOST_STREAMS = 64 };

/* The latest one of a stream. */
static struct errand {
    rp_stream stream;
    rp_event_handle event; /* behind it; recorded again for the next */
    uint32_t name;
    bool waits;            /* as far as is known */
    bool is_late;          /* it is a graph's: the event is still to be recorded */
    bool of_replay;
} errands[MOST_STREAMS];
static size_t errand_count;
static struct errand beyond; /* streams that were too many: nothing is known of them */

static struct errand *errand_of(rp_stream stream)
{
    const struct rp_driver *driver = rp_core.bench.driver;
    for (size_t i = 0; i < errand_count; i++)
        if (errands[i].stream == stream)
            return &errands[i];
    struct errand fresh = {.stream = stream};
    if (errand_count == MOST_STREAMS ||
        driver->event_create(driver->self, stream, &fresh.event) != RP_OK)
        return &beyond;
    errands[errand_count] = fresh;
    return &errands[errand_count++];
}

static bool mark(struct errand *errand)
{
    const struct rp_driver *driver = rp_core.bench.driver;
    bool captures = true;
    errand->is_late = driver->capturing(driver->self, errand->stream, &captures) != RP_OK ||
                      captures ||
                      driver->event_record(driver->self, errand->event, errand->stream) != RP_OK;
    return !errand->is_late;
}

void rp_errand_given(const struct rp_footprint *call)
{
    struct errand *errand = errand_of(call->stream);
    errand->name = call->name;
    errand->waits = errand->is_late = true;
    errand->of_replay = call->replay != NULL;
    if (errand != &beyond && !call->in_graph)
        mark(errand);
}

/* Nobody may ask while a stream captures: then it waits, as far as is known. */
static bool still_waits(struct errand *errand)
{
    const struct rp_driver *driver = rp_core.bench.driver;
    if (!errand->waits || errand == &beyond || rp_core.captures)
        return errand->waits;
    if (!errand->is_late || mark(errand))
        errand->waits = !driver->event_done(driver->self, errand->event);
    return errand->waits;
}

bool rp_errands_wait(bool of_replay, uint32_t *name)
{
    for (size_t i = 0; i <= errand_count; i++) {
        struct errand *errand = i < errand_count ? &errands[i] : &beyond;
        *name = errand->name;
        if ((errand->of_replay || !of_replay) && still_waits(errand))
            return true;
    }
    return false;
}

void rp_errands_replayed(void)
{
    for (size_t i = 0; i < errand_count; i++)
        errands[i].of_replay = false;
    beyond.of_replay = false;
}

void rp_errands_forget(void)
{
    errand_count = 0;
    beyond = (struct errand){.waits = false};
}
