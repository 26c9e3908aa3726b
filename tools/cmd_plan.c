/* SPDX-License-Identifier: Apache-2.0 */
/* reprise plan: what to retain and what to replay within a budget. */
#include "planner/picture.h"
#include "tools/command.h"
#include "tools/file.h"
#include "tools/plan_arguments.h"
#include "tools/progress.h"
#include "tools/say.h"
#include "tracker/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_SIZE 512
#define DEFAULT_PICTURE "plan.svg"

/* ---- progress ------------------------------------------------------------------ */

static void watch(void *context, uint64_t done, uint64_t all)
{
    (void)context;
    rp_progress_parts(done, all, "labels");
}

static const struct rp_watch progress = {watch, NULL};

/* ---- answers ------------------------------------------------------------------ */

static int exit_code(enum rp_status status)
{
    bool is_input = status == RP_INVALID || status == RP_UNSUPPORTED || status == RP_IO;

    return is_input ? RP_EXIT_USAGE : RP_EXIT_FAILURE;
}

static int failed(enum rp_status status, const char *message)
{
    rp_say("%s", message[0] != '\0' ? message : rp_status_text(status));
    return exit_code(status);
}

static int finish_printing(const struct rp_plan_arguments *arguments, enum rp_status status)
{
    if (status == RP_OK && fflush(arguments->print.out) == 0)
        return RP_EXIT_OK;
    if (status == RP_OK && errno == EPIPE)
        return RP_EXIT_OK; /* a pager closed early */
    rp_say("the answer can't be written: %s",
           status == RP_OK ? strerror(errno) : rp_status_text(status));
    return RP_EXIT_FAILURE;
}

/* Where neither what was printed nor a file says it, why there is no plan. */
static void say_infeasible(const struct rp_plan *plan)
{
    char text[128], least[RP_SIZE_TEXT];

    rp_say("%s", rp_answer_format(plan, text, sizeof(text)));
    if (plan->answer != RP_ANSWER_INFEASIBLE || !plan->has_min_budget)
        return;
    rp_size_exact(least, plan->min_budget);
    if (plan->min_binding.pass == RP_PASS_NONE)
        rp_say("what needs %s is the base", least);
    else
        rp_say("what needs %s is %s%s'%s'", least,
               plan->min_binding.pass == RP_PASS_EITHER ? "segment "
                                                        : rp_pass_name(plan->min_binding.pass),
               plan->min_binding.pass == RP_PASS_EITHER ? "" : " of ",
               plan->names[plan->min_binding.segment]);
}

/* Frees `text`; NULL is taken for a lack of memory. */
static int write_text(const struct rp_plan_arguments *arguments, const char *path, char *text)
{
    struct rp_file file;

    if (text == NULL)
        return failed(RP_NO_MEMORY, "");
    int code = rp_file_create("plan", path, arguments->force, &file);
    if (code == RP_EXIT_OK &&
        !rp_file_finish(&file, rp_file_write(&file, text, strlen(text))))
        code = RP_EXIT_FAILURE;
    free(text);
    return code;
}

static int save_plan(const struct rp_plan_arguments *arguments, const struct rp_plan *plan,
                     const struct rp_profile *profile)
{
    if (arguments->output == NULL)
        return RP_EXIT_OK;
    int code = write_text(arguments, arguments->output, rp_plan_to_json(plan, profile));
    if (code != RP_EXIT_OK || arguments->quiet)
        return code;
    if (plan->model == RP_MODEL_NESTED && rp_profile_least(profile)) /* of recompute */
        rp_say("wrote %s; next: reprise run -m recompute -c CONTRACT --plan %s -- COMMAND",
               arguments->output, arguments->output);
    else if (plan->model == RP_MODEL_NESTED)
        rp_say("wrote %s; next: reprise run --plan %s -- COMMAND", arguments->output,
               arguments->output);
    else
        rp_say("wrote %s; runs obey plans of the nested model only", arguments->output);
    return code;
}

