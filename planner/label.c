/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/label.h"

#include "planner/watch.h"

#include <stdlib.h>
#include <string.h>

/* Way back: 4 bytes a label in all levels together, at least this many labels. Past it levels
 * become narrower, so that any search stays within some 256 MiB. */
#define TOTAL_LABELS ((size_t)24 << 20)
#define MAX_PARENTS ((size_t)1 << 30)

/* Two levels and what is needed to go from one to the next. */
struct sweep {
    struct rp_hunt *hunt;
    int64_t *least_hold; /* before each link: of all plans whose peaks fit */
    int64_t *least_time; /* before each link: of all plans; only without hulls */
    struct rp_label *now, *next;
    size_t count, next_count;
    size_t now_capacity, next_capacity;
};

/* ---- bounds ------------------------------------------------------------------- */

static void bound_simply(struct sweep *sweep)
{
    const struct rp_chain *chain = sweep->hunt->chain;
    int64_t hold = 0, time = 0;

    for (size_t k = 0; k < chain->count; k++) {
        const struct rp_link *link = &chain->links[k];
        int64_t best_hold = INT64_MAX, best_time = INT64_MAX;
        sweep->least_hold[k] = hold;
        sweep->least_time[k] = time;
        for (uint8_t c = 0; c < link->count; c++) {
            const struct rp_row *row = &link->rows[c];
            bool fits = hold != INT64_MAX && row->peak <= sweep->hunt->room - hold;
            if (fits && hold + row->hold < best_hold)
                best_hold = hold + row->hold;
            if (row->time < best_time)
                best_time = row->time;
        }
        hold = best_hold;
        time += best_time;
    }
}

/* What it takes at least to put links before k in front of a label. */
struct bound {
    struct rp_hull_cursor cursor;
    bool has_hull;
    int64_t room, time;
};

static struct bound bound_at(const struct sweep *sweep, size_t k)
{
    const struct rp_hunt *hunt = sweep->hunt;
    struct bound bound = {.has_hull = hunt->before != NULL, .room = hunt->room};

    if (bound.has_hull)
        bound.cursor = rp_hull_cursor(rp_hulls_level(hunt->before, k));
    else
        bound.time = sweep->least_time[k];
    return bound;
}

/* The least time of any plan behind the label. To be asked at growing needs. */
static int64_t bound_time(struct bound *bound, int64_t need, int64_t time)
{
    if (!bound->has_hull)
        return time + bound->time;
    int64_t before = rp_hull_cursor_at(&bound->cursor, bound->room - need);
    return before == INT64_MAX ? INT64_MAX : time + before;
}

/* ---- one level ---------------------------------------------------------------- */

/* One row put in front of every label, in order of need. */
struct stream {
    const struct rp_label *next, *end;
    struct rp_row row;
};

static struct stream stream_begin(const struct sweep *sweep, const struct rp_row *row)
{
    struct stream stream = {sweep->now, sweep->now + sweep->count, *row};

    /* Where the row's own peak decides, all needs are equal and the last label is fastest. */
    while (stream.next + 1 < stream.end && stream.next[1].need + row->hold <= row->peak)
        stream.next++;
    return stream;
}

static struct rp_label stream_label(const struct stream *stream)
{
    int64_t need = stream->next->need + stream->row.hold;

    return (struct rp_label){need > stream->row.peak ? need : stream->row.peak,
                             stream->next->time + stream->row.time, 0};
}

static bool is_before(const struct rp_label *a, const struct rp_label *b)
{
    return a->need < b->need || (a->need == b->need && a->time < b->time);
}

