/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_ranged(const struct rp_access *access)
{
    return access->effect == RP_WRITE && access->verdict < RP_VERDICT_ROOT;
}

bool tally_is_over(const struct rp_access_set *set, const struct scalar_ranges *first)
{
    if (set->writes >= RP_VERDICT_ROOT)
        return true;
    for (size_t i = 0; i < set->count; i++)
        if (is_ranged(&set->items[i]) &&
            !scalar_covers(first, set->items[i].lo, set->items[i].hi))
            return true;
    return false;
}

/* An index from memory leads to somewhere near its root: these lie 2^56 apart. */
static bool depends_on_data(const struct rp_access *access, const struct tally_runs *runs)
{
    const uint64_t *adrift = runs->adrift.bits;
    if (access->verdict >= RP_VERDICT_REACHABLE)
        return adrift[0] | adrift[1] | adrift[2] | adrift[3];
    if (access->verdict == RP_VERDICT_ROOT)
        return scalar_is_adrift(&runs->adrift, access->root);
    return scalar_covers(&runs->all, access->lo, access->hi) ||
           scalar_is_adrift(&runs->adrift, access->lo + (access->hi - access->lo) / 2);
}

bool tally_depends_on_data(const struct rp_access_set *set, const struct tally_runs *runs)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].effect == RP_WRITE && !depends_on_data(&set->items[i], runs))
            return false;
    return runs->differ;
}

static uint64_t bytes_in(const struct scalar_ranges *ranges)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ranges->count; i++)
        sum += ranges->items[i].hi - ranges->items[i].lo;
    return sum;
}

static void count_reason(struct tally *tally, const struct rp_access_set *set)
{
    const char *text = set->reason ? set->reason : "no reason";
    for (int i = 0; i < TALLY_REASONS; i++) {
        struct tally_reason *at = &tally->reasons[i];
        bool last = !at->text[0] || i + 1 == TALLY_REASONS;
        if (!last && (at->verdict != set->writes || strncmp(at->text, text, sizeof at->text - 1)))
            continue;
        at->verdict = set->writes;
        at->lost++;
        if (last)
            snprintf(at->text, sizeof at->text, "%s",
                     i + 1 == TALLY_REASONS ? "other reasons" : text);
        return;
    }
}

bool tally_count(struct tally *tally, const struct rp_access_set *set,
                 const struct tally_runs *runs)
{
    struct scalar_ranges claimed = {0};
    for (size_t i = 0; i < set->count; i++)
        if (is_ranged(&set->items[i]))
            scalar_unite(&claimed, &(struct scalar_ranges){
                .items = &(struct scalar_range){set->items[i].lo, set->items[i].hi}, .count = 1});
    tally->claimed[set->writes] += bytes_in(&claimed);
    tally->written[set->writes] += bytes_in(&runs->first);
    scalar_release(&claimed);
    tally->verdicts[0][set->reads]++;
    tally->verdicts[1][set->writes]++;
    if (!tally_is_over(set, &runs->first))
        return false;
    bool lost = !tally_depends_on_data(set, runs);
    (lost ? tally->lost : tally->data)[set->writes]++;
    if (lost)
        count_reason(tally, set);
    return lost;
}

static uint64_t ranged_bytes(const uint64_t by_verdict[6], const uint64_t before[6])
{
    uint64_t sum = 0;
    for (int verdict = 0; verdict < RP_VERDICT_ROOT; verdict++)
        sum += by_verdict[verdict] - before[verdict];
    return sum;
}

static struct tally_share *share_of(struct tally *tally, unsigned detours)
{
    if (detours & (detours - 1))
        return &tally->shares[TALLY_SHARES - 1];
    return &tally->shares[detours ? __builtin_ctz(detours) : GENERATED_DETOURS];
}

void tally_kernel(struct tally *tally, const struct tally *before, const struct generated *made)
{
    struct tally_share *share = share_of(tally, made->detours);
    share->launches += tally->launches - before->launches;
    share->lost += tally_sum(tally->lost) - tally_sum(before->lost);
    uint64_t claimed = ranged_bytes(tally->claimed, before->claimed);
    uint64_t written = ranged_bytes(tally->written, before->written);
    if (!claimed)
        return;
    if (tally->ratio_count == tally->ratio_capacity) {
        tally->ratio_capacity = tally->ratio_capacity ? tally->ratio_capacity * 2 : 256;
        tally->ratios = realloc(tally->ratios, tally->ratio_capacity * sizeof *tally->ratios);
        assert_non_null(tally->ratios);
    }
    tally->ratios[tally->ratio_count++] = (double)claimed / (double)(written ? written : 1);
}

