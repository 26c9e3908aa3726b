/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/hull.h"

#include "tracker/array.h"

#include <stdlib.h>

struct rp_hull rp_hulls_level(const struct rp_hulls *hulls, size_t level)
{
    return (struct rp_hull){hulls->corners + hulls->begin[level],
                            hulls->begin[level + 1] - hulls->begin[level]};
}

void rp_hulls_release(struct rp_hulls *hulls)
{
    free(hulls->corners);
    free(hulls->begin);
    *hulls = (struct rp_hulls){NULL, NULL, 0, 0};
}

/* ---- values ------------------------------------------------------------------- */

/* On the edge from a to b, a.x <= x < b.x: rounded down, because the edge falls. */
static int64_t on_edge(struct rp_corner a, struct rp_corner b, int64_t x)
{
    rp_wide fall = (rp_wide)(a.y - b.y) * (x - a.x);
    rp_wide width = b.x - a.x;

    return a.y - (int64_t)((fall + width - 1) / width);
}

/* Index of the last corner at or left of x; there is one. */
static size_t corner_left_of(struct rp_hull hull, int64_t x)
{
    size_t low = 0, high = hull.count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (hull.corners[middle].x <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t rp_hull_at(struct rp_hull hull, int64_t x)
{
    if (hull.count == 0 || x < hull.corners[0].x)
        return INT64_MAX;
    size_t i = corner_left_of(hull, x);
    if (i + 1 == hull.count)
        return hull.corners[i].y;
    return on_edge(hull.corners[i], hull.corners[i + 1], x);
}

struct rp_hull_cursor rp_hull_cursor(struct rp_hull hull)
{
    return (struct rp_hull_cursor){hull, hull.count > 0 ? hull.count - 1 : 0, 0};
}

void rp_hull_cursor_step(struct rp_hull_cursor *cursor)
{
    const struct rp_corner *left = &cursor->hull.corners[--cursor->at], *right = left + 1;
    rp_wide slope = ((rp_wide)(left->y - right->y) << 32) / (right->x - left->x);

    cursor->slope = slope > INT64_MAX ? INT64_MAX : (uint64_t)slope;
}

/* The fall of a hull just right of x, as the two ends of that edge; false where it is flat. */
static bool edge_right_of(struct rp_hull hull, int64_t x, struct rp_corner *a,
                          struct rp_corner *b)
{
    size_t i = corner_left_of(hull, x);

    if (i + 1 == hull.count)
        return false;
    *a = hull.corners[i];
    *b = hull.corners[i + 1];
    return true;
}

/* Whether a hull falls faster along the edge a0-a1 than another along b0-b1. */
static bool is_steeper(struct rp_corner a0, struct rp_corner a1, struct rp_corner b0,
                       struct rp_corner b1)
{
    return (rp_wide)(a0.y - a1.y) * (b1.x - b0.x) > (rp_wide)(b0.y - b1.y) * (a1.x - a0.x);
}

/* Whether a(x) + b(total - x) still falls just right of x. */
static bool sum_falls(struct rp_hull a, struct rp_hull b, int64_t total, int64_t x)
{
    struct rp_corner a0, a1, b0, b1;

    if (!edge_right_of(a, x, &a0, &a1))
        return false;
    int64_t left = total - x - 1; /* what b loses when x grows by one */
    if (left < b.corners[0].x)
        return false;
    if (!edge_right_of(b, left, &b0, &b1))
        return true;
    return is_steeper(a0, a1, b0, b1);
}

int64_t rp_hull_least_sum(struct rp_hull a, struct rp_hull b, int64_t total, int64_t limit)
{
    if (a.count == 0 || b.count == 0)
        return INT64_MAX;
    int64_t low = a.corners[0].x, high = total - b.corners[0].x;
    if (high > limit)
        high = limit;
    if (low > high)
        return INT64_MAX;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sum_falls(a, b, total, middle))
            low = middle + 1;
        else
            high = middle;
    }
    int64_t first = rp_hull_at(a, low), second = rp_hull_at(b, total - low);
    return first + second;
}

/* ---- building ----------------------------------------------------------------- */

/* The corners of one option's function, left to right: a part of the last level, moved, with
 * cuts at the ends. */
struct stream {
    struct rp_corner head; /* the next one, moved */
    const struct rp_corner *next, *end; /* after it */
    struct rp_corner last;              /* a cut behind those */
    bool has_last;
    int64_t right, up; /* by how much they are moved */
};

static struct rp_corner moved(const struct stream *stream, struct rp_corner corner)
{
    return (struct rp_corner){corner.x + stream->right, corner.y + stream->up};
}

/* False at the end. */
static bool stream_advance(struct stream *stream)
{
    if (stream->next < stream->end) {
        stream->head = moved(stream, *stream->next++);
        return true;
    }
    if (stream->has_last) {
        stream->head = moved(stream, stream->last);
        stream->has_last = false;
        return true;
    }
    return false;
}