/* Merges the streams of link k into the staircase at sweep->next. */
static void extend(struct sweep *sweep, size_t k)
{
    const struct rp_link *link = &sweep->hunt->chain->links[k];
    int64_t most = sweep->hunt->room - sweep->least_hold[k], fastest = INT64_MAX;
    struct bound bound = bound_at(sweep, k);
    struct stream streams[RP_CHOICE_COUNT];
    struct rp_label heads[RP_CHOICE_COUNT];
    uint8_t live = 0, rows[RP_CHOICE_COUNT];

    for (uint8_t c = 0; c < link->count && sweep->count > 0; c++) {
        streams[live] = stream_begin(sweep, &link->rows[c]);
        heads[live] = stream_label(&streams[live]);
        rows[live++] = c;
    }
    sweep->next_count = 0;
    while (live > 0) {
        uint8_t s = 0;
        for (uint8_t other = 1; other < live; other++)
            if (is_before(&heads[other], &heads[s]))
                s = other;
        struct rp_label label = heads[s];
        if (label.need > most)
            break;
        if (label.time < fastest) {
            fastest = label.time;
            if (bound_time(&bound, label.need, label.time) < sweep->hunt->cutoff) {
                label.link = (uint32_t)(streams[s].next - sweep->now) << 2 | rows[s];
                sweep->next[sweep->next_count++] = label;
            }
        }
        if (++streams[s].next < streams[s].end) {
            heads[s] = stream_label(&streams[s]);
            continue;
        }
        live--; /* close the gap, keeping the order in which ties are decided */
        for (uint8_t i = s; i < live; i++) {
            streams[i] = streams[i + 1];
            heads[i] = heads[i + 1];
            rows[i] = rows[i + 1];
        }
    }
}

/* ---- dropping ----------------------------------------------------------------- */

