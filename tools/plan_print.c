/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/plan_print.h"

#include "planner/duration.h"
#include "tracker/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells -------------------------------------------------------------------- */

/* Where nobody gives it back as --budget: rounded for people, "1.5 GiB". */
static char *cell_rounded(const struct rp_plan_output *to, char out[RP_CELL_SIZE], uint64_t bytes)
{
    if (to->raw)
        snprintf(out, RP_CELL_SIZE, "%llu", (unsigned long long)bytes);
    else
        rp_size_format(out, bytes);
    return out;
}

char *rp_cell_exact(const struct rp_plan_output *to, char out[RP_CELL_SIZE], uint64_t bytes)
{
    if (to->raw)
        snprintf(out, RP_CELL_SIZE, "%llu", (unsigned long long)bytes);
    else
        rp_size_exact(out, bytes);
    return out;
}

/* An exact one that stands in a sentence, with what it is about: "893440 (872.5 KiB)". */
static char *said_cell(const struct rp_plan_output *to, char out[RP_CELL_SIZE], uint64_t bytes)
{
    char exact[RP_CELL_SIZE], about[RP_SIZE_TEXT];

    rp_cell_exact(to, exact, bytes);
    if (!to->raw && bytes >= 10000 && strspn(exact, "0123456789") == strlen(exact))
        snprintf(out, RP_CELL_SIZE, "%.40s (%s)", exact, rp_size_format(about, bytes));
    else
        snprintf(out, RP_CELL_SIZE, "%s", exact);
    return out;
}

/* "the backward of 's3'" */
static char *moment_cell(char out[RP_CELL_SIZE], const struct rp_plan *plan,
                         struct rp_moment moment)
{
    char name[80];

    if (moment.pass == RP_PASS_NONE) {
        snprintf(out, RP_CELL_SIZE, "the base alone");
        return out;
    }
    rp_text_escape(name, sizeof(name), plan->names[moment.segment],
                   strlen(plan->names[moment.segment]));
    if (moment.pass == RP_PASS_EITHER)
        snprintf(out, RP_CELL_SIZE, "segment '%s'", name);
    else
        snprintf(out, RP_CELL_SIZE, "the %s of '%s'", rp_pass_name(moment.pass), name);
    return out;
}

/* RFC 4180: quoted where it has to be. */
static void csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static enum rp_status print_json(FILE *out, json_t *document)
{
    char *text = document != NULL ? json_dumps(document, JSON_INDENT(1)) : NULL;

    json_decref(document);
    if (text == NULL)
        return RP_NO_MEMORY;
    fprintf(out, "%s\n", text);
    free(text);
    return RP_OK;
}

/* ---- one plan ----------------------------------------------------------------- */

static void print_totals(const struct rp_plan_output *to, const struct rp_plan *plan)
{
    static const enum rp_term terms[] = {
        RP_TERM_HOLD,        RP_TERM_STASH,          RP_TERM_PRESERVE_TIME, RP_TERM_STASH_TIME,
        RP_TERM_RESTORE_TIME, RP_TERM_REPLAY_TIME, RP_TERM_REINSTATE_TIME, RP_TERM_TRACKING_TIME};
    static const char *const titles[] = {"hold",    "stash",  "preserve",  "stash",
                                         "restore", "replay", "reinstate", "tracking"};
    uint64_t totals[RP_TERM_COUNT];
    char cell[RP_CELL_SIZE];
    size_t segments;

    if (!rp_plan_totals(plan, RP_CHOICE_RETAIN, &segments, totals))
        return;
    fprintf(to->out, "\n%-8s %8s", "option", "segments");
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        fprintf(to->out, " %11s", titles[i]);
    fprintf(to->out, "\n");
    for (int c = 0; c < RP_CHOICE_COUNT; c++) {
        rp_plan_totals(plan, (enum rp_choice)c, &segments, totals);
        fprintf(to->out, "%-8s %8zu", rp_choice_name((enum rp_choice)c), segments);
        for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
            uint64_t total = totals[terms[i]];
            fprintf(to->out, " %11s",
                    terms[i] < RP_TERM_FIRST_TIME ? cell_rounded(to, cell, total)
                                                  : rp_duration_format(cell, total));
        }
        fprintf(to->out, "\n");
    }
}

static void print_segments(const struct rp_plan_output *to, const struct rp_plan *plan,
                           const struct rp_profile *profile)
{
    char name[40], why[80], hold[RP_CELL_SIZE], peak[RP_CELL_SIZE], time[RP_CELL_SIZE];

    fprintf(to->out, "\n%-24s %-8s %11s %11s %12s\n", "segment", "choice", "hold", "peak", "time");
    for (size_t k = 0; k < plan->count; k++) {
        const struct rp_cost *cost = &plan->charged[k];
        rp_text_escape(name, sizeof(name), plan->names[k], strlen(plan->names[k]));
        fprintf(to->out, "%-24s %-8s %11s %11s %12s", name, rp_choice_name(plan->choices[k]),
                cell_rounded(to, hold, cost->hold), cell_rounded(to, peak, cost->peak),
                rp_duration_format(time, cost->time));
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *other = &rp_profile_segment(profile, k)->costs[c];
            if (!other->allowed && other->masked != NULL)
                fprintf(to->out, "  no %s: %s", rp_choice_name((enum rp_choice)c),
                        rp_text_escape(why, sizeof(why), other->masked, strlen(other->masked)));
        }
        fprintf(to->out, "\n");
    }
}

