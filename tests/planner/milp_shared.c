/* SPDX-License-Identifier: Apache-2.0 */
/* The shared model as a MILP. With a quantum of 1, pieces for nothing and a byte copied in a
 * nanosecond all its costs are sums:
 *
 *   x_k_c   segment k chooses c
 *   y_k_b   segment k preserves the version that bit b stands for there: it reads it, chooses
 *           regions, and no reader before it does
 *
 * and every moment of a replay has its own row, where the model takes the largest. */
#include "tests/planner/milp.h"

#include "planner/derive.h"
#include "planner/shared_version.h"

#include <stdlib.h>

struct shared {
    const struct rp_profile *profile;
    struct rp_clobbers clobbers;
    struct rp_shared_versions versions;
    uint64_t room;
};

#define U(value) ((unsigned long long)(value))
#define REGIONS RP_CHOICE_REGIONS

static bool reads(const struct shared *shared, size_t k, int bit)
{
    return shared->versions.read[k] >> bit & 1;
}

/* The reader before k of the same version: bits are used again, but never while one is wanted. */
static bool earlier_reader(const struct shared *shared, size_t k, int bit, size_t *reader)
{
    if (shared->versions.first_read[k] >> bit & 1)
        return false;
    for (size_t j = k; j-- > 0;)
        if (reads(shared, j, bit)) {
            *reader = j;
            return true;
        }
    return false;
}

static const struct rp_cost *cost_of(const struct shared *shared, size_t k, int c)
{
    return &rp_profile_segment(shared->profile, k)->costs[c];
}

/* The bytes that segment k preserves of a version; of none, 0, those that it alone reads. */
static uint64_t bytes_of(const struct shared *shared, size_t k, uint64_t version)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < shared->versions.span_count[k]; i++) {
        const struct rp_shared_span *span = &shared->versions.spans[k][i];
        for (size_t j = 0; j < span->count; j++)
            bytes += span->shares[j].version == version ? span->shares[j].bytes : 0;
    }
    return bytes;
}

/* Of regions without the copies of versions, which have columns of their own. */
static uint64_t time_of(const struct shared *shared, size_t k, int c)
{
    const struct rp_cost *cost = cost_of(shared, k, c);
    if (c != REGIONS || !cost->allowed)
        return cost->time;
    return cost->time - cost->terms[RP_TERM_PRESERVE_TIME].value + bytes_of(shared, k, 0);
}

static void write_versions(FILE *out, const struct shared *shared, size_t k)
{
    for (int bit = 0; bit < 64; bit++)
        if (reads(shared, k, bit))
            fprintf(out, " + %llu y%zu_%d\n", U(bytes_of(shared, k, (uint64_t)1 << bit)), k, bit);
}

/* What segment k preserves, as terms of a row: `more` and what it alone reads, and versions. */
static void write_preserved(FILE *out, const struct shared *shared, size_t k, uint64_t more)
{
    fprintf(out, " + %llu x%zu_%d\n", U(more + bytes_of(shared, k, 0)), k, REGIONS);
    write_versions(out, shared, k);
}

static void write_objective(FILE *out, const struct shared *shared)
{
    fprintf(out, "Minimize\n time:");
    for (size_t k = 0; k < rp_profile_count(shared->profile); k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            fprintf(out, " + %llu x%zu_%d\n", U(time_of(shared, k, c)), k, c);
    for (size_t k = 0; k < rp_profile_count(shared->profile); k++)
        write_versions(out, shared, k);
}

static void write_held_before(FILE *out, const struct shared *shared, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        for (int c = 0; c < REGIONS; c++)
            fprintf(out, " + %llu x%zu_%d\n", U(cost_of(shared, i, c)->hold), i, c);
        write_preserved(out, shared, i, 0);
    }
}

/* A moment of segment k: what is held before, the other options' peaks, and of regions `bytes`,
 * with its own copies or without them. */
static void write_moment(FILE *out, const struct shared *shared, size_t k, const char *name,
                         enum rp_term peak, uint64_t bytes, bool has_copies)
{
    fprintf(out, " %s%zu:", name, k);
    write_held_before(out, shared, k);
    for (int c = 0; c < REGIONS; c++)
        fprintf(out, " + %llu x%zu_%d\n", U(cost_of(shared, k, c)->terms[peak].value), k, c);
    if (has_copies)
        write_preserved(out, shared, k, bytes);
    else
        fprintf(out, " + %llu x%zu_%d\n", U(bytes), k, REGIONS);
    fprintf(out, " <= %llu\n", U(shared->room));
}

static void write_moments(FILE *out, const struct shared *shared, size_t k)
{
    const struct rp_facts *facts = rp_profile_facts(shared->profile, k);
    uint64_t stash = rp_spans_bytes(&shared->clobbers.stashed[k]);
    uint64_t forward = facts->forward_workspace.value + facts->activation.value;
    uint64_t backward = facts->activation.value + facts->backward_workspace.value;
    uint64_t fore = facts->forward_base.value, back = facts->backward_base.value;

    write_moment(out, shared, k, "forward", RP_TERM_PEAK_FORWARD, fore + forward, true);
    write_moment(out, shared, k, "begin", RP_TERM_PEAK_BACKWARD, back + stash, true);
    write_moment(out, shared, k, "replay", RP_TERM_PEAK_BACKWARD, back + stash + forward, false);
    write_moment(out, shared, k, "backward", RP_TERM_PEAK_BACKWARD, back + backward, false);
}

/* y of the first chosen reader is forced by its x, unless a reader before it was chosen. */
static void write_first_reader(FILE *out, const struct shared *shared, size_t k, int bit)
{
    size_t reader = k;

    fprintf(out, " first%zu_%d: y%zu_%d - x%zu_%d", k, bit, k, bit, k, REGIONS);
    while (earlier_reader(shared, reader, bit, &reader))
        fprintf(out, " + x%zu_%d", reader, REGIONS);
    fprintf(out, " >= 0\n");
}

static void write_rows(FILE *out, const struct shared *shared)
{
    fprintf(out, "Subject To\n");
    for (size_t k = 0; k < rp_profile_count(shared->profile); k++) {
        fprintf(out, " one%zu: x%zu_0 + x%zu_1 + x%zu_2 = 1\n", k, k, k, k);
        write_moments(out, shared, k);
        for (int bit = 0; bit < 64; bit++)
            if (reads(shared, k, bit))
                write_first_reader(out, shared, k, bit);
    }
}

static bool open_shared(const struct rp_profile *profile, uint64_t budget, struct shared *shared)
{
    *shared = (struct shared){.profile = profile, .room = budget - rp_profile_base(profile)};
    if (rp_clobbers_create(profile, &shared->clobbers) != RP_OK)
        return false;
    if (rp_shared_versions_create(&shared->clobbers, &shared->versions) == RP_OK)
        return true;
    rp_clobbers_release(&shared->clobbers);
    return false;
}

bool milp_write_shared(FILE *out, const struct rp_profile *profile, uint64_t budget)
{
    struct shared shared;

    if (!open_shared(profile, budget, &shared))
        return false;
    write_objective(out, &shared);
    write_rows(out, &shared);
    rp_shared_versions_release(&shared.versions);
    rp_clobbers_release(&shared.clobbers);
    return true;
}