/* The function restricted to low <= x <= high; false when nothing is left of it. */
static bool stream_cut(struct stream *stream, struct rp_hull hull, int64_t low, int64_t high,
                       const struct rp_row *row)
{
    *stream = (struct stream){.right = row->hold, .up = row->time};
    if (hull.count == 0 || high < low || high < hull.corners[0].x)
        return false;
    bool starts_inside = low > hull.corners[0].x;
    size_t first = starts_inside ? corner_left_of(hull, low) + 1 : 0;
    size_t last = corner_left_of(hull, high);
    if (last + 1 < hull.count && hull.corners[last].x < high && low < high) {
        stream->last = (struct rp_corner){high, rp_hull_at(hull, high)};
        stream->has_last = true;
    }
    stream->next = hull.corners + first;
    stream->end = hull.corners + (last + 1 > first ? last + 1 : first);
    if (starts_inside)
        stream->head = moved(stream, (struct rp_corner){low, rp_hull_at(hull, low)});
    return starts_inside || stream_advance(stream);
}

/* Appends a corner to a level that begins at `begin`, keeping it convex and falling. */
static void push(struct rp_hulls *hulls, size_t begin, size_t *count, struct rp_corner corner)
{
    struct rp_corner *base = hulls->corners + begin;

    if (*count > 0 && corner.y >= base[*count - 1].y)
        return;
    if (*count > 0 && corner.x == base[*count - 1].x)
        (*count)--;
    while (*count >= 2 && !is_steeper(base[*count - 2], base[*count - 1], base[*count - 1], corner))
        (*count)--;
    base[(*count)++] = corner;
}

static enum rp_status reserve(struct rp_hulls *hulls, size_t need)
{
    struct rp_corner *corners =
        rp_array_reserve(hulls->corners, &hulls->capacity, need, sizeof(*corners));
    if (corners == NULL)
        return RP_NO_MEMORY;
    hulls->corners = corners;
    return RP_OK;
}

static bool is_before(struct rp_corner a, struct rp_corner b)
{
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

/* The lower convex envelope of up to three functions becomes the next level. */
static void merge(struct rp_hulls *hulls, struct stream *streams, size_t live)
{
    size_t begin = hulls->begin[hulls->levels], count = 0;

    while (live > 0) {
        size_t first = 0;
        for (size_t s = 1; s < live; s++)
            if (is_before(streams[s].head, streams[first].head))
                first = s;
        push(hulls, begin, &count, streams[first].head);
        if (!stream_advance(&streams[first]))
            streams[first] = streams[--live];
    }
    hulls->begin[++hulls->levels] = begin + count;
}

/* What could be had is released by the caller. */
static enum rp_status start(struct rp_hulls *hulls, size_t links)
{
    *hulls = (struct rp_hulls){.begin = calloc(links + 2, sizeof(size_t))};
    if (hulls->begin == NULL || reserve(hulls, 16 * (links + 1)) != RP_OK)
        return RP_NO_MEMORY;
    hulls->corners[0] = (struct rp_corner){0, 0};
    hulls->begin[1] = 1;
    hulls->levels = 1;
    return RP_OK;
}

/* Each option adds at most two cuts to the corners of the last level. */
static enum rp_status reserve_level(struct rp_hulls *hulls)
{
    size_t last = rp_hulls_level(hulls, hulls->levels - 1).count;

    return reserve(hulls, hulls->begin[hulls->levels] + RP_CHOICE_COUNT * (last + 2));
}

/* Which of what is held on the other side of a segment an option of it fits to. */
struct window {
    int64_t low, high;
};

static struct window window_before(const struct rp_row *row, int64_t room)
{
    return (struct window){0, room - row->peak};
}

static struct window window_after(const struct rp_row *row, int64_t room)
{
    return (struct window){row->peak - row->hold, room - row->hold};
}

static enum rp_status add_level(struct rp_hulls *hulls, const struct rp_link *link, int64_t room,
                                struct window (*window_of)(const struct rp_row *row,
                                                           int64_t room))
{
    struct stream streams[RP_CHOICE_COUNT];
    size_t live = 0;
    enum rp_status status = reserve_level(hulls);

    if (status != RP_OK)
        return status;
    struct rp_hull last = rp_hulls_level(hulls, hulls->levels - 1);
    for (uint8_t c = 0; c < link->count; c++) {
        const struct rp_row *row = &link->rows[c];
        struct window window = window_of(row, room);
        live += stream_cut(&streams[live], last, window.low, window.high, row);
    }
    merge(hulls, streams, live);
    return RP_OK;
}

enum rp_status rp_hulls_before(const struct rp_chain *chain, int64_t room,
                               struct rp_hulls *hulls)
{
    enum rp_status status = start(hulls, chain->count);

    for (size_t k = 0; status == RP_OK && k < chain->count; k++)
        status = add_level(hulls, &chain->links[k], room, window_before);
    if (status != RP_OK)
        rp_hulls_release(hulls);
    return status;
}

enum rp_status rp_hulls_after(const struct rp_chain *chain, int64_t room,
                              struct rp_hulls *hulls)
{
    enum rp_status status = start(hulls, chain->count);

    for (size_t k = chain->count; status == RP_OK && k-- > 0;)
        status = add_level(hulls, &chain->links[k], room, window_after);
    if (status != RP_OK)
        rp_hulls_release(hulls);
    return status;
}