static void print_plan_text(const struct rp_plan_output *to, const struct rp_plan *plan,
                            const struct rp_profile *profile)
{
    char text[RP_CELL_SIZE], cell[RP_CELL_SIZE], more[RP_CELL_SIZE];

    fprintf(to->out, "%s\n", rp_answer_format(plan, text, sizeof(text)));
    fprintf(to->out, "model    %s: %s\n", rp_model_name(plan->model),
            rp_model_exactness(plan->model));
    fprintf(to->out, "budget   %s\n", said_cell(to, cell, plan->budget));
    if (plan->has_min_budget)
        fprintf(to->out, "least    %s, bound by %s\n", said_cell(to, cell, plan->min_budget),
                moment_cell(more, plan, plan->min_binding));
    if (plan->truncated)
        fprintf(to->out, "labels   %llu kept, some dropped; more with --max-labels\n",
                (unsigned long long)plan->labels);
    if (!rp_plan_has_choices(plan))
        return;
    fprintf(to->out, "time     %s\n", rp_duration_format(cell, plan->time));
    fprintf(to->out, "peak     %s, at %s\n", said_cell(to, cell, plan->peak),
            moment_cell(more, plan, plan->binding));
    print_totals(to, plan);
    print_segments(to, plan, profile);
}

static void print_plan_csv(const struct rp_plan_output *to, const struct rp_plan *plan)
{
    bool has_terms = plan->charged != NULL && plan->count > 0 && plan->charged[0].has_terms;

    fprintf(to->out, "segment,choice,hold_bytes,peak_bytes,time_ns");
    for (int t = 1; has_terms && t < RP_TERM_COUNT; t++)
        fprintf(to->out, ",%s", rp_term_name((enum rp_term)t));
    fprintf(to->out, "\r\n");
    for (size_t k = 0; plan->charged != NULL && k < plan->count; k++) {
        const struct rp_cost *cost = &plan->charged[k];
        csv_text(to->out, plan->names[k]);
        fprintf(to->out, ",%s,%llu,%llu,%llu", rp_choice_name(plan->choices[k]),
                (unsigned long long)cost->hold, (unsigned long long)cost->peak,
                (unsigned long long)cost->time);
        for (int t = 1; has_terms && t < RP_TERM_COUNT; t++)
            fprintf(to->out, ",%llu", (unsigned long long)cost->terms[t].value);
        fprintf(to->out, "\r\n");
    }
}

enum rp_status rp_print_plan(const struct rp_plan_output *to, const struct rp_plan *plan,
                             const struct rp_profile *profile)
{
    if (to->format == RP_PLAN_TEXT) {
        print_plan_text(to, plan, profile);
    } else if (to->format == RP_PLAN_CSV) {
        print_plan_csv(to, plan);
    } else {
        char *text = rp_plan_to_json(plan, profile);
        if (text == NULL)
            return RP_NO_MEMORY;
        fprintf(to->out, "%s\n", text);
        free(text);
    }
    return RP_OK;
}

/* ---- many budgets ------------------------------------------------------------- */

static size_t knee_of(struct rp_plan *const *plans, size_t count)
{
    struct rp_curve_point *points = calloc(count + 1, sizeof(*points));
    size_t kept = 0, knee = 0;

    for (size_t i = 0; points != NULL && i < count; i++)
        if (rp_plan_has_choices(plans[i]))
            points[kept++] = (struct rp_curve_point){plans[i]->budget, plans[i]->time};
    knee = rp_curve_knee(points, kept);
    free(points);
    return knee + (count - kept);
}

static json_t *budgets_json(const struct rp_question *question, struct rp_plan *const *plans,
                            size_t count, size_t knee)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct rp_plan *plan = plans[i];
        json_t *point = json_pack("{s:I, s:s, s:b}", "budget_bytes", (json_int_t)plan->budget,
                                  "status", rp_answer_name(plan->answer), "truncated",
                                  plan->truncated);
        if (rp_plan_has_choices(plan)) {
            json_object_set_new(point, "peak_bytes", json_integer((json_int_t)plan->peak));
            json_object_set_new(point, "time_ns", json_integer((json_int_t)plan->time));
            json_object_set_new(point, "gap_ns", json_integer((json_int_t)plan->gap));
            json_object_set_new(point, "pass", json_string(rp_pass_name(plan->binding.pass)));
            if (plan->binding.pass != RP_PASS_NONE)
                json_object_set_new(point, "segment",
                                    json_string(plan->names[plan->binding.segment]));
        }
        json_object_set_new(point, "knee", json_boolean(i == knee));
        json_array_append_new(list, point);
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:I, s:o}", "format", "reprise-budgets", "version", 1,
                     "model", rp_model_name(question->model), "exact",
                     rp_model_exactness(question->model), "min_budget_bytes",
                     (json_int_t)(count > 0 ? plans[0]->min_budget : 0), "points", list);
}

