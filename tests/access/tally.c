/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

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

void tally_count(struct tally *tally, const struct rp_access_set *set,
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
    if (tally_is_over(set, &runs->first))
        (tally_depends_on_data(set, runs) ? tally->data : tally->lost)[set->writes]++;
}

static uint64_t ranged_bytes(const uint64_t by_verdict[6], const uint64_t before[6])
{
    uint64_t sum = 0;
    for (int verdict = 0; verdict < RP_VERDICT_ROOT; verdict++)
        sum += by_verdict[verdict] - before[verdict];
    return sum;
}

void tally_kernel(struct tally *tally, const struct tally *before)
{
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
    print_ratios(tally);
}
