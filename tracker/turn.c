/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/turn.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 128, EVENTS = 256, NOWHERE = -1 };

/* By line: its calls up to this one. */
struct seen {
    uint64_t upto[LINES];
};

struct line {
    uint64_t stream;
    bool waits;     /* its streams do, and it is the legacy stream's line that counts */
    bool was_lost;  /* calls of an older stream of this handle may still be under way */
    uint64_t since; /* the last call before the stream was opened */
    uint64_t last;  /* that it was given */
    struct seen before; /* what it is given next */
};

struct event {
    uint64_t handle; /* 0: there is none here */
    struct seen before;
};

struct rp_turns {
    struct line lines[LINES];
    int count;
    bool mixed;    /* one of them waits for nobody */
    bool overfull; /* there are more: nothing is known any more */
    struct seen over; /* as the host has seen */
    struct event events[EVENTS]; /* by a hash of the handle; a younger one takes the place */
};

enum rp_status rp_turns_create(struct rp_turns **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? RP_OK : RP_NO_MEMORY;
}

void rp_turns_destroy(struct rp_turns *turns)
{
    free(turns);
}

bool rp_turns_are_plain(const struct rp_turns *turns)
{
    return !turns->mixed;
}

/* ---- lines ---------------------------------------------------------------------- */

static int find(const struct rp_turns *turns, uint64_t stream)
{
    for (int i = 0; i < turns->count; i++)
        if (turns->lines[i].stream == stream)
            return i;
    return NOWHERE;
}

static int find_or_add(struct rp_turns *turns, uint64_t stream)
{
    int at = find(turns, stream);
    if (at != NOWHERE)
        return at;
    if (turns->count == LINES) {
        turns->overfull = true;
        return NOWHERE;
    }
    turns->lines[turns->count].stream = stream;
    return turns->count++;
}

enum rp_status rp_turns_open(struct rp_turns *turns, uint64_t stream, bool waits, uint64_t seq)
{
    int at = find(turns, stream);
    if (at == NOWHERE && waits)
        return RP_OK;
    if (at == NOWHERE && (at = find_or_add(turns, stream)) == NOWHERE)
        return RP_NO_MEMORY;
    struct line *line = &turns->lines[at];
    line->was_lost = line->was_lost || line->last > turns->over.upto[at];
    line->waits = waits;
    line->since = seq;
    turns->mixed = true;
    memset(&line->before, 0, sizeof line->before);
    return RP_OK;
}

uint64_t rp_turns_line(const struct rp_turns *turns, uint64_t stream, uint64_t legacy)
{
    int at = find(turns, stream);
    return at == NOWHERE || turns->lines[at].waits ? legacy : stream;
}

void rp_turns_take(struct rp_turns *turns, uint64_t line, uint64_t seq)
{
    int at = find_or_add(turns, line);
    if (at != NOWHERE)
        turns->lines[at].last = seq;
}

/* ---- order ---------------------------------------------------------------------- */

static void raise(uint64_t *upto, uint64_t seq)
{
    *upto = *upto < seq ? seq : *upto;
}

static void join(struct seen *into, const struct seen *from)
{
    for (int i = 0; i < LINES; i++)
        raise(&into->upto[i], from->upto[i]);
}

static struct event *place_of(struct rp_turns *turns, uint64_t event)
{
    return &turns->events[event * UINT64_C(0x9E3779B97F4A7C15) >> 56];
}

static struct event *event_find(struct rp_turns *turns, uint64_t event)
{
    struct event *found = place_of(turns, event);
    return event && found->handle == event ? found : NULL;
}

void rp_turns_record(struct rp_turns *turns, uint64_t event, uint64_t line, uint64_t seq)
{
    struct event *recorded = place_of(turns, event);
    int at = find_or_add(turns, line);
    rp_turns_forget(turns, event);
    if (at == NOWHERE)
        return;
    recorded->handle = event;
    recorded->before = turns->lines[at].before;
    raise(&recorded->before.upto[at], seq);
}

void rp_turns_forget(struct rp_turns *turns, uint64_t event)
{
    struct event *known = event_find(turns, event);
    if (known)
        known->handle = 0;
}

void rp_turns_forget_events(struct rp_turns *turns)
{
    for (int i = 0; i < EVENTS; i++)
        turns->events[i].handle = 0;
}

void rp_turns_wait(struct rp_turns *turns, uint64_t line, uint64_t event)
{
    const struct event *known = event_find(turns, event);
    int at = find_or_add(turns, line);
    if (known && at != NOWHERE)
        join(&turns->lines[at].before, &known->before);
}

void rp_turns_settle(struct rp_turns *turns, uint64_t line, uint64_t seq)
{
    int at = find_or_add(turns, line);
    if (at == NOWHERE)
        return;
    join(&turns->over, &turns->lines[at].before);
    raise(&turns->over.upto[at], seq);
}

void rp_turns_settle_all(struct rp_turns *turns, bool (*is)(uint64_t line, uint64_t asked),
                         uint64_t asked, uint64_t seq)
{
    for (int i = 0; i < turns->count; i++)
        if (is(turns->lines[i].stream, asked))
            rp_turns_settle(turns, turns->lines[i].stream, seq);
}

void rp_turns_settle_event(struct rp_turns *turns, uint64_t event)
{
    const struct event *known = event_find(turns, event);
    if (known)
        join(&turns->over, &known->before);
}

bool rp_turns_after(const struct rp_turns *turns, uint64_t line, uint64_t other, uint64_t seq)
{
    int at = find(turns, line), of = find(turns, other);
    if (turns->overfull)
        return false;
    if (line == other)
        return at == NOWHERE || seq > turns->lines[at].since || !turns->lines[at].was_lost;
    if (of == NOWHERE)
        return false;
    if (seq <= turns->lines[of].since && !turns->lines[of].was_lost)
        return true; /* of an older stream of this handle, which had ended */
    if (seq <= turns->lines[of].since)
        return false;
    return seq <= turns->over.upto[of] ||
           (at != NOWHERE && seq <= turns->lines[at].before.upto[of]);
}
