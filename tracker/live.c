/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/live.h"

#include "tracker/array.h"

#include <stdlib.h>

static void live_release(struct rp_live *live)
{
    rp_spans_release(&live->live_in);
    rp_spans_release(&live->doubtful);
    rp_spans_release(&live->torn);
    rp_spans_release(&live->written);
    rp_spans_release(&live->touched);
    rp_spans_release(&live->kept);
    rp_spans_release(&live->replayed);
    rp_spans_release(&live->made);
    rp_spans_release(&live->extra);
    rp_spans_release(&live->first);
    rp_spans_release(&live->recalled);
}

void rp_lives_release(struct rp_instance *instance)
{
    for (size_t i = 0; i < instance->live_count; i++)
        live_release(&instance->lives[i]);
    free(instance->lives);
}

/* Index of the entry of `id`, or of where it would stand: lives are sorted by id. */
static size_t live_seek(const struct rp_instance *instance, rp_alloc_id id)
{
    size_t low = 0, high = instance->live_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (instance->lives[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rp_live *rp_instance_live(const struct rp_instance *instance, rp_alloc_id id)
{
    size_t at = live_seek(instance, id);
    bool found = at < instance->live_count && instance->lives[at].id == id;
    return found ? &instance->lives[at] : NULL;
}

struct rp_live *rp_live_find(struct rp_instance *instance, rp_alloc_id id)
{
    size_t at = live_seek(instance, id);
    bool found = at < instance->live_count && instance->lives[at].id == id;
    return found ? &instance->lives[at] : NULL;
}

struct rp_live *rp_live_get(struct rp_instance *instance, rp_alloc_id id)
{
    struct rp_live *live = rp_live_find(instance, id);
    if (live)
        return live;
    size_t at = live_seek(instance, id);
    struct rp_live *lives = rp_array_reserve(instance->lives, &instance->live_capacity,
                                             instance->live_count + 1, sizeof *lives);
    if (!lives)
        return NULL;
    instance->lives = lives;
    const struct rp_live fresh = {.id = id};
    rp_array_splice(lives, &instance->live_count, at, at, &fresh, 1, sizeof fresh);
    return &lives[at];
}
