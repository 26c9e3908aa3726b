/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds on parts of a chain, against every plan of that part. */
#include "tests/planner/instance.h"

#include "planner/hull.h"

#include <stdlib.h>

#define MOST_LINKS 6
#define MOST_ROOM 64

static struct rp_chain random_chain(struct random *random)
{
    struct rp_chain chain = {calloc(MOST_LINKS, sizeof(struct rp_link)),
                             1 + random_below(random, MOST_LINKS)};

    for (size_t k = 0; k < chain.count; k++) {
        struct rp_link *link = &chain.links[k];
        link->count = (uint8_t)(1 + random_below(random, RP_CHOICE_COUNT));
        for (uint8_t c = 0; c < link->count; c++) {
            int64_t hold = (int64_t)random_below(random, 14);
            link->rows[c] = (struct rp_row){hold, hold + (int64_t)random_below(random, 20),
                                            (int64_t)random_below(random, 50)};
            link->choice[c] = c;
        }
    }
    return chain;
}

/* ---- every plan --------------------------------------------------------------- */

/* The least time of links first..last-1 when `held` is held before them, nothing exceeds `room`,
 * and at most `end` is held after them. */
static int64_t least_time(const struct rp_chain *chain, size_t first, size_t last, int64_t held,
                          int64_t room, int64_t end)
{
    int64_t best = INT64_MAX;

    if (first == last)
        return held <= end ? 0 : INT64_MAX;
    for (uint8_t c = 0; c < chain->links[first].count; c++) {
        const struct rp_row *row = &chain->links[first].rows[c];
        if (held + row->peak > room)
            continue;
        int64_t rest = least_time(chain, first + 1, last, held + row->hold, room, end);
        if (rest < INT64_MAX && rest + row->time < best)
            best = rest + row->time;
    }
    return best;
}

/* The lower convex envelope of f(0..count-1) at x, rounded down. INT64_MAX is no value. */
static int64_t envelope(const int64_t *f, int64_t count, int64_t x)
{
    int64_t best = f[x];

    for (int64_t a = 0; a <= x; a++)
        for (int64_t b = x + 1; b < count; b++) {
            if (f[a] == INT64_MAX || f[b] == INT64_MAX)
                continue;
            int64_t sum = f[a] * (b - x) + f[b] * (x - a);
            if (sum / (b - a) < best)
                best = sum / (b - a);
        }
    return best;
}

/* ---- the bounds --------------------------------------------------------------- */

static void check_level(struct rp_hull hull, const int64_t *exact, int64_t count)
{
    struct rp_hull_cursor cursor = rp_hull_cursor(hull);
    int64_t last = -1;

    for (int64_t x = count - 1; x >= 0; x--) {
        int64_t value = rp_hull_at(hull, x), read = rp_hull_cursor_at(&cursor, x);
        assert_true(value <= exact[x]);
        assert_true(value >= last); /* more is never worse */
        assert_int_equal(value == INT64_MAX, read == INT64_MAX);
        assert_true(read <= value && (value == INT64_MAX || value - read <= 1));
        last = value;
    }
}

static void no_plan_is_faster_than_its_bound(void **state)
{
    struct random random = random_begin("bound");

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct rp_chain chain = random_chain(&random);
        int64_t room = (int64_t)random_below(&random, MOST_ROOM), exact[MOST_ROOM];
        struct rp_hulls before, after;
        assert_ok(rp_hulls_before(&chain, room, &before));
        assert_ok(rp_hulls_after(&chain, room, &after));
        for (size_t k = 0; k <= chain.count; k++) {
            for (int64_t x = 0; x <= room; x++)
                exact[x] = least_time(&chain, 0, k, 0, room, x);
            check_level(rp_hulls_level(&before, k), exact, room + 1);
            for (int64_t x = 0; x <= room; x++)
                exact[x] = least_time(&chain, k, chain.count, room - x, room, room);
            check_level(rp_hulls_level(&after, chain.count - k), exact, room + 1);
        }
        rp_hulls_release(&before);
        rp_hulls_release(&after);
        rp_chain_release(&chain);
    }
}

/* Where no peak is in the way, the bound is the convex envelope itself: no looser. */
static void without_peaks_the_bound_is_the_envelope(void **state)
{
    struct random random = random_begin("envelope");

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_chain chain = random_chain(&random);
        const int64_t room = MOST_LINKS * 14 + 40;
        int64_t exact[MOST_LINKS * 14 + 41];
        struct rp_hulls before;
        assert_ok(rp_hulls_before(&chain, room, &before));
        struct rp_hull hull = rp_hulls_level(&before, chain.count);
        for (int64_t x = 0; x <= room; x++)
            exact[x] = least_time(&chain, 0, chain.count, 0, room, x);
        for (int64_t x = 0; x <= room; x++)
            assert_int_equal(rp_hull_at(hull, x), envelope(exact, room + 1, x));
        rp_hulls_release(&before);
        rp_chain_release(&chain);
    }
}

static void the_least_sum_is_one(void **state)
{
    struct random random = random_begin("sum");

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct rp_chain chain = random_chain(&random);
        int64_t room = (int64_t)random_below(&random, MOST_ROOM), least = INT64_MAX;
        int64_t total = (int64_t)random_below(&random, MOST_ROOM);
        int64_t limit = (int64_t)random_below(&random, MOST_ROOM);
        size_t k = random_below(&random, chain.count + 1);
        struct rp_hulls before, after;
        assert_ok(rp_hulls_before(&chain, room, &before));
        assert_ok(rp_hulls_after(&chain, room, &after));
        struct rp_hull a = rp_hulls_level(&before, k);
        struct rp_hull b = rp_hulls_level(&after, chain.count - k);
        for (int64_t x = 0; x <= limit && x <= total; x++) {
            int64_t left = rp_hull_at(a, x), right = rp_hull_at(b, total - x);
            if (left < INT64_MAX && right < INT64_MAX && left + right < least)
                least = left + right;
        }
        int64_t found = rp_hull_least_sum(a, b, total, limit);
        assert_int_equal(found == INT64_MAX, least == INT64_MAX);
        /* Both sides are rounded down, so that a neighbour may look better by one. */
        assert_true(least == INT64_MAX || (found >= least && found <= least + 1));
        rp_hulls_release(&before);
        rp_hulls_release(&after);
        rp_chain_release(&chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_is_faster_than_its_bound),
        cmocka_unit_test(without_peaks_the_bound_is_the_envelope),
        cmocka_unit_test(the_least_sum_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