static int answer_budget(const struct rp_plan_arguments *arguments,
                         const struct rp_question *question)
{
    struct rp_plan *plan;
    char message[MESSAGE_SIZE] = "";
    enum rp_status status = rp_planner_solve(question, &plan, message, sizeof(message));

    rp_progress_erase();
    if (status != RP_OK)
        return failed(status, message);
    int code =
        finish_printing(arguments, rp_print_plan(&arguments->print, plan, question->profile));
    if (code == RP_EXIT_OK && rp_plan_has_choices(plan)) {
        code = save_plan(arguments, plan, question->profile);
    } else if (code == RP_EXIT_OK) {
        if (arguments->print.format == RP_PLAN_CSV || arguments->output != NULL)
            say_infeasible(plan);
        code = RP_EXIT_NO;
    }
    rp_plan_destroy(plan);
    return code;
}

static int answer_table(const struct rp_plan_arguments *arguments,
                        const struct rp_question *question)
{
    uint64_t *budgets = NULL;
    size_t count = 0;
    char message[MESSAGE_SIZE] = "";
    enum rp_status status = rp_budget_grid(question, arguments->points, &budgets, &count, message,
                                           sizeof(message));
    struct rp_plan **plans = calloc(count + 1, sizeof(struct rp_plan *));

    if (status == RP_OK && plans == NULL)
        status = RP_NO_MEMORY;
    if (status == RP_OK)
        status = rp_planner_sweep(question, budgets, count, plans, message, sizeof(message));
    rp_progress_erase();
    int code = status != RP_OK
                   ? failed(status, message)
                   : finish_printing(arguments, rp_print_budgets(&arguments->print, question,
                                                                 plans, count));
    for (size_t i = 0; plans != NULL && status == RP_OK && i < count; i++)
        rp_plan_destroy(plans[i]);
    free(plans);
    free(budgets);
    return code;
}

static int say_too_small(uint64_t least)
{
    char text[RP_SIZE_TEXT];

    rp_say("the budget is infeasible, smallest budget is %s", rp_size_exact(text, least));
    return RP_EXIT_NO;
}

/* Leaves what a budget reaches; how many points it does not. */
static size_t cut_off(struct rp_curve *curve, uint64_t budget)
{
    size_t all = curve->count;

    while (curve->count > 0 && curve->points[curve->count - 1].peak > budget)
        curve->count--;
    return all - curve->count;
}

/* All of it, or what of it a budget reaches. */
static int answer_curve(const struct rp_plan_arguments *arguments,
                        const struct rp_question *question)
{
    struct rp_curve *curve;
    char message[MESSAGE_SIZE] = "";
    enum rp_status status = rp_planner_curve(question, &curve, message, sizeof(message));

    rp_progress_erase();
    if (status != RP_OK)
        return failed(status, message);
    uint64_t least = curve->count > 0 ? curve->points[0].peak : 0;
    size_t beyond = arguments->has_budget ? cut_off(curve, arguments->budget) : 0;
    bool fits = curve->count > 0;
    int code = RP_EXIT_OK;
    if (fits || arguments->print.format != RP_PLAN_TEXT)
        code = finish_printing(arguments, rp_print_curve(&arguments->print, curve));
    if (fits && beyond > 0 && !arguments->quiet)
        rp_say("%zu more points need more than the budget", beyond);
    rp_curve_destroy(curve);
    return fits ? code : say_too_small(least);
}

static int answer_terms(const struct rp_plan_arguments *arguments,
                        const struct rp_question *question)
{
    char *text = rp_profile_to_json(question->profile, true);

    if (text != NULL)
        fprintf(arguments->print.out, "%s\n", text);
    free(text);
    return finish_printing(arguments, text != NULL ? RP_OK : RP_NO_MEMORY);
}

/* ---- comparing ---------------------------------------------------------------- */