static void print_budget_rows(const struct rp_plan_output *to, struct rp_plan *const *plans,
                              size_t count, size_t knee)
{
    char budget[RP_CELL_SIZE], time[RP_CELL_SIZE], peak[RP_CELL_SIZE], binds[RP_CELL_SIZE];
    char answer[RP_CELL_SIZE], about[RP_SIZE_TEXT];

    fprintf(to->out, "  %14s %11s %12s %14s  %-32s %s\n", "budget", "about", "time", "peak",
            "what binds", "answer");
    for (size_t i = 0; i < count; i++) {
        const struct rp_plan *plan = plans[i];
        if (!rp_plan_has_choices(plan))
            continue;
        fprintf(to->out, "%c %14s %11s %12s %14s  %-32s %s\n", i == knee ? '*' : ' ',
                rp_cell_exact(to, budget, plan->budget), rp_size_format(about, plan->budget),
                rp_duration_format(time, plan->time), rp_cell_exact(to, peak, plan->peak),
                moment_cell(binds, plan, plan->binding),
                rp_answer_format(plan, answer, sizeof(answer)));
    }
    fprintf(to->out, "* the knee: from there on more memory buys least\n");
}

static void print_budget_csv(const struct rp_plan_output *to, struct rp_plan *const *plans,
                             size_t count, size_t knee)
{
    fprintf(to->out, "budget_bytes,status,time_ns,peak_bytes,pass,segment,knee\r\n");
    for (size_t i = 0; i < count; i++) {
        const struct rp_plan *plan = plans[i];
        if (!rp_plan_has_choices(plan))
            continue;
        fprintf(to->out, "%llu,%s,%llu,%llu,%s,", (unsigned long long)plan->budget,
                rp_answer_name(plan->answer), (unsigned long long)plan->time,
                (unsigned long long)plan->peak, rp_pass_name(plan->binding.pass));
        if (plan->binding.pass != RP_PASS_NONE)
            csv_text(to->out, plan->names[plan->binding.segment]);
        fprintf(to->out, ",%d\r\n", i == knee);
    }
}

enum rp_status rp_print_budgets(const struct rp_plan_output *to,
                                const struct rp_question *question,
                                struct rp_plan *const *plans, size_t count)
{
    size_t knee = knee_of(plans, count);

    if (to->format == RP_PLAN_JSON)
        return print_json(to->out, budgets_json(question, plans, count, knee));
    if (to->format == RP_PLAN_CSV)
        print_budget_csv(to, plans, count, knee);
    else
        print_budget_rows(to, plans, count, knee);
    return RP_OK;
}

/* ---- the whole curve ---------------------------------------------------------- */

static json_t *curve_json(const struct rp_curve *curve)
{
    json_t *list = json_array();

    for (size_t i = 0; i < curve->count; i++)
        json_array_append_new(
            list, json_pack("{s:I, s:I}", "peak_bytes", (json_int_t)curve->points[i].peak,
                            "time_ns", (json_int_t)curve->points[i].time));
    return json_pack("{s:s, s:i, s:s, s:b, s:I, s:I, s:o}", "format", "reprise-curve", "version",
                     1, "model", rp_model_name(curve->model), "truncated", curve->truncated,
                     "gap_ns", (json_int_t)curve->gap, "labels", (json_int_t)curve->labels,
                     "points", list);
}

enum rp_status rp_print_curve(const struct rp_plan_output *to, const struct rp_curve *curve)
{
    char peak[RP_CELL_SIZE], time[RP_CELL_SIZE], about[RP_SIZE_TEXT];
    size_t knee = rp_curve_knee(curve->points, curve->count);

    if (to->format == RP_PLAN_JSON)
        return print_json(to->out, curve_json(curve));
    fprintf(to->out, to->format == RP_PLAN_CSV ? "peak_bytes,time_ns\r\n" : "  %14s %11s %12s\n",
            "peak", "about", "time");
    for (size_t i = 0; i < curve->count; i++) {
        const struct rp_curve_point *point = &curve->points[i];
        if (to->format == RP_PLAN_CSV)
            fprintf(to->out, "%llu,%llu\r\n", (unsigned long long)point->peak,
                    (unsigned long long)point->time);
        else
            fprintf(to->out, "%c %14s %11s %12s\n", i == knee ? '*' : ' ',
                    rp_cell_exact(to, peak, point->peak), rp_size_format(about, point->peak),
                    rp_duration_format(time, point->time));
    }
    if (to->format == RP_PLAN_TEXT)
        fprintf(to->out, "* the knee: from there on more memory buys least\n");
    if (to->format == RP_PLAN_TEXT && curve->truncated)
        fprintf(to->out, "truncated: labels were dropped; at no budget is it more than %s above "
                         "the exact curve\n", rp_duration_format(time, curve->gap));
    return RP_OK;
}