unsigned tally_sum(const unsigned by_verdict[6])
{
    unsigned sum = 0;
    for (int verdict = 0; verdict < 6; verdict++)
        sum += by_verdict[verdict];
    return sum;
}

static int compare_ratios(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void print_ratios(struct tally *tally)
{
    size_t count = tally->ratio_count, equal = 0;
    if (!count)
        return;
    qsort(tally->ratios, count, sizeof *tally->ratios, compare_ratios);
    while (equal < count && tally->ratios[equal] <= 1)
        equal++;
    print_message("bytes claimed over bytes written, by kernel that claims ranges: 1 for %zu of "
                  "%zu (%.1f %%)", equal, count, 100.0 * (double)equal / (double)count);
    static const unsigned percents[] = {50, 75, 90, 95, 99};
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        print_message(", p%u %.3g", percents[i], tally->ratios[(count - 1) * percents[i] / 100]);
    print_message("\n");
}

static int compare_reasons(const void *left, const void *right)
{
    const struct tally_reason *a = left, *b = right;
    return a->lost > b->lost ? -1 : a->lost < b->lost;
}

static void print_reasons(struct tally *tally)
{
    qsort(tally->reasons, TALLY_REASONS, sizeof *tally->reasons, compare_reasons);
    for (int i = 0; i < TALLY_REASONS && tally->reasons[i].lost; i++)
        print_message("lost %u (%.2f %%), %s: %s\n", tally->reasons[i].lost,
                      100.0 * tally->reasons[i].lost / tally->launches,
                      rp_verdict_name(tally->reasons[i].verdict), tally->reasons[i].text);
}

static void print_shares(const struct tally *tally)
{
    static const char *const names[TALLY_SHARES] = {
        [GENERATED_BY_HALVES] = "halves", [GENERATED_BY_SUMS] = "halves that are changed",
        [GENERATED_BY_BITS] = "alignment", [GENERATED_BY_TAGS] = "single bits",
        [GENERATED_BY_DISTANCE] = "the distance of two", [GENERATED_BY_TABLE] = "tables",
        [GENERATED_BY_STRUCT] = "structs by value", [GENERATED_BY_ARRAY] = "local memory",
        [GENERATED_BY_FUNCTION] = "functions", [GENERATED_BY_REFERENCE] = "local memory of others",
        [GENERATED_NEAR_OR_FAR] = "what may be local or global",
        [GENERATED_DETOURS] = "none of these", [GENERATED_DETOURS + 1] = "several of these"};
    if (tally->shares[GENERATED_DETOURS].launches == tally->launches)
        return; /* in no way that is worth telling */
    for (int i = 0; i < TALLY_SHARES; i++)
        if (tally->shares[i].launches)
            print_message("pointers by %s: %u launches, %u (%.2f %%) lost\n", names[i],
                          tally->shares[i].launches, tally->shares[i].lost,
                          100.0 * tally->shares[i].lost / tally->shares[i].launches);
}

void tally_print(struct tally *tally, const char *class_)
{
    unsigned data = tally_sum(tally->data), lost = tally_sum(tally->lost);
    unsigned followed = tally->launches - tally->endless;
    double share = 100.0 / (followed ? followed : 1);
    print_message("%s kernels: %u launches, %u of them too long to follow; %u claim more than they "
                  "write (%.1f %%): in %u (%.1f %%) that depends on data, in %u (%.2f %%) the "
                  "analysis lost it\n", class_, tally->launches, tally->endless, data + lost,
                  share * (data + lost), data, share * data, lost, share * lost);
    print_message("%-12s %9s %9s %9s %9s %15s %12s\n", "verdict", "reads", "writes", "data",
                  "lost", "bytes said", "written");
    for (int verdict = 0; verdict < 6; verdict++)
        print_message("%-12s %9u %9u %9u %9u %15llu %12llu\n",
                      rp_verdict_name((enum rp_verdict)verdict), tally->verdicts[0][verdict],
                      tally->verdicts[1][verdict], tally->data[verdict], tally->lost[verdict],
                      (unsigned long long)tally->claimed[verdict],
                      (unsigned long long)tally->written[verdict]);
    print_reasons(tally);
    print_shares(tally);
    print_ratios(tally);
}
