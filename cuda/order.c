/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/order.h"

#include <stdlib.h>

struct line {
    rp_stream stream;
    rp_event_handle event; /* recorded again for each wait: events are free to re-record */
    bool retired;          /* the event stands at the stream's end */
    bool behind;           /* it captured at a release, and has not waited for it */
    bool marked;           /* the event stands at the latest mark, or further on */
    bool sealed;           /* the event stands where it began to capture */
    bool shut;             /* see rp_order_shut */
    uint64_t open_until;
};

struct rp_order {
    const struct rp_driver *driver;
    struct line *lines;
    size_t count, capacity;
    rp_stream released; /* the stream of the last release, 0 before the first */
    rp_stream lone;     /* see rp_order_set_lone */
    rp_stream aside;    /* see rp_order_shut */
    bool any_shut;
};

enum rp_status rp_order_create(const struct rp_driver *driver, struct rp_order **out)
{
    struct rp_order *order = calloc(1, sizeof *order);
    if (!order)
        return RP_NO_MEMORY;
    order->driver = driver;
    *out = order;
    return RP_OK;
}

void rp_order_abandon(struct rp_order *order)
{
    if (order)
        free(order->lines);
    free(order);
}

void rp_order_destroy(struct rp_order *order)
{
    for (size_t i = 0; order && i < order->count; i++)
        (void)order->driver->event_destroy(order->driver->self, order->lines[i].event);
    rp_order_abandon(order);
}

static struct line *line_find(struct rp_order *order, rp_stream stream)
{
    for (size_t i = 0; i < order->count; i++)
        if (order->lines[i].stream == stream)
            return &order->lines[i];
    return NULL;
}

