/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/plan_arguments.h"

#include "tools/file.h"
#include "tools/say.h"
#include "tracker/contract.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_POINTS 16
#define MAX_POINTS 10000
#define MAX_LABELS ((uint64_t)1 << 30)

/* The place of an option's word among those that its row lists: the order of the enum that
 * it stands for. `otherwise` when it was not given. */
static unsigned word_of(const struct rp_options *options, enum rp_option_id id,
                        unsigned otherwise)
{
    const char *text = options->values[id].text;
    const char *at = text != NULL ? rp_option_table[id].argument : NULL;

    if (at == NULL)
        return otherwise;
    for (unsigned place = 0;; place++) {
        size_t length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(at, text, length) == 0)
            return place;
        at += length + (at[length] == '|');
    }
}

static unsigned choices_of(enum rp_policy policy)
{
    static const unsigned masks[] = {
        [RP_POLICY_JOINT] = RP_CHOICE_ALL,
        [RP_POLICY_WHOLE] = RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_WHOLE),
        [RP_POLICY_REGIONS] = RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_REGIONS),
        [RP_POLICY_RETAIN] = RP_CHOICE_BIT(RP_CHOICE_RETAIN),
    };
    return masks[policy];
}

static uint64_t count_of(const struct rp_options *options, enum rp_option_id id,
                         uint64_t otherwise)
{
    return rp_option_given(options, id) ? options->values[id].number : otherwise;
}

static int check_count(const struct rp_options *options, enum rp_option_id id, uint64_t most)
{
    if (count_of(options, id, 1) >= 1 && count_of(options, id, 1) <= most)
        return RP_EXIT_OK;
    return rp_say_usage("plan", "--%s takes a whole number from 1 to %llu, not '%s'",
                        rp_option_table[id].name, (unsigned long long)most,
                        options->values[id].text);
}

static int check_arguments(const struct rp_plan_arguments *arguments)
{
    if (arguments->profile != NULL && arguments->folder != NULL)
        return rp_say_usage("plan", "a folder or --profile, one of the two");
    if (arguments->output != NULL && !arguments->has_budget)
        return rp_say_usage("plan", "--output writes the plan for one budget; give --budget");
    if (arguments->compare + arguments->curve + arguments->terms > 1)
        return rp_say_usage("plan", "--compare, --curve and --terms are different answers");
    if (arguments->picture != NULL && !arguments->compare)
        return rp_say_usage("plan", "--svg draws what --compare finds; give --compare");
    const char *const written[] = {arguments->output, arguments->picture};
    int code = RP_EXIT_OK; /* now, before the answer is looked for */
    for (size_t i = 0; code == RP_EXIT_OK && i < 2; i++)
        if (written[i] != NULL)
            code = rp_file_check("plan", written[i], arguments->force);
    return code;
}

int rp_plan_arguments_read(const struct rp_options *options, struct rp_plan_arguments *arguments)
{
    const struct rp_option_value *values = options->values;
    bool json = rp_option_given(options, RP_OPT_JSON);

    *arguments = (struct rp_plan_arguments){
        .profile = values[RP_OPT_PROFILE].text,
        .folder = options->rest_count > 0 ? options->rest[0] : NULL,
        .output = values[RP_OPT_PLAN_OUTPUT].text,
        .picture = values[RP_OPT_SVG].text,
        .has_budget = rp_option_given(options, RP_OPT_PLAN_BUDGET),
        .budget = values[RP_OPT_PLAN_BUDGET].number,
        .compare = rp_option_given(options, RP_OPT_COMPARE),
        .curve = rp_option_given(options, RP_OPT_CURVE),
        .terms = rp_option_given(options, RP_OPT_TERMS),
        .force = rp_option_given(options, RP_OPT_FORCE),
        .quiet = rp_option_given(options, RP_OPT_QUIET),
        .points = count_of(options, RP_OPT_POINTS, DEFAULT_POINTS),
        .max_labels = count_of(options, RP_OPT_MAX_LABELS, RP_PLANNER_MAX_LABELS),
        .model = (enum rp_model)word_of(options, RP_OPT_MODEL, RP_MODEL_NESTED),
        .allowed = choices_of((enum rp_policy)word_of(options, RP_OPT_PLAN_POLICY,
                                                      RP_POLICY_JOINT)),
        .print = {.out = stdout,
                  .format = (enum rp_plan_format)word_of(options, RP_OPT_FORMAT,
                                                         json ? RP_PLAN_JSON : RP_PLAN_TEXT),
                  .raw = rp_option_given(options, RP_OPT_BYTES)}};
    if (options->rest_count > 1)
        return rp_say_usage("plan", "one folder at most, not '%s' too", options->rest[1]);
    if (json && arguments->print.format != RP_PLAN_JSON)
        return rp_say_usage("plan", "--json and --format %s are different answers",
                            values[RP_OPT_FORMAT].text);
    int code = check_count(options, RP_OPT_POINTS, MAX_POINTS);
    if (code == RP_EXIT_OK)
        code = check_count(options, RP_OPT_MAX_LABELS, MAX_LABELS);
    return code == RP_EXIT_OK ? check_arguments(arguments) : code;
}

/* ---- the profile -------------------------------------------------------------- */

/* Each process of a run leaves one, and none is more the job than another. */
static int say_several(const char *folder, const glob_t *found)
{
    const char *other = found->gl_pathv[0]; /* "-" comes before "." */

    rp_say("%s: %zu processes left a profile there, and a plan is for one; name it: --profile "
           "%s/profile.json, ... or %s",
           folder, found->gl_pathc, folder, other);
    return RP_EXIT_USAGE;
}

static int say_no_profile(const struct rp_plan_arguments *arguments, const char *folder)
{
    if (access(folder, F_OK) != 0) {
        rp_say("%s: %s%s", folder, strerror(errno),
               arguments->folder ? "" : "; `reprise run` makes one, or name another");
        return RP_EXIT_USAGE;
    }
    rp_say("%s: there is no profile.json in it; give --profile FILE, or a folder in which "
           "`reprise run` has left one: in guard, with \"step\" in the contract, without a plan",
           folder);
    return RP_EXIT_DATA;
}

int rp_plan_arguments_profile(const struct rp_plan_arguments *arguments, char path[PATH_MAX])
{
    const char *folder = arguments->folder != NULL ? arguments->folder : "reprise.data";
    char pattern[PATH_MAX];
    glob_t found = {0};
    int code = RP_EXIT_OK;

    if (arguments->profile != NULL) {
        snprintf(path, PATH_MAX, "%s", arguments->profile);
        return RP_EXIT_OK;
    }
    if (snprintf(path, PATH_MAX, "%s/profile.json", folder) >= PATH_MAX ||
        access(path, F_OK) != 0)
        return say_no_profile(arguments, folder);
    if (snprintf(pattern, PATH_MAX, "%s/profile*.json", folder) < PATH_MAX &&
        glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 1)
        code = say_several(folder, &found);
    globfree(&found);
    return code;
}
