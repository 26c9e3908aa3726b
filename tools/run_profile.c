/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier run says of the budget, before the job starts. */
#include "planner/profile.h"
#include "planner/purpose.h"
#include "tools/command.h"
#include "tools/folder.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tracker/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Other processes of the run, each with a profile beside this one, may have needed more. */
static uint64_t least_of_run(const char *path, uint64_t least)
{
    char folder[PATH_MAX], other[PATH_MAX], message[1024];
    size_t count = 0;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    bool is_run = rp_path_join(other, folder, "run.json") && access(other, F_OK) == 0;
    char **names = is_run ? rp_folder_list(folder, "profile", ".json", &count) : NULL;
    for (size_t i = 0; names && i < count; i++) {
        struct rp_profile *profile;
        if (!rp_path_join(other, folder, names[i]) ||
            rp_profile_load(other, &profile, message, sizeof(message)) != RP_OK)
            continue;
        least = rp_profile_least(profile) > least ? rp_profile_least(profile) : least;
        rp_profile_destroy(profile);
    }
    if (names)
        rp_folder_list_free(names, count);
    return least;
}

static int check_budget(const struct rp_run *run, const struct rp_profile *profile)
{
    uint64_t least = least_of_run(run->profile, rp_profile_least(profile));
    uint64_t budget = rp_run_budget(run);
    char least_text[RP_SIZE_TEXT], budget_text[RP_SIZE_TEXT];

    if (least <= budget)
        return RP_EXIT_OK;
    rp_say("%s: the job is sure to work in %s of device memory, and the budget is %s: `--budget "
           "%llu` is the smallest that is sure to work",
           run->profile, rp_size_exact(least_text, least), rp_size_exact(budget_text, budget),
           (unsigned long long)least);
    return RP_EXIT_USAGE;
}

static int check_profile(const struct rp_run *run, const struct rp_profile *profile)
{
    char message[1024], contract[RP_PURPOSE_CONTRACT];

    if (rp_profile_least(profile) == 0) {
        rp_say("%s: this profile is of no run in recompute, and does not say what memory the job "
               "needs: profile.json of one does",
               run->profile);
        return RP_EXIT_USAGE;
    }
    rp_purpose_contract(run->contract_text, run->contract_length, contract);
    const struct rp_purpose purpose = {.job = run->job, .contract = contract};
    if (rp_purpose_fits("profile", rp_profile_purpose(profile), &purpose, message,
                        sizeof(message)) == RP_OK)
        return check_budget(run, profile);
    rp_say("%s: %s: take the profile.json of a run of this job. Where words of the command differ "
           "that do not matter, put * for them in its \"job\"",
           run->profile, message);
    return RP_EXIT_USAGE;
}

int rp_run_find_profile(struct rp_run *run)
{
    const char *path = rp_run_text(run, RP_OPT_RUN_PROFILE, NULL);
    struct rp_profile *profile;
    char message[1024];

    if (!path)
        return RP_EXIT_OK;
    if (strcmp(run->mode, "recompute") != 0)
        return rp_say_usage("run", "--profile is for recompute, not for %s: make a plan of it with "
                            "`reprise plan`, for --plan", run->mode);
    if (!realpath(path, run->profile)) {
        rp_say("profile %s: %s", path, strerror(errno));
        return RP_EXIT_USAGE;
    }
    if (rp_profile_load(run->profile, &profile, message, sizeof(message)) != RP_OK) {
        rp_say("%s", message);
        return RP_EXIT_USAGE;
    }
    int code = check_profile(run, profile);
    rp_profile_destroy(profile);
    return code;
}
