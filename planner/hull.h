/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds on the time of a part of a chain, as functions of the bytes that it may use.
 *
 * Internal to planner/. For each k there are two:
 *
 *   before(k): the least time of links 0..k-1, as a function of what they may hold at the end
 *   after(k):  the least time of links k..n-1, as a function of the room left for them
 *
 * Exact functions of that kind are what the label search enumerates. Here each is replaced by
 * its lower convex envelope before the next link is added, so that it never has more than a
 * few corners a link. That is the linear relaxation of the knapsack, made tighter by the
 * peaks: a link's option is offered only where its peak fits. Corners are whole numbers,
 * rounded down where they are not, so that a bound is never too high. */
#ifndef RP_PLANNER_HULL_H
#define RP_PLANNER_HULL_H

#include "planner/chain.h"

struct rp_corner {
    int64_t x, y; /* x ascending, y descending; beyond the last corner it is flat */
};

/* One function a level, 0 to n. A function without corners is infinite everywhere. */
struct rp_hulls {
    struct rp_corner *corners;
    size_t *begin; /* level k is corners[begin[k]] to corners[begin[k + 1]] */
    size_t capacity, levels;
};

/* level k = before(k), within `room`. */
enum rp_status rp_hulls_before(const struct rp_chain *chain, int64_t room,
                               struct rp_hulls *hulls);
/* level k = after(n - k), within `room`. */
enum rp_status rp_hulls_after(const struct rp_chain *chain, int64_t room,
                              struct rp_hulls *hulls);
void rp_hulls_release(struct rp_hulls *hulls);

struct rp_hull {
    const struct rp_corner *corners;
    size_t count;
};
struct rp_hull rp_hulls_level(const struct rp_hulls *hulls, size_t level);

/* The value at x, rounded down; INT64_MAX left of the first corner. */
int64_t rp_hull_at(struct rp_hull hull, int64_t x);

/* A lower bound of a(x) + b(total - x) over all x from 0 to `limit`; INT64_MAX when there is
 * no such x. */
int64_t rp_hull_least_sum(struct rp_hull a, struct rp_hull b, int64_t total, int64_t limit);

/* Reads one hull at falling x, in amortised constant time, rounded down by less than 1. */
struct rp_hull_cursor {
    struct rp_hull hull;
    size_t at;      /* corners[at] is the last corner at or left of x */
    uint64_t slope; /* of the edge to the right of it, in 2^-32 ns a byte, rounded down */
};
struct rp_hull_cursor rp_hull_cursor(struct rp_hull hull);
void rp_hull_cursor_step(struct rp_hull_cursor *cursor);

static inline int64_t rp_hull_cursor_at(struct rp_hull_cursor *cursor, int64_t x)
{
    const struct rp_corner *corners = cursor->hull.corners;

    while (cursor->at > 0 && corners[cursor->at].x > x)
        rp_hull_cursor_step(cursor);
    if (cursor->hull.count == 0 || corners[cursor->at].x > x)
        return INT64_MAX;
    if (cursor->at + 1 >= cursor->hull.count)
        return corners[cursor->at].y;
    const struct rp_corner *right = &corners[cursor->at + 1];
    rp_unsigned_wide rise = (rp_unsigned_wide)(uint64_t)(right->x - x) * cursor->slope;
    return right->y + (int64_t)(rise >> 32);
}

#endif
