/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/baseline.h"

struct rp_lag rp_comparison_lag(const struct rp_comparison *comparison,
                                enum rp_baseline baseline)
{
    struct rp_lag lag = {0, 0, 0, 0.0, 0.0};
    double sum = 0.0;

    for (size_t i = 0; i < comparison->count; i++) {
        const struct rp_trial *joint = &comparison->trials[RP_BASELINE_JOINT][i];
        const struct rp_trial *other = &comparison->trials[baseline][i];
        if (!joint->fits || comparison->impossible[baseline] != NULL)
            continue;
        if (!other->fits) {
            lag.lost++;
            continue;
        }
        double behind = joint->time > 0 ? ((double)other->time - (double)joint->time) /
                                              (double)joint->time
                                        : 0.0;
        lag.budgets++;
        lag.equal += other->time == joint->time;
        sum += behind;
        if (behind > lag.largest)
            lag.largest = behind;
    }
    if (lag.budgets > 0)
        lag.mean = sum / (double)lag.budgets;
    return lag;
}

/* ---- words -------------------------------------------------------------------- */

const char *rp_baseline_name(enum rp_baseline baseline)
{
    static const char *const names[RP_BASELINE_COUNT] = {
        [RP_BASELINE_EAGER] = "eager",
        [RP_BASELINE_WHOLE] = "whole",
        [RP_BASELINE_OR_WHOLE] = "retain-or-whole",
        [RP_BASELINE_OR_REGIONS] = "retain-or-regions",
        [RP_BASELINE_FIXED] = "fixed",
        [RP_BASELINE_GRID] = "grid",
        [RP_BASELINE_OBLIVIOUS] = "oblivious",
        [RP_BASELINE_JOINT] = "joint",
    };

    return names[baseline];
}

const char *rp_baseline_about(enum rp_baseline baseline)
{
    static const char *const texts[RP_BASELINE_COUNT] = {
        [RP_BASELINE_EAGER] = "retains every activation",
        [RP_BASELINE_WHOLE] = "replays every segment that can be, with whole buffers",
        [RP_BASELINE_OR_WHOLE] = "the best plan that retains or preserves whole buffers",
        [RP_BASELINE_OR_REGIONS] = "the best plan that retains or preserves what is clobbered",
        [RP_BASELINE_FIXED] = "retains each k-th segment, for the best k, and replays the rest",
        [RP_BASELINE_GRID] = "the best plan that retains or preserves clobbered pages of 64 KiB",
        [RP_BASELINE_OBLIVIOUS] = "plans as if state cost nothing, then repairs the plan",
        [RP_BASELINE_JOINT] = "the best plan over all options",
    };

    return texts[baseline];
}