/* The value that would stand at `rank` if `values` were sorted. Reorders them. */
static int64_t select_rank(int64_t *values, ptrdiff_t count, ptrdiff_t rank)
{
    ptrdiff_t low = 0, high = count - 1;

    while (low < high) {
        int64_t pivot = values[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;
            int64_t moved = values[i];
            values[i++] = values[j];
            values[j--] = moved;
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

/* Keeps `limit` labels spread evenly over the staircase, both ends among them. */
static void thin(struct sweep *sweep, size_t limit)
{
    size_t last = sweep->next_count - 1;

    for (size_t i = 0; i < limit; i++)
        sweep->next[i] = sweep->next[limit > 1 ? i * last / (limit - 1) : 0];
    sweep->next_count = limit;
    sweep->hunt->dropped = true;
    sweep->hunt->dropped_bound = 0;
}

/* Keeps the `limit` labels with the best bounds, and the one of least need: that one can be
 * completed if anything can, so dropping never makes a feasible question infeasible. */
static enum rp_status drop(struct sweep *sweep, size_t k, size_t limit)
{
    struct rp_hunt *hunt = sweep->hunt;
    size_t count = sweep->next_count, kept = 0, room_left = limit - 1;
    int64_t *scores = malloc(2 * count * sizeof(*scores)), *sorted = scores + count;
    struct bound bound = bound_at(sweep, k);

    if (scores == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        scores[i] = bound_time(&bound, sweep->next[i].need, sweep->next[i].time);
    memcpy(sorted, scores, count * sizeof(*scores));
    int64_t threshold = INT64_MIN;
    if (limit > 1)
        threshold = select_rank(sorted, (ptrdiff_t)count, (ptrdiff_t)limit - 1);
    for (size_t i = 1; i < count; i++)
        room_left -= scores[i] < threshold; /* ties take what is left, in order of need */
    for (size_t i = 0; i < count; i++) {
        bool tied = i > 0 && scores[i] == threshold && room_left > 0;
        if (i == 0 || scores[i] < threshold || tied) {
            room_left -= tied;
            sweep->next[kept++] = sweep->next[i];
        } else if (scores[i] < hunt->dropped_bound) {
            hunt->dropped_bound = scores[i];
        }
    }
    sweep->next_count = kept;
    hunt->dropped = true;
    free(scores);
    return RP_OK;
}

/* ---- the whole ---------------------------------------------------------------- */

static enum rp_status reserve_next(struct sweep *sweep)
{
    size_t need = RP_CHOICE_COUNT * sweep->count + 1;

    if (need <= sweep->next_capacity)
        return RP_OK;
    need += need / 2;
    free(sweep->next); /* holds nothing that is still wanted */
    sweep->next_capacity = 0;
    sweep->next = malloc(need * sizeof(*sweep->next));
    if (sweep->next == NULL)
        return RP_NO_MEMORY;
    sweep->next_capacity = need;
    return RP_OK;
}

static enum rp_status remember(struct sweep *sweep, size_t k)
{
    uint32_t *links = malloc((sweep->next_count + 1) * sizeof(*links));

    if (links == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < sweep->next_count; i++)
        links[i] = sweep->next[i].link;
    sweep->hunt->links[k] = links;
    sweep->hunt->work += sweep->next_count;
    return RP_OK;
}

static size_t level_limit(const struct rp_hunt *hunt, size_t k)
{
    size_t total = TOTAL_LABELS, limit = hunt->max_labels;

    if (limit > MAX_PARENTS)
        limit = MAX_PARENTS;
    if (total < RP_CHOICE_COUNT * limit)
        total = RP_CHOICE_COUNT * limit;
    size_t share = hunt->work < total ? (total - hunt->work) / (k + 1) : 0;
    if (share < limit)
        limit = share;
    return limit > 0 ? limit : 1;
}

static void turn(struct sweep *sweep)
{
    struct sweep was = *sweep;

    sweep->now = was.next;
    sweep->count = was.next_count;
    sweep->now_capacity = was.next_capacity;
    sweep->next = was.now;
    sweep->next_count = 0;
    sweep->next_capacity = was.now_capacity;
}

static enum rp_status step(struct sweep *sweep, size_t k)
{
    enum rp_status status = reserve_next(sweep);
    size_t limit = level_limit(sweep->hunt, k);

    if (status != RP_OK)
        return status;
    extend(sweep, k);
    if (sweep->next_count > limit && sweep->hunt->evenly)
        thin(sweep, limit);
    else if (sweep->next_count > limit)
        status = drop(sweep, k, limit);
    if (status == RP_OK)
        status = remember(sweep, k);
    turn(sweep);
    return status;
}

static enum rp_status watched_step(struct sweep *sweep, size_t k)
{
    rp_watch_labels(sweep->hunt->watch, sweep->hunt->work);
    return step(sweep, k);
}

enum rp_status rp_hunt_run(struct rp_hunt *hunt)
{
    size_t levels = hunt->chain->count;
    struct sweep sweep = {.hunt = hunt,
                          .least_hold = calloc(levels + 1, sizeof(int64_t)),
                          .least_time = calloc(levels + 1, sizeof(int64_t)),
                          .now = calloc(1, sizeof(struct rp_label)),
                          .now_capacity = 1};
    enum rp_status status = RP_NO_MEMORY;

    hunt->labels = NULL;
    hunt->count = 0;
    hunt->dropped = false;
    hunt->dropped_bound = INT64_MAX;
    hunt->work = 0;
    hunt->links = calloc(levels + 1, sizeof(*hunt->links));
    if (hunt->links == NULL || sweep.now == NULL || sweep.least_hold == NULL ||
        sweep.least_time == NULL)
        goto out;
    bound_simply(&sweep);
    sweep.count = hunt->room >= 0 && hunt->cutoff > 0;
    status = RP_OK;
    for (size_t k = levels; status == RP_OK && k-- > 0;)
        status = watched_step(&sweep, k);
    if (status == RP_OK) {
        hunt->labels = sweep.now;
        hunt->count = sweep.count;
        sweep.now = NULL;
    }
out:
    free(sweep.now);
    free(sweep.next);
    free(sweep.least_hold);
    free(sweep.least_time);
    if (status != RP_OK)
        rp_hunt_release(hunt);
    return status;
}

void rp_hunt_release(struct rp_hunt *hunt)
{
    for (size_t k = 0; hunt->links != NULL && k < hunt->chain->count; k++)
        free(hunt->links[k]);
    free(hunt->links);
    free(hunt->labels);
    hunt->links = NULL;
    hunt->labels = NULL;
    hunt->count = 0;
}

void rp_hunt_rows(const struct rp_hunt *hunt, size_t index, uint8_t *rows)
{
    for (size_t k = 0; k < hunt->chain->count; k++) {
        uint32_t link = hunt->links[k][index];
        rows[k] = link & 3;
        index = link >> 2;
    }
}
