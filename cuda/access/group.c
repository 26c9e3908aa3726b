/* SPDX-License-Identifier: Apache-2.0 */
/* Roots that are one of several pointers, and nobody knows which. */
#include "cuda/access/run.h"

enum { MOST_PARTS = 8 }; /* of one */

static size_t first_group(const struct rp_run *run)
{
    return run->proof->root_count + RP_MAX_SLOTS;
}

bool rp_run_is_group(const struct rp_run *run, int32_t root)
{
    return root && (size_t)root > first_group(run);
}

struct rp_group rp_run_group(const struct rp_run *run, int32_t root)
{
    if (rp_run_is_group(run, root))
        return run->groups[(size_t)root - 1 - first_group(run)];
    return (struct rp_group){.first = root, .count = 1, .step = 1};
}

int32_t rp_run_make_group(struct rp_run *run, struct rp_group group)
{
    uint32_t at = 0;
    const struct rp_group *known = run->groups;
    while (at < run->group_count && (known[at].first != group.first ||
                                     known[at].count != group.count ||
                                     known[at].step != group.step || known[at].more != group.more))
        at++;
    if (at == RP_MAX_GROUPS)
        return 0;
    run->groups[at] = group;
    run->group_count += at == run->group_count;
    return (int32_t)(first_group(run) + at) + 1;
}

static bool is_in(const struct rp_group *group, int32_t root)
{
    int64_t distance = (int64_t)root - group->first;
    return distance >= 0 && distance % group->step == 0 && distance / group->step < group->count;
}

/* Each member of the part is one of `root`'s. */
static bool has_all(const struct rp_run *run, int32_t root, const struct rp_group *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        bool found = false;
        for (int32_t at = root; at && !found; at = rp_run_group(run, at).more) {
            struct rp_group group = rp_run_group(run, at);
            found = is_in(&group, part->first + (int32_t)(i * part->step));
        }
        if (!found)
            return false;
    }
    return true;
}

static bool includes(const struct rp_run *run, int32_t root, int32_t other)
{
    for (int32_t at = other; at; at = rp_run_group(run, at).more) {
        struct rp_group part = rp_run_group(run, at);
        if (!has_all(run, root, &part))
            return false;
    }
    return true;
}

static uint32_t count_parts(const struct rp_run *run, int32_t root)
{
    uint32_t count = 0;
    for (; root; root = rp_run_group(run, root).more)
        count++;
    return count;
}

int32_t rp_run_either(struct rp_run *run, int32_t one, int32_t other)
{
    if (includes(run, one, other))
        return one;
    if (includes(run, other, one))
        return other;
    if (count_parts(run, one) + count_parts(run, other) > MOST_PARTS)
        return 0;
    int32_t both = other;
    for (int32_t at = one; at && both; at = rp_run_group(run, at).more) {
        struct rp_group part = rp_run_group(run, at);
        part.more = both;
        if (!has_all(run, other, &part))
            both = rp_run_make_group(run, part);
    }
    return both;
}
