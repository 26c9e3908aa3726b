/* SPDX-License-Identifier: Apache-2.0 */
/* reprise run: everything is found and checked first, then the job starts, then a few lines
 * tell what came of it. The terminal, the streams and the exit status are the job's. */
#include "planner/purpose.h"
#include "tools/command.h"
#include "tools/config.h"
#include "tools/folder.h"
#include "tools/job.h"
#include "tools/outcome.h"
#include "tools/program.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tools/variables.h"
#include "tracker/text.h"
#include "tracker/trace.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the job ----------------------------------------------------------- */

static int find_program(struct rp_run *run)
{
    const char *name = run->options.rest[0];
    char message[PATH_MAX + 128];
    int code = rp_program_find(name, run->program);

    if (code != 0) {
        bool was_sought = strchr(name, '/') == NULL;
        rp_say("%s: %s", name,
               code == RP_EXIT_NOT_FOUND && was_sought ? "command not found" : strerror(errno));
        return code;
    }
    code = rp_program_inspect(run->program, message, sizeof(message));
    if (code != 0)
        rp_say("%s", message);
    return code;
}

static json_t *escaped(const char *text)
{
    size_t size = 4 * strlen(text) + 8;
    char *copy = malloc(size);
    json_t *string = copy ? json_string(rp_text_escape(copy, size, text, strlen(text))) : NULL;
    free(copy);
    return string;
}

/* What was in force, for `reprise info` and for whoever reads the folder next year. */
static char *describe(const struct rp_run *run)
{
    const char *policy = run->contract ? rp_policy_name(run->contract->policy) : NULL;
    json_t *command = json_array();
    for (int i = 0; i < run->options.rest_count; i++)
        json_array_append_new(command, escaped(run->options.rest[i]));
    json_t *document = json_pack(
        "{ss si ss so ss ss* so ss so}", "format", "reprise-run", "version", 1, "reprise",
        RP_VERSION, "command", command, "mode", run->mode, "policy",
        rp_run_text(run, RP_OPT_POLICY, policy),
        "program", escaped(run->program), "device", run->driver.soft ? "soft" : "cuda", "driver",
        escaped(run->driver.path));
    const char *contract = rp_run_text(run, RP_OPT_CONTRACT, NULL);
    if (contract)
        json_object_set_new(document, "contract", escaped(contract));
    char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    json_decref(document);
    return text;
}

static int create_folder(struct rp_run *run)
{
    const char *pattern = rp_run_text(run, RP_OPT_OUTPUT, RP_FOLDER_DEFAULT);
    char name[PATH_MAX - 64];

    if (!rp_folder_name(pattern, name, sizeof(name)))
        return rp_say_usage("run", "--output: %%p, %%h, %%r and %%%% can stand in a name, not "
                            "what '%s' holds", pattern);
    int code = rp_folder_create(name, run->folder, &run->held);
    if (code != 0)
        return code;
    char *text = describe(run);
    bool good = text && rp_folder_write(run->folder, "run.json", text, strlen(text));
    free(text);
    if (good && run->contract)
        good = rp_folder_write(run->folder, "contract.json", run->contract_text,
                               run->contract_length);
    if (!good)
        rp_say("output folder %s: %s", run->folder, strerror(errno));
    return good ? RP_EXIT_OK : RP_EXIT_RUN;
}

static int prepare(struct rp_run *run)
{
    int (*const steps[])(struct rp_run *) = {
        rp_run_load_contract, rp_run_choose_mode, rp_run_check_trace, rp_run_find_plan,
        rp_run_find_profile,  find_program,       rp_run_find_parts,  create_folder};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int code = steps[i](run);
        if (code != RP_EXIT_OK)
            return code;
    }
    rp_run_prepare(run);
    return RP_EXIT_OK;
}

/* ---- the job ------------------------------------------------------------------ */

/* A job that ended well has left nothing to be saved. */
static void rescue(const struct rp_run *run, const struct rp_job *job)
{
    struct rp_trace_rescue rescued;

    if (run->shelter < 0)
        return;
    rp_trace_shelter_rescue(run->shelter, rp_job_ended(job), &rescued);
    if (rescued.past_limit > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events came after the trace's limit and are not in it",
               (unsigned long long)rescued.past_limit);
    if (rescued.dropped > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events found no room (--lossy) and are not in the trace",
               (unsigned long long)rescued.dropped);
    if (rescued.lost > 0)
        rp_say("%llu events that the job had not yet written when it ended are lost",
               (unsigned long long)rescued.lost);
    else if (rescued.events > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events that the job had not yet written when it ended are saved",
               (unsigned long long)rescued.events);
}

/* How many hazards there were. */
static uint64_t tell_outcome(const struct rp_run *run)
{
    struct rp_outcome outcome;

    rp_outcome_read(run->folder, &outcome);
    if (!rp_option_given(&run->options, RP_OPT_QUIET))
        rp_outcome_say(&outcome, run->folder, run->contract,
                       rp_option_given(&run->options, RP_OPT_VERBOSE));
    uint64_t hazards = outcome.hazards;
    rp_outcome_release(&outcome);
    return hazards;
}

/* Whoever removed the folder took with it what would tell of hazards: that is said in any case. */
static uint64_t tell(struct rp_run *run)
{
    char asked_for[PATH_MAX];

    memcpy(asked_for, run->folder, sizeof(asked_for));
    if (!rp_folder_find(run->held, run->folder)) {
        rp_say("%s was removed while the job ran: what the run has recorded%s is lost",
               asked_for, run->contract ? ", with any hazards," : "");
        return 0;
    }
    if (strcmp(asked_for, run->folder) != 0)
        rp_say("%s was renamed while the job ran", asked_for);
    return tell_outcome(run);
}

static int run_job(struct rp_run *run)
{
    struct rp_job job;
    int error = rp_environment_apply(&run->environment);
    if (error == 0)
        error = rp_job_run(run->program, run->options.rest, &job);
    if (error != 0) {
        rp_say("%s: %s", run->options.rest[0], strerror(error));
        return error == ENOENT ? RP_EXIT_NOT_FOUND : RP_EXIT_CANNOT_RUN;
    }
    rescue(run, &job);
    const struct rp_option_value *wanted = &run->options.values[RP_OPT_ERROR_EXITCODE];
    bool hazards = tell(run) > 0;
    int code = rp_job_exit_code(&job);
    return hazards && wanted->text ? (int)wanted->number : code;
}

static void release(struct rp_run *run)
{
    rp_contract_destroy(run->contract);
    free(run->contract_text);
    free(run->job);
    rp_environment_release(&run->environment);
}

int rp_cmd_run(int argc, char **argv)
{
    const struct rp_command *command = rp_command_find("run");
    struct rp_run run = {0};
    int code;

    if (!rp_options_begin(command, argc, argv, true, &run.options, &code))
        return code;
    if (run.options.rest_count == 0)
        return rp_say_usage("run", "no command to run");
    rp_variables_check();
    run.job = rp_purpose_job((const char *const *)run.options.rest,
                             (size_t)run.options.rest_count);
    code = prepare(&run);
    if (code == RP_EXIT_OK) {
        if (rp_option_given(&run.options, RP_OPT_VERBOSE)) {
            fputs("reprise: ", stderr);
            rp_environment_print(&run.environment, run.options.rest, stderr);
        }
        code = run_job(&run);
    }
    release(&run);
    return code;
}
