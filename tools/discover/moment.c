/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/moment.h"

#include "tracker/array.h"

static struct rp_thread_moment *find(struct rp_moments *moments, uint64_t thread)
{
    if (moments->last < moments->count && moments->threads[moments->last].thread == thread)
        return &moments->threads[moments->last];
    for (size_t i = 0; i < moments->count; i++)
        if (moments->threads[i].thread == thread)
            return &moments->threads[moments->last = i];
    return NULL;
}

struct rp_thread_moment *rp_moments_of(struct rp_moments *moments, uint64_t thread)
{
    struct rp_thread_moment *found = find(moments, thread);
    if (found)
        return found;
    struct rp_thread_moment *grown = rp_array_reserve(
        moments->threads, &moments->capacity, moments->count + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    moments->threads = grown;
    moments->last = moments->count++;
    grown[moments->last] = (struct rp_thread_moment){.thread = thread};
    return &grown[moments->last];
}

static uint64_t move_on(struct rp_thread_moment *thread, uint64_t least, uint64_t moment)
{
    return thread->latest = moment > least ? moment : least;
}

uint64_t rp_moment_of_call(struct rp_thread_moment *thread, uint64_t seq)
{
    thread->calls++;
    return move_on(thread, thread->latest + 1, 2 * seq);
}

uint64_t rp_moment_behind(struct rp_thread_moment *thread, uint64_t seq)
{
    return move_on(thread, thread->latest, 2 * seq + 1);
}

void rp_moments_release(struct rp_moments *moments)
{
    free(moments->threads);
    *moments = (struct rp_moments){0};
}