static enum rp_status line_get(struct rp_order *order, rp_stream stream, struct line **out)
{
    *out = line_find(order, stream);
    if (*out)
        return RP_OK;
    if (order->count == order->capacity) {
        size_t capacity = order->capacity ? order->capacity * 2 : 8;
        struct line *bigger = realloc(order->lines, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        order->lines = bigger;
        order->capacity = capacity;
    }
    struct line line = {.stream = stream};
    enum rp_status status = order->driver->event_create(order->driver->self, stream, &line.event);
    if (status != RP_OK)
        return status;
    *out = &order->lines[order->count++];
    **out = line;
    return RP_OK;
}

/* Who waits for a shut one is shut. */
static enum rp_status wait_for(struct rp_order *order, rp_stream stream, const struct line *line)
{
    const struct rp_driver *driver = order->driver;
    bool is_shut = line->shut;
    enum rp_status status = driver->stream_wait(driver->self, stream, line->event);
    if (is_shut && status == RP_OK)
        rp_order_shut(order, stream, 0, 0);
    return status;
}

/* An event in a stream that captures would be a node, and draw in whoever waits for it: such a
 * stream is left out, unless it was sealed. */
static enum rp_status after(struct rp_order *order, rp_stream stream, rp_stream earlier,
                            bool *left_out)
{
    const struct rp_driver *driver = order->driver;
    struct line *line;
    bool captures = false;
    enum rp_status status = line_get(order, earlier, &line);
    if (status == RP_OK && !line->retired)
        status = driver->capturing(driver->self, earlier, &captures);
    *left_out = status == RP_OK && captures && !line->sealed;
    if (status == RP_OK && !line->retired && !captures)
        status = driver->event_record(driver->self, line->event, earlier);
    return status == RP_OK && !*left_out ? wait_for(order, stream, line) : status;
}

/* Nothing that a shut one holds matters to the lone one. */
static bool need_not_wait(const struct rp_order *order, rp_stream stream, rp_stream earlier)
{
    bool is_lone = order->lone && stream == order->lone;
    return stream == earlier || (is_lone && rp_order_is_shut(order, earlier));
}

enum rp_status rp_order_after(struct rp_order *order, rp_stream stream, rp_stream earlier)
{
    bool left_out = false;
    enum rp_status status = need_not_wait(order, stream, earlier)
                                ? RP_OK
                                : after(order, stream, earlier, &left_out);
    return left_out ? RP_UNSUPPORTED : status;
}

enum rp_status rp_order_seal(struct rp_order *order, rp_stream stream)
{
    struct line *line = line_find(order, stream);
    if (!line || line->retired)
        return RP_OK;
    enum rp_status status =
        order->driver->event_record(order->driver->self, line->event, stream);
    line->sealed = status == RP_OK;
    return status;
}

enum rp_status rp_order_mark(struct rp_order *order, rp_stream stream)
{
    const struct rp_driver *driver = order->driver;
    struct line *line;
    bool captures = false;
    enum rp_status status = line_get(order, stream, &line);
    if (status != RP_OK || line->retired)
        return status;
    line->marked = !rp_order_is_alone(order);
    if (line->marked)
        status = driver->capturing(driver->self, stream, &captures);
    line->marked = line->marked && status == RP_OK && !captures;
    return line->marked ? driver->event_record(driver->self, line->event, stream) : status;
}

enum rp_status rp_order_after_mark(struct rp_order *order, rp_stream stream, rp_stream earlier)
{
    const struct line *line = line_find(order, earlier);
    if (!line || !line->marked || need_not_wait(order, stream, earlier))
        return rp_order_after(order, stream, earlier);
    return wait_for(order, stream, line);
}

bool rp_order_is_alone(const struct rp_order *order)
{
    return order->count <= 1;
}

bool rp_order_knows(const struct rp_order *order, bool (*is)(rp_stream stream, uint64_t asked),
                    uint64_t asked)
{
    for (size_t i = 0; i < order->count; i++)
        if (is(order->lines[i].stream, asked))
            return true;
    return false;
}

/* The capture is over, or nothing that the stream is given runs yet. What was released first was
 * known to whoever released later. */
static enum rp_status catch_up(struct rp_order *order, struct line *line)
{
    const struct rp_driver *driver = order->driver;
    const struct line *released = line_find(order, order->released);
    bool captures = false, other = false;
    enum rp_status status = driver->capturing(driver->self, line->stream, &captures);
    if (status != RP_OK || captures || !released)
        return status;
    if (!released->retired)
        status = driver->capturing(driver->self, released->stream, &other);
    if (status == RP_OK && !other)
        status = rp_order_after(order, line->stream, released->stream);
    else if (status == RP_OK) /* its event stands where it was at the release */
        status = wait_for(order, line->stream, released);
    line->behind = status != RP_OK;
    return status;
}

enum rp_status rp_order_meet(struct rp_order *order, rp_stream stream)
{
    struct line *known = line_find(order, stream);
    if (known)
        known->sealed = false; /* it is given something that runs */
    if (known && !known->retired)
        return known->behind ? catch_up(order, known) : RP_OK;
    struct line *line;
    enum rp_status status = line_get(order, stream, &line);
    /* One by an old handle comes after what that one held: who waits for the one waits for both. */
    if (status == RP_OK && line->retired)
        status = wait_for(order, stream, line);
    if (status != RP_OK)
        return status;
    line->retired = line->behind = line->marked = false;
    return order->released ? rp_order_after(order, stream, order->released) : RP_OK;
}

/* A stream that captures waits once that is over. */
static enum rp_status let_wait(struct rp_order *order, size_t at, rp_stream stream)
{
    const struct rp_driver *driver = order->driver;
    rp_stream waiting = order->lines[at].stream;
    struct line *released;
    bool captures;
    enum rp_status status = driver->capturing(driver->self, waiting, &captures);
    if (status != RP_OK || !captures)
        return status == RP_OK ? rp_order_after(order, waiting, stream) : status;
    order->lines[at].behind = true;
    status = line_get(order, stream, &released);
    return status == RP_OK ? driver->event_record(driver->self, released->event, stream) : status;
}

enum rp_status rp_order_gather(struct rp_order *order, rp_stream stream)
{
    enum rp_status status = rp_order_meet(order, stream);
    bool is_lone = order->lone && order->lone == stream;
    for (size_t i = 0; status == RP_OK && !is_lone && i < order->count; i++) {
        bool left_out;
        if (order->lines[i].stream != stream)
            status = after(order, stream, order->lines[i].stream, &left_out);
    }
    return status;
}

rp_stream rp_order_lone(const struct rp_order *order)
{
    return order->lone;
}

void rp_order_set_lone(struct rp_order *order, rp_stream stream)
{
    order->lone = stream;
}

void rp_order_take_over(struct rp_order *order, rp_stream stream)
{
    if (order->released)
        order->released = stream;
}

enum rp_status rp_order_release(struct rp_order *order, rp_stream stream)
{
    enum rp_status status = rp_order_meet(order, stream);
    order->released = stream;
    for (size_t i = 0; status == RP_OK && i < order->count; i++) {
        rp_stream other = order->lines[i].stream;
        if (other != stream && !order->lines[i].retired)
            status = let_wait(order, i, stream);
    }
    return status;
}

/* Who can't be noted is waited for by nobody in here: it has no event. */
void rp_order_shut(struct rp_order *order, rp_stream stream, rp_stream aside, uint64_t seq)
{
    struct line *line;
    order->any_shut = true;
    if (line_get(order, stream, &line) != RP_OK || line->shut)
        return;
    line->shut = true;
    line->open_until = aside ? seq : 0;
    if (aside)
        order->aside = aside;
}

enum rp_status rp_order_after_write(struct rp_order *order, rp_stream stream, rp_stream writer,
                                    uint64_t seq)
{
    const struct line *line = line_find(order, writer);
    bool is_before = line && line->shut && seq <= line->open_until;
    return rp_order_after(order, stream, is_before ? order->aside : writer);
}

void rp_order_open(struct rp_order *order)
{
    for (size_t i = 0; order->any_shut && i < order->count; i++)
        order->lines[i].shut = false;
    order->any_shut = false;
}

bool rp_order_is_shut(const struct rp_order *order, rp_stream stream)
{
    for (size_t i = 0; order->any_shut && i < order->count; i++)
        if (order->lines[i].stream == stream)
            return order->lines[i].shut;
    return false;
}

bool rp_order_is_any_shut(const struct rp_order *order)
{
    return order->any_shut;
}

bool rp_order_is_done(struct rp_order *order, rp_stream stream)
{
    const struct rp_driver *driver = order->driver;
    const struct line *line = line_find(order, stream);
    bool captures;
    if (!line)
        return false;
    if (!line->retired &&
        (driver->capturing(driver->self, stream, &captures) != RP_OK || captures ||
         driver->event_record(driver->self, line->event, stream) != RP_OK))
        return false;
    return driver->event_done(driver->self, line->event);
}

/* A stream that began a capture and goes with it was sealed for that, or never given anything that
 * runs: its event would only become the capture's. */
enum rp_status rp_order_retire(struct rp_order *order, rp_stream stream)
{
    const struct rp_driver *driver = order->driver;
    struct line *line = line_find(order, stream);
    bool captures = false;
    enum rp_status status = RP_OK;
    if (!line || line->retired || line->sealed)
        status = driver->capturing(driver->self, stream, &captures);
    if (status == RP_OK && !captures)
        status = line_get(order, stream, &line);
    if (status == RP_OK && !captures)
        status = driver->event_record(driver->self, line->event, stream);
    if (status == RP_OK && line)
        line->retired = true;
    return status;
}

void rp_order_revive(struct rp_order *order, rp_stream stream)
{
    /* Its next call meets it as a new one; until then it stays retired. */
    struct line *line = line_find(order, stream);
    if (line)
        line->retired = true;
}