/* A file that nobody named is not overwritten; the one before it is kept as .old. */
static void keep_old(const char *path)
{
    char old[PATH_MAX];

    if (snprintf(old, sizeof(old), "%s.old", path) < PATH_MAX && access(path, F_OK) == 0)
        rename(path, old);
}

/* The plan whose timeline is drawn: for the budget asked for, else for the knee. */
static enum rp_status plan_to_draw(const struct rp_question *question,
                                   const struct rp_comparison *comparison, struct rp_plan **plan,
                                   char *message, size_t message_size)
{
    struct rp_question drawn = *question;

    if (drawn.budget < comparison->min_budget[RP_BASELINE_JOINT])
        drawn.budget = comparison->budgets[comparison->knee];
    return rp_planner_solve(&drawn, plan, message, message_size);
}

static int draw(const struct rp_plan_arguments *arguments, const struct rp_question *question,
                const struct rp_comparison *comparison)
{
    const char *path = arguments->picture != NULL ? arguments->picture : DEFAULT_PICTURE;
    struct rp_plan *plan;
    char message[MESSAGE_SIZE] = "";
    enum rp_status status =
        plan_to_draw(question, comparison, &plan, message, sizeof(message));

    if (status != RP_OK)
        return failed(status, message);
    char *text = rp_picture_draw(comparison, question->profile,
                                 rp_plan_has_choices(plan) ? plan : NULL);
    rp_plan_destroy(plan);
    if (arguments->picture == NULL)
        keep_old(path);
    int code = write_text(arguments, path, text);
    if (code == RP_EXIT_OK && !arguments->quiet)
        rp_say("wrote %s", path);
    return code;
}

static int answer_comparison(const struct rp_plan_arguments *arguments,
                             const struct rp_question *question)
{
    struct rp_comparison *comparison;
    char message[MESSAGE_SIZE] = "";
    enum rp_status status = rp_baseline_compare(question, arguments->points, &comparison, message,
                                                sizeof(message));

    rp_progress_erase();
    if (status != RP_OK)
        return failed(status, message);
    bool fits = !arguments->has_budget ||
                arguments->budget >= comparison->min_budget[RP_BASELINE_JOINT];
    int code =
        finish_printing(arguments, rp_print_comparison(&arguments->print, comparison));
    if (code == RP_EXIT_OK)
        code = draw(arguments, question, comparison);
    if (code == RP_EXIT_OK && !fits)
        code = say_too_small(comparison->min_budget[RP_BASELINE_JOINT]);
    rp_comparison_destroy(comparison);
    return code;
}

static int answer(const struct rp_plan_arguments *arguments, const struct rp_question *question)
{
    if (arguments->terms)
        return answer_terms(arguments, question);
    if (arguments->compare)
        return answer_comparison(arguments, question);
    if (arguments->curve)
        return answer_curve(arguments, question);
    if (arguments->has_budget)
        return answer_budget(arguments, question);
    return answer_table(arguments, question);
}

int rp_cmd_plan(int argc, char **argv)
{
    struct rp_options options;
    struct rp_plan_arguments arguments;
    struct rp_profile *profile;
    char path[PATH_MAX], message[MESSAGE_SIZE];
    int code;

    if (!rp_options_begin(rp_command_find("plan"), argc, argv, false, &options, &code))
        return code;
    code = rp_plan_arguments_read(&options, &arguments);
    if (code == RP_EXIT_OK)
        code = rp_plan_arguments_profile(&arguments, path);
    if (code != RP_EXIT_OK)
        return code;
    enum rp_status status = rp_profile_load(path, &profile, message, sizeof(message));
    if (status != RP_OK) {
        rp_say("%s", message);
        return exit_code(status);
    }
    struct rp_question question = rp_question_default(profile, arguments.budget);
    question.model = arguments.model;
    question.allowed = arguments.allowed;
    question.max_labels = arguments.max_labels;
    question.watch = &progress;
    rp_progress_begin("planning", 0);
    code = answer(&arguments, &question);
    rp_profile_destroy(profile);
    return code;
}
