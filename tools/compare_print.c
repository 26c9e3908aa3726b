/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/plan_print.h"

#include "planner/duration.h"
#include "tracker/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- text --------------------------------------------------------------------- */

/* The time, with a mark where the answer isn't certain; "-" where nothing fits. */
static char *trial_cell(char out[RP_CELL_SIZE], const struct rp_trial *trial)
{
    char time[RP_DURATION_TEXT];

    snprintf(out, RP_CELL_SIZE, "%s%s", trial->fits ? rp_duration_format(time, trial->time) : "-",
             trial->fits && !trial->certain ? "?" : "");
    return out;
}

static void print_times(const struct rp_plan_output *to, const struct rp_comparison *comparison)
{
    char cell[RP_CELL_SIZE];

    fprintf(to->out, "  %14s", "budget");
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        fprintf(to->out, " %17s", rp_baseline_name((enum rp_baseline)b));
    fprintf(to->out, "\n");
    for (size_t i = 0; i < comparison->count; i++) {
        fprintf(to->out, "%c %14s", i == comparison->knee ? '*' : ' ',
                rp_cell_exact(to, cell, comparison->budgets[i]));
        for (int b = 0; b < RP_BASELINE_COUNT; b++)
            fprintf(to->out, " %17s", trial_cell(cell, &comparison->trials[b][i]));
        fprintf(to->out, "\n");
    }
    fprintf(to->out, "* the knee: from there on more memory buys least\n");
}

static void print_lags(const struct rp_plan_output *to, const struct rp_comparison *comparison)
{
    char cell[RP_CELL_SIZE], why[200];

    fprintf(to->out, "\n%-17s %14s %9s %9s %6s %6s  %s\n", "baseline", "least", "largest", "mean",
            "equal", "lost", "what it does");
    for (int b = 0; b < RP_BASELINE_COUNT; b++) {
        struct rp_lag lag = rp_comparison_lag(comparison, (enum rp_baseline)b);
        fprintf(to->out, "%-17s", rp_baseline_name((enum rp_baseline)b));
        if (comparison->impossible[b] != NULL) {
            fprintf(to->out, " not possible: %s\n",
                    rp_text_escape(why, sizeof(why), comparison->impossible[b],
                                   strlen(comparison->impossible[b])));
            continue;
        }
        fprintf(to->out, " %14s %8.2f%% %8.2f%% %6zu %6zu  %s\n",
                comparison->has_min_budget[b] ? rp_cell_exact(to, cell, comparison->min_budget[b])
                                              : "-",
                100 * lag.largest, 100 * lag.mean, lag.equal, lag.lost,
                rp_baseline_about((enum rp_baseline)b));
    }
    fprintf(to->out,
            "least: smallest feasible budget. largest, mean: how much longer than joint a step\n"
            "takes. equal, lost: of %zu budgets, those with the same time as joint, and those at\n"
            "which only joint fits. eager needs %s. All are of the %s model.\n",
            comparison->count, rp_cell_exact(to, cell, comparison->eager_peak),
            rp_model_name(comparison->model));
}

/* ---- csv ---------------------------------------------------------------------- */

static void print_csv(const struct rp_plan_output *to, const struct rp_comparison *comparison)
{
    fprintf(to->out, "baseline,budget_bytes,fits,certain,time_ns,peak_bytes,overrun_bytes\r\n");
    for (int b = 0; b < RP_BASELINE_COUNT; b++) {
        for (size_t i = 0; i < comparison->count; i++) {
            const struct rp_trial *trial = &comparison->trials[b][i];
            if (comparison->impossible[b] != NULL)
                continue;
            fprintf(to->out, "%s,%llu,%d,%d", rp_baseline_name((enum rp_baseline)b),
                    (unsigned long long)comparison->budgets[i], trial->fits, trial->certain);
            if (trial->fits)
                fprintf(to->out, ",%llu,%llu", (unsigned long long)trial->time,
                        (unsigned long long)trial->peak);
            else
                fprintf(to->out, ",,");
            fprintf(to->out, ",%llu\r\n", (unsigned long long)trial->overrun);
        }
    }
}

/* ---- json --------------------------------------------------------------------- */

static json_t *trials_json(const struct rp_comparison *comparison, enum rp_baseline baseline)
{
    json_t *list = json_array();

    for (size_t i = 0; i < comparison->count; i++) {
        const struct rp_trial *trial = &comparison->trials[baseline][i];
        json_t *one = json_pack("{s:I, s:b, s:b}", "budget_bytes",
                                (json_int_t)comparison->budgets[i], "fits", trial->fits,
                                "certain", trial->certain);
        if (trial->fits) {
            json_object_set_new(one, "time_ns", json_integer((json_int_t)trial->time));
            json_object_set_new(one, "peak_bytes", json_integer((json_int_t)trial->peak));
        }
        if (baseline == RP_BASELINE_OBLIVIOUS)
            json_object_set_new(one, "overrun_bytes", json_integer((json_int_t)trial->overrun));
        if (baseline == RP_BASELINE_FIXED && trial->fits)
            json_object_set_new(one, "every", json_integer((json_int_t)trial->every));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *baseline_json(const struct rp_comparison *comparison, enum rp_baseline baseline)
{
    struct rp_lag lag = rp_comparison_lag(comparison, baseline);
    json_t *object = json_pack("{s:s, s:s}", "name", rp_baseline_name(baseline), "about",
                               rp_baseline_about(baseline));

    if (comparison->impossible[baseline] != NULL) {
        json_object_set_new(object, "impossible",
                            json_string(comparison->impossible[baseline]));
        return object;
    }
    if (comparison->has_min_budget[baseline])
        json_object_set_new(object, "min_budget_bytes",
                            json_integer((json_int_t)comparison->min_budget[baseline]));
    json_object_set_new(object, "lag",
                        json_pack("{s:f, s:f, s:I, s:I, s:I}", "largest", lag.largest, "mean",
                                  lag.mean, "budgets", (json_int_t)lag.budgets, "equal",
                                  (json_int_t)lag.equal, "lost", (json_int_t)lag.lost));
    json_object_set_new(object, "trials", trials_json(comparison, baseline));
    return object;
}

static enum rp_status print_json(const struct rp_plan_output *to,
                                 const struct rp_comparison *comparison)
{
    json_t *list = json_array();

    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        json_array_append_new(list, baseline_json(comparison, (enum rp_baseline)b));
    json_t *root =
        json_pack("{s:s, s:i, s:s, s:I, s:I, s:o}", "format", "reprise-comparison", "version", 1,
                  "model", rp_model_name(comparison->model), "eager_peak_bytes",
                  (json_int_t)comparison->eager_peak, "knee_budget_bytes",
                  (json_int_t)comparison->budgets[comparison->knee], "baselines", list);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    if (text == NULL)
        return RP_NO_MEMORY;
    fprintf(to->out, "%s\n", text);
    free(text);
    return RP_OK;
}

enum rp_status rp_print_comparison(const struct rp_plan_output *to,
                                   const struct rp_comparison *comparison)
{
    if (to->format == RP_PLAN_JSON)
        return print_json(to, comparison);
    if (to->format == RP_PLAN_CSV) {
        print_csv(to, comparison);
    } else {
        print_times(to, comparison);
        print_lags(to, comparison);
    }
    return RP_OK;
}
